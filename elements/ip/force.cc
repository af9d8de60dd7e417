#include "elements/ip/force.h"

#include <algorithm>

#include "click/arguments.h"
#include "core/generators.h"
#include "elements/endpoints/checksums.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/ip_text.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

/** A port below 1024. */
uint16_t port_of(std::mt19937& random) { return static_cast<uint16_t>(random() % 1024); }

void set_checksum(uint8_t* field, uint32_t checksum) { store_u16(field, htons(static_cast<uint16_t>(checksum))); }

/** Argument TYPE of ForceICMP. */
struct AnyIcmpType {
  int value = -1;
};
bool parse(std::string_view text, AnyIcmpType& type) {
  for (unsigned number = 0; number < 256; ++number)
    if (const char* name = icmp_type_name(number); name != nullptr && text == name) {
      type.value = static_cast<int>(number);
      return true;
    }
  return click::parse(text, type.value, 0, 255);
}
std::string expectation(AnyIcmpType) { return "an integer from 0 to 255, or a type's name such as echo"; }

}  // namespace

Access ForceIP::access(Processor) const {
  return {.reads = {{Base::head, 0, 60}},
          .writes = {{Base::head, 0, 12}},
          .column_writes = columns(Column::l3, Column::l4)};
}

std::span<const char* const> ForceIP::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void ForceIP::run_cpu(Batch& batch) {
  uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t bytes = batch.length(i);
    l3[i] = l4[i] = 0;
    if (bytes < 20) {
      batch.drop(i, 0);
      continue;
    }
    uint8_t* const ip = batch.frame(i);
    uint32_t header_bytes = (ip[0] & 15u) * 4;
    if (header_bytes < 20 || header_bytes > bytes) header_bytes = 20;
    ip[0] = static_cast<uint8_t>(0x40 | header_bytes / 4);
    store_u16(ip + 2, htons(static_cast<uint16_t>(bytes)));
    store_u16(ip + 6, 0);
    set_ip4_header_checksum(ip, header_bytes);
    l3[i] = batch.packet(i)->data_off;
    l4[i] = l3[i] + header_bytes;
  }
}

Access ForceTransport::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .writes = {{Base::l3, 9, kToEnd}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> ForceTransport::drop_reasons() const {
  static constexpr const char* kReasons[] = {"bad_header"};
  return kReasons;
}

void ForceTransport::start(const Environment& environment) { random_ = generators_of(*this, environment); }

void ForceTransport::run_cpu(Batch& batch) {
  std::mt19937& random = random_[static_cast<size_t>(batch.thread)];
  const uint32_t* l3 = batch.column(Column::l3);
  const uint64_t before = count_.fetch_add(static_cast<uint64_t>(batch.size()), std::memory_order_relaxed);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip || ip.total() > ip.room || ip.total() < ip.bytes + (ip.fragment() ? 0 : least_)) {
      batch.drop(i, 0);
      continue;
    }
    if (ip.fragment()) continue;
    const uint8_t ttl_and_protocol[] = {ip.at[8], protocol_};
    rewrite_u16(ip.at + 8, load_u16(ttl_and_protocol), ip.at + 10);
    force(ip.at, ip.behind(), ip.payload(), before + static_cast<uint64_t>(i), random);
  }
}

ForceTCP::ForceTCP() : ForceTransport(kTcp, 20) {}

void ForceTCP::configure(click::Arguments& arguments) {
  arguments.optional("DPORT", port_, -1, 65535).optional("RANDOM_DPORT", random_port_);
  arguments.optional("FLAGS", flags_, -1, 255);
}

void ForceTCP::force(const uint8_t* ip, uint8_t* at, uint32_t bytes, uint64_t number, std::mt19937& random) const {
  const uint32_t header = (at[12] >> 4) * 4u;
  if (header < 20 || header > bytes) at[12] = static_cast<uint8_t>(5 << 4 | (at[12] & 15));
  if (flags_ >= 0) at[13] = static_cast<uint8_t>(flags_);
  if (port_ > 0)
    store_u16(at + 2, htons(static_cast<uint16_t>(port_)));
  else if (random_port_ && number % 8 < 2)
    store_u16(at + 2, htons(80));
  else if (random_port_ && number % 8 == 3)
    store_u16(at + 2, htons(port_of(random)));
  store_u16(at + 16, 0);
  set_checksum(at + 16, transport_checksum(ip, at, bytes, bytes));
}

ForceUDP::ForceUDP() : ForceTransport(kUdp, 8) {}

void ForceUDP::configure(click::Arguments& arguments) { arguments.optional("DPORT", port_, -1, 65535); }

void ForceUDP::force(const uint8_t* ip, uint8_t* at, uint32_t bytes, uint64_t, std::mt19937& random) const {
  store_u16(at + 2, htons(port_ < 0 ? port_of(random) : static_cast<uint16_t>(port_)));
  store_u16(at + 4, htons(static_cast<uint16_t>(bytes)));
  store_u16(at + 6, 0);
  set_checksum(at + 6, transport_checksum(ip, at, bytes, bytes));
}

ForceICMP::ForceICMP() : ForceTransport(kIcmp, 8) {}

void ForceICMP::configure(click::Arguments& arguments) {
  AnyIcmpType type;
  std::string code;
  arguments.optional("TYPE", type).optional("CODE", code);
  type_ = type.value;
  if (code.empty()) return;
  code_ = icmp_code(type_, code);
  if (code_ < 0) arguments.error("CODE", "an integer from 0 to 255, or a name of a code of TYPE");
}

void ForceICMP::force(const uint8_t*, uint8_t* at, uint32_t bytes, uint64_t, std::mt19937&) const {
  if (type_ >= 0) at[0] = static_cast<uint8_t>(type_);
  if (code_ >= 0) at[1] = static_cast<uint8_t>(code_);
  store_u16(at + 2, 0);
  set_checksum(at + 2, checksum_of(checksum_add(0, at, bytes)));
}

HEDDLE_ELEMENT(ForceIP);
HEDDLE_ELEMENT(ForceTCP);
HEDDLE_ELEMENT(ForceUDP);
HEDDLE_ELEMENT(ForceICMP);

}  // namespace heddle
