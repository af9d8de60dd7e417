#include "elements/basic/print.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "click/arguments.h"
#include "core/load.h"

namespace heddle {

void Print::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.optional("LABEL", label_).optional("MAXLENGTH", max_length_, -1, 65535);
  arguments.keyword("NBYTES", max_length_, -1, 65535).keyword("LENGTH", max_length_, -1, 65535);
  arguments.keyword("CONTENTS", contents_).keyword("TIMESTAMP", timestamp_).keyword("PRINTANNO", annotations_);
  arguments.keyword("HEADROOM", headroom_).keyword("CPU", cpu_).keyword("ACTIVE", active);
  active_ = active;
}

Access Print::access(Processor) const {
  Access access{.reads = {kWholePacket}};
  if (annotations_) access.column_reads = columns(Column::dst, Column::paint);
  return access;
}

void Print::describe(std::string& line, Batch& batch, int i) const {
  const Packet* packet = batch.packet(i);
  const char* separator = "";
  if (!label_.empty()) line += label_, separator = ": ";
  if (cpu_) append(line, "(%d)", batch.thread), separator = ": ";
  if (timestamp_) line += separator, append_timestamp(line, packet), separator = ": ";
  append(line, "%s%4u", separator, length(packet));
  if (headroom_) append(line, " (h%d t%d)", rte_pktmbuf_headroom(packet), rte_pktmbuf_tailroom(packet));
  if (annotations_) {
    std::array<uint8_t, 48> all{};
    store_u32(all.data(), batch.column(Column::dst)[i]);
    all[20] = static_cast<uint8_t>(batch.column(Column::paint)[i]);
    line += " | ";
    for (uint8_t byte : all) append(line, "%02x", byte);
  }
  const uint32_t shown = contents_ == Contents::none ? 0 : std::min(length(packet), static_cast<uint32_t>(max_length_));
  if (shown == 0) return;
  line += contents_ == Contents::ascii ? " |  " : " | ";
  append_bytes(line, {data(packet), shown}, contents_, false);
}

void Print::run_cpu(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  thread_local std::string line;
  for (int i = 0; i < batch.size(); ++i) {
    line.clear();
    describe(line, batch, i);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

void Print::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(Print);

}  // namespace heddle
