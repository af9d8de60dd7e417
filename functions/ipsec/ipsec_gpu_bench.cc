// gpu-ipsec: IPsecEncap in the persistent kernel on prepared packets, by transports direct and gather, without ports. Four host threads fill slots of 32
// packets as fast as they can: they write columns, and the inner header anew, as its place holds ciphertext by then.
// Packets lie scattered in a pool of 65,536 and belong to 1,000 associations. At the end every packet is authenticated,
// and deciphered.

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "bench/bench.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/keys.h"
#include "gpu/functions.h"
#include "gpu/slot_ring.h"

namespace heddle::bench {
namespace {

using namespace ipsec;
using gpu::kSlotPackets;

constexpr uint32_t kPackets = 65536, kStride = 2176, kHeadroom = 128, kLink = 14, kAssociations = 1000;
constexpr int kSlots = 256, kThreads = 4;
constexpr double kSeconds = 0.5;
constexpr ColumnSet kColumnsIn = columns(Column::sa, Column::esp_sequence, Column::esp_iv);

class Setup {
 public:
  Setup(uint32_t length, bool gather) : length_(length), times_(kPackets / kSlotPackets), order_(kPackets) {
    std::mt19937 random(1);
    std::vector<FileAssociation> list(kAssociations);
    for (uint32_t i = 0; i < kAssociations; ++i) {
      uint8_t key[20];
      for (auto& byte : key) byte = static_cast<uint8_t>(random());
      list[i].sa.spi = swapped(0x1000 + i);
      expand_key(std::span(key).first<16>(), list[i].sa);
      start_hmac(key, list[i].sa);
    }
    associations_.load(list, kLink);
    base_ = reinterpret_cast<uint8_t*>(device_->packet_memory(size_t{kPackets} * kStride).base);
    for (uint32_t i = 0; i < kPackets; ++i) order_[i] = i;
    std::shuffle(order_.begin(), order_.end(), random);
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("IPsecEncap"),
                   {},
                   device_->add_table(associations_.bytes()),
                   gpu::StateId::none,
                   {gpu::kExit},
                   {gpu::kExit + 1, gpu::kExit + 1}}};
    spec.columns = spec.columns_in = kColumnsIn;
    spec.writes_packets = spec.wide_results = true;
    constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
    if (gather)
      spec.copies = {
          .in = kWhole, .out = kWhole, .before = kFrontBytes, .behind = kMostPadding + kTrailerBytes + kIcvBytes};
    const gpu::ProgramId program = device_->add_program(spec);
    for (int t = 0; t < kThreads; ++t)
      rings_.emplace_back(device_->add_slots(program, kSlots / kThreads), device_->address(program));
    device_->start(true);
  }

  /** Gb/s of packets before they grow. */
  double throughput() {
    std::atomic<uint64_t> total{0};
    std::atomic<bool> wrong{false};
    std::vector<std::thread> hosts;
    const double start = seconds_now();
    for (int t = 0; t < kThreads; ++t) hosts.emplace_back([&, t] { run(t, start + kSeconds, total, wrong); });
    for (auto& host : hosts) host.join();
    if (wrong) throw Error("the GPU refused a packet");
    return static_cast<double>(total) * length_ * 8 / (seconds_now() - start) * 1e-9;
  }

  /** Throws Error unless each packet that has been through the GPU is right. */
  void check() {
    Burst burst;
    const uint32_t inner = length_ - kLink, bytes = ciphertext_bytes(inner);
    for (uint32_t i = 0; i < kPackets; ++i) {
      if (times_[i / kSlotPackets] == 0) continue;
      uint8_t *plain = frame(i) + kLink, *esp = plain - kEspBytes - kIvBytes;
      burst.begin(1);
      burst.decipher(associations_[i % kAssociations], esp, bytes);
      uint32_t words[2];
      if (!burst.finish() || std::memcmp(burst.icv(0), plain + bytes, kIcvBytes) != 0)
        throw Error(format("packet %u does not authenticate", i));
      std::memcpy(words, plain, sizeof words);
      if (words[0] != header(0) || words[1] != header(1) || plain[bytes - 1] != kProtocolIp4)
        throw Error(format("packet %u deciphers to something else", i));
    }
  }

 private:
  uint8_t* frame(uint32_t i) { return base_ + size_t{order_[i]} * kStride + kHeadroom; }
  uint32_t header(int word) const { return word == 0 ? swapped(0x45000000 | (length_ - kLink)) : 0; }

  void submit(gpu::SlotRing& ring, int index, uint32_t first) {
    uint32_t* at = ring.slot(index).columns;
    uint64_t place[kSlotPackets];
    const uint32_t time = ++times_[first / kSlotPackets];
    for (uint32_t p = 0; p < kSlotPackets; ++p) {
      uint8_t* here = frame(first + p);
      const uint32_t words[2] = {header(0), header(1)};
      std::memcpy(here + kLink, words, sizeof words);
      place[p] = gpu::pack_word(0, length_, static_cast<uint64_t>(here - base_));
      const uint64_t iv = uint64_t{time} << 32 | (first + p);
      at[p] = (first + p) % kAssociations, at[kSlotPackets + p] = time;
      std::memcpy(&at[2 * kSlotPackets + 2 * p], &iv, sizeof iv);
    }
    ring.submit(index, place, kSlotPackets);
  }

  void run(int t, double deadline, std::atomic<uint64_t>& total, std::atomic<bool>& wrong) {
    pin_to_core(t + 1);
    gpu::SlotRing& ring = rings_[static_cast<size_t>(t)];
    const uint32_t count = kPackets / kThreads, first = count * static_cast<uint32_t>(t);
    uint32_t next = 0;
    uint64_t done = 0;
    const auto collect = [&] {
      for (int i = 0; i < kSlotPackets; ++i)
        if (ring.outcome(ring.oldest(), i).exit != 0) wrong = true;
      ring.release_oldest();
      done += kSlotPackets;
    };
    for (uint64_t lap = 0; (lap & 63) != 0 || seconds_now() < deadline; ++lap) {
      while (ring.in_flight() > 0 && ring.oldest_done()) collect();
      if (const int slot = ring.free_slot(); slot >= 0) {
        submit(ring, slot, first + next);
        next = (next + kSlotPackets) % count;
      }
    }
    while (ring.in_flight() > 0)
      if (ring.oldest_done()) collect();
    total += done;
  }

  uint32_t length_;
  std::vector<uint32_t> times_;  // [kPackets / kSlotPackets], how often these have been through the GPU
  std::vector<uint32_t> order_;  // places in the pool
  Associations associations_;
  uint8_t* base_ = nullptr;
  std::vector<gpu::SlotRing> rings_;
  std::unique_ptr<gpu::Device> device_ = gpu::open_device("gpu");
};

std::vector<Result> gpu_ipsec() {
  std::vector<Result> results;
  for (const bool gather : {false, true})
    for (const uint32_t length : {64u, 512u, 1460u}) {
      Setup setup(length, gather);
      results.push_back(absolute(format("gpu-ipsec%s-%u", gather ? "" : "-direct", length), "Gb/s", 260, false, 5,
                                 [&] { return setup.throughput(); }));
      if (length == 64 || !gather) results.back().target = 0;
      setup.check();
    }
  return results;
}

const Register registered("gpu-ipsec", true, gpu_ipsec);

}  // namespace
}  // namespace heddle::bench
