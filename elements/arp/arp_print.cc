#include "elements/arp/arp_print.h"

#include <cstdio>

#include "click/arguments.h"
#include "elements/arp/arp.h"
#include "elements/basic/packet_text.h"

namespace heddle {
namespace {

std::string ip_text(uint32_t ip) { return to_text(click::Ipv4Address{ntohl(ip)}); }
std::string ethernet_text(const uint8_t* at) {
  click::EthernetAddress address;
  std::memcpy(address.bytes.data(), at, 6);
  return to_text(address);
}

}  // namespace

void ARPPrint::configure(click::Arguments& arguments) {
  bool active = true;
  arguments.optional("LABEL", label_).keyword("TIMESTAMP", timestamp_).keyword("ETHER", ethernet_);
  arguments.keyword("ACTIVE", active);
  active_ = active;
}

void ARPPrint::describe(std::string& line, const Packet* packet) const {
  const uint8_t* frame = data(packet);
  if (!label_.empty()) line += label_ + ": ";
  if (timestamp_) append_timestamp(line, packet), line += ": ";
  if (!arp::is_arp(frame, length(packet))) {
    line += "not arp";
    return;
  }
  if (ethernet_) line += ethernet_text(frame + 6) + " > " + ethernet_text(frame) + ": ";
  const std::string sender = ip_text(arp::sender_ip(frame)), target = ip_text(arp::target_ip(frame));
  if (arp::operation(frame) == arp::kRequest)
    line += "arp who-has " + target + " tell " + sender;
  else if (arp::operation(frame) == arp::kReply)
    line += "arp reply " + sender + " is-at " + ethernet_text(arp::sender_ethernet(frame));
  else
    append(line, "arp op %u", arp::operation(frame));
}

void ARPPrint::run_cpu(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  for (int i = 0; i < batch.size(); ++i) {
    std::string line;
    describe(line, batch.packet(i));
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
}

void ARPPrint::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
}

HEDDLE_ELEMENT(ARPPrint);

}  // namespace heddle
