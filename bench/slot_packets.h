#pragma once

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "bench/bench.h"
#include "gpu/device.h"
#include "gpu/functions.h"

/** What benchmarks of slots without an engine share: prepared packets and programs for them. */
namespace heddle::bench {

using gpu::kSlotPackets;

constexpr int kPackets = 65536, kStride = 2176, kHeadroom = 128, kSlots = 256, kAddressOffset = 30;
constexpr double kSeconds = 0.5;

/** Packets in pinned memory, scattered as in a pool that has been in use. */
struct Packets {
  uint8_t* base;
  std::vector<uint32_t> order;
  uint32_t length;
  std::vector<uint64_t> place;  // [kPackets], what SlotRing::submit takes
  std::vector<uint32_t> times;  // [kPackets / kSlotPackets], how often these have been through the GPU

  /** With `behind` bytes of such memory behind them. */
  Packets(gpu::Device& device, uint32_t length, size_t behind = 0)
      : order(kPackets), length(length), place(kPackets), times(kPackets / kSlotPackets) {
    base = reinterpret_cast<uint8_t*>(device.packet_memory(size_t{kPackets} * kStride + behind).base);
    for (uint32_t i = 0; i < kPackets; ++i) order[i] = i;
    std::mt19937 random(1);
    std::shuffle(order.begin(), order.end(), random);
    for (int i = 0; i < kPackets; ++i) {
      place[static_cast<size_t>(i)] = gpu::pack_word(0, length, static_cast<uint64_t>(frame(i) - base));
      for (uint32_t b = 0; b < length; ++b) frame(i)[b] = original(i, b);
    }
  }
  uint8_t* frame(int i) { return base + size_t{order[static_cast<size_t>(i)]} * kStride + kHeadroom; }
  static uint8_t original(int i, uint32_t b) {
    return static_cast<uint8_t>((static_cast<uint32_t>(i) * 2654435761u + b * 40503u) >> 13);
  }
};

inline gpu::ProgramSpec::Node function(const char* name, gpu::TableId table, std::vector<uint16_t> outputs,
                                       std::vector<uint16_t> drops) {
  return {gpu::function_id(name), {}, table, gpu::StateId::none, std::move(outputs), std::move(drops)};
}

constexpr gpu::Copies kWholePackets{.in = {0, gpu::Span::kToEnd}, .out = {gpu::Span::kFromStart, gpu::Span::kToEnd}};

inline Result of(const std::string& name, const char* unit, double figure, const std::function<double()>& measure) {
  return absolute(name, unit, figure, false, 5, measure);
}

}  // namespace heddle::bench
