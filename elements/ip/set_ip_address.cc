#include "elements/ip/set_ip_address.h"

#include <algorithm>

#include "click/arguments.h"
#include "elements/ip/address_annotation.h"
#include "elements/ip/transport.h"

namespace heddle {

bool parse(std::string_view text, AddressPlace& value) {
  if (text == "src" || text == "dst") {
    value = {text == "src" ? 12 : 16, true};
    return true;
  }
  int offset = 0;
  if (!click::parse(text, offset, 0, 16384)) return false;
  value = {offset, false};
  return true;
}
std::string expectation(AddressPlace) { return "an integer from 0 to 16384, src or dst"; }

void SetIPAddress::configure(click::Arguments& arguments) {
  click::Ipv4Address address;
  AddressAnnotation anno;
  arguments.required("IPADDR", address).optional("ANNO", anno);
  address_ = htonl(address.value);
}

void SetIPAddress::run_cpu(Batch& batch) {
  std::fill_n(batch.column(Column::dst), batch.size(), address_.load(std::memory_order_relaxed));
}

void SetIPAddress::handlers(Handlers& list) {
  list.read("addr", [this] { return to_text(click::Ipv4Address{ntohl(address_)}); })
      .write("addr",
             [this](const std::string& value) { address_ = htonl(click::value_of<click::Ipv4Address>(value).value); });
}

void StoreIPAddress::configure(click::Arguments& arguments) {
  const std::vector<click::Argument> given = arguments.rest();
  if (given.empty() || given.size() > 2) {
    arguments.error("expected OFFSET, or IPADDR and OFFSET");
    return;
  }
  click::Ipv4Address address;
  own_ = given.size() == 2;
  if (own_ && !arguments.read(given[0].text, address)) arguments.error(given[0], click::expectation(address));
  if (!parse(given.back().text, place_)) arguments.error(given.back(), expectation(place_));
  address_ = htonl(address.value);
}

Access StoreIPAddress::access(Processor) const {
  Access access;
  if (!own_) access.column_reads = columns(Column::dst);
  if (place_.in_header) {
    access.reads = {{Base::l3, 0, kToEnd}};
    access.writes = {{Base::l3, 10, kToEnd}};
    access.column_reads |= columns(Column::l3);
  } else {
    access.writes = {{Base::head, place_.offset, place_.offset + 4}};
  }
  return access;
}

std::span<const char* const> StoreIPAddress::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short"};
  return kReasons;
}

void StoreIPAddress::run_cpu(Batch& batch) {
  const uint32_t* dst = batch.column(Column::dst);
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t address = own_ ? address_ : dst[i];
    if (place_.in_header) {
      // The fixed part of a header is enough; it may say that it has options which the packet lacks.
      const uint32_t room = bytes_from(batch.packet(i), l3[i]);
      uint8_t* const at = marked_header(batch.packet(i), l3[i]);
      if (room >= 20)
        rewrite_address({at, std::max((at[0] & 15u) * 4, 20u), room}, at + place_.offset, address);
      else
        batch.drop(i, 0);
    } else if (batch.length(i) < static_cast<uint32_t>(place_.offset) + 4) {
      batch.drop(i, 0);
    } else {
      store_u32(batch.frame(i) + place_.offset, address);
    }
  }
}

HEDDLE_ELEMENT(SetIPAddress);
HEDDLE_ELEMENT(StoreIPAddress);

}  // namespace heddle
