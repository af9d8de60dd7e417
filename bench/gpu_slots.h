#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"

namespace heddle::bench {

/** A program in the persistent kernel on prepared packets, without ports: packets lie scattered in pinned memory, as in
 *  a pool that has been in use, and host threads fill slots of 32 of them as fast as they can. */
class GpuSlots {
 public:
  static constexpr uint32_t kPackets = 65536, kStride = 2176, kHeadroom = 128;
  static constexpr int kSlots = 256;

  /** `stride`: bytes from one packet to the next, a multiple of 64; packets begin kHeadroom into them. */
  explicit GpuSlots(int threads = 4, uint32_t stride = kStride) : threads_(threads), stride_(stride), order_(kPackets) {
    base_ = reinterpret_cast<uint8_t*>(device_->packet_memory(size_t{kPackets} * stride).base);
    for (uint32_t i = 0; i < kPackets; ++i) order_[i] = i;
    std::mt19937 random(1);
    std::shuffle(order_.begin(), order_.end(), random);
  }

  gpu::Device& device() { return *device_; }
  uint8_t* frame(uint32_t i) { return base_ + size_t{order_[i]} * stride_ + kHeadroom; }
  /** What SlotRing::submit takes. */
  uint64_t place(uint32_t i, uint32_t length) {
    return gpu::pack_word(0, length, static_cast<uint64_t>(frame(i) - base_));
  }
  /** Where a column lies in a slot that brings in the columns `in`. */
  static uint32_t* column(gpu::Slot& slot, ColumnSet in, Column which) {
    int words_before = 0;
    each_column(in, [&](Column other) { words_before += other < which ? words(other) : 0; });
    return slot.columns + words_before * gpu::kSlotPackets;
  }

  /** A check for packets_per_second(): looks at one slot in 16, whether its packets have taken the exits of `expected`,
   *  [kPackets]. */
  static auto sample_of(const std::vector<uint32_t>& expected) {
    return [&expected](const gpu::SlotRing& ring, int index, uint32_t first) {
      if (first / gpu::kSlotPackets % 16 != 0) return true;
      bool right = true;
      for (int i = 0; i < gpu::kSlotPackets; ++i)
        right = right && ring.outcome(index, i).exit == expected[first + static_cast<uint32_t>(i)];
      return right;
    };
  }

  void start(const gpu::ProgramSpec& spec, int slots = kSlots) { start(device_->add_program(spec), slots); }
  /** `slots`: of all threads. */
  void start(gpu::ProgramId program, int slots = kSlots) {
    for (int t = 0; t < threads_; ++t)
      rings_.emplace_back(device_->add_slots(program, slots / threads_), device_->address(program));
    device_->start();
  }
  /** From now on packets go through `program`, of the same columns and results; none is in flight. */
  void use(gpu::ProgramId program) {
    for (gpu::SlotRing& ring : rings_) ring.switch_to(device_->address(program));
  }

  /** Packets a second, over `seconds`. `fill(slot, first, place)` prepares packets first.. first + 31: columns and
   *  places. `check(ring, index, first)` looks at what has become of them; false: wrong. Both are called on all
   *  threads, for packets of the thread's own. Throws Error if something was wrong. */
  template <class Fill, class Check>
  double packets_per_second(double seconds, const Fill& fill, const Check& check) {
    std::atomic<uint64_t> total{0};
    std::atomic<bool> wrong{false};
    std::vector<std::thread> hosts;
    const double start = seconds_now();
    for (int t = 0; t < threads_; ++t)
      hosts.emplace_back([&, t] { run(t, start + seconds, fill, check, total, wrong); });
    for (auto& host : hosts) host.join();
    if (const std::string failure = device_->failure(); !failure.empty()) throw Error(failure);
    if (wrong) throw Error("the GPU gave a wrong result");
    return static_cast<double>(total) / (seconds_now() - start);
  }

 private:
  /** Whether the device has failed, so that nothing comes back any more. Looks only now and then. */
  bool lost() {
    static thread_local uint32_t asked = 0;
    return ++asked % 0x10000 == 0 && !device_->failure().empty();
  }
  template <class Fill, class Check>
  void run(int t, double deadline, const Fill& fill, const Check& check, std::atomic<uint64_t>& total,
           std::atomic<bool>& wrong) {
    pin_to_core(t + 1);
    gpu::SlotRing& ring = rings_[static_cast<size_t>(t)];
    const uint32_t count = kPackets / static_cast<uint32_t>(threads_), first = count * static_cast<uint32_t>(t);
    std::vector<uint32_t> packet_of(static_cast<size_t>(ring.count()));  // the slot's first
    uint32_t next = 0;
    uint64_t done = 0;
    const auto collect = [&] {
      const int index = ring.oldest();
      if (!check(ring, index, packet_of[static_cast<size_t>(index)])) wrong = true;
      ring.release_oldest();
      done += gpu::kSlotPackets;
    };
    for (uint64_t lap = 0; (lap & 63) != 0 || seconds_now() < deadline; ++lap) {
      while (ring.in_flight() > 0 && ring.oldest_done()) collect();
      if (const int index = ring.free_slot(); index >= 0) {
        uint64_t place[gpu::kSlotPackets];
        packet_of[static_cast<size_t>(index)] = first + next;
        fill(ring.slot(index), first + next, place);
        ring.submit(index, place, gpu::kSlotPackets);
        next = (next + gpu::kSlotPackets) % count;
      }
    }
    while (ring.in_flight() > 0 && !lost())
      if (ring.oldest_done()) collect();
    total += done;
  }

  int threads_;
  uint32_t stride_;
  std::vector<uint32_t> order_;  // places in the pool
  uint8_t* base_ = nullptr;
  std::vector<gpu::SlotRing> rings_;
  std::unique_ptr<gpu::Device> device_ = gpu::open_device("gpu");
};

}  // namespace heddle::bench
