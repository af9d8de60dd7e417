#include "elements/endpoints/to_dpdk_device.h"

#include <rte_ethdev.h>

#include <algorithm>
#include <chrono>

#include "click/arguments.h"
#include "elements/endpoints/port_handlers.h"
#include "io/dpdk/frames.h"

namespace heddle {
namespace {

constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

void ToDPDKDevice::configure_port(click::Arguments& arguments, dpdk::Port& port) {
  click::EthernetAddress mac;
  int internal_queue = 0, burst = 0, timeout_ms = 0;
  port_ = &port;
  arguments.keyword("NDESC", port.tx_descriptors, 32, 32768).keyword("BLOCKING", blocking_);
  arguments.keyword("MTU", port.mtu, 68, 9216).keyword("MAC", mac).keyword("IQUEUE", internal_queue);
  arguments.keyword("BURST", burst).keyword("TIMEOUT", timeout_ms);
  if (mac != click::EthernetAddress{}) port.mac = mac;
  port.transmits = true;
  port.rx_queues = std::max(port.rx_queues, queue_ + 1);
}

void ToDPDKDevice::configure(click::Arguments& arguments) {
  std::string device;
  arguments.required("PORT", device);
  if (device.empty()) return;
  dpdk::Port& port = *dpdk::request_port(device);
  arguments.optional("QUEUE", queue_, -1, 127).optional("N_QUEUES", port.rx_queues, 0, 128);
  configure_port(arguments, port);
  std::string verbose;
  int ignored = 0;
  arguments.keyword("VERBOSE", verbose).keyword("MAXTHREADS", ignored).keyword("THREADOFFSET", ignored);
  refuse_port_keywords(arguments);
}

std::span<const char* const> ToDPDKDevice::drop_reasons() const {
  static constexpr const char* kReasons[] = {"tx_full", "too_long", "removed"};
  return kReasons;
}

int ToDPDKDevice::send_patiently(Packet** packets, int n, int thread) {
  using Clock = std::chrono::steady_clock;
  bool& stuck = stuck_[static_cast<size_t>(thread)];
  waited_[thread].add(static_cast<uint64_t>(n), 0);
  auto deadline = Clock::now() + kPatience;
  int sent = 0;
  while (sent < n) {
    const int more = rte_eth_tx_burst(port_->id, queue_of(thread), packets + sent, static_cast<uint16_t>(n - sent));
    if (more > 0) {
      sent += more;
      if (stuck) stuck = false;  // on a line that all threads look at
      deadline = Clock::now() + kPatience;
    } else if (!blocking_ || stuck || port_->removed) {
      break;
    } else if (Clock::now() > deadline) {
      stuck = true;
      break;
    }
  }
  return sent;
}

int ToDPDKDevice::send(Packet** packets, int n, int thread) {
  if (queue_ >= 0)  // a queue has one sender at a time
    while (queue_taken_.test_and_set(std::memory_order_acquire)) continue;
  int sent = rte_eth_tx_burst(port_->id, queue_of(thread), packets, static_cast<uint16_t>(n));
  if (sent < n) [[unlikely]]
    sent += send_patiently(packets + sent, n - sent, thread);
  if (queue_ >= 0) queue_taken_.clear(std::memory_order_release);
  return sent;
}

void ToDPDKDevice::run_cpu(Batch& batch) {
  const int n = batch.size();
  const uint32_t longest = port_->longest_frame.load(std::memory_order_relaxed);
  const bool removed = port_->removed.load(std::memory_order_relaxed);
  int left = 0;  // packets that stay in the batch, to be dropped
  const auto leave = [&](int i, Reason reason) {
    batch.packets()[left] = batch.packet(i);
    batch.drop(left++, reason);
  };
  for (int i = 0; i < n;) {
    int end = longest == UINT32_MAX ? n : i;
    while (end < n && !dpdk::is_too_long(batch.packet(end), longest)) ++end;
    const int sent = removed || end == i ? 0 : send(batch.packets() + i, end - i, batch.thread);
    for (i += sent; i < end; ++i) leave(i, removed ? kRemoved : kTxFull);
    for (; i < n && dpdk::is_too_long(batch.packet(i), longest); ++i) leave(i, kTooLong);
  }
  batch.resize(left);
}

std::string ToDPDKDevice::stop() {
  if (port_ == nullptr) return {};
  rte_eth_stats stats{};
  if (port_->queues != 0 && rte_eth_dev_is_valid_port(port_->id) != 0 && rte_eth_stats_get(port_->id, &stats) == 0)
    port_statistics_ = {{"errors", stats.oerrors}, {"link_downs", port_->receives ? 0 : port_->link_downs.load()}};
  return port_->receives ? std::string() : port_->problem();  // FromDPDKDevice tells it
}

void ToDPDKDevice::handlers(Handlers& list) { add_port_handlers(list, port_, false); }

std::vector<std::pair<std::string, uint64_t>> ToDPDKDevice::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list;
  for (auto& entry : port_statistics_)
    if (entry.second != 0) list.push_back(entry);
  if (const uint64_t waited = waited_.packets(); waited != 0) list.emplace_back("tx_waited", waited);
  return list;
}

HEDDLE_ELEMENT(ToDPDKDevice);

}  // namespace heddle
