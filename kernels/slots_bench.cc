// gpu-lookup, gpu-mirror, gpu-mirror-alone, gpu-xor, gpu-gather, gpu-crc, gpu-rtt: the persistent kernel and its
// stamped slots on prepared packets, without ports. Host threads fill slots of 32 packets and collect results as fast
// as they can, as the engine does; packets lie scattered in a pool of 65,536. Results are checked: a sample of the
// lookups as they arrive, and every byte of every packet at the end.

#include <atomic>
#include <cstring>
#include <thread>

#include "bench/route_tables.h"
#include "bench/slot_packets.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/crc32/cpu.h"
#include "functions/crc32/tables.h"
#include "functions/ether_mirror/rule.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/xor/rule.h"
#include "gpu/slot_ring.h"

#ifdef HEDDLE_HAVE_CUDA
namespace heddle::gpu::mirror_alone_backend {
std::unique_ptr<Device> open(int index);  // kernels/backend.h
}
#endif

namespace heddle::bench {
namespace {

using gpu::kSlotPackets;

struct Setup {
  std::unique_ptr<gpu::Device> device;
  std::unique_ptr<Packets> packets;
  std::vector<gpu::SlotRing> rings;

  using MakeSpec = std::function<gpu::ProgramSpec(gpu::Device&)>;
  Setup(const MakeSpec& make_spec, uint32_t length, int threads,
        std::unique_ptr<gpu::Device> opened = gpu::open_device("gpu"))
      : device(std::move(opened)) {
    packets = std::make_unique<Packets>(*device, length);
    const gpu::ProgramId program = device->add_program(make_spec(*device));
    for (int t = 0; t < threads; ++t)
      rings.emplace_back(device->add_slots(program, kSlots / threads), device->address(program));
    device->start();
  }
};

using Check = std::function<bool(int packet, uint32_t exit)>;

// Runs all rings for kSeconds and returns packets a microsecond.
double throughput(Setup& setup, const Check& check) {
  std::atomic<uint64_t> total{0};
  std::atomic<bool> wrong{false}, go{false};
  std::vector<std::thread> hosts;
  const int threads = static_cast<int>(setup.rings.size());
  double start = 0;
  for (int t = 0; t < threads; ++t) {
    hosts.emplace_back([&, t] {
      pin_to_core(t + 1);
      gpu::SlotRing& ring = setup.rings[static_cast<size_t>(t)];
      Packets& packets = *setup.packets;
      const int first = kPackets / threads * t, count = kPackets / threads;
      std::vector<int> tile_of(static_cast<size_t>(ring.count()));
      uint64_t done = 0, rounds = 0;
      int next = 0;
      while (!go.load()) {
      }
      const auto collect = [&] {
        const int index = ring.oldest(), tile = tile_of[static_cast<size_t>(index)];
        if ((++rounds & 15) == 0)
          for (int i = 0; i < kSlotPackets; ++i)
            if (!check(tile + i, ring.outcome(index, i).exit)) wrong = true;
        ++packets.times[static_cast<size_t>(tile / kSlotPackets)];
        ring.release_oldest();
        done += kSlotPackets;
      };
      double deadline = start + kSeconds;
      for (uint64_t lap = 0; (lap & 63) != 0 || seconds_now() < deadline; ++lap) {
        while (ring.in_flight() > 0 && ring.oldest_done()) collect();
        for (int slot; (slot = ring.free_slot()) >= 0;) {
          tile_of[static_cast<size_t>(slot)] = first + next;
          ring.submit(slot, &packets.place[static_cast<size_t>(first + next)], kSlotPackets);
          next = (next + kSlotPackets) % count;
        }
      }
      while (ring.in_flight() > 0)
        if (ring.oldest_done()) collect();
      total += done;
    });
  }
  start = seconds_now();
  go = true;
  for (auto& host : hosts) host.join();
  const double us = (seconds_now() - start) * 1e6;
  if (wrong) throw Error("the GPU gave a wrong result");
  return static_cast<double>(total) / us;
}

struct Lookup {
  ip_lookup::DirectTable table;
  bool in_place;
  /** `in_place`: GetIPAddress on the GPU reads the address from the packet, in host memory; else the CPU has done that
   *  (CheckIPHeader), and the annotation travels in the slot. */
  explicit Lookup(bool in_place) : in_place(in_place) { table.load(bgp_like_routes(1000000, 16, 1)); }
  gpu::ProgramSpec spec(gpu::Device& device) const {
    gpu::ProgramSpec spec;
    const auto dropped = static_cast<uint16_t>(gpu::kExit + 16);
    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port < 16; ++port) outputs.push_back(gpu::kExit + port);
    spec.columns = columns(Column::dst);
    if (in_place) {
      spec.counts = device.add_state(2 * sizeof(gpu::NodeCounts));
      spec.nodes.push_back(
          {-1, {NeutralOp::kLoadDst, kAddressOffset}, gpu::TableId::none, gpu::StateId::none, {1}, {dropped}});
    } else {
      spec.word_column = static_cast<int>(Column::dst);
    }
    spec.nodes.push_back(function("DirectIPLookup", device.add_table(table.bytes()), outputs, {dropped}));
    return spec;
  }
  static uint32_t address(int packet) {
    uint32_t address = 0;
    for (uint32_t b = 0; b < 4; ++b) address = address << 8 | Packets::original(packet, kAddressOffset + b);
    return address;
  }
  uint32_t expected(int packet) const {
    const auto hop = table.lookup(address(packet));
    return hop ? hop->port : 16;
  }
};

// Words that carry the destination address, as the engine fills them behind CheckIPHeader.
void put_addresses(Packets& packets) {
  for (int i = 0; i < kPackets; ++i)
    packets.place[static_cast<size_t>(i)] = gpu::pack_word(0, packets.length, __builtin_bswap32(Lookup::address(i)));
}

std::vector<Result> lookup() {
  std::vector<Result> results;
  for (const bool in_place : {false, true}) {
    Lookup lookup(in_place);
    std::vector<uint32_t> expected(kPackets);
    for (int i = 0; i < kPackets; ++i) expected[static_cast<size_t>(i)] = lookup.expected(i);
    for (const auto& [threads, figure] : {std::pair{1, 250.0}, std::pair{4, 550.0}}) {
      Setup setup([&](gpu::Device& device) { return lookup.spec(device); }, 64, threads);
      if (!in_place) put_addresses(*setup.packets);
      results.push_back(of(format("gpu-lookup%s-%d", in_place ? "-in-place" : "", threads), "Mpps", figure, [&] {
        return throughput(setup,
                          [&](int packet, uint32_t exit) { return exit == expected[static_cast<size_t>(packet)]; });
      }));
      results.back().note = in_place ? "the GPU reads the address in the packet" : "the address travels in the slot";
    }
  }
  return results;
}

// After the run: packet i must look as if it had been changed as often as its tile went through the GPU.
template <class Expected>
void check_bytes(Packets& packets, const Expected& expected) {
  for (int i = 0; i < kPackets; ++i)
    for (uint32_t b = 0; b < packets.length; ++b)
      if (packets.frame(i)[b] != expected(i, b, packets.times[static_cast<size_t>(i / kSlotPackets)] % 2 == 1))
        throw Error(format("byte %u of packet %d is wrong", b, i));
}

gpu::ProgramSpec mirror_spec(gpu::Device&) {
  gpu::ProgramSpec spec;
  spec.nodes = {function("EtherMirror", gpu::TableId::none, {gpu::kExit}, {gpu::kExit + 1})};
  spec.writes_packets = true;
  return spec;
}
bool is_exit_0(int, uint32_t exit) { return exit == 0; }

std::vector<Result> mirror() {
  std::vector<Result> results;
  for (int threads : {1, 4}) {
    Setup setup(mirror_spec, 64, threads);
    results.push_back(of(format("gpu-mirror-%d", threads), "Mpps", 330, [&] { return throughput(setup, is_exit_0); }));
    check_bytes(*setup.packets,
                [](int i, uint32_t b, bool odd) { return Packets::original(i, odd && b < 12 ? (b + 6) % 12 : b); });
  }
  return results;
}

#ifdef HEDDLE_HAVE_CUDA
// What the other functions of the kernels cost EtherMirror: the same kernels, once with all and once with it alone.
std::vector<Result> mirror_alone() {
  std::vector<Result> results;
  for (int threads : {1, 4}) {
    const auto rate = [&](std::unique_ptr<gpu::Device> device) {
      Setup setup(mirror_spec, 64, threads, std::move(device));
      return throughput(setup, is_exit_0);
    };
    results.push_back(paired(
        format("gpu-mirror-alone-%d", threads), "Mpps", 0.97, 9, [&] { return rate(gpu::open_device("gpu")); },
        [&] { return rate(gpu::mirror_alone_backend::open(0)); }));
    results.back().note = "in the kernel of all functions; beside: in one without any other";
  }
  return results;
}
const Register gpu_mirror_alone("gpu-mirror-alone", true, mirror_alone);
#endif

std::vector<Result> xor_bytes_bench() {
  std::vector<Result> results;
  const xor_bytes::Key key{0x5a5a5a5a};
  for (uint32_t length : {64u, 512u, 1024u, 1504u}) {
    const auto make_spec = [&](gpu::Device& device) {
      gpu::ProgramSpec spec;
      spec.nodes = {function("XOR", device.add_table(std::as_bytes(std::span(&key, 1))), {gpu::kExit}, {})};
      spec.writes_packets = true;
      return spec;
    };
    Setup setup(make_spec, length, 2);
    results.push_back(
        of(format("gpu-xor-%u", length), "Gb/s", 300, [&] { return throughput(setup, is_exit_0) * 8e-3 * length; }));
    if (length == 64) results.back().target = 0;
    check_bytes(*setup.packets,
                [](int i, uint32_t b, bool odd) { return uint8_t(Packets::original(i, b) ^ (odd ? 0x5a : 0)); });
  }
  return results;
}

// Every byte gathered, changed and written back.
std::vector<Result> gathered_xor() {
  std::vector<Result> results;
  const xor_bytes::Key key{0x5a5a5a5a};
  for (const auto& [length, figure] : {std::pair{64u, 0.0}, {512u, 265.0}, {1460u, 275.0}}) {
    const auto make_spec = [&](gpu::Device& device) {
      gpu::ProgramSpec spec;
      spec.nodes = {function("XOR", device.add_table(std::as_bytes(std::span(&key, 1))), {gpu::kExit}, {})};
      spec.writes_packets = true;
      spec.copies = kWholePackets;
      return spec;
    };
    Setup setup(make_spec, length, 2);
    results.push_back(of(format("gpu-gather-%u", length), "Gb/s", figure == 0 ? 100 : figure,
                         [&, length = length] { return throughput(setup, is_exit_0) * 8e-3 * length; }));
    if (figure == 0) results.back().target = 0;
    check_bytes(*setup.packets,
                [](int i, uint32_t b, bool odd) { return uint8_t(Packets::original(i, b) ^ (odd ? 0x5a : 0)); });
  }
  return results;
}

// Three functions that each go over the whole packet, CheckCRC32 -> XOR -> SetCRC32, by both transports, beside XOR
// alone.
std::vector<Result> three_functions() {
  constexpr uint32_t kLength = 1460;
  crc32::choose_instructions();
  const auto tables = std::make_unique<crc32::Tables>(crc32::make_tables(crc32::Variant::ieee, false));
  const xor_bytes::Key key{0x5a5a5a5a};
  const auto make = [&](bool gather, bool alone) {
    const auto make_spec = [&](gpu::Device& device) {
      const auto table_of = [&](const auto& table) { return device.add_table(std::as_bytes(std::span(&table, 1))); };
      gpu::ProgramSpec spec;
      if (alone) {
        spec.nodes = {function("XOR", table_of(key), {gpu::kExit}, {})};
      } else {
        spec.nodes = {function("CheckCRC32", table_of(*tables), {1}, {gpu::kExit + 1, gpu::kExit + 1}),
                      function("XOR", table_of(key), {2}, {}),
                      function("SetCRC32", table_of(*tables), {gpu::kExit}, {})};
        spec.counts = device.add_state(spec.nodes.size() * sizeof(gpu::NodeCounts));
        spec.wide_results = true;
      }
      spec.writes_packets = true;
      if (gather) spec.copies = kWholePackets;
      return spec;
    };
    auto setup = std::make_unique<Setup>(make_spec, kLength, 2);
    for (int i = 0; i < kPackets; ++i) {
      const uint32_t sum = crc32::crc(setup->packets->frame(i), kLength - 4, crc32::Variant::ieee);
      std::memcpy(setup->packets->frame(i) + kLength - 4, &sum, sizeof sum);
    }
    return setup;
  };
  const auto rate = [](Setup& setup) { return throughput(setup, is_exit_0) * 8e-3 * kLength; };
  // One after the other: where a kernel is resident, CUDA makes no room for the next one's packets.
  const auto measured = [&](const char* name, bool gather, bool alone, double figure) {
    const auto setup = make(gather, alone);
    return of(name, "Gb/s", figure, [&] { return rate(*setup); });
  };
  std::vector<Result> results;
  results.push_back(measured("gpu-three-alone", true, true, 275));
  results.back().note = "XOR alone over 1460 bytes, gathered";
  const double alone = results.back().value;
  results.push_back(measured("gpu-three-gather", true, false, alone * 0.85));
  results.back().note = "CheckCRC32, XOR, SetCRC32, gathered; beside 0.85 of XOR alone";
  results.push_back(measured("gpu-three-direct", false, false, alone * 0.85));
  results.back().note = "the same, each function reading the packets in host memory";
  results.back().target = 0;
  return results;
}

// SetCRC32 behind packets of a fixed length, in place: every byte is read over PCIe, four are written.
std::vector<Result> crc() {
  std::vector<Result> results;
  crc32::choose_instructions();
  const auto tables = std::make_unique<crc32::Tables>(crc32::make_tables(crc32::Variant::ieee, false));
  for (uint32_t length : {64u, 256u, 1024u, 1500u}) {
    const auto make_spec = [&](gpu::Device& device) {
      gpu::ProgramSpec spec;
      spec.nodes = {
          function("SetCRC32", device.add_table(std::as_bytes(std::span(tables.get(), 1))), {gpu::kExit}, {})};
      spec.writes_packets = spec.wide_results = true;
      return spec;
    };
    Setup setup(make_spec, length, 2);
    results.push_back(
        of(format("gpu-crc-%u", length), "GB/s", 45, [&] { return throughput(setup, is_exit_0) * 1e-3 * length; }));
    if (length < 1024) results.back().target = 0;
    Packets& packets = *setup.packets;
    for (int i = 0; i < kPackets; ++i) {
      uint32_t stored;
      std::memcpy(&stored, packets.frame(i) + length, sizeof stored);
      if (packets.times[static_cast<size_t>(i / kSlotPackets)] > 0 &&
          stored != crc32::crc(packets.frame(i), length, crc32::Variant::ieee))
        throw Error(format("the CRC of packet %d is wrong", i));
    }
  }
  return results;
}

std::vector<Result> round_trip() {
  constexpr int kTrips = 20000;
  std::vector<Result> results;
  pin_to_core(1);
  for (const bool in_place : {false, true}) {
    Lookup lookup(in_place);
    Setup setup([&](gpu::Device& device) { return lookup.spec(device); }, 64, 1);
    if (!in_place) put_addresses(*setup.packets);
    gpu::SlotRing& ring = setup.rings[0];
    std::vector<double> us;
    const auto trips = [&](double share) {
      us.clear();
      for (int trip = 0; trip < kTrips; ++trip) {
        const double start = seconds_now();
        const int first = trip % (kPackets / kSlotPackets) * kSlotPackets;
        ring.submit(ring.free_slot(), &setup.packets->place[static_cast<size_t>(first)], kSlotPackets);
        while (!ring.oldest_done()) {
        }
        us.push_back((seconds_now() - start) * 1e6);
        if (ring.outcome(ring.oldest(), 0).exit != lookup.expected(first)) throw Error("the GPU gave a wrong result");
        ring.release_oldest();
      }
      return percentile(us, share);
    };
    const char* suffix = in_place ? "-in-place" : "";
    results.push_back(absolute(format("gpu-rtt%s-p50", suffix), "us", 4.5, true, 5, [&] { return trips(0.5); }));
    results.push_back(absolute(format("gpu-rtt%s-p99", suffix), "us", 7.0, true, 5, [&] { return trips(0.99); }));
    for (size_t i = results.size() - 2; i < results.size(); ++i)
      results[i].note = in_place ? "32 packets, address read in the packet" : "32 packets, address in the slot";
  }
  return results;
}

const Register gpu_lookup("gpu-lookup", true, lookup), gpu_mirror("gpu-mirror", true, mirror),
    gpu_xor("gpu-xor", true, xor_bytes_bench), gpu_gather("gpu-gather", true, gathered_xor),
    gpu_three("gpu-three", true, three_functions), gpu_crc("gpu-crc", true, crc), gpu_rtt("gpu-rtt", true, round_trip);

}  // namespace
}  // namespace heddle::bench
