#include "elements/io/from_dpdk_device.h"

#include <rte_ethdev.h>

#include "click/arguments.h"

namespace heddle {

void FromDPDKDevice::configure(click::Arguments& arguments) {
  std::string device;
  int descriptors = 0;
  bool promiscuous = true;
  arguments.required("PORT", device).keyword("BURST", burst_, 1, 1024).keyword("NDESC", descriptors, 32, 32768);
  arguments.keyword("PROMISC", promiscuous);
  if (device.empty()) return;
  port_ = dpdk::request_port(device);
  port_->receives = true;
  port_->promiscuous = promiscuous;
  if (descriptors != 0) port_->rx_descriptors = descriptors;
}

void FromDPDKDevice::start(const Environment& environment) { queues_ = environment.threads; }

void FromDPDKDevice::receive(Batch& batch) {
  const int wanted = burst_ < batch.room() ? burst_ : batch.room();
  int n = 0;
  if (home < 0) {
    n = rte_eth_rx_burst(port_->id, static_cast<uint16_t>(batch.thread), batch.packets(),
                         static_cast<uint16_t>(wanted));
  } else {  // one thread for all queues
    for (int queue = 0; queue < queues_ && n < wanted; ++queue)
      n += rte_eth_rx_burst(port_->id, static_cast<uint16_t>(queue), batch.packets() + n,
                            static_cast<uint16_t>(wanted - n));
  }
  if (!port_->may_chain) {
    batch.resize(n);
    return;
  }
  for (int i = 0; i < n; ++i) {
    Packet* packet = batch.packet(i);
    if (packet->nb_segs == 1 || rte_pktmbuf_linearize(packet) == 0) {
      batch.packets()[batch.size()] = packet;
      batch.resize(batch.size() + 1);
    } else {
      too_long_.fetch_add(1, std::memory_order_relaxed);
      rte_pktmbuf_free(packet);
    }
  }
}

std::string FromDPDKDevice::stop() {
  rte_eth_stats stats{};
  if (port_ == nullptr || rte_eth_stats_get(port_->id, &stats) != 0) return {};
  port_statistics_ = {{"missed", stats.imissed}, {"errors", stats.ierrors}, {"no_buffer", stats.rx_nombuf}};
  return {};
}

std::vector<std::pair<std::string, uint64_t>> FromDPDKDevice::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list;
  for (auto& entry : port_statistics_)
    if (entry.second != 0) list.push_back(entry);
  if (too_long_ != 0) list.emplace_back("too_long", too_long_);
  return list;
}

HEDDLE_ELEMENT(FromDPDKDevice);

}  // namespace heddle
