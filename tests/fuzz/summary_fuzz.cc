// Fuzzes IP summary dumps: each line of the input is read with every field, a packet is made of it, and the packet's
// fields are printed.
//
// Needs elements/endpoints/ip_summary.cc, ip_summary_fields.cc, and click/*.cc (values, quoting).

#include <cstdlib>
#include <cstring>
#include <memory>

#include "elements/endpoints/ip_summary.h"

namespace heddle::summary {
namespace {

constexpr const char* kNames[] = {"ip_proto", "ip_fragoff", "timestamp", "ip_src",    "ip_dst",   "ip_tos",  "ip_ttl",
                                  "ip_id",    "sport",      "dport",     "tcp_flags", "tcp_seq",  "tcp_win", "ip_frag",
                                  "ip_len",   "payload",    "icmp_type", "wire_len",  "direction"};

/** A packet in memory that ends with it. */
std::string printed(const Draft& draft, bool checksums) {
  static const std::unique_ptr<uint8_t[]> scratch(new uint8_t[65536]);
  const uint32_t bytes = draft.build(scratch.get(), checksums);
  const std::unique_ptr<uint8_t[]> guarded(new uint8_t[bytes]);
  std::memcpy(guarded.get(), scratch.get(), bytes);
  Packet packet{};
  packet.buf_addr = guarded.get();
  packet.data_len = static_cast<uint16_t>(bytes);
  packet.pkt_len = bytes;
  packet.port = RTE_MBUF_PORT_INVALID;
  set_capture_info(&packet, {draft.timestamp_ns, 0});
  View seen = view(&packet, 0);
  seen.paint = draft.paint;
  std::string text;
  for (const char* name : kNames) {
    if (!find_field(name)->print_to(seen, text)) text += '-';
    text += ' ';
  }
  return text;
}

}  // namespace
}  // namespace heddle::summary

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace heddle::summary;
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  Draft draft(6);
  size_t at = 0;
  for (const char* name : kNames) {
    const size_t end = std::min(text.find('\n', at), text.size());
    find_field(name)->read_from(draft, text.substr(at, end - at));
    at = std::min(end + 1, text.size());
  }
  for (const bool checksums : {false, true}) printed(draft, checksums);
  Fields fields;
  parse(text, fields);
  return 0;
}
