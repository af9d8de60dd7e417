#include "engine/resources.h"

#include <algorithm>

#include "core/error.h"
#include "gpu/slot.h"
#include "io/dpdk/dpdk.h"

namespace heddle {
namespace {

constexpr unsigned kLargeDataRoom = 65535;
constexpr unsigned kLargePackets = 256;

// Packets that have landed do not lie in the ports' pool.
void check_ports(const Plan& plan) {
  const auto lands = std::find_if(plan.segments.begin(), plan.segments.end(),
                                  [](auto& segment) { return segment.transport == Transport::landing; });
  if (const std::string why = dpdk::why_only_own_buffers(); lands != plan.segments.end() && !why.empty())
    throw Error("transport landing (" + lands->why_transport + "): " + why);
}

size_t round_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

}  // namespace

std::shared_ptr<Gpus> Resources::acquire(const Router& router, const Plan& plan, const Wanted& wanted) {
  if (dpdk::wanted()) dpdk::start_eal(wanted.dpdk_args, wanted.threads);
  if (plan.uses_gpu()) gpus_ = std::make_shared<Gpus>(router, plan, std::make_unique<GpuPorts>(router, plan));
  check_ports(plan);
  make_packet_memory(plan, wanted);
  if (dpdk::wanted()) dpdk::start_ports(*packets_, wanted.threads);
  return gpus_;
}

std::shared_ptr<Gpus> Resources::gpus_for(const Router& router, const Plan& plan, std::unique_ptr<GpuPorts> ports,
                                          int lanes, int slots) const {
  if (!plan.uses_gpu()) return nullptr;
  auto gpus = std::make_shared<Gpus>(router, plan, std::move(ports));
  check_ports(plan);
  gpus->use_packet_memory_of(*gpus_, lanes, slots);
  return gpus;
}

unsigned Resources::packets_needed(const Wanted& wanted) const {
  if (wanted.packets != 0) return wanted.packets;
  if (dpdk::settings().packets != 0) return dpdk::settings().packets;
  const auto threads = static_cast<unsigned>(wanted.threads);
  unsigned needed =
      4096 + threads * static_cast<unsigned>(wanted.batch_size) * 2 + dpdk::packets_needed(wanted.threads);
  if (gpus_) needed += static_cast<unsigned>(wanted.slots * gpu::kSlotPackets) * 2 + wanted.handed_over;
  return needed;
}

void Resources::make_packet_memory(const Plan& plan, const Wanted& wanted) {
  const unsigned count = packets_needed(wanted), growth = static_cast<unsigned>(plan.appends);
  const unsigned data_room = std::min(dpdk::data_room() + growth, kLargeDataRoom);
  const bool dpdk_pool = dpdk::wanted();
  const size_t normal =
      round_up(dpdk_pool ? dpdk::pool_bytes(count, data_room) : PacketPool::bytes_for(count, data_room), 4096);
  const size_t large = PacketPool::bytes_for(kLargePackets, kLargeDataRoom);
  if (gpus_) {
    memory_ = gpus_->packet_memory(normal + large, wanted.lanes, std::max(wanted.slots, wanted.lanes), data_room);
  } else {
    host_memory_ = map_huge_pages(normal + large);
    memory_ = {host_memory_.get(), normal + large};
  }
  if (dpdk_pool) {
    packets_ = dpdk::make_pool("packets", count, data_room, {memory_.base, normal}, gpus_ ? memory_.bytes : normal);
  } else {
    packets_ = std::make_unique<PacketPool>("packets", count, data_room, memory_.base);
  }
  large_packets_ = std::make_unique<PacketPool>("large", kLargePackets, kLargeDataRoom, memory_.base + normal);
}

}  // namespace heddle
