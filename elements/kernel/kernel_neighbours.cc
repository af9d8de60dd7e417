#include "elements/kernel/kernel_neighbours.h"

#include <arpa/inet.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>

#include "click/arguments.h"
#include "core/error.h"
#include "elements/kernel/attributes.h"

namespace heddle {
namespace {

constexpr int kAgainMs = 60'000;
constexpr uint16_t kKnown = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT;
constexpr size_t kEtherBytes = 6;

}  // namespace

KernelNeighbours::KernelNeighbours(bool ip6)
    : KernelFollower(RTMGRP_NEIGH, RTM_GETNEIGH, ip6 ? AF_INET6 : AF_INET, kAgainMs), ip6_(ip6) {}

std::string KernelNeighbours::text_of(const Address& address) const {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(ip6_ ? AF_INET6 : AF_INET, address.data(), text, sizeof text);
}

void KernelNeighbours::configure(click::Arguments& arguments) {
  arguments.required("QUERIER", querier_).required("DEVICE", device_);
  if (device_.size() >= IFNAMSIZ) arguments.error("DEVICE", "the name of an interface");
}

void KernelNeighbours::start(const Environment& environment) {
  insert_ = handler_named(environment, querier_ + ".insert");
  delete_ = handler_named(environment, querier_ + ".delete");
  KernelFollower::start(environment);
}

bool KernelNeighbours::take(const nlmsghdr& message) {
  const bool deleted = message.nlmsg_type == RTM_DELNEIGH;
  if ((!deleted && message.nlmsg_type != RTM_NEWNEIGH) || mnl_nlmsg_get_payload_len(&message) < sizeof(ndmsg))
    return false;
  const auto& neighbour = *static_cast<const ndmsg*>(mnl_nlmsg_get_payload(&message));
  if (neighbour.ndm_family != (ip6_ ? AF_INET6 : AF_INET) ||
      static_cast<unsigned>(neighbour.ndm_ifindex) != if_nametoindex(device_.c_str()))
    return false;
  const auto attributes = Attributes::behind<ndmsg>(message);
  Address address{};
  const size_t bytes = ip6_ ? 16 : 4;
  if (const uint8_t* at = attributes.bytes(NDA_DST, bytes)) std::copy_n(at, bytes, address.begin());
  const uint8_t* ether = attributes.bytes(NDA_LLADDR, kEtherBytes);
  if (address == Address{}) return false;
  if (deleted || ether == nullptr || (neighbour.ndm_state & kKnown) == 0) {
    forget(address);
  } else if (write(insert_, format("%s %02x:%02x:%02x:%02x:%02x:%02x", text_of(address).c_str(), ether[0], ether[1],
                                   ether[2], ether[3], ether[4], ether[5]))) {
    seen_[address] = reading_;
    count_ = seen_.size();
  }
  return false;
}

void KernelNeighbours::forget(const Address& address) {
  if (seen_.erase(address) == 0) return;
  write(delete_, text_of(address));
  count_ = seen_.size();
}

void KernelNeighbours::begin_all() { ++reading_; }

void KernelNeighbours::end_all() {
  for (auto each = seen_.begin(); each != seen_.end();)
    if (const auto [address, reading] = *each++; reading != reading_) forget(address);
}

void KernelNeighbours::handlers(Handlers& list) {
  KernelFollower::handlers(list);
  list.read("neighbours", [this] { return std::to_string(count_.load()); });
}

HEDDLE_ELEMENT(KernelNeighbours);
HEDDLE_ELEMENT(KernelIP6Neighbours);

}  // namespace heddle
