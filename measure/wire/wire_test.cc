#include "measure/wire/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <rte_ethdev.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <filesystem>

#include "core/error.h"
#include "measure/wire/faults.h"
#include "measure/wire/generator.h"
#include "measure/wire/test_support.h"
#include "tests/support/harness.h"

extern char** environ;

namespace heddle::bench {
namespace {

// What is asserted here are counts, never times: the machine may be busy with other things. With a rate, the number of
// packets is known.
const Load kShort{.warmup_s = 0.01, .seconds = 0.05, .quiet_s = 3};

Load with_rate(double rate_pps, bool stamps = false) {
  Load load = kShort;
  load.rate_pps = rate_pps, load.stamps = stamps;
  return load;
}

void expect_clean(const Counts& counts) {
  EXPECT_EQ(counts.received, counts.offered);
  EXPECT_EQ(counts.sent, counts.offered);
  EXPECT_EQ(counts.lost, 0u);
  EXPECT_EQ(counts.reordered, 0u);
  EXPECT_EQ(counts.duplicated, 0u);
  EXPECT_EQ(counts.foreign, 0u);
}

TEST(Wire, BareWireLosesNothing) {
  for (const auto& [threads, receivers] : {std::pair{1, 0}, {2, 0}, {2, 1}, {3, 1}, {3, 2}}) {
    const Wire wire({.ports = 2, .queues = 2, .slots = 4096, .looped = true});
    Standalone ports(2);
    const Traffic traffic({.sizes = "imix"}, 2, 2);
    Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool(), {threads, receivers});
    for (const double rate : {0.0, 100000.0, 25e6})  // the last is the stated ceiling
      for (const bool stamps : {false, true}) {
        if (rate > 1e6 && receivers > 0) continue;  // a receiver that gets no time for a while would lose packets
        SCOPED_TRACE(format("%d threads, %d receivers, %.0f pps, stamps %d", threads, receivers, rate, stamps));
        Counts counts = generator.run(with_rate(rate, stamps));
        while (rate == 0 && counts.received == 0) counts = generator.run(with_rate(rate, stamps));  // it got no time
        expect_clean(counts);
        EXPECT_EQ(counts.latency_ns.count(), stamps ? counts.received : 0);
      }
    EXPECT_EQ(ports.pool().available(), ports.pool().capacity());
  }
}

TEST(Wire, OffersWhatTheRateSays) {
  const Wire wire({.looped = true});
  Standalone ports(1);
  const Traffic traffic({}, 1, 1);
  Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool());
  EXPECT_NEAR(static_cast<double>(generator.run(with_rate(100000)).offered), 5000, 1);
  EXPECT_NEAR(static_cast<double>(generator.run(with_rate(1000)).offered), 50, 1);
}

TEST(Wire, AFullRingLosesWhatIsOffered) {
  const Wire wire({.slots = 256});  // nobody receives at the other end
  wire.request_router_port(0);
  Standalone ports(1);
  const Traffic traffic({}, 1, 1);
  Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool());
  Load load = with_rate(1e5);
  load.warmup_s = 0, load.quiet_s = 0.01;
  const Counts counts = generator.run(load);
  EXPECT_EQ(counts.sent, 255u);  // a ring of 256 slots
  EXPECT_GT(counts.offered, 255u);
  EXPECT_EQ(counts.lost, counts.offered);
  EXPECT_EQ(counts.received, 0u);
}

TEST(Wire, StopEndsARun) {
  const Wire wire({.looped = true});
  Standalone ports(1);
  const Traffic traffic({}, 1, 1);
  Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool());
  Load load = kShort;
  load.seconds = 3600;
  load.on_begin = [&] { generator.stop(); };
  EXPECT_LT(generator.run(load).seconds, 3600);
  expect_clean(generator.run(kShort));
}

// What is due but cannot be sent is intended, not offered.
TEST(Wire, ARateThatIsTooMuch) {
  const Wire wire({.looped = true});
  Standalone ports(1);
  const Traffic traffic({}, 1, 1);
  Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool());
  Load load = with_rate(kMaxRate_pps);
  load.warmup_s = 0.2, load.seconds = 0.2;
  const Counts counts = generator.run(load);
  EXPECT_NEAR(static_cast<double>(counts.intended), kMaxRate_pps * load.seconds, 1e5);
  EXPECT_GT(counts.offered, 0u);  // although there was more warm-up than could be sent
  EXPECT_LT(counts.offered, counts.intended);
  EXPECT_GT(counts.behind, 0);
  EXPECT_LE(counts.behind, 1);
  EXPECT_GT(counts.sending_s, counts.seconds);
  for (const double rate : {kMaxRate_pps * 2, 9e14, 1e300, -1.0, std::nan("")})
    EXPECT_THROW(generator.run(with_rate(rate)), Error) << rate;
  for (const double rate : {1e-3, 1e-7, 1e-300}) EXPECT_LE(generator.run(with_rate(rate)).sent, 1u) << rate;
}

TEST(Wire, MistakesAreNamed) {
  EXPECT_THROW(Wire({.slots = 1000}), Error);
  try {
    Standalone few(1, 100);
    FAIL() << "a pool of 100 packets";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("at least 384 packets"), std::string::npos) << error.what();
  }
  const Wire wire({.looped = true});
  Standalone ports(1);
  const Traffic traffic({}, 1, 1), large({.sizes = "9000"}, 1, 1);
  for (const GeneratorOptions options : {GeneratorOptions{.threads = 2},
                                         {.threads = 3, .receivers = 1},
                                         {.threads = 3, .receivers = 2},
                                         {.threads = 1, .receivers = 1}})
    EXPECT_THROW(Generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool(), options), Error);
  EXPECT_THROW(Generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool(), {.first_core = 4096}), Error);
  EXPECT_THROW(Generator(traffic, wire.port_ids(), {}, ports.pool()), Error);
  EXPECT_THROW(Generator(Traffic({}, 1, 2), wire.port_ids(), wire.sending_ids(), ports.pool()), Error);
  EXPECT_THROW(Generator(large, wire.port_ids(), wire.sending_ids(), ports.pool()), Error);
}

/** What a generator counts of a wire on which `fault` is planted, and what was really done. */
struct Planted {
  Counts counts;
  Faults::Tally tally;
};
Planted plant(const Fault& fault, uint32_t flows, int queues = 1) {
  const Wire wire({.ports = 2, .queues = queues, .slots = 16384});  // room for all
  const dpdk::Port* in = wire.request_router_port(0);
  const dpdk::Port* out = wire.request_router_port(1);
  Standalone ports(queues);
  const Traffic traffic({.flows = flows}, 1, queues);
  Generator generator(traffic, wire.port_ids(), {wire.port_ids()[0]}, ports.pool());
  Planted result;
  {
    Faults faults(in->id, out->id, queues, traffic.flows(), fault);
    Load load = with_rate(200000, true);
    load.warmup_s = 0;
    load.quiet_s = fault.kind == Fault::kDrop ? 0.5 : 3;
    result.counts = generator.run(load);
    result.tally = faults.tally();
  }
  EXPECT_EQ(result.tally.taken, result.counts.sent);
  EXPECT_NEAR(static_cast<double>(result.counts.sent), 10000, queues);
  EXPECT_EQ(result.counts.offered, result.counts.sent);
  EXPECT_EQ(result.counts.foreign, 0u);
  return result;
}

TEST(Faults, NoneIsNone) { expect_clean(plant({}, 100, 2).counts); }

TEST(Faults, DropsAreLosses) {
  for (const Fault& fault : {Fault{.kind = Fault::kDrop, .every = 10}, Fault{.kind = Fault::kDrop, .share = 0.03}}) {
    const auto [counts, tally] = plant(fault, 50, 2);
    EXPECT_GT(tally.dropped, 0u);
    EXPECT_EQ(counts.lost, tally.dropped);
    EXPECT_EQ(counts.reordered, 0u);
    EXPECT_EQ(counts.duplicated, 0u);
  }
}

TEST(Faults, DuplicatesAreDuplicates) {
  const auto [counts, tally] = plant({.kind = Fault::kDuplicate, .share = 0.1}, 50, 2);
  EXPECT_GT(tally.duplicated, 0u);
  EXPECT_EQ(counts.duplicated, tally.duplicated);
  EXPECT_EQ(counts.received, counts.sent);
  EXPECT_EQ(counts.reordered, 0u);
}

TEST(Faults, SwapsAreReordering) {
  for (const uint32_t flows : {1u, 50u}) {
    const auto [counts, tally] = plant({.kind = Fault::kSwap, .every = 7}, flows);
    EXPECT_GT(tally.overtaken, 0u);
    EXPECT_EQ(counts.reordered, tally.overtaken);
    EXPECT_EQ(counts.received, counts.sent);
    EXPECT_EQ(counts.duplicated, 0u);
  }
}

TEST(Faults, DelaysAreLatencyAndReordering) {
  for (const uint32_t flows : {1u, 50u}) {
    constexpr uint64_t kDelay_ns = 1'000'000'000;  // longer than a busy machine delays packets by itself
    const auto [counts, tally] = plant({.kind = Fault::kDelay, .every = 100, .delay_us = kDelay_ns / 1000}, flows);
    EXPECT_GT(tally.delayed, 0u);
    EXPECT_EQ(counts.received, counts.sent);
    EXPECT_EQ(counts.reordered, tally.overtaken);
    EXPECT_EQ(counts.latency_ns.count(), counts.received);
    EXPECT_EQ(counts.latency_ns.count_from(kDelay_ns), tally.delayed);
  }
}

std::unique_ptr<Engine> engine_for(const std::string& chain, int threads, const std::string& device = "cpu") {
  click::Diagnostics diagnostics;
  PlanOptions plan_options;
  plan_options.device = device;
  auto [router, plan] = test::read(chain, plan_options, diagnostics);
  if (!diagnostics.ok()) throw Error(diagnostics.text());
  RunOptions options;
  options.threads = threads;
  return std::make_unique<Engine>(std::move(router), std::move(plan), options);
}

TEST(Wire, AChainIsMeasured) {
  for (const auto& [device, threads] : {std::pair{"cpu", 1}, std::pair{"cpu", 2}, std::pair{"simt", 1}}) {
    SCOPED_TRACE(format("%s, %d threads", device, threads));
    const Wire wire({.ports = 2, .queues = threads});
    const auto engine =
        engine_for("FromDPDKDevice(net_ring_wire0) -> EtherMirror -> c :: Counter -> ToDPDKDevice(net_ring_wire1)",
                   threads, device);
    engine->start();
    const Traffic traffic({.flows = 200}, 1, threads);
    ASSERT_EQ(wire.sending_ids().size(), 1u);
    uint64_t sent = 0, received = 0;
    {
      Generator generator(traffic, wire.port_ids(), wire.sending_ids(), *dpdk::packet_pool(), {.threads = threads});
      for (const double rate : {50000.0, 0.0}) {
        Load load = with_rate(rate, true);
        load.warmup_s = 0;
        const Counts counts = generator.run(load);
        EXPECT_EQ(counts.lost, counts.offered - counts.received);
        EXPECT_EQ(counts.reordered + counts.duplicated + counts.foreign, 0u);
        EXPECT_EQ(counts.latency_ns.count(), counts.received);
        sent += counts.sent, received += counts.received;
      }
    }
    engine->stop();
    engine->wait();
    const Report report = engine->report();
    EXPECT_TRUE(report.problems.empty());
    EXPECT_EQ(report.received, sent);
    // Nothing, unless the machine was so busy that the chain could not get rid of its packets for 100 ms.
    EXPECT_EQ(report.dropped, sent - received);
    EXPECT_GT(received, 0u);
  }
}

// Nobody takes what the chain sends.
TEST(Wire, PacketsThatFindNoRoomAreCounted) {
  const Wire wire({.slots = 64});
  const auto engine =
      engine_for("InfiniteSource(LENGTH 60, LIMIT 1000) -> to :: ToDPDKDevice(net_ring_wire0, BLOCKING false)", 1);
  engine->start();
  engine->wait();
  const Report::Element to = engine->element_report(engine->router().find("to"));
  const uint64_t kept = 63;  // by a ring of 64 slots
  EXPECT_EQ(to.packets, 1000u);
  EXPECT_EQ(to.drops, (decltype(to.drops){{"tx_full", 1000 - kept}}));
  EXPECT_EQ(to.statistics, (decltype(to.statistics){{"tx_waited", 1000 - kept}}));
}

/** What a generator counts of a chain between two ports. */
Counts through(const std::string& elements, const TrafficOptions& traffic_options, bool stamps) {
  const Wire wire({.ports = 2, .slots = 16384});
  const auto engine =
      engine_for("FromDPDKDevice(net_ring_wire0) -> " + elements + " -> ToDPDKDevice(net_ring_wire1)", 1);
  engine->start();
  const Traffic traffic(traffic_options, 1, 1);
  Counts counts;
  {
    Generator generator(traffic, wire.port_ids(), wire.sending_ids(), *dpdk::packet_pool());
    for (int i = 0; i < 50 && counts.arrived == 0; ++i)  // else the chain got no time
      counts = generator.run(with_rate(50000, stamps));
  }
  engine->stop();
  engine->wait();
  return counts;
}

TEST(Wire, SignaturesAreFoundWhereChainsMoveThem) {
  for (const char* elements : {"SetCRC32", "Strip(1)", "Strip(14)", "Strip(1) -> SetCRC32 -> SetCRC32",
                               "s :: RoundRobinSwitch -> SetCRC32 -> j :: Counter; s[1] -> Strip(1) -> j; j"})
    for (const char* sizes : {"64", "67", "imix"})
      for (const bool stamps : {false, true}) {
        SCOPED_TRACE(format("%s, %s bytes, stamps %d", elements, sizes, stamps));
        const Counts counts = through(elements, {.sizes = sizes, .flows = 100}, stamps);
        EXPECT_GT(counts.received, 0u);
        EXPECT_EQ(counts.received, counts.offered);
        EXPECT_EQ(counts.duplicated + counts.foreign, 0u);
        EXPECT_EQ(counts.latency_ns.count(), stamps ? counts.received : 0);
      }
}

TEST(Wire, BytesAreThoseThatComeOut) {
  for (const auto& [elements, bytes] : {std::pair{"Null", 64u}, {"SetCRC32", 68u}, {"Strip(14)", 50u}}) {
    const Counts counts = through(elements, {}, false);
    EXPECT_GT(counts.arrived, 0u);
    EXPECT_EQ(counts.arrived_bytes, counts.arrived * bytes) << elements;
  }
}

TEST(Wire, FramesWithoutTheirSignatureAreCounted) {
  const Counts counts = through("Truncate(40)", {}, false);
  EXPECT_EQ(counts.received, 0u);
  EXPECT_GE(counts.foreign, counts.offered);
  EXPECT_GT(counts.arrived, 0u);
  EXPECT_EQ(counts.arrived_bytes, counts.arrived * 44);
}

TEST(Wire, WhatAChainMakesIsForeign) {
  const Wire wire({});
  const auto engine = engine_for(
      "InfiniteSource(LENGTH 60, LIMIT -1) -> ToDPDKDevice(net_ring_wire0, BLOCKING false);"
      "FromDPDKDevice(net_ring_wire0) -> Discard",
      1);
  engine->start();
  const Traffic traffic({}, 1, 1);
  {
    Generator generator(traffic, wire.port_ids(), wire.sending_ids(), *dpdk::packet_pool());
    Load load = with_rate(1000);
    load.quiet_s = 0.05;
    Counts counts;
    do {  // the engine's thread may have had no time yet
      counts = generator.run(load);
      EXPECT_EQ(counts.received, 0u);
      EXPECT_EQ(counts.lost, counts.offered);
    } while (counts.foreign == 0 && !testing::Test::HasFailure());
  }
  engine->stop();
  engine->wait();
}

TEST(Wire, PacketsOnTheWireHaveRightChecksums) {
  for (const char* sizes : {"64", "imix", "1000"}) {
    const Wire wire({});
    const dpdk::Port* router = wire.request_router_port(0);
    Standalone ports(1);
    const Traffic traffic({.sizes = sizes}, 1, 1);
    Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool());
    Load load = with_rate(1e5, true);
    load.quiet_s = 0.01;
    generator.run(load);
    rte_mbuf* packets[1024];
    const uint16_t n = rte_eth_rx_burst(router->id, 0, packets, 1024);
    ASSERT_GT(n, 100);
    for (uint16_t i = 0; i < n; ++i) {
      const uint8_t* bytes = rte_pktmbuf_mtod(packets[i], const uint8_t*);
      ASSERT_EQ(checksum_errors({bytes, bytes + packets[i]->data_len}), "") << i;
    }
    rte_pktmbuf_free_bulk(packets, n);
  }
}

TEST(Wire, FramesWithoutSignaturesAreCounted) {
  const Wire wire({.looped = true});
  Standalone ports(1);
  const Traffic traffic({.signatures = false}, 1, 1);
  Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool());
  expect_clean(generator.run(kShort));
}

TEST(Wire, EveryPacketOfARealCaptureIsKnownAgain) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "HEDDLE_TEST_DATA names the folder of real inputs";
  const Wire wire({.queues = 2, .looped = true});
  dpdk::settings().data_room = 10000;  // it has frames of 8 KB
  Standalone ports(2);
  const Traffic traffic({.sizes = std::string(data) + "/pcap/tcpdump_eth.pcap"}, 1, 2);
  Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool());
  expect_clean(generator.run(with_rate(1e6, true)));
}

/** The program beside this one, "" = it has not been built. */
std::string heddle_program() {
  if (const char* given = std::getenv("HEDDLE_BIN")) return given;
  const auto folder = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  for (const auto& path : {folder / "heddle", folder.parent_path() / "heddle"})
    if (std::filesystem::exists(path)) return path;
  return {};
}

std::string socket_in_tmp() { return ::testing::TempDir() + format("heddle_wire_%d.sock", getpid()); }

TEST(Wire, NoRouterInAnotherProcess) {
  const std::string socket = socket_in_tmp();
  {
    const MemifWire wire({socket});
    const Standalone ports(1);
    EXPECT_FALSE(ports.linked());
    EXPECT_EQ(std::filesystem::status(socket).permissions() & std::filesystem::perms(0077),
              std::filesystem::perms::none);
    EXPECT_THROW(MemifWire({socket}), Error);
  }
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST(Wire, ARouterInAnotherProcess) {
  const std::string program = heddle_program();
  if (program.empty()) GTEST_SKIP() << "there is no heddle beside this program; HEDDLE_BIN names it";
  const MemifWire wire({socket_in_tmp()});
  Standalone ports(1);
  const std::string chain =
      format("FromDPDKDevice(%s) -> EtherMirror -> ToDPDKDevice(net_memif0)", wire.router_port(0).c_str());
  std::vector<std::string> words{program, "run", "--json", "-e", chain};
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t router = 0;
  ASSERT_EQ(posix_spawn(&router, program.c_str(), &actions, nullptr, arguments.data(), environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  std::string problem;
  Counts counts;
  try {
    for (int i = 0; i < 12000 && !ports.linked(); ++i) usleep(10000);
    if (!ports.linked()) throw Error("no router has connected");
    const Traffic traffic({.sizes = "256", .flows = 20}, 1, 1);
    Generator generator(traffic, wire.port_ids(), wire.port_ids(), ports.pool());
    counts = generator.run(with_rate(20000, true));
  } catch (const Error& error) {
    problem = error.what();
  }
  kill(router, SIGINT);
  int status = 0;
  waitpid(router, &status, 0);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(status, 0);
  EXPECT_GT(counts.received, 0u);
  EXPECT_EQ(counts.received, counts.sent);
  EXPECT_EQ(counts.reordered + counts.duplicated + counts.foreign, 0u);
}

}  // namespace
}  // namespace heddle::bench
