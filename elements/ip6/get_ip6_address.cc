#include "elements/ip6/get_ip6_address.h"

#include <algorithm>

#include "click/arguments.h"
#include "elements/ip6/addresses.h"

namespace heddle {
namespace {

constexpr uint32_t kDestinationAt = 24, kBehindEthernet = 14;

/** Argument OFFSET. */
struct DestinationOffset {
  uint32_t value = kDestinationAt;
};
bool parse(std::string_view text, DestinationOffset& offset) {
  uint32_t value = 0;
  if (!click::parse(text, value) || (value != kDestinationAt && value != kBehindEthernet + kDestinationAt))
    return false;
  offset.value = value;
  return true;
}
std::string expectation(DestinationOffset) {
  return "24 (in an IPv6 header) or 38 (in an Ethernet frame): LookupIP6Route takes the destination address from the "
         "header that CheckIP6Header or MarkIP6Header has marked, and no other";
}

}  // namespace

void GetIP6Address::configure(click::Arguments& arguments) {
  DestinationOffset offset;
  arguments.required("OFFSET", offset);
  header_at_ = offset.value - kDestinationAt;
}

std::span<const char* const> GetIP6Address::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_there"};
  return kReasons;
}

void GetIP6Address::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i)
    if (l3[i] != batch.packet(i)->data_off + header_at_) batch.drop(i, 0);
}

void SetIP6Address::configure(click::Arguments& arguments) {
  Ip6Argument address;
  arguments.required("IP6", address);
  number_ = ip6_gateways::number_of(address.address);
}

void SetIP6Address::run_cpu(Batch& batch) { std::fill_n(batch.column(Column::dst), batch.size(), number_); }

HEDDLE_ELEMENT(GetIP6Address);
HEDDLE_ELEMENT(SetIP6Address);

}  // namespace heddle
