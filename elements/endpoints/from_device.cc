#include "elements/endpoints/from_device.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netpacket/packet.h>
#include <rte_ethdev.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

#include "click/arguments.h"
#include "core/error.h"
#include "elements/endpoints/link_types.h"
#include "elements/endpoints/port_handlers.h"
#include "io/capture/record.h"
#include "io/dpdk/devices.h"

namespace heddle {

std::string device_method(click::Arguments& arguments) {
  std::string method;
  for (const char* keyword : {"METHOD", "CAPTURE"})
    arguments.choice(keyword, method,
                     {{"af_packet", "net_af_packet"},
                      {"LINUX", "net_af_packet"},
                      {"PCAP", "net_af_packet"},
                      {"af_xdp", "net_af_xdp"},
                      {"tap", "net_tap"}});
  return method;
}

std::string interface_of(const std::string& text, click::Arguments& arguments) {
  click::EthernetAddress wanted;
  if (text.empty() || if_nametoindex(text.c_str()) != 0 || !arguments.read(text, wanted)) return text;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) throw Error(format("cannot list the interfaces: %s", std::strerror(errno)));
  std::string found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_PACKET) continue;
    sockaddr_ll link;
    std::memcpy(&link, one->ifa_addr, sizeof link);
    if (link.sll_halen == wanted.bytes.size() && std::ranges::equal(wanted.bytes, std::span(link.sll_addr).first(6)))
      found = one->ifa_name;
  }
  freeifaddrs(list);
  if (found.empty()) arguments.error("DEVNAME: no interface has the Ethernet address " + to_text(wanted));
  return found;
}

void FromDevice::configure(click::Arguments& arguments) {
  std::string interface;
  arguments.required("DEVNAME", interface);
  interface = interface_of(interface, arguments);
  const std::string method = device_method(arguments);
  if (interface.empty()) return;
  dpdk::Port& port = *dpdk::request_interface(interface, method);
  device_ = &port;
  const bool packet_sockets = port.device.starts_with("net_af_packet");
  bool sniffer = packet_sockets;
  uint32_t headroom = 0;
  port.outbound = false;
  arguments.optional("PROMISC", port.promiscuous).optional("SNAPLEN", snap_length_, 14u, 65535u);
  arguments.keyword("SNIFFER", sniffer);
  arguments.keyword("OUTBOUND", port.outbound).keyword("PROTOCOL", port.protocol).keyword("FORCE_IP", force_ip_);
  arguments.keyword("HEADROOM", headroom, 0u, uint32_t{RTE_PKTMBUF_HEADROOM});
  if (sniffer != packet_sockets)
    arguments.error(sniffer
                        ? "SNIFFER true needs METHOD af_packet: with af_xdp and tap the kernel does not receive the "
                          "packets"
                        : "SNIFFER false needs METHOD af_xdp or tap: with af_packet the kernel receives the packets, "
                          "too");
  if (!packet_sockets && (port.outbound || port.protocol != 0))
    arguments.error("OUTBOUND true and PROTOCOL need METHOD af_packet");
  configure_port(arguments, port);
  std::string encap = "ETHER";
  arguments.keyword("ENCAP", encap);
  if (encap != "ETHER") arguments.error("ENCAP", "ETHER: interfaces give Ethernet frames");
  refuse_keywords(arguments, {{"BPF_FILTER", "IPFilter or Classifier behind it chooses packets"},
                              {"TIMESTAMP", "packets of an interface carry no time; ToDump writes that of writing"}});
}

Access FromDevice::access(Processor) const {
  return {.column_writes =
              columns(Column::link) | (force_ip_ ? columns(Column::dst, Column::l3, Column::l4) : ColumnSet{0})};
}

void FromDevice::receive(Batch& batch) {
  FromDPDKDevice::receive(batch);
  if (!force_ip_) return;
  int kept = 0;
  for (int i = 0; i < batch.size(); ++i) {
    Packet* const packet = batch.packet(i);
    const int at = ip_offset(capture::kLinkTypeEthernet, data(packet), length(packet));
    if (at < 0) {
      rte_pktmbuf_free(packet);
      continue;
    }
    batch.packets()[kept] = packet;
    batch.column(Column::link)[kept] = batch.column(Column::link)[i];
    annotate_ip(batch, kept++, static_cast<uint32_t>(at));
  }
  not_ip_.fetch_add(static_cast<uint64_t>(batch.size() - kept), std::memory_order_relaxed);
  batch.resize(kept);
}

std::string FromDevice::kernel_drops() const {
  rte_eth_stats stats{};
  if (device_->device.starts_with("net_af_packet"))
    return std::to_string(dpdk::packet_socket_drops(device_->interface));
  if (!device_->device.starts_with("net_af_xdp") || device_->queues == 0 || rte_eth_stats_get(device_->id, &stats) != 0)
    return "??";
  return std::to_string(stats.imissed);
}

std::string FromDevice::stop() {
  if (device_ != nullptr && device_->device.starts_with("net_af_packet"))
    kernel_drops_ = dpdk::packet_socket_drops(device_->interface);
  return FromDPDKDevice::stop();
}

void FromDevice::handlers(Handlers& list) {
  FromDPDKDevice::handlers(list);
  list.read("kernel_drops", [this] { return kernel_drops(); });
  list.read("encap", [] { return link_type_name(capture::kLinkTypeEthernet); });
}

std::vector<std::pair<std::string, uint64_t>> FromDevice::statistics() const {
  auto list = FromDPDKDevice::statistics();
  if (kernel_drops_ != 0) list.emplace_back("kernel_drops", kernel_drops_);
  if (not_ip_ != 0) list.emplace_back("not_ip", not_ip_);
  return list;
}

HEDDLE_ELEMENT(FromDevice);
HEDDLE_ELEMENT_NAMED(FromDevice, PollDevice);

}  // namespace heddle
