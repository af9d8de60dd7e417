#include "elements/endpoints/from_dpdk_device.h"

#include <rte_ethdev.h>

#include <algorithm>

#include "click/arguments.h"
#include "core/packet_pool.h"
#include "elements/endpoints/port_handlers.h"
#include "elements/ethernet/link_type.h"
#include "io/dpdk/frames.h"

namespace heddle {

void FromDPDKDevice::configure_port(click::Arguments& arguments, dpdk::Port& port) {
  bool active = true;
  click::EthernetAddress mac;
  port_ = &port;
  arguments.keyword("PROMISC", port.promiscuous).keyword("BURST", burst_, 1, 1024);
  arguments.keyword("NDESC", port.rx_descriptors, 32, 32768).keyword("MTU", port.mtu, 68, 9216);
  arguments.keyword("MAC", mac).keyword("ACTIVE", active);
  arguments.choice("PAUSE", port.pause,
                   {{"unset", -1},
                    {"none", RTE_ETH_FC_NONE},
                    {"rx", RTE_ETH_FC_RX_PAUSE},
                    {"tx", RTE_ETH_FC_TX_PAUSE},
                    {"full", RTE_ETH_FC_FULL}});
  if (mac != click::EthernetAddress{}) port.mac = mac;
  active_ = active;
  port.receives = true;
  port.rx_queues = std::max(port.rx_queues, queue_ + 1);
}

void FromDPDKDevice::configure(click::Arguments& arguments) {
  std::string device;
  arguments.required("PORT", device);
  if (device.empty()) return;
  dpdk::Port& port = *dpdk::request_port(device);
  arguments.optional("QUEUE", queue_, -1, 127).optional("N_QUEUES", port.rx_queues, 0, 128);
  configure_port(arguments, port);
  std::string verbose;
  arguments.keyword("VERBOSE", verbose);
  arguments.keyword("MAXTHREADS", most_threads_, 1, kMaxThreads)
      .keyword("THREADOFFSET", first_thread_, 0, kMaxThreads - 1);
  refuse_port_keywords(arguments);
}

void FromDPDKDevice::start(const Environment& environment) {
  if (first_thread_ >= environment.threads)
    throw Error(format("THREADOFFSET: there is no thread %d; `-j` says how many there are", first_thread_));
  threads_ = std::min(environment.threads - first_thread_, most_threads_);
  queues_ = port_->queues;
  large_packets_ = environment.large_packets;
  if (burst_ == 0) burst_ = dpdk::settings().burst;
}

/** Receives up to `wanted` packets of one queue, each in one buffer. */
int FromDPDKDevice::poll(int queue, Packet** packets, int wanted) {
  const int n = rte_eth_rx_burst(port_->id, static_cast<uint16_t>(queue), packets, static_cast<uint16_t>(wanted));
  if (!port_->checked) return n;
  int kept = 0;
  for (int i = 0; i < n; ++i) {
    Packet* packet = packets[i];
    if (!dpdk::has_its_bytes(packet)) [[unlikely]] {
      bad_length_.fetch_add(1, std::memory_order_relaxed);
      rte_pktmbuf_free(packet);
    } else if (packet = in_one_buffer(packet); packet != nullptr) {
      packets[kept++] = packet;
    }
  }
  return kept;
}

/** The packet with its bytes in one piece; null (and the packet freed) when there is no room for it. */
Packet* FromDPDKDevice::in_one_buffer(Packet* packet) {
  if (packet->nb_segs == 1) return packet;
  const uint32_t bytes = packet->pkt_len;
  if (bytes <= uint32_t{packet->data_len} + rte_pktmbuf_tailroom(packet) && rte_pktmbuf_linearize(packet) == 0)
    return packet;
  Packet* large = nullptr;
  if (bytes <= kMaxPacketBytes && large_packets_->allocate(&large, 1)) {
    uint8_t* at = data(large);
    for (const rte_mbuf* part = packet; part != nullptr; part = part->next) {
      std::memcpy(at, rte_pktmbuf_mtod(part, const uint8_t*), part->data_len);
      at += part->data_len;
    }
    large->data_len = static_cast<uint16_t>(bytes);
    large->pkt_len = bytes;
    large->port = packet->port;
  } else {
    too_long_.fetch_add(1, std::memory_order_relaxed);
  }
  rte_pktmbuf_free(packet);
  return large;
}

void FromDPDKDevice::receive(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed) || exhausted()) return;
  const int wanted = burst_ < batch.room() ? burst_ : batch.room();
  int n = 0;
  if (queue_ >= 0) {
    n = poll(queue_, batch.packets(), wanted);
  } else {  // each of the threads_ readers has every threads_-th queue, or one thread all
    const int step = home < 0 ? threads_ : 1;
    const int reader = batch.thread - first_thread_;
    if (home < 0 && (reader < 0 || reader >= threads_)) return;
    for (int queue = home < 0 ? reader : 0; queue < queues_ && n < wanted; queue += step)
      n += poll(queue, batch.packets() + n, wanted - n);
  }
  batch.resize(n);
  if ((carries & columns(Column::link)) != 0) set_link_types(batch, 0);
  if (snap_length_ == UINT16_MAX) return;
  for (int i = 0; i < n; ++i)
    if (Packet* packet = batch.packet(i); length(packet) > snap_length_)
      packet->pkt_len = packet->data_len = static_cast<uint16_t>(snap_length_);
}

std::string FromDPDKDevice::stop() {
  if (port_ == nullptr) return {};
  rte_eth_stats stats{};
  if (port_->queues != 0 && rte_eth_dev_is_valid_port(port_->id) != 0 && rte_eth_stats_get(port_->id, &stats) == 0)
    port_statistics_ = {{"missed", stats.imissed},
                        {"errors", stats.ierrors},
                        {"no_buffer", stats.rx_nombuf},
                        {"link_downs", port_->link_downs}};
  return port_->problem();
}

void FromDPDKDevice::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); });
  add_port_handlers(list, port_, true);
}

std::vector<std::pair<std::string, uint64_t>> FromDPDKDevice::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list;
  for (auto& entry : port_statistics_)
    if (entry.second != 0) list.push_back(entry);
  if (too_long_ != 0) list.emplace_back("too_long", too_long_);
  if (bad_length_ != 0) list.emplace_back("bad_length", bad_length_);
  return list;
}

HEDDLE_ELEMENT(FromDPDKDevice);

}  // namespace heddle
