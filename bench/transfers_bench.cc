// What Gaviss (TPDS 2022) measures of transfers between the host and a GPU by copy engines: those of functions that
// transfer packets for themselves (section 2.2, figure 2; 5.4, figure 10), and those of packets without the dropped
// ones (5.6, figure 13).

#include <algorithm>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "bench/experiments/transfers.h"
#include "bench/probe.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

using gpu::Transfers;
using Values = std::vector<Probe::Value>;

Transfers& transfers(const std::string& device) {
  static std::unique_ptr<Transfers> open;
  static std::string name;
  if (!open || name != device) open = gpu::open_transfers(device), name = device;
  return *open;
}

/** Which of `packets` are dropped: a part `dropped` of them, evenly spread, at random places, or all beside each
 *  other. */
std::vector<bool> dropped_ones(const std::string& spread, int packets, int dropped) {
  std::vector<bool> drops(static_cast<size_t>(packets));
  for (int i = 0; i < dropped; ++i) drops[static_cast<size_t>(spread == "uniform" ? i * packets / dropped : i)] = true;
  if (spread == "random") std::shuffle(drops.begin(), drops.end(), std::mt19937(1));
  return drops;
}

/** Packets that lie beside each other and are kept are one part. */
std::vector<Transfers::Part> kept_parts(const std::vector<bool>& drops, uint32_t size) {
  std::vector<Transfers::Part> parts;
  for (uint32_t i = 0; i < drops.size(); ++i) {
    if (drops[i]) continue;
    if (!parts.empty() && parts.back().at + parts.back().bytes == i * size)
      parts.back().bytes += size;
    else
      parts.push_back({i * size, size});
  }
  return parts;
}

/** Packets come back from the GPU, all of them or without the dropped ones. */
Values drops(Probe::Parameters& parameters) {
  const std::string device = parameters.text("device", "gpu"),
                    way = parameters.text("way", "all", {"all", "copies", "batch", "kernel"}),
                    spread = parameters.text("spread", "uniform", {"uniform", "random", "clustered"});
  const int packets = parameters.number("packets", 200, 1, 4096), size = parameters.number("size", 1024, 64, 1024),
            percent = parameters.number("dropped", 0, 0, 99), ms = parameters.number("ms", 200, 1, 60'000);
  if (size % 16 != 0) throw Error(format("size: %d is no multiple of 16", size));
  Transfers& gpu = transfers(device);
  auto parts = kept_parts(dropped_ones(spread, packets, packets * percent / 100), static_cast<uint32_t>(size));
  double kept = 0;
  for (const auto& part : parts) kept += part.bytes;
  if (way == "all") parts = {{0, static_cast<uint32_t>(packets * size)}};
  const auto how = way == "kernel"  ? Transfers::Back::kernel
                   : way == "batch" ? Transfers::Back::batch
                                    : Transfers::Back::copies;
  gpu.load();
  gpu.copy_back_s(how, parts);  // the first time takes longer
  std::vector<double> seconds;
  for (double sum = 0; sum < 1e-3 * ms; sum += seconds.back()) seconds.push_back(gpu.copy_back_s(how, parts));
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2));
  const double median = seconds[seconds.size() / 2];
  return {{"transfer_us", "us", 1e6 * median},
          {"kept_gbps", "Gb/s", 8e-9 * kept / median},
          {"transfers", "", static_cast<double>(parts.size())}};
}

constexpr uint32_t kPacketBytes = 1024;
/** What a function has of a packet of kPacketBytes on the GPU: what it reads of the packet and what else it gets for
 *  it, and what it gives back. */
struct PerPacket {
  char name;
  uint32_t packet, state, back;
};
constexpr PerPacket kFunctions[] = {
    {'F', 13, 0, 4},                             // the 5-tuple; the verdict
    {'N', kPacketBytes - 54, 4, 4},              // the payload of TCP over IPv4; the state of the automaton
    {'R', 4, 0, 4},                              // the destination; the next hop
    {'I', kPacketBytes, 16 + 20, kPacketBytes},  // keys of AES-128 and HMAC-SHA1
};
constexpr PerPacket kAllOnce{'*', kPacketBytes, 0, kPacketBytes};  // Gaviss' buffer manager

/** How much of the time 1, 2, ... copies were under way, of the time in which one was. */
std::vector<double> shares(const std::vector<Transfers::Copy>& copies) {
  std::vector<std::pair<double, int>> changes;
  for (const auto& copy : copies) changes.emplace_back(copy.start_us, 1), changes.emplace_back(copy.end_us, -1);
  std::ranges::sort(changes);
  std::vector<double> time(Transfers::kMaxFunctions + 1);
  double all = 0;
  size_t now = 0;
  for (size_t i = 0; i + 1 < changes.size(); ++i) {
    now += static_cast<size_t>(changes[i].second);
    if (now == 0) continue;
    const double length = changes[i + 1].first - changes[i].first;
    time.at(now) += length, all += length;
  }
  for (double& share : time) share = all == 0 ? 0 : 100 * share / all;
  return time;
}

/** Functions transfer what they read for themselves, or packets are transferred once and functions their states. */
Values conflicts(Probe::Parameters& parameters) {
  const std::string device = parameters.text("device", "gpu"),
                    chain = parameters.text("chain", "FNRI", {"R", "RI", "NRI", "FNRI"});
  const bool share = parameters.text("share", "no", {"yes", "no"}) == "yes";
  const int packets = parameters.number("packets", 1024, 1, 4096), gbps = parameters.number("gbps", 20, 1, 1000),
            rounds = parameters.number("rounds", 500, 1, 5000);
  const auto bytes_of = [&](uint32_t a_packet) { return (static_cast<uint32_t>(packets) * a_packet + 15) / 16 * 16; };
  std::vector<Transfers::Function> functions;
  int watched = 0;  // the router's copies, or those of the packets
  if (share) functions.push_back({bytes_of(kAllOnce.packet), bytes_of(kAllOnce.back)});
  for (const char name : chain) {
    const PerPacket& each = *std::ranges::find(kFunctions, name, &PerPacket::name);
    if (!share && name == 'R') watched = static_cast<int>(functions.size());
    const uint32_t in = (share ? 0 : each.packet) + each.state;
    if (in != 0) functions.push_back({bytes_of(in), share ? 0 : bytes_of(std::min(each.back, in))});
  }
  const double period_us = packets * kPacketBytes * 8e-3 / gbps;
  const auto copies = transfers(device).serve(functions, rounds, period_us);
  double sum = 0;
  for (const auto& copy : copies) sum += copy.function == watched ? copy.end_us - copy.start_us : 0;
  Values values = {{"copy_us", "us", sum / rounds}};
  const auto time = shares(copies);
  for (size_t n = 1; n < time.size(); ++n) values.push_back({format("under_way_%zu", n), "%", time[n]});
  return values;
}

const RegisterProbe gaviss_drops("gaviss-drops", drops), gaviss_conflicts("gaviss-conflicts", conflicts);

}  // namespace
}  // namespace heddle::bench
