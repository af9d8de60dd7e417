// Chains on a virtual wire, with every packet accounted for. Rates are low and queues long, so that nothing is lost
// even when other programs have the cores.

#include "measure/campaign/router.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "core/error.h"
#include "measure/campaign/campaign.h"
#include "measure/campaign/measures.h"

namespace heddle::bench {
namespace {

Chain chain_of(const std::string& text) {
  Chain chain;
  chain.text = text, chain.file = "test.click", chain.pin = false;
  return chain;
}

// drain_s: packets that come so late are lost. The router's thread must have had its turn by then; a run whose packets
// have all come does not wait for it.
bench::Setup easy_setup() {
  bench::Setup setup;
  setup.descriptors = 1 << 15, setup.flows = 50;
  setup.warmup_s = 0.05, setup.trial_s = 0.2, setup.rest_s = 0, setup.drain_s = 3;
  return setup;
}

const TrialWatch kGoOn = [](const TrialProgress&) { return true; };
constexpr Trial kEasy{20000, 0.2, true};

Outcome run(const std::string& text, const Trial& trial = kEasy, const bench::Setup& setup = easy_setup()) {
  return start_router(chain_of(text), setup, nullptr, kGoOn)->run(trial);
}

TEST(WiredRouterTest, WhatIsOfferedComesOut) {
  const Outcome outcome = run("FromDevice(eth0) -> Counter -> ToDevice(eth1)");
  EXPECT_GT(outcome.offered, 500u);
  EXPECT_LE(outcome.offered, 4100u);
  EXPECT_EQ(outcome.lost, 0u);
  EXPECT_EQ(outcome.reordered, 0u);
  EXPECT_EQ(outcome.duplicated, 0u);
  EXPECT_DOUBLE_EQ(outcome.forwarded_bits, static_cast<double>(outcome.forwarded) * 64 * 8);
  ASSERT_TRUE(outcome.latency);
  EXPECT_GT(outcome.latency->p50_us, 0);
  EXPECT_LE(outcome.latency->p50_us, outcome.latency->p99_us);
  EXPECT_LE(outcome.latency->p99_us, outcome.latency->max_us);
  ASSERT_TRUE(outcome.cpu_utilisation && outcome.core_share);
  EXPECT_GT(*outcome.core_share, 0);
  EXPECT_LE(*outcome.cpu_utilisation, 1);
  EXPECT_FALSE(outcome.gpu_power_w);
}

TEST(WiredRouterTest, NoStampsNoLatency) {
  EXPECT_FALSE(run("FromDevice(eth0) -> ToDevice(eth0)", {20000, 0.1, false}).latency);
}

// Packets that the chain discards by its own rules are not lost.
TEST(WiredRouterTest, RulesAreNoLosses) {
  for (const char* text : {"FromDevice(a) -> s :: RoundRobinSwitch -> ToDevice(b); s[1] -> Counter -> Discard",
                           "FromDevice(a) -> Counter -> Discard",
                           "FromDump(a) -> Strip(14) -> CheckIPHeader -> IPFilter(deny src port < 30000, allow all) "
                           "-> Unstrip(14) -> ToDump(b)"}) {
    SCOPED_TRACE(text);
    const Outcome outcome = run(text);
    EXPECT_GT(outcome.offered, 500u);
    EXPECT_EQ(outcome.lost, 0u);
    EXPECT_GT(outcome.forwarded, outcome.offered / 2);
  }
}

// With copies about, a discarded packet may be one that came out, or not: it counts as it arrives.
TEST(WiredRouterTest, MissingPacketsAreLosses) {
  const Outcome half =
      run("FromDevice(a) -> t :: Tee -> Discard; t[1] -> s :: RoundRobinSwitch -> ToDevice(b); s[1] -> Discard");
  EXPECT_NEAR(half.loss(), 0.5, 0.01);
  const Outcome whole = run("FromDevice(a) -> t :: Tee -> Discard; t[1] -> ToDevice(b)");
  EXPECT_EQ(whole.lost, 0u);
}

std::map<std::string, double> values_of(const Measurement& measurement) {
  std::map<std::string, double> values;
  for (auto& sample : measurement.samples) values[sample.name] = sample.value;
  return values;
}

bool warns(const Measurement& measurement, const std::string& of) {
  return std::any_of(measurement.warnings.begin(), measurement.warnings.end(),
                     [&](auto& warning) { return warning.find(of) != warning.npos; });
}

TEST(WiredRouterTest, ChainsThatChangeTheEndsOfPackets) {
  for (const auto& [text, bytes] :
       {std::pair{"FromDevice(a) -> SetCRC32 -> ToDevice(b)", 68}, {"FromDevice(a) -> Strip(1) -> ToDevice(b)", 63}}) {
    const Outcome outcome = run(text);
    EXPECT_GT(outcome.offered, 500u) << text;
    EXPECT_EQ(outcome.lost, 0u) << text;
    EXPECT_TRUE(outcome.latency && outcome.known()) << text;
    EXPECT_DOUBLE_EQ(outcome.forwarded_bits, static_cast<double>(outcome.forwarded) * bytes * 8) << text;
  }
}

TEST(WiredRouterTest, PacketsThatAreNotRecognisedAreNoLosses) {
  bench::Setup setup = easy_setup();
  setup.rate_pps = 20000;
  const auto router = start_router(chain_of("FromDevice(a) -> Truncate(40) -> ToDevice(b)"), setup, nullptr, kGoOn);
  for (const char* what : {kLatency, kThroughput}) {
    const Measurement measurement = measure(*router, setup, what);
    const auto values = values_of(measurement);
    EXPECT_GT(values.at("mpps"), 0) << what;
    EXPECT_GT(values.at("unrecognised"), 0) << what;
    for (const char* unknown : {"loss", "reordered", "duplicated", "latency_p50_us"})
      EXPECT_FALSE(values.contains(unknown)) << what << ": " << unknown;
    EXPECT_TRUE(warns(measurement, "not recognised")) << what;
  }
  setup.start_pps = 10000;
  EXPECT_THROW(measure(*router, setup, kZeroLoss), Error);
}

TEST(WiredRouterTest, PacketsHaveRoomForLargeFrames) {
  bench::Setup setup = easy_setup();
  setup.size = "9216", setup.descriptors = 1024;
  const Outcome outcome = run("FromDevice(a) -> SetCRC32 -> ToDevice(b)", {2000, 0.2, false}, setup);
  EXPECT_GT(outcome.offered, 50u);
  EXPECT_EQ(outcome.lost, 0u);
}

/** Always the same. */
struct Fixed : Target {
  explicit Fixed(const Outcome& outcome) : outcome(outcome) {}
  Outcome run(const Trial&) override { return outcome; }
  Outcome outcome;
};

TEST(WiredRouterTest, TrialsThatTellNothingAreWarnedOf) {
  bench::Setup setup;
  Fixed silent({.seconds = 1, .intended = 1000, .offered = 1000, .lost = 1000});
  for (const char* what : {kLatency, kThroughput})
    EXPECT_TRUE(warns(measure(silent, setup, what), "nothing came out")) << what;
  Fixed idle({.seconds = 1});
  const Measurement none = measure(idle, setup, kLatency);
  EXPECT_TRUE(warns(none, "no packet was due"));
  EXPECT_FALSE(values_of(none).contains("loss"));
  Fixed late({.seconds = 1, .intended = 4000, .offered = 2000, .forwarded = 1000, .sending_s = 2, .behind = 1});
  const auto values = values_of(measure(late, setup, kLatency));
  EXPECT_DOUBLE_EQ(values.at("intended_mpps"), 4e-3);
  EXPECT_DOUBLE_EQ(values.at("offered_mpps"), 1e-3);
}

TEST(WiredRouterTest, SeveralQueuesThreadsAndSizes) {
  bench::Setup setup = easy_setup();
  setup.cores = 2, setup.generators = 1, setup.size = "imix";
  const Outcome outcome = run("FromDevice(a) -> EtherMirror -> ToDevice(a)", kEasy, setup);
  EXPECT_EQ(outcome.lost, 0u);
  EXPECT_EQ(outcome.reordered, 0u);
  setup.cores = 1, setup.generators = 3, setup.size = "1500";  // more queues than the router has threads
  const Outcome other = run("FromDevice(a) -> EtherMirror -> ToDevice(a)", kEasy, setup);
  EXPECT_GT(other.offered, 500u);
  EXPECT_EQ(other.lost, 0u);
}

TEST(WiredRouterTest, BytesOnTheBusAreThoseOfThePacketsThatCome) {
  constexpr Trial kSlow{2000, 0.2, false};
  bench::Setup setup = easy_setup();
  EXPECT_FALSE(run("FromDevice(a) -> EtherMirror -> ToDevice(a)", kEasy, setup).bytes_to_gpu);
  setup.device = "simt", setup.launch = "sync", setup.transport = "gather";
  setup.rate_pps = kSlow.rate_pps;  // of the warm-up as well: simt would long be busy with a full wire
  // 60 bytes lie in four pieces of 16, those of EtherMirror in one or two; slots add 8 bytes and 4 or more.
  for (const auto& [isolate, to_gpu, from_gpu] :
       {std::tuple{false, 64 + 8, 64 + 4}, {true, 2 * 64 + 16 + 3 * 8, 2 * 64 + 16 + 3 * 4}}) {
    setup.isolate = isolate;
    const Outcome outcome = run("FromDevice(a) -> XOR -> EtherMirror -> XOR -> ToDevice(a)", kSlow, setup);
    EXPECT_EQ(outcome.lost, 0u);
    EXPECT_GE(outcome.bytes_to_gpu.value_or(0), to_gpu);
    EXPECT_GE(outcome.bytes_from_gpu.value_or(0), from_gpu);
  }
}

TEST(WiredRouterTest, AChainThatMakesItsOwnPackets) {
  bench::Setup setup = easy_setup();
  const Outcome outcome =
      run("InfiniteSource(LENGTH 60, BURST 32) -> c :: Counter -> ToDevice(eth0)", {0, 0.1, false}, setup);
  EXPECT_GT(outcome.forwarded, 1000u);
  ASSERT_TRUE(outcome.cycles_per_packet);
  EXPECT_GT(*outcome.cycles_per_packet, 0);
  EXPECT_EQ(outcome.offered, 0u);
  EXPECT_NEAR(outcome.forwarded_bits, static_cast<double>(outcome.forwarded) * 64 * 8, outcome.forwarded_bits / 10);
  EXPECT_THROW(run("InfiniteSource(LIMIT 100) -> Discard"), Error);  // it would be over before it is measured
}

TEST(WiredRouterTest, TrialsCanBeInterrupted) {
  for (const char* text : {"FromDevice(a) -> ToDevice(b)", "InfiniteSource -> Discard"}) {
    bool go_on = true;
    const auto router =
        start_router(chain_of(text), easy_setup(), nullptr, [&](const TrialProgress&) { return go_on; });
    go_on = false;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(router->run({1000, 600, false}), Interrupted);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(300));  // half of the trial
  }
}

TEST(WiredRouterTest, Repetitions) {
  bench::Setup setup = easy_setup();
  setup.rate_pps = 10000;
  const auto router = start_router(chain_of("FromDevice(a) -> ToDevice(b)"), setup, nullptr, kGoOn);
  const auto value = [](const Measurement& all, const std::string& name) {
    for (auto& sample : all.samples)
      if (sample.name == name) return sample.value;
    return -1.0;
  };
  const Measurement latency = measure(*router, setup, kLatency);
  EXPECT_EQ(value(latency, "loss"), 0);
  EXPECT_GT(value(latency, "latency_p99_us"), 0);
  EXPECT_EQ(value(latency, "gpu_power_w"), -1);  // absent
  const Measurement throughput = measure(*router, setup, kThroughput);
  EXPECT_GT(value(throughput, "mpps"), 0);
  EXPECT_EQ(value(throughput, "latency_p99_us"), -1);
  setup.start_pps = 4000, setup.loss = 0.5, setup.resolution = 0.5, setup.trial_s = 0.05;
  EXPECT_GT(value(measure(*router, setup, kZeroLoss), "mpps"), 0);
  EXPECT_THROW(measure(*router, setup, "colour"), Error);
}

TEST(WiredRouterTest, ASearchTellsOfPacketsThatStay) {
  bench::Setup setup = easy_setup();
  setup.start_pps = 4000, setup.resolution = 0.5, setup.trial_s = 0.05;
  const auto search = [&](const std::string& timer, double drain_s) {
    setup.drain_s = drain_s;
    const auto router =
        start_router(chain_of("FromDevice(a) -> MinBatch(1000" + timer + ") -> ToDevice(b)"), setup, nullptr, kGoOn);
    return measure(*router, setup, kZeroLoss);
  };
  const Measurement without = search("", 0.2);  // no trial's packets come out, however long it waits
  EXPECT_EQ(values_of(without).at("mpps"), 0);
  EXPECT_TRUE(warns(without, "packets stayed in the chain until more would come"));
  EXPECT_FALSE(warns(search(", 1ms", 3), "stayed in the chain"));
}

TEST(WiredRouterTest, MistakesAreFoundBeforeAnythingStarts) {
  bench::Setup setup;
  const auto error = [&](const std::string& text) -> std::string {
    try {
      check_chain(chain_of(text), setup);
      return "no error";
    } catch (const Error& mistake) {
      return mistake.what();
    }
  };
  EXPECT_EQ(error("FromDevice(eth0) -> Counter -> ToDevice(eth1)"), "no error");
  EXPECT_NE(error("FromDevice(eth0, COLOUR red) -> Cuonter -> Discard").find("Cuonter"), std::string::npos);
  EXPECT_NE(error("FromDevice(eth0, COLOUR red) -> Discard").find("COLOUR"),
            std::string::npos);  // although it is replaced
  EXPECT_NE(error("FromDump(x) -> DirectIPLookup(0/0 0) -> Discard").find("1 mistake in the chain"), std::string::npos);
  EXPECT_NE(error("FromDevice(eth0) -> Strip($N) -> Discard").find("$N"), std::string::npos);
  setup.variables["N"] = "14";
  EXPECT_EQ(error("FromDevice(eth0) -> Strip($N) -> Discard"), "no error");
}

}  // namespace
}  // namespace heddle::bench
