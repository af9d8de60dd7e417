// flow-chain: FlowTable, FlowCounter, LoadBalancer and RateLimiter between net_null ports on one core, 64-byte packets
// of 10,000 and of 1,000,000 flows that are all in the table, in an order in which neighbours in time are none in
// memory; and against a bare receive-and-transmit loop, which like the chain first writes the headers of the next flow
// into each frame.
// flow-chain-begins: the rate of the first packets of 1,000,000 flows, against that of the ones after them.
// flow-chain-cores: one chain for 2, 8 and 12 cores, as many as the machine has, each with ports and flows of its own,
// as RSS would give it; against as many times one core, and on 12 against the rate that was asked for.
// gpu-flow-chain-ports: the same on one core, which has FlowTable, and a GPU, which has the others; against the chain
// on the core alone.

#include <arpa/inet.h>

#include <array>
#include <cstring>
#include <thread>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/engine_run.h"
#include "click/arguments.h"
#include "core/checksum.h"
#include "core/cores.h"
#include "core/element.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 11;
constexpr uint32_t kStep = 7919;  // a prime that divides no number of flows here
constexpr const char* kPort = ",size=60";

// Ethernet, IPv4 (46 bytes, TTL 64, UDP, source -> 192.0.2.1) and ports of a frame of 60 bytes.
constexpr std::array<uint8_t, 42> kHeaders = {2,    0, 0,   0,  0, 2, 2,    0, 0,  0,  0, 1,  8, 0,
                                              0x45, 0, 0,   46, 0, 0, 0,    0, 64, 17, 0, 0,  0, 0,
                                              0,    0, 192, 0,  2, 1, 0x10, 0, 0,  80, 0, 26, 0, 0};

/** Writes the headers of flow after flow, from number `first` on. */
class FlowWriter {
 public:
  explicit FlowWriter(uint32_t flows, uint32_t first = 0) : flows_(flows), step_(kStep % flows), first_(first) {}
  void write(uint8_t* frame) {
    at_ = at_ + step_ < flows_ ? at_ + step_ : at_ + step_ - flows_;
    std::memcpy(frame, kHeaders.data(), kHeaders.size());
    const uint32_t source = htonl(0x0a000000 + first_ + at_);
    std::memcpy(frame + 26, &source, sizeof source);
    const uint16_t checksum = ip4_checksum(frame + 14, 20);
    std::memcpy(frame + 24, &checksum, sizeof checksum);
  }

 private:
  uint32_t flows_, step_, first_, at_ = 0;
};

/** BenchFlows(COUNT): flows that the packet threads have divided among them. */
class BenchFlows : public Element {
 public:
  void configure(click::Arguments& arguments) override {
    arguments.required("COUNT", flows_, kStep + 1, uint32_t{1} << 24);
  }
  Access access(Processor) const override { return {.writes = {{Base::head, 0, 42}}}; }
  void start(const Environment& environment) override {
    const uint32_t each = flows_ / static_cast<uint32_t>(environment.threads);
    writers_.clear();
    for (uint32_t thread = 0; thread < static_cast<uint32_t>(environment.threads); ++thread)
      writers_.push_back({FlowWriter(each, thread * each)});
  }
  void run_cpu(Batch& batch) override {
    FlowWriter& writer = writers_[static_cast<size_t>(batch.thread)].one;
    for (int i = 0; i < batch.size(); ++i) writer.write(batch.frame(i));
  }

 private:
  struct alignas(64) Writer {
    FlowWriter one;
  };
  uint32_t flows_ = kStep + 1;
  std::vector<Writer> writers_;  // [threads]
};
HEDDLE_ELEMENT(BenchFlows);

std::string functions_of(uint32_t flows) {
  return format(
      "BenchFlows(%u) -> CheckIPHeader(14) -> flows :: FlowTable(CAPACITY %u) -> FlowCounter(flows)"
      " -> LoadBalancer(flows, 10.9.0.1, 10.9.0.2, 10.9.0.3, 10.9.0.4) -> RateLimiter(flows, 1000000, BURST 65535)",
      flows, flows);
}

std::unique_ptr<Engine> chain_of(uint32_t flows, const PlanOptions& plan = {}) {
  RunOptions options;
  options.pin = true;
  auto engine = make_engine(
      format("FromDPDKDevice(\"net_null0%s\") -> ", kPort) + functions_of(flows) + " -> ToDPDKDevice(net_null1);", plan,
      options);
  engine->start();
  return engine;
}

/** Seconds until each flow has had a packet. */
double begin_all(const Engine& engine, uint32_t flows) {
  const double start = seconds_now();
  while (engine.received() < flows) std::this_thread::yield();
  return seconds_now() - start;
}

double mpps_of(std::unique_ptr<Engine> engine, uint32_t flows) {
  begin_all(*engine, flows);
  const double mpps = running_mpps(*engine, kSeconds);
  end(*engine);
  return mpps;
}

double chain_mpps(uint32_t flows) { return mpps_of(chain_of(flows), flows); }

/** One chain for all cores; a port of its own for each, which receives and sends. */
double cores_mpps(int cores, uint32_t flows) {
  std::string chain = "from :: Null; to :: CPUSwitch; from -> " + functions_of(flows) + " -> to;";
  for (int core = 0; core < cores; ++core)
    chain += format(
        "from%d :: FromDPDKDevice(\"net_null%d%s\") -> from; to[%d] -> ToDPDKDevice(\"net_null%d%s\");"
        "StaticThreadSched(from%d %d);",
        core, core, kPort, core, core, kPort, core, core);
  RunOptions options;
  options.pin = true;
  options.threads = cores;
  auto engine = make_engine(chain, {}, options);
  engine->start();
  return mpps_of(std::move(engine), 2 * flows);  // of some cores more than their share
}

double begins_mpps(uint32_t flows) {
  const auto engine = chain_of(flows);
  const double seconds = begin_all(*engine, flows);
  end(*engine);
  return flows / seconds * 1e-6;
}

double bare_mpps(uint32_t flows) {
  FlowWriter writer(flows);
  return bare_loop_mpps(kSeconds, kPort, [&](rte_mbuf** packets, uint16_t n) {
    for (uint16_t i = 0; i < n; ++i) writer.write(rte_pktmbuf_mtod(packets[i], uint8_t*));
  });
}

std::vector<Result> flow_chain() {
  std::vector<Result> results;
  for (const uint32_t flows : {10'000u, 1'000'000u}) {
    results.push_back(
        absolute(format("flow-chain-%u", flows), "Mpps", 9, false, kRounds, [&] { return chain_mpps(flows); }));
    results.push_back(paired(
        format("flow-chain-%u-bare", flows), "Mpps", 0, kRounds, [&] { return chain_mpps(flows); },
        [&] { return bare_mpps(flows); }));
  }
  results.push_back(paired(
      "flow-chain-begins", "Mpps", 0, kRounds, [] { return begins_mpps(1'000'000); },
      [] { return chain_mpps(1'000'000); }));
  return results;
}

std::vector<Result> flow_chain_cores() {
  constexpr int kCoreRounds = 3, kAsked = 12;
  std::vector<Result> results;
  for (const uint32_t flows : {10'000u, 1'000'000u})
    for (const int cores : {2, 8, kAsked}) {
      if (cores > core_count()) break;
      const std::string name = format("flow-chain-cores-%d-%u", cores, flows);
      results.push_back(paired(
          name, "Mpps", 0, kCoreRounds, [=] { return cores_mpps(cores, flows); },
          [=] { return cores * cores_mpps(1, flows); }));
      results.back().note = format("%d cores against %d times one", cores, cores);
      if (cores != kAsked) continue;
      Result asked =
          absolute(name + "-rate", "Mpps", 100, false, kCoreRounds, [=] { return cores_mpps(cores, flows); });
      asked.note = format("%d cores", cores);
      results.push_back(asked);
    }
  return results;
}

std::vector<Result> gpu_flow_chain_ports() {
  std::vector<Result> results;
  for (const uint32_t flows : {10'000u, 1'000'000u}) {
    const auto on = [flows](const char* device) {
      PlanOptions plan;
      plan.device = device;
      return mpps_of(chain_of(flows, plan), flows);
    };
    results.push_back(paired(
        format("gpu-flow-chain-ports-%u", flows), "Mpps", 0, kRounds, [&] { return on("gpu"); },
        [&] { return on("cpu"); }));
  }
  return results;
}

const Register registered("flow-chain", false, flow_chain);
const Register registered_cores("flow-chain-cores", false, flow_chain_cores);
const Register registered_on_gpu("gpu-flow-chain-ports", true, gpu_flow_chain_ports);

}  // namespace
}  // namespace heddle::bench
