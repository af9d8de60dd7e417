// route, two-cores, route-churn: a router between net_null ports. net_null gives buffers with whatever they held, so an
// element, and the bare loop in the same way, first writes the headers of the next of a million keys into each frame.

#include <arpa/inet.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/engine_run.h"
#include "bench/route_tables.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/load.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 15;
constexpr size_t kRoutes = 500'000, kKeys = 1'000'000;
constexpr uint32_t kOutputs = 4;
constexpr uint64_t kSeed = 2014;
constexpr const char* kPort = ",size=60";  // of net_null0: 64 bytes on the wire

/** A key: what differs between the headers, in network byte order. */
struct Key {
  uint32_t dst;
  uint16_t checksum;
};

const std::vector<ip_lookup::Route>& routes() {
  static const auto all = bgp_like_routes(kRoutes, kOutputs, kSeed);
  return all;
}

// Ethernet and IPv4 (46 bytes, TTL 64, UDP, 10.0.0.1 -> dst) of a frame of 60 bytes; checksum and dst are the key's.
constexpr std::array<uint8_t, 34> kHeaders = {2,  0, 0, 0, 0, 2,  2,  0, 0, 0,  0, 1, 8, 0, 0x45, 0, 0,
                                              46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 0, 0,    0, 0};

const std::vector<Key>& keys() {
  static const auto all = [] {
    std::vector<Key> made;
    std::mt19937_64 random(kSeed + 1);
    while (made.size() < kKeys) {
      // An address of a random route, with random bits behind the prefix.
      const auto& route = routes()[random() % routes().size()];
      const uint32_t address =
          route.address | (static_cast<uint32_t>(random()) & ~ip_lookup::prefix_mask(route.length));
      Key key{htonl(address), 0};
      uint8_t header[20];
      std::memcpy(header, kHeaders.data() + 14, 20);
      std::memcpy(header + 16, &key.dst, 4);
      uint32_t sum = 0;
      for (int at = 0; at < 20; at += 2) sum += load_u16(header + at);
      sum = (sum & 0xffff) + (sum >> 16);
      key.checksum = static_cast<uint16_t>(~(sum + (sum >> 16)));
      made.push_back(key);
    }
    return made;
  }();
  return all;
}

inline void write_headers(uint8_t* frame, Key key) {
  std::memcpy(frame, kHeaders.data(), kHeaders.size());
  std::memcpy(frame + 24, &key.checksum, 2);
  std::memcpy(frame + 30, &key.dst, 4);
}

/** The keys in turn, a cursor a thread. */
class BenchHeaders : public Element {
 public:
  Access access(Processor) const override { return {.writes = {{Base::head, 0, 34}}}; }
  void run_cpu(Batch& batch) override {
    size_t& at = cursors_[static_cast<size_t>(batch.thread)].at;
    for (int i = 0; i < batch.size(); ++i) {
      if (at == kKeys) at = 0;
      write_headers(batch.frame(i), keys_[at++]);
    }
  }
  void start(const Environment&) override {
    keys_ = keys().data();
    for (size_t thread = 0; thread < kMaxThreads; ++thread) cursors_[thread].at = thread * 7919 % kKeys;
  }

 private:
  struct alignas(64) Cursor {
    size_t at = 0;
  };
  const Key* keys_ = nullptr;
  std::array<Cursor, kMaxThreads> cursors_;
};
HEDDLE_ELEMENT(BenchHeaders);

// The routes as the configuration takes them, in a file that is gone with the program.
const std::string& route_file() {
  struct File {
    std::string path = format("/tmp/heddle-bench-%d.routes", static_cast<int>(getpid()));
    File() {
      std::FILE* out = std::fopen(path.c_str(), "w");
      if (out == nullptr) throw Error("cannot write " + path);
      for (const auto& route : routes())
        std::fprintf(out, "%u.%u.%u.%u/%d %u\n", route.address >> 24, route.address >> 16 & 255,
                     route.address >> 8 & 255, route.address & 255, route.length, route.hop.port);
      std::fclose(out);
    }
    ~File() { unlink(path.c_str()); }
  };
  static const File file;
  return file.path;
}

// From its first element to the last before the port: "from -> rt -> to".
std::string router(const std::string& from, const std::string& to) {
  std::string chain = from + " -> BenchHeaders -> CheckIPHeader(14) -> ttl :: DecIPTTL -> rt :: DirectIPLookup(FILE " +
                      route_file() + ");";
  for (uint32_t port = 0; port < kOutputs; ++port) chain += format(" rt[%u] -> %s;", port, to.c_str());
  return chain;
}

std::string receive(int port) { return format("FromDPDKDevice(\"net_null%d%s\")", port, kPort); }

std::string route_chain() { return "out :: ToDPDKDevice(net_null1); " + router(receive(0), "out"); }

// One table for all cores, and for each core a port of its own to receive and one to send: net_null keeps the counters
// of two neighbouring queues on one cache line.
double cores_mpps(int cores) {
  std::string chain = "ports :: Null; sw :: CPUSwitch; " + router("ports", "sw");
  for (int core = 0; core < cores; ++core)
    chain += format(" from%d :: %s -> ports; sw[%d] -> ToDPDKDevice(net_null%d); StaticThreadSched(from%d %d);", core,
                    receive(2 * core).c_str(), core, 2 * core + 1, core, core);
  RunOptions options;
  options.pin = true;
  options.threads = cores;
  return engine_mpps(chain, {}, options, kSeconds);
}

double route_mpps() {
  RunOptions options;
  options.pin = true;
  return engine_mpps(route_chain(), {}, options, kSeconds);
}

double bare_mpps() {
  size_t at = 0;
  const Key* all = keys().data();
  return bare_loop_mpps(kSeconds, kPort, [&at, all](rte_mbuf** packets, uint16_t n) {
    for (uint16_t i = 0; i < n; ++i) {
      if (at == kKeys) at = 0;
      write_headers(rte_pktmbuf_mtod(packets[i], uint8_t*), all[at++]);
    }
  });
}

const Register route("route", false,
                     [] { return std::vector{paired("route", "Mpps", 0.40, kRounds, route_mpps, bare_mpps)}; });

const Register two_cores("two-cores", false, [] {
  Result result = paired(
      "two-cores", "Mpps", 1.9, kRounds, [] { return cores_mpps(2); }, [] { return cores_mpps(1); });
  result.note = "two cores against one, each with ports of its own";
  return std::vector{result};
});

// 10,000 changes a second through the handlers: prefixes that are not in the table come and go.
constexpr int kUpdatesASecond = 10'000, kUpdatesATime = 10;
struct {
  uint64_t updates = 0;
  double seconds = 0;
} churned;  // of one router; one thread updates

const std::vector<std::string>& changing_prefixes() {
  static const auto all = [] {
    constexpr size_t kChanging = 4096;
    std::vector<std::string> prefixes;
    const auto more = bgp_like_routes(kRoutes + kChanging, kOutputs, kSeed);
    for (size_t i = kRoutes; i < more.size(); ++i)
      prefixes.push_back(format("%u.%u.%u.%u/%d", more[i].address >> 24, more[i].address >> 16 & 255,
                                more[i].address >> 8 & 255, more[i].address & 255, more[i].length));
    return prefixes;
  }();
  return all;
}

void update_routes(Engine& engine, const std::atomic<bool>& stop) {
  pin_to_core(1);
  const auto& prefixes = changing_prefixes();
  const double start = seconds_now();
  auto next = std::chrono::steady_clock::now();
  for (; !stop; next += std::chrono::microseconds(1'000'000 * kUpdatesATime / kUpdatesASecond)) {
    for (int i = 0; i < kUpdatesATime; ++i) {
      const size_t at = churned.updates++;
      const std::string& prefix = prefixes[at % prefixes.size()];
      if (at / prefixes.size() % 2 == 0)
        engine.handlers().write("rt.add", prefix + format(" %zu", at % kOutputs));
      else
        engine.handlers().write("rt.remove", prefix);
    }
    std::this_thread::sleep_until(next);
  }
  churned.seconds += seconds_now() - start;
}

void read_statistics(Engine& engine, const std::atomic<bool>& stop) {
  pin_to_core(1);
  while (!stop) engine.report();
}

// One router runs all the time, while updates and reader come and go: what differs between two routers (where their
// memory lies, what else the machine does) would hide the few per cent in question.
Result churn(const char* name, const PlanOptions& plan) {
  RunOptions options;
  options.pin = true;
  constexpr int kChurnRounds = 101;
  constexpr double kChurnSeconds = 0.1;
  churned = {};
  const auto engine = make_engine(route_chain(), plan, options);
  engine->start();
  Result result = paired(
      name, "Mpps", 0.98, kChurnRounds,
      [&] {
        return running_mpps(*engine, kChurnSeconds, {update_routes, read_statistics});
      },
      [&] { return running_mpps(*engine, kChurnSeconds); });
  end(*engine);
  result.note = format("%.0f updates/s", static_cast<double>(churned.updates) / churned.seconds);
  return result;
}

const Register route_churn("route-churn", false, [] { return std::vector{churn("route-churn", {})}; });
const Register gpu_route_churn("gpu-route-churn", true,
                               [] { return std::vector{churn("gpu-route-churn", {.device = "gpu"})}; });

}  // namespace
}  // namespace heddle::bench
