#include "elements/ip6/nd_solicitor.h"

#include "elements/arp/neighbour_querier_functions.h"
#include "elements/ip6/nd.h"

namespace heddle {
namespace {

constexpr uint32_t kDestination = 24;

NdProtocol::Address words_of(const uint8_t* address) { return {{load_u64(address), load_u64(address + 8)}}; }
Ip6 bytes_of(const NdProtocol::Address& address) {
  Ip6 bytes;
  std::memcpy(bytes.data(), address.word.data(), bytes.size());
  return bytes;
}

}  // namespace

NdProtocol::Address NdProtocol::next_hop(uint32_t dst, const Packet* packet) const {
  if (dst == 0) return words_of(data(packet) + kDestination);
  const Ip6* gateway = ip6_gateways::address_of(dst);
  return gateway == nullptr ? Address{} : words_of(gateway->data());
}

bool NdProtocol::fixed(const Address& address, click::EthernetAddress& to) const {
  const Ip6 bytes = bytes_of(address);
  if (!nd::is_group(bytes)) return false;
  to = nd::group_ethernet(bytes);
  return true;
}

bool NdProtocol::answer(const uint8_t* frame, uint32_t bytes, Answer& answer) {
  nd::Message message;
  if (!nd::read(frame, bytes, nd::kAdvertisement, message) || !message.has_ethernet) return false;
  answer = {words_of(message.target.data()), message.ethernet, (message.flags & nd::kOverride) != 0};
  return true;
}

void NdProtocol::write_query(uint8_t* frame, const click::EthernetAddress& ethernet, const Address& address) const {
  const Ip6 target = bytes_of(address), group = nd::solicited_node(target);
  nd::write(frame, nd::kSolicitation,
            {.source = ip,
             .destination = group,
             .target = target,
             .from = ethernet,
             .to = nd::group_ethernet(group),
             .ethernet = ethernet});
}

std::string NdProtocol::text(const Address& address) { return nd::to_text(bytes_of(address)); }
NdProtocol::Address NdProtocol::parse(const std::string& text) { return words_of(nd::parse_address(text).data()); }

void IP6NDSolicitor::configure(click::Arguments& arguments) {
  const auto given = arguments.rest();
  if (given.size() != 2) {
    arguments.error("expected IP6 and ETH");
  } else {
    try {
      protocol_.ip = nd::parse_address(std::string(given[0].text));
    } catch (const Error&) {
      arguments.error(given[0], "an IPv6 address such as 2001:db8::1");
    }
    if (!arguments.read(given[1].text, ethernet_)) arguments.error(given[1], click::expectation(ethernet_));
  }
  configure_times(arguments, 1);
}

Access IP6NDSolicitor::access(Processor) const {
  return {
      .reads = {kWholePacket}, .writes = {{Base::head, -14, 0}}, .column_reads = columns(Column::dst, Column::input)};
}

std::span<const char* const> IP6NDSolicitor::drop_reasons() const {
  static constexpr const char* kReasons[] = {"unanswered", "queue_full", "no_address",       "no_headroom",
                                             "too_long",   "learnt",     "not_advertisement"};
  return kReasons;
}

void IP6NDSolicitor::handlers(Handlers& list) {
  NeighbourQuerier::handlers(list);
  list.read("ipaddr", [this] { return nd::to_text(protocol_.ip); });
}

HEDDLE_ELEMENT(IP6NDSolicitor);
HEDDLE_ELEMENT_NAMED(IP6NDSolicitor, NDSol);
HEDDLE_ELEMENT_NAMED(IP6NDSolicitor, ARPQuerier6);

}  // namespace heddle
