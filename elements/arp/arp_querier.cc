#include "elements/arp/arp_querier.h"

#include "elements/arp/arp.h"
#include "elements/arp/arp_table.h"
#include "elements/arp/neighbour_querier_functions.h"

namespace heddle {
namespace {

constexpr click::EthernetAddress kEverybody{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/** 224.0.0.0/4 as Ethernet knows it (RFC 1112, 6.4). */
click::EthernetAddress group_address(uint32_t ip) {
  const uint32_t host = ntohl(ip);
  return {{0x01, 0x00, 0x5e, static_cast<uint8_t>(host >> 16 & 0x7f), static_cast<uint8_t>(host >> 8),
           static_cast<uint8_t>(host)}};
}

}  // namespace

bool ArpProtocol::fixed(const Address& address, click::EthernetAddress& to) const {
  const uint32_t wanted = address.word[0];
  const bool everybody = wanted == 0xffffffff || wanted == broadcast, group = (ntohl(wanted) >> 28) == 14;
  if (everybody) to = kEverybody;
  if (group && !everybody) to = group_address(wanted);
  return everybody || group;
}

bool ArpProtocol::answer(const uint8_t* frame, uint32_t bytes, Answer& answer) {
  if (!arp::is_arp(frame, bytes) || arp::operation(frame) != arp::kReply) return false;
  std::memcpy(answer.ethernet.bytes.data(), arp::sender_ethernet(frame), 6);
  answer.address = {{arp::sender_ip(frame)}};
  return true;
}

void ArpProtocol::write_query(uint8_t* frame, const click::EthernetAddress& ethernet, const Address& address) const {
  std::memset(frame + arp::kFrameBytes, 0, kQueryBytes - arp::kFrameBytes);
  arp::write(frame, arp::kRequest, ethernet.bytes.data(), ip, nullptr, address.word[0]);
}

std::string ArpProtocol::text(const Address& address) { return to_text(click::Ipv4Address{ntohl(address.word[0])}); }

ArpProtocol::Address ArpProtocol::parse(const std::string& text) {
  return {{htonl(click::value_of<click::Ipv4Address>(text).value)}};
}

void ARPQuerier::configure(click::Arguments& arguments) {
  click::Ipv4Address ip, broadcast{0xffffffff};
  click::Ipv4Prefix network;
  bool broadcast_poll = false;
  const auto given = arguments.rest();
  if (given.empty() || given.size() > 2) {
    arguments.error("expected IP and ETH");
  } else {
    const std::string& text = given[0].text;
    if (!arguments.read(text, ip) &&
        !(arguments.read(text, network) && arguments.read(text.substr(0, text.find('/')), ip)))
      arguments.error(given[0], click::expectation(ip) + ", which may be with its network (10.0.0.1/24)");
    if (arguments.read(text, network) && network.length < 31)
      broadcast.value = network.address | (0xffffffffu >> network.length);
    if (!arguments.read(given.back().text, ethernet_)) arguments.error(given.back(), click::expectation(ethernet_));
  }
  arguments.keyword("BROADCAST", broadcast).keyword("BROADCAST_POLL", broadcast_poll);
  arguments.keyword("TABLE", table_name_);
  unicast_polls_ = !broadcast_poll;
  protocol_.ip = htonl(ip.value), protocol_.broadcast = htonl(broadcast.value);
  configure_times(arguments, 64);  // as in Click, small ones are not shared out
}

void ARPQuerier::link(const Directory& directory) {
  if (table_name_.empty()) return;
  const std::vector<Element*> named = directory(table_name_);
  auto* table = named.size() == 1 ? dynamic_cast<ARPTable*>(named[0]) : nullptr;
  if (table == nullptr) throw Error("TABLE: '" + table_name_ + "' is not an ARPTable");
  share(table->known);
}

Access ARPQuerier::access(Processor) const {
  return {.reads = {{Base::head, 0, 42}},
          .writes = {{Base::head, -14, 0}},
          .column_reads = columns(Column::dst, Column::input)};
}

std::span<const char* const> ARPQuerier::drop_reasons() const {
  static constexpr const char* kReasons[] = {"unanswered", "queue_full", "no_address",   "no_headroom",
                                             "too_long",   "learnt",     "not_arp_reply"};
  return kReasons;
}

void ARPQuerier::handlers(Handlers& list) {
  NeighbourQuerier::handlers(list);
  const auto address = [&](const char* name, std::atomic<uint32_t>& value) {
    list.read(name, [&value] { return ArpProtocol::text({{value.load()}}); })
        .write(name, [&value](const std::string& text) { value = ArpProtocol::parse(text).word[0]; });
  };
  address("ipaddr", protocol_.ip), address("broadcast", protocol_.broadcast);
}

HEDDLE_ELEMENT(ARPQuerier);

}  // namespace heddle
