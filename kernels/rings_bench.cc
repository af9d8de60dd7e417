// gpu-rings: memif rings that the GPU drives, with peers in this process. Peers recirculate prefilled rings: they move
// indices and touch no packet, so that the GPU's end is measured and not their cores. Before each rate every frame of a run is
// written, numbered and checked; after it every buffer is looked at, and the GPU's counters must agree with the peers'.

#include <algorithm>
#include <cstring>
#include <thread>

#include "bench/bench.h"
#include "bench/ring_peers.h"
#include "bench/ring_rig.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/xor/rule.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.3;
constexpr int kTrips = 20000;

uint64_t word(uint64_t number, uint32_t at) {
  return (number + 1) * 0x9e3779b97f4a7c15ull + at * 0x0123456789abcdefull;
}

void fill(uint8_t* frame, uint64_t number, uint32_t length) {
  for (uint32_t at = 0; at < length; at += 8) {
    const uint64_t value = word(number, at);
    std::memcpy(frame + at, &value, std::min(8u, length - at));
  }
}

/** What the function must have made of a frame. */
void change(const RingRig::Options& options, uint8_t* frame, uint32_t length) {
  if (options.functions[0].name == "EtherMirror")
    std::swap_ranges(frame, frame + 6, frame + 6);
  else
    for (uint32_t i = 0; i < length; ++i) frame[i] ^= 0x5a;
}

/** Sends up to `n` frames and takes what is there, checked. */
void visit(PeerEnd& end, const RingRig::Options& options, int n) {
  const uint32_t length = options.capacity;
  if (const int room = std::min(end.room(), n); room > 0)
    end.send(room, [&](uint8_t* frame, uint64_t number) { return fill(frame, number, length), length; });
  if (const int waiting = std::min(end.waiting(), 64); waiting > 0)
    end.take(waiting, [&](const uint8_t* frame, uint32_t got, uint64_t number) {
      uint8_t wanted[2048];
      fill(wanted, number, length), change(options, wanted, length);
      if (got != length || std::memcmp(frame, wanted, length) != 0)
        throw Error(format("frame %llu came back wrong", static_cast<unsigned long long>(number)));
    });
}

void check(RingRig& rig, const RingRig::Options& options) {
  for (int i = 0; i < rig.pairs(); ++i) {
    PeerEnd& end = rig.end(i);
    while (end.sent() < 4 * uint64_t{options.size}) visit(end, options, 64);
    finish(end, [&] { visit(end, options, 0); });
  }
}

/** Every buffer holds its mark, changed an even or an odd number of times; nothing was dropped or counted wrongly. */
void check_buffers(RingRig& rig, const RingRig::Options& options) {
  uint64_t number = 0, got = 0;
  rig.each_buffer([&](uint8_t* frame) {
    std::vector<uint8_t> wanted(options.capacity);
    fill(wanted.data(), number++, options.capacity);
    const bool as_it_was = std::memcmp(frame, wanted.data(), wanted.size()) == 0;
    change(options, wanted.data(), options.capacity);
    if (options.owner && !as_it_was && std::memcmp(frame, wanted.data(), wanted.size()) != 0)
      throw Error("a buffer holds what nobody has put there");
  });
  for (int i = 0; i < rig.pairs(); ++i) got += rig.end(i).got();
  const RingRig::Counts counts = rig.counts();
  if (counts.sent != got || counts.received != got || counts.dropped != 0)
    throw Error("the GPU has counted other packets than its peers");
}

RingRig::Options options_of(const char* function, int pairs, uint32_t size, uint32_t bytes, bool owner) {
  RingRig::Options options;
  options.device = "gpu";
  options.pairs = pairs, options.size = size, options.capacity = bytes, options.owner = owner;
  options.functions[0].name = function;
  if (options.functions[0].name == "XOR") {
    const xor_bytes::Key key{0x5a5a5a5a};
    const auto bytes_of = std::as_bytes(std::span(&key, 1));
    options.functions[0].table.assign(bytes_of.begin(), bytes_of.end());
  }
  return options;
}

Result rate(const std::string& name, const RingRig::Options& options, double figure, const char* note) {
  const bool long_frames = options.capacity > 64;
  RingRig rig(options);
  check(rig, options);
  uint64_t number = 0;
  rig.each_buffer([&](uint8_t* frame) { fill(frame, number++, options.capacity); });
  Result result = absolute(name, long_frames ? "Gb/s" : "Mpps", figure, false, 5,
                           [&] { return forward(rig, kSeconds).mpps * (long_frames ? 8e-3 * options.capacity : 1); });
  check_buffers(rig, options);
  result.note = note;
  if (figure == 1) result.target = 0;
  return result;
}

/** Round trips of `burst` frames that the peer sees, with a pause of 1.5 to 4.5 us between two. */
std::vector<Result> round_trips(const std::string& name, const RingRig::Options& options, int burst, double p50,
                                double p99) {
  RingRig rig(options);
  check(rig, options);
  PeerEnd& end = rig.end(0);
  pin_to_core(1);
  std::vector<double> us;
  uint32_t random = 1;
  const auto trips = [&](double share) {
    us.clear();
    for (int i = 0; i < kTrips; ++i) {
      random = random * 1664525 + 1013904223;
      for (const double until = seconds_now() + 1.5e-6 + (random >> 8) * 3e-6 / (1 << 24); seconds_now() < until;)
        continue;
      const double start = seconds_now();
      visit(end, options, burst);
      finish(end, [&] { visit(end, options, 0); });
      us.push_back((seconds_now() - start) * 1e6);
    }
    return percentile(us, share);
  };
  std::vector<Result> results;
  results.push_back(absolute(name + "-p50", "us", p50, true, 3, [&] { return trips(0.5); }));
  results.push_back(absolute(name + "-p99", "us", p99, true, 3, [&] { return trips(0.99); }));
  for (Result& result : results) result.note = format("%d frame%s of 64 B", burst, burst == 1 ? "" : "s");
  return results;
}

std::vector<Result> rings() {
  const char* const mirror = "EtherMirror";
  std::vector<Result> results;
  results.push_back(rate("gpu-rings-64-1024", options_of(mirror, 1, 1024, 64, true), 90, "1 ring, client"));
  results.push_back(rate("gpu-rings-64-2048", options_of(mirror, 1, 2048, 64, true), 170, "1 ring, client"));
  results.push_back(rate("gpu-rings-64-4", options_of(mirror, 4, 2048, 64, true), 1, "4 rings of 2048, client"));
  results.push_back(rate("gpu-rings-64-16", options_of(mirror, 16, 2048, 64, true), 290, "16 rings of 2048, client"));
  results.push_back(rate("gpu-rings-64-server", options_of(mirror, 1, 1024, 64, false), 1, "1 ring, server: copied"));
  results.push_back(
      rate("gpu-rings-1460", options_of(mirror, 1, 2048, 1460, false), 190, "1 ring, server: every byte is copied"));
  results.push_back(
      rate("gpu-rings-1460-4", options_of(mirror, 4, 2048, 1460, false), 290, "4 rings, server: every byte is copied"));
  results.push_back(rate("gpu-rings-xor-1460-4", options_of("XOR", 4, 2048, 1460, true), 1,
                         "4 rings, client: XOR reads and writes every byte"));
  const RingRig::Options client = options_of(mirror, 1, 1024, 64, true),
                         server = options_of(mirror, 1, 1024, 64, false);
  for (auto&& list : {round_trips("gpu-rings-rtt", client, 1, 5, 8), round_trips("gpu-rings-rtt-32", client, 32, 7, 12),
                      round_trips("gpu-rings-rtt-server", server, 1, 6.5, 10)})
    results.insert(results.end(), list.begin(), list.end());
  return results;
}

const Register gpu_rings("gpu-rings", true, rings);

}  // namespace
}  // namespace heddle::bench
