#include "elements/io/to_dpdk_device.h"

#include <rte_ethdev.h>

#include <chrono>

#include "click/arguments.h"

namespace heddle {
namespace {

constexpr std::chrono::milliseconds kPatience{100};

}  // namespace

void ToDPDKDevice::configure(click::Arguments& arguments) {
  std::string device;
  int descriptors = 0;
  arguments.required("PORT", device).keyword("NDESC", descriptors, 32, 32768).keyword("BLOCKING", blocking_);
  if (device.empty()) return;
  port_ = dpdk::request_port(device);
  port_->transmits = true;
  if (descriptors != 0) port_->tx_descriptors = descriptors;
}

std::span<const char* const> ToDPDKDevice::drop_reasons() const {
  static constexpr const char* kReasons[] = {"tx_full"};
  return kReasons;
}

int ToDPDKDevice::send_patiently(Packet** packets, int n, int thread) {
  using Clock = std::chrono::steady_clock;
  bool& stuck = queues_[static_cast<size_t>(thread)].stuck;
  const auto queue = static_cast<uint16_t>(thread);
  auto deadline = Clock::now() + kPatience;
  int sent = 0;
  while (sent < n) {
    const int more = rte_eth_tx_burst(port_->id, queue, packets + sent, static_cast<uint16_t>(n - sent));
    if (more > 0) {
      sent += more;
      stuck = false;
      deadline = Clock::now() + kPatience;
    } else if (!blocking_ || stuck) {
      break;
    } else if (Clock::now() > deadline) {
      stuck = true;
      break;
    }
  }
  return sent;
}

void ToDPDKDevice::run_cpu(Batch& batch) {
  const int n = batch.size();
  int sent =
      rte_eth_tx_burst(port_->id, static_cast<uint16_t>(batch.thread), batch.packets(), static_cast<uint16_t>(n));
  if (sent < n) [[unlikely]]
    sent += send_patiently(batch.packets() + sent, n - sent, batch.thread);
  const int left = n - sent;
  for (int i = 0; i < left; ++i) {
    batch.packets()[i] = batch.packet(sent + i);
    batch.drop(i, 0);
  }
  batch.resize(left);
}

HEDDLE_ELEMENT(ToDPDKDevice);

}  // namespace heddle
