// gpu-landing: as gpu-gather, but packets come back side by side into other memory.

#include <atomic>
#include <deque>
#include <thread>

#include "bench/slot_packets.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/xor/rule.h"
#include "gpu/slot_ring.h"

namespace heddle::bench {
namespace {

/** Every byte gathered, changed, and back side by side in other memory: by stores of the resident kernel, or by the
 *  copy engine behind launches of 1,024 packets. A slot's packets have a place of their own to land in; nobody frees
 *  them. */
class LandedXor {
 public:
  LandedXor(uint32_t length, gpu::Landing landing)
      : length_(length),
        engine_(landing == gpu::Landing::engine),
        tile_bytes_(kSlotPackets * ((length + 63) / 64 * 64)) {
    packets_ = std::make_unique<Packets>(*device_, length, size_t{kPackets / kSlotPackets} * tile_bytes_);
    gpu::ProgramSpec spec;
    const xor_bytes::Key key{0x5a5a5a5a};
    spec.nodes = {function("XOR", device_->add_table(std::as_bytes(std::span(&key, 1))), {gpu::kExit}, {})};
    spec.writes_packets = true;
    spec.copies = kWholePackets;
    spec.copies.landing = landing;
    program_ = device_->add_program(spec);
    for (int t = 0; t < kThreads; ++t)
      rings_.emplace_back(device_->add_slots(program_, kSlots / kThreads, engine_ ? kStreams : 0),
                          device_->address(program_));
    device_->start();
  }

  double gbps() {
    std::atomic<uint64_t> total{0};
    std::vector<std::thread> hosts;
    const double start = seconds_now();
    for (int t = 0; t < kThreads; ++t)
      hosts.emplace_back([&, t] {
        pin_to_core(t + 1);
        total += drive(t, start + kSeconds);
      });
    for (auto& host : hosts) host.join();
    return static_cast<double>(total) * length_ * 8e-9 / (seconds_now() - start);
  }

  /** Throws Error unless what went out has landed, changed, and is unchanged where it was. */
  void check() {
    for (int i = 0; i < kPackets; ++i) {
      const auto tile = static_cast<size_t>(i / kSlotPackets);
      const uint8_t* landed =
          packets_->base + at(tile) + static_cast<size_t>(i % kSlotPackets) * (tile_bytes_ / kSlotPackets);
      for (uint32_t b = 0; b < length_; ++b)
        if (packets_->frame(i)[b] != Packets::original(i, b) ||
            (packets_->times[tile] > 0 && landed[b] != (Packets::original(i, b) ^ 0x5a)))
          throw Error(format("byte %u of packet %d is wrong", b, i));
    }
  }

 private:
  static constexpr int kThreads = 2, kStreams = 4, kSlotsOfLaunch = 32;

  uint64_t at(size_t tile) const { return size_t{kPackets} * kStride + tile * tile_bytes_; }

  // Packets that are done, of one thread.
  uint64_t drive(int t, double deadline) {
    gpu::SlotRing& ring = rings_[static_cast<size_t>(t)];
    const size_t tiles = kPackets / kSlotPackets / kThreads, first = tiles * static_cast<size_t>(t);
    size_t next = 0;
    uint64_t done = 0;
    std::deque<int> launches;  // streams
    const auto submit = [&](int slot) {
      ring.slot(slot).landing = at(first + next);
      ring.submit(slot, &packets_->place[(first + next) * kSlotPackets], kSlotPackets);
      ++packets_->times[first + next];
      next = (next + 1) % tiles;
    };
    const auto release = [&] {
      ring.release_oldest();
      done += kSlotPackets;
    };
    const auto launch = [&] {
      const int index = ring.next_index();
      const gpu::PacketBytes bytes{at(first + next), kSlotsOfLaunch * tile_bytes_};
      for (int i = 0; i < kSlotsOfLaunch; ++i) submit(index + i);
      const int stream = index / kSlotsOfLaunch;
      device_->launch(ring.group(), program_, index, kSlotsOfLaunch, stream);
      device_->copy_packets(ring.group(), std::span(&bytes, 1), false, stream);
      launches.push_back(stream);
    };
    for (bool open = true; open || ring.in_flight() > 0; open = open && seconds_now() < deadline) {
      if (!engine_) {
        while (ring.in_flight() > 0 && ring.oldest_done()) release();
        for (int slot; open && (slot = ring.free_slot()) >= 0;) submit(slot);
        continue;
      }
      if (!launches.empty() && device_->idle(ring.group(), launches.front())) {
        for (int i = 0; i < kSlotsOfLaunch; ++i) release();
        launches.pop_front();
      }
      if (open && ring.in_flight() < ring.count()) launch();
    }
    return done;
  }

  const uint32_t length_;
  const bool engine_;
  const size_t tile_bytes_;
  std::unique_ptr<gpu::Device> device_ = gpu::open_device("gpu");
  std::unique_ptr<Packets> packets_;
  std::vector<gpu::SlotRing> rings_;
  gpu::ProgramId program_{};
};

std::vector<Result> landed_xor() {
  std::vector<Result> results;
  for (const gpu::Landing landing : {gpu::Landing::stores, gpu::Landing::engine})
    for (const auto& [length, figure] : {std::pair{64u, 0.0}, {512u, 0.0}, {1460u, 285.0}}) {
      LandedXor landed(length, landing);
      const bool stores = landing == gpu::Landing::stores;
      results.push_back(of(format("gpu-landing-%s-%u", stores ? "stores" : "engine", length), "Gb/s",
                           figure == 0 ? 100 : figure, [&] { return landed.gbps(); }));
      results.back().note = stores ? "resident kernel" : "launches of 1,024 packets, a copy behind each";
      if (figure == 0) results.back().target = 0;
      landed.check();
    }
  return results;
}

const Register gpu_landing("gpu-landing", true, landed_xor);

}  // namespace
}  // namespace heddle::bench
