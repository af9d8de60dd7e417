#include "elements/ip/dec_ip_ttl.h"

#include "click/arguments.h"
#include "core/load.h"
#include "elements/ip/marked_header.h"

namespace heddle {
namespace {

/** Bytes 8 to 11 of a header (TTL, protocol, checksum; as they lie in memory) with the TTL one less. RFC 1624, equation
 *  3: ~(~checksum + ~0x0100 + 0), which does not depend on the order of the bytes. */
uint32_t decremented(uint32_t word) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  const uint32_t sum = (~word >> 16) + 0xfffe;
  return (~(sum + (sum >> 16)) << 16) | ((word - 1) & 0xffff);
}

}  // namespace

void DecIPTTL::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.keyword("ACTIVE", active).keyword("MULTICAST", multicast_);
  active_ = active;
}

Access DecIPTTL::access(Processor) const {
  Access access{.reads = {{Base::l3, 8, 12}}, .writes = {{Base::l3, 8, 12}}, .column_reads = columns(Column::l3)};
  if (!multicast_) access.reads.push_back(kIp4Dst);
  return access;
}

std::span<const char* const> DecIPTTL::drop_reasons() const {
  static constexpr const char* kReasons[] = {"ttl_expired", "no_header"};
  return kReasons;
}

void DecIPTTL::run_cpu(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  // Copies, for the compiler cannot know that what is written to headers leaves them alone.
  const uint32_t* const l3 = batch.column(Column::l3);
  Packet* const* const packets = batch.packets();
  const int n = batch.size();
  const bool multicast = multicast_;
  uint64_t expired = 0;
  for (int i = 0; i < n; ++i) {
    uint8_t* header = marked_header(packets[i], l3[i]);
    if (!has_bytes_from(packets[i], l3[i], 20)) [[unlikely]] {
      batch.drop(i, kNoHeader);
      continue;
    }
    if (!multicast && header[16] >> 4 == 14) continue;
    const uint32_t word = load_u32(header + 8);
    if ((word & 0xff) <= 1) [[unlikely]] {
      ++expired;
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, kExpired);
      continue;
    }
    store_u32(header + 8, decremented(word));
  }
  if (expired != 0) expired_[batch.thread].add(expired, 0);
}

void DecIPTTL::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(expired_.packets()); })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(DecIPTTL);

}  // namespace heddle
