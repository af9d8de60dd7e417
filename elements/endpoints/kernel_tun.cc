#include "elements/endpoints/kernel_tun.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/packet_pool.h"

namespace heddle {

void KernelTun::configure(click::Arguments& arguments) {
  uint32_t headroom = 0;
  bool quiet = false;
  std::string address;
  arguments.required("ADDRESS", address).optional("GATEWAY", gateway_).optional("HEADROOM", headroom, 0u, 128u);
  arguments.keyword("DEVNAME", interface_).keyword("MTU", mtu_, 68, 65521 - link_bytes());
  arguments.keyword("IGNORE_QUEUE_OVERFLOWS", quiet);
  if (!address.empty() && !read_address(arguments, address, address_))
    arguments.error("ADDRESS", expectation(address_));
  if (interface_.size() >= IFNAMSIZ) arguments.error("DEVNAME", "a name of at most 15 characters");
  if (gateway_ != click::Ipv4Address{} && !address_.contains(gateway_))
    arguments.error("GATEWAY is not in the network of ADDRESS");
}

void KernelTap::configure(click::Arguments& arguments) {
  arguments.keyword("ETHER", ether_);
  KernelTun::configure(arguments);
}

std::span<const char* const> KernelTun::drop_reasons() const {
  static constexpr const char* kReasons[] = {"refused"};
  return kReasons;
}

void KernelTun::start(const Environment& environment) {
  stopping_ = environment.stopping;
  packets_ = static_cast<uint32_t>(mtu_ + link_bytes()) <= environment.packets->data_bytes()
                 ? environment.packets
                 : environment.large_packets;
  if (predecessor != nullptr && same_arguments) return;  // take_state() brings the interface
  ifreq request{};
  interface_.copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = static_cast<short>((ethernet() ? IFF_TAP : IFF_TUN) | IFF_NO_PI);
  tun_ = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (tun_ < 0 || ioctl(tun_, TUNSETIFF, &request) != 0)
    throw Error(
        format("cannot make a %s interface (/dev/net/tun): %s", ethernet() ? "tap" : "tun", std::strerror(errno)));
  interface_ = request.ifr_name;
  InterfaceRequests requests(interface_);
  if (ether_ != click::EthernetAddress{}) requests.set_ethernet_address(ether_);
  requests.set_mtu(mtu_);
  requests.set_address(address_);
  requests.bring_up();
  if (gateway_ != click::Ipv4Address{}) requests.add_default_route(gateway_);
}

void KernelTun::take_state(Element& old_element) {
  auto& old = static_cast<KernelTun&>(old_element);
  if (!(predecessor == &old ? this : &old)->same_arguments) return;
  std::swap(tun_, old.tun_), std::swap(interface_, old.interface_);
  received_.take(old.received_), sent_.take(old.sent_);
  not_ip4_ = old.not_ip4_.exchange(not_ip4_);
}

void KernelTun::run_cpu(Batch& batch) {
  int dropped = 0, sent = 0;
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (write(tun_, data(packet), length(packet)) == static_cast<ssize_t>(length(packet))) {
      rte_pktmbuf_free(packet);
      ++sent;
    } else {
      batch.packets()[dropped] = packet;
      batch.drop(dropped++, 0);
    }
  }
  batch.resize(dropped);
  if (sent > 0) sent_[batch.thread].add(static_cast<uint64_t>(sent), 0);
}

void KernelTun::receive(Batch& batch) {
  const int first = batch.size();
  while (batch.size() < batch.room()) {
    Packet*& place = batch.packets()[batch.size()];
    if (!packets_->allocate(&place, 1)) break;
    const ssize_t n = read(tun_, data(place), static_cast<size_t>(mtu_ + link_bytes()));
    if (n <= 0 || (!ethernet() && data(place)[0] >> 4 != 4)) {
      rte_pktmbuf_free(place);
      if (n <= 0) break;
      not_ip4_.fetch_add(1, std::memory_order_relaxed);
      continue;
    }
    place->data_len = static_cast<uint16_t>(n), place->pkt_len = static_cast<uint32_t>(n);
    set_capture_info(place, {RouterClock::wall_ns(), 0});
    batch.resize(batch.size() + 1);
  }
  const int got = batch.size() - first;
  if (got == 0) return;
  // Annotations of packets that came in are not those of packets that go out.
  each_column(carries, [&](Column which) {
    std::memset(batch.column(which) + first * words(which), 0,
                sizeof(uint32_t) * static_cast<size_t>(got * words(which)));
  });
  received_[batch.thread].add(static_cast<uint64_t>(got), 0);
}

std::string KernelTun::stop() {
  if (tun_ >= 0) close(std::exchange(tun_, -1));
  return {};
}

void KernelTun::handlers(Handlers& list) {
  list.read("dev_name", [this] { return interface_; })
      .read("received", [this] { return std::to_string(received_.packets()); })
      .read("sent", [this] { return std::to_string(sent_.packets()); });
}

std::vector<std::pair<std::string, uint64_t>> KernelTun::statistics() const {
  if (not_ip4_ == 0) return {};
  return {{"not_ip4", not_ip4_}};
}

HEDDLE_ELEMENT(KernelTun);
HEDDLE_ELEMENT(KernelTap);

}  // namespace heddle
