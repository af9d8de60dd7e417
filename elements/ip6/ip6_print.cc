#include "elements/ip6/ip6_print.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>

#include "click/arguments.h"
#include "core/load.h"
#include "elements/ip/marked_header.h"
#include "elements/ip6/header.h"
#include "elements/ip6/nd.h"

namespace heddle {

void IP6Print::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.optional("LABEL", label_).keyword("CONTENTS", contents_).keyword("ACTIVE", active);
  arguments.keyword("NBYTES", max_bytes_, -1, 65535).keyword("MAXLENGTH", max_bytes_, -1, 65535);
  active_ = active;
}

void IP6Print::describe(std::string& line, Packet* packet, uint32_t l3) const {
  const uint8_t* header = marked_header(packet, l3);
  if (!label_.empty()) line += label_ + ": ";
  if (bytes_from(packet, l3) < kIp6HeaderBytes) {
    line += "truncated-ip6";
    return;
  }
  Ip6 source, destination;
  std::copy_n(header + 8, source.size(), source.begin());
  std::copy_n(header + 24, destination.size(), destination.begin());
  line += nd::to_text(source) + " -> " + nd::to_text(destination);
  append(line, " plen %u, next %u, hlim %u", ntohs(load_u16(header + 4)), header[6], header[7]);
  if (contents_ == Contents::none) return;
  const size_t shown = std::min(static_cast<size_t>(length(packet)), static_cast<size_t>(max_bytes_));
  append_bytes(line, {data(packet), shown}, contents_, true);
}

void IP6Print::run_cpu(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  thread_local std::string line;
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    if (bytes_from(batch.packet(i), l3[i]) == 0) continue;  // no header
    line.clear();
    describe(line, batch.packet(i), l3[i]);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

void IP6Print::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(IP6Print);

}  // namespace heddle
