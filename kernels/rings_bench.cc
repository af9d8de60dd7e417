// gpu-rings: memif rings that the GPU drives, with peers in this process. Peers recirculate prefilled rings: they move
// indices and touch no packet, so that the GPU's end is measured and not their cores. Before each rate every frame of a
// run is written, numbered and checked; after it every buffer is looked at, and the GPU's counters must agree with the
// peers'.
// gpu-rings-idle: what 63 idle ring pairs take from an active one: its rate, power, and how soon one that has been idle
// answers.
// gpu-rings-lookup: CheckIPHeader and DirectIPLookup with 500,000 routes, against EtherMirror alone.
// gpu-rings-split: rings that three kernels serve (GPU-Ether's receive, application and transmit), against one.
// gpu-rings-routed: one transmitting ring, by the kernel that could have several.
// gpu-rings-cpu: the process's own CPU time while one ring pair forwards, as a part of a core, without its peer's
// thread.

#include <algorithm>
#include <cstring>
#include <thread>

#include "bench/bench.h"
#include "bench/ring_functions.h"
#include "bench/ring_rig.h"
#include "bench/route_tables.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/xor/rule.h"
#include "measure/campaign/nvml.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.3;
constexpr int kTrips = 20000;
constexpr int kTeams = 64;

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

void circulate(PeerEnd& end, int n) { end.pass_on(n); }

/** Two rigs of which one runs at a time: both are there all the time, so that they alternate. */
class Turns {
 public:
  Turns(const RingRig::Options& one, const RingRig::Options& other) : rigs_{RingRig(one), RingRig(other)} {
    for (RingRig& rig : rigs_) rig.pause();
  }
  /** Runs one of them, and `work` on it. */
  template <class Work>
  double run(int which, const Work& work) {
    RingRig& rig = rigs_[which];
    rig.resume();
    const double result = work(rig);
    rig.pause();
    return result;
  }

 private:
  RingRig rigs_[2];
};

/** Microseconds until one frame is back after nothing has come for 3 ms. */
double wake_up(RingRig& rig, double share, int wakes = 300) {
  PeerEnd& end = rig.end(0);
  pin_to_core(1);
  std::vector<double> us;
  for (int i = 0; i < wakes; ++i) {
    for (const double until = seconds_now() + 3e-3; seconds_now() < until;) continue;
    while (end.room() == 0) continue;
    const double start = seconds_now();
    end.pass_on(1);
    finish(end, [&] {
      if (const int n = end.waiting(); n > 0) end.give_back(n);
    });
    us.push_back((seconds_now() - start) * 1e6);
  }
  return percentile(us, share);
}

/** Watts of the GPU while one of the rig's rings forwards. */
double watts(RingRig& rig, const Nvml& nvml) {
  GpuMeter meter(nvml);
  forward(rig, 1, 1.5, circulate);
  return meter.stop().power_w.value_or(0);
}

std::vector<Result> idle_rings() {
  constexpr int kIdle = 63, kIdleRounds = 7;
  std::vector<Result> results;
  const auto alone = options_of("EtherMirror", 1, 1024, 64, true),
             many = options_of("EtherMirror", 1 + kIdle, 1024, 64, true);
  Turns turns(alone, many);
  const auto mpps = [&](int which) {
    return turns.run(which, [](RingRig& rig) { return forward(rig, 1, kSeconds, circulate).mpps; });
  };
  results.push_back(paired(
      "gpu-rings-idle", "Mpps", 0.95, kIdleRounds, [&] { return mpps(1); }, [&] { return mpps(0); }));
  results.back().note = "1 ring beside 63 idle ones, against 1 alone";
  std::string reason;
  const auto gpus = gpu::devices(reason);
  const auto nvml = gpus.empty() ? nullptr : Nvml::open(gpus[0].pci);
  if (nvml && nvml->power_w()) {
    const auto power = [&](int which) { return turns.run(which, [&](RingRig& rig) { return watts(rig, *nvml); }); };
    Result result = paired(
        "gpu-rings-idle-power", "W", 0, 2, [&] { return power(1); }, [&] { return power(0); });
    result.note = format("63 idle rings: %+.1f W (10 allowed)", result.value - result.baseline);
    results.push_back(result);
  }
  for (const auto& [name, share] : {std::pair{"p50", 0.5}, {"p99", 0.99}})
    results.push_back(absolute(format("gpu-rings-wake-%s", name), "us", 20, true, 3, [&, share = share] {
      return turns.run(1, [&](RingRig& rig) { return wake_up(rig, share); });
    }));
  return results;
}

/** CheckIPHeader, of frames with a wrong checksum: all are dropped. */
std::unique_ptr<RingFunctions> dropping(const RingSetup& setup) {
  std::mt19937 random(1);
  std::vector<RingHeader> headers(65536);
  for (RingHeader& header : headers) header = ring_header(setup.length, random), header[10] ^= 1;
  auto rings = std::make_unique<RingFunctions>(
      setup, setup.options({check_header(RingRig::kTransmit)}, columns(Column::dst, Column::l3, Column::l4)),
      std::move(headers), false);
  rings->fill([](size_t) { return std::string(); });
  return rings;
}

/** Forwarding by DIR-24-8, or with `routes` null by EtherMirror, of frames to addresses that have routes. */
std::unique_ptr<RingFunctions> forwarding(const RingSetup& setup, const std::vector<ip_lookup::Route>* routes) {
  std::mt19937 random(1);
  std::vector<RingHeader> headers(65536);
  for (RingHeader& header : headers)
    header = routes == nullptr ? ring_header(setup.length, random) : ring_header(setup.length, *routes, random);
  RingRig::Options options = setup.options({{}}, 0);
  if (routes != nullptr) {
    ip_lookup::DirectTable table;
    table.load(*routes);
    options = setup.options(
        {check_header(1), {"DirectIPLookup", copy_of(table.bytes()), std::vector<int>(4, RingRig::kTransmit)}},
        columns(Column::dst, Column::l3, Column::l4));
  }
  auto rings = std::make_unique<RingFunctions>(setup, std::move(options), std::move(headers), false);
  rings->fill([](size_t) { return std::string(); });
  rings->check([&](const uint8_t*, uint32_t length, const RingHeader&) {
    if (length != setup.length) throw Error("a frame came back with another length");
  });
  return rings;
}

const std::vector<ip_lookup::Route>& ring_routes() {
  static const auto all = bgp_like_routes(500'000, 4, 1);
  return all;
}

std::vector<Result> lookup_rings() {
  std::vector<Result> results;
  for (const auto& [length, pairs] : {std::pair{64u, 1}, {64u, 4}, {1460u, 4}}) {
    RingSetup setup;
    setup.length = length, setup.pairs = pairs, setup.size = 2048, setup.workers = gpu::kMaxRingWorkers;
    const auto plain = forwarding(setup, nullptr), lookup = forwarding(setup, &ring_routes());
    plain->pause(), lookup->pause();
    const auto rate = [](RingFunctions& rings) {
      rings.resume();
      const double mpps = rings.forward(kSeconds).mpps;
      rings.pause();
      return mpps;
    };
    results.push_back(paired(
        format("gpu-rings-lookup-%u-%d", length, pairs), "Mpps", 0.95, 5, [&] { return rate(*lookup); },
        [&] { return rate(*plain); }));
    results.back().note = format("%d ring%s; baseline: EtherMirror", pairs, pairs == 1 ? "" : "s");
  }
  return results;
}

std::vector<Result> split_rings() {
  constexpr int kWorkers = 8, kRounds = 5;
  std::vector<Result> results;
  for (const int pairs : {1, 4, 16, 32}) {
    RingRig::Options fused = options_of("EtherMirror", pairs, 1024, 64, true);
    fused.workers = kWorkers;
    RingRig::Options split = fused;
    split.split = true;
    for (const RingRig::Options& one : {fused, split}) {
      RingRig rig(one);
      check(rig, one);
    }
    Turns turns(fused, split);
    const auto mpps = [&](int which) {
      return turns.run(which, [](RingRig& rig) { return forward(rig, kSeconds).mpps; });
    };
    results.push_back(paired(
        format("gpu-rings-split-%d", pairs), "Mpps", 0, kRounds, [&] { return mpps(1); }, [&] { return mpps(0); }));
    results.back().note =
        format("%d pair%s, %d warps a kernel; baseline: one kernel", pairs, pairs == 1 ? "" : "s", kWorkers);
  }
  return results;
}

std::vector<Result> ring_cpu() {
  RingRig rig(options_of("EtherMirror", 1, 1024, 64, true));
  Result result =
      absolute("gpu-rings-cpu", "cores", 0.01, true, 3, [&] { return std::max(1e-6, forward(rig, 1.0).cpu); });
  result.note = "of this process without the peer's thread";
  return {result};
}

std::vector<Result> routed_rings() {
  const auto routed = [](int pairs, uint32_t bytes, bool owner) {
    RingRig::Options options = options_of("EtherMirror", pairs, 2048, bytes, owner);
    options.outputs = 1;
    return options;
  };
  std::vector<Result> results;
  results.push_back(rate("gpu-rings-routed-64", routed(1, 64, true), 1, "1 ring, client"));
  results.push_back(rate("gpu-rings-routed-64-16", routed(16, 64, true), 1, "16 rings, client"));
  results.push_back(rate("gpu-rings-routed-64-server", routed(1, 64, false), 1, "1 ring, server: copied"));
  results.push_back(rate("gpu-rings-routed-1460-4", routed(4, 1460, false), 1, "4 rings, server: copied"));
  const RingRig::Options alike = options_of("EtherMirror", 1, 2048, 64, true);
  results.push_back(rate("gpu-rings-alike-64", alike, 1, "1 ring, client, rings that are alike"));
  for (auto&& list : {round_trips("gpu-rings-routed-rtt", routed(1, 64, true), 1, 5, 8),
                      round_trips("gpu-rings-alike-rtt", alike, 1, 5, 8)})
    results.insert(results.end(), list.begin(), list.end());
  for (Result& result : results) result.target = 0;
  return results;
}

std::vector<Result> rings() {
  const char* const mirror = "EtherMirror";
  std::vector<Result> results;
  results.push_back(rate("gpu-rings-64-1024", options_of(mirror, 1, 1024, 64, true), 90, "1 ring, client"));
  results.push_back(rate("gpu-rings-64-2048", options_of(mirror, 1, 2048, 64, true), 170, "1 ring, client"));
  const auto by_teams = [](RingRig::Options options) {
    options.workers = kTeams;
    return options;
  };
  for (const uint32_t size : {1024u, 2048u, 8192u}) {
    results.push_back(rate(format("gpu-rings-64-%u-teams", size), by_teams(options_of(mirror, 1, size, 64, true)), 1,
                           "1 ring, client, teams"));
  }
  results.push_back(rate("gpu-rings-64-4", options_of(mirror, 4, 2048, 64, true), 1, "4 rings of 2048, client"));
  results.push_back(rate("gpu-rings-64-16", options_of(mirror, 16, 2048, 64, true), 290, "16 rings of 2048, client"));
  results.push_back(rate("gpu-rings-64-server", options_of(mirror, 1, 1024, 64, false), 1, "1 ring, server: copied"));
  results.push_back(
      rate("gpu-rings-1460", options_of(mirror, 1, 2048, 1460, false), 190, "1 ring, server: every byte is copied"));
  results.push_back(
      rate("gpu-rings-1460-4", options_of(mirror, 4, 2048, 1460, false), 290, "4 rings, server: every byte is copied"));
  results.push_back(rate("gpu-rings-1460-teams", by_teams(options_of(mirror, 1, 2048, 1460, false)), 190,
                         "1 ring, server, teams: every byte is copied"));
  results.push_back(rate("gpu-rings-1460-4-teams", by_teams(options_of(mirror, 4, 2048, 1460, false)), 290,
                         "4 rings, server, teams: every byte is copied"));
  results.push_back(rate("gpu-rings-xor-1460-4", options_of("XOR", 4, 2048, 1460, true), 1,
                         "4 rings, client: XOR reads and writes every byte"));
  const RingRig::Options client = options_of(mirror, 1, 1024, 64, true),
                         server = options_of(mirror, 1, 1024, 64, false);
  for (auto&& list : {round_trips("gpu-rings-rtt", client, 1, 5, 8), round_trips("gpu-rings-rtt-32", client, 32, 7, 12),
                      round_trips("gpu-rings-rtt-teams", by_teams(client), 1, 5, 8),
                      round_trips("gpu-rings-rtt-server", server, 1, 6.5, 10)})
    results.insert(results.end(), list.begin(), list.end());
  return results;
}

const Register gpu_rings("gpu-rings", true, rings), gpu_rings_idle("gpu-rings-idle", true, idle_rings),
    gpu_rings_lookup("gpu-rings-lookup", true, lookup_rings), gpu_rings_split("gpu-rings-split", true, split_rings),
    gpu_rings_routed("gpu-rings-routed", true, routed_rings), gpu_rings_cpu("gpu-rings-cpu", true, ring_cpu);
const RegisterProbe ring_lookup("ring-forwarding", [](Probe::Parameters& parameters) {
  const RingSetup setup = RingSetup::of(parameters);
  const std::string function = parameters.text("function", "lookup", {"lookup", "mirror", "drop"});
  if (function == "drop") {
    if (setup.pairs > 1) throw Error("function=drop: of one ring pair");
    const Received result = dropping(setup)->receive(kSeconds);
    return std::vector<Probe::Value>{{"mpps", "Mpps", result.mpps},
                                     {"frames", "packets", static_cast<double>(result.frames)}};
  }
  const bool plain = function == "mirror";
  const auto rings = forwarding(setup, plain ? nullptr : &ring_routes());
  rings->pause(), rings->resume();
  const Forwarded result = rings->forward(kSeconds);
  rings->pause();
  return values_of(result, setup.length);
});
/** One ring that forwards, `idle` that do not, and how soon the first answers. */
const RegisterProbe ring_idle("ring-idle", [](Probe::Parameters& parameters) {
  RingRig::Options options =
      options_of("EtherMirror", 1 + parameters.number("idle", 63, 0, 63),
                 static_cast<uint32_t>(parameters.number("descriptors", 1024, 32, 16384)), 64, true);
  options.device = parameters.text("device", "gpu", {"gpu", "simt"});
  const int wakes = parameters.number("wakes", 300, 1, 100000);
  RingRig rig(options);
  const Forwarded one = forward(rig, 1, kSeconds, circulate);
  return std::vector<Probe::Value>{
      {"mpps", "Mpps", one.mpps}, {"cpu", "cores", one.cpu}, {"wake_us", "us", wake_up(rig, 0.5, wakes)}};
});

}  // namespace
}  // namespace heddle::bench
