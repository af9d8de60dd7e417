#include "elements/ip/ip_print.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "click/arguments.h"
#include "core/error.h"
#include "core/load.h"
#include "elements/ip/ip_text.h"
#include "elements/ip/marked_header.h"

namespace heddle {
namespace {

constexpr uint32_t kEthernetBytes = 14;

void append_ethernet(std::string& line, const uint8_t* frame) {
  click::EthernetAddress source, destination;
  std::memcpy(destination.bytes.data(), frame, 6);
  std::memcpy(source.bytes.data(), frame + 6, 6);
  line += to_text(source) + " > " + to_text(destination) + ": ";
}

}  // namespace

void IPPrint::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.optional("LABEL", label_).keyword("CONTENTS", contents_).keyword("PAYLOAD", payload_);
  arguments.keyword("MAXLENGTH", max_length_, -1, 65535).keyword("NBYTES", max_length_, -1, 65535);
  arguments.keyword("ETHER", ether_).keyword("ID", id_).keyword("TIMESTAMP", timestamp_).keyword("PAINT", paint_);
  arguments.keyword("TOS", tos_).keyword("TTL", ttl_).keyword("SWAP", swap_).keyword("LENGTH", length_);
  arguments.keyword("AGGREGATE", aggregate_).keyword("ACTIVE", active).keyword("OUTFILE", path_);
  active_ = active;
  if (contents_ != Contents::none && payload_ != Contents::none) arguments.error("give CONTENTS or PAYLOAD, not both");
}

Access IPPrint::access(Processor) const {
  return {.reads = {kWholePacket},
          .column_reads = columns(Column::l3) | (paint_ ? columns(Column::paint) : 0) |
                          (aggregate_ ? columns(Column::aggregate) : 0)};
}

void IPPrint::start(const Environment& environment) {
  if (path_.empty()) return;
  output_ = std::make_unique<capture::Output>(path_, "'" + name + "'", environment.stopping);
  constexpr auto kWrite = [](void* output, const char* text, size_t bytes) {
    return static_cast<ssize_t>(static_cast<capture::Output*>(output)->write({text, bytes}));
  };
  file_.reset(fopencookie(output_.get(), "wb", {.read = nullptr, .write = kWrite, .seek = nullptr, .close = nullptr}));
  if (!file_) throw Error(format("OUTFILE: cannot write '%s': %s", path_.c_str(), std::strerror(errno)));
}

void IPPrint::describe(std::string& line, Batch& batch, int i) const {
  Packet* packet = batch.packet(i);
  const uint32_t l3 = batch.column(Column::l3)[i];
  const std::span<const uint8_t> ip{marked_header(packet, l3), bytes_from(packet, l3)};
  if (!label_.empty()) line += label_ + ": ";
  if (timestamp_) append_timestamp(line, packet), line += ": ";
  if (paint_) append(line, "paint %u: ", batch.column(Column::paint)[i]);
  if (aggregate_) append(line, "#%u: ", batch.column(Column::aggregate)[i]);
  if (ether_ && l3 - packet->data_off >= kEthernetBytes) append_ethernet(line, ip.data() - kEthernetBytes);
  if (ip.size() < 20) {
    line += "truncated-ip";
    return;
  }
  if (id_) append(line, "id %u ", ntohs(load_u16(ip.data() + 4)));
  if (ttl_) append(line, "ttl %u ", ip[8]);
  if (tos_) append(line, "tos %u ", ip[1]);
  if (length_) append(line, "length %u ", ntohs(load_u16(ip.data() + 2)));
  append_ip(line, ip, length(packet), swap_);
  const Contents how = payload_ != Contents::none ? payload_ : contents_;
  if (how == Contents::none) return;
  const std::span<const uint8_t> bytes =
      payload_ != Contents::none ? ip_payload(ip) : std::span<const uint8_t>{data(packet), length(packet)};
  append_bytes(line, bytes.first(std::min(bytes.size(), static_cast<size_t>(max_length_))), how, true);
}

void IPPrint::run_cpu(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  thread_local std::string line;
  for (int i = 0; i < batch.size(); ++i) {
    if (bytes_from(batch.packet(i), batch.column(Column::l3)[i]) == 0) continue;  // no header
    line.clear();
    describe(line, batch, i);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), file_ ? file_.get() : stderr);
  }
}

std::string IPPrint::stop() {
  if (!file_) return {};
  const bool failed = std::fflush(file_.get()) != 0 || std::ferror(file_.get()) != 0;
  file_.reset();
  const std::string why = output_->failure();
  output_.reset();
  return failed ? format("OUTFILE: could not write all of '%s'", path_.c_str()) + (why.empty() ? "" : ": " + why) : "";
}

void IPPrint::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(IPPrint);

}  // namespace heddle
