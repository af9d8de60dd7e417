// ip-router, nat, nat-1m: the IP router of two interfaces (chains/ip_router.click), and address translation of 100,000
// and of 1,000,000 flows, between net_null ports on one core, 64 bytes, against a bare receive-and-transmit loop.
// net_null gives buffers with whatever they held, so an element, and the bare loop in the same way, first writes the
// headers of the next of 65,536 keys, or of the next flow, into each frame. Translation is measured once each flow has
// its mapping.
// ip-router-cores: the same router, one for all cores, on 2, 4 and 8 of them, as many as the machine has, against as
// many times one core. Each core has ports of its own; they share the routing table, both tables of ARP and all
// counters.

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/engine_run.h"
#include "click/arguments.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/load.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr int kRounds = 15;
constexpr const char* kPort = ",size=60";

/** Ethernet, IPv4 and UDP headers of a frame. */
using Headers = std::array<uint8_t, 42>;

Headers headers(uint32_t source, uint32_t destination, uint16_t port) {
  Headers frame = {2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17};
  const uint32_t addresses[2] = {htonl(source), htonl(destination)};
  std::memcpy(&frame[26], addresses, 8);
  store_u16(&frame[34], htons(port));
  store_u16(&frame[36], htons(9));
  store_u16(&frame[38], htons(26));
  uint32_t sum = 0;
  for (size_t at = 14; at < 34; at += 2) sum += load_u16(&frame[at]);
  sum = (sum & 0xffff) + (sum >> 16);
  store_u16(&frame[24], static_cast<uint16_t>(~(sum + (sum >> 16))));
  return frame;
}

/** From hosts of one network of the router to those of the other, in any order. */
std::vector<Headers> between_networks(int from) {
  const auto side = static_cast<unsigned>(from);
  std::mt19937 random(1812);
  std::vector<Headers> all;
  for (int i = 0; i < 65536; ++i) {
    const auto host = static_cast<uint32_t>(random()) & 0xfdfd;
    all.push_back(headers((10u << 24 | (1 + side) << 16 | 2) + host, (10u << 24 | (2 - side) << 16 | 2) + host, 1000));
  }
  return all;
}

/** Flows of 250 hosts. */
std::vector<Headers> flows(uint32_t count) {
  std::mt19937 random(3022);
  std::vector<Headers> all;
  for (uint32_t i = 0; i < count; ++i)
    all.push_back(
        headers((10u << 24 | 1u << 16 | 2) + i % 250, (203u << 24) + i, static_cast<uint16_t>(2000 + i / 250)));
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

enum Kind : int { kNetwork0, kNetwork1, kFlows, kMillionFlows, kKinds };
const std::vector<Headers>& headers_of(int kind) {
  static std::array<std::vector<Headers>, kKinds> made;
  std::vector<Headers>& all = made[static_cast<size_t>(kind)];
  if (all.empty()) all = kind <= kNetwork1 ? between_networks(kind) : flows(kind == kFlows ? 100'000 : 1'000'000);
  return all;
}

/** Writes the headers of one kind in turn, a cursor a thread. */
class BenchFrames : public Element {
 public:
  void configure(click::Arguments& arguments) override {
    int kind = 0;
    arguments.required("KIND", kind, 0, kKinds - 1);
    all_ = &headers_of(kind);
  }
  Access access(Processor) const override { return {.writes = {{Base::head, 0, 42}}}; }
  void run_cpu(Batch& batch) override {
    size_t& at = cursors_[static_cast<size_t>(batch.thread)].at;
    for (int i = 0; i < batch.size(); ++i) {
      if (at == all_->size()) at = 0;
      std::memcpy(batch.frame(i), (*all_)[at++].data(), sizeof(Headers));
    }
  }
  void start(const Environment&) override {
    for (size_t thread = 0; thread < kMaxThreads; ++thread) cursors_[thread].at = thread * 7919 % all_->size();
  }

 private:
  struct alignas(64) Cursor {
    size_t at = 0;
  };
  const std::vector<Headers>* all_ = nullptr;
  std::array<Cursor, kMaxThreads> cursors_;
};
HEDDLE_ELEMENT(BenchFrames);

std::string port(const char* what, int number) { return format("%s(\"net_null%d%s\")", what, number, kPort); }

/** Its two interfaces: `in0`, `in1` and `out0`, `out1` are given, and so is the text that makes inputs active. */
std::string router_of(const std::string& activate) {
  std::string chain =
      "elementclass Output { $color, $ip | input -> DropBroadcasts -> same :: PaintTee($color)"
      "  -> options :: IPGWOptions($ip) -> FixIPSrc($ip) -> ttl :: DecIPTTL -> fits :: IPFragmenter(1500) -> [0]output;"
      "  same[1] -> ICMPError($ip, redirect, host) -> [1]output; options[1] -> ICMPError($ip, parameterproblem) -> "
      "[1]output;"
      "  ttl[1] -> ICMPError($ip, timeexceeded) -> [1]output;"
      "  fits[1] -> ICMPError($ip, unreachable, needfrag, PMTU 1500) -> [1]output; };"
      "routes :: StaticIPLookup(10.1.0.254/32 0, 10.2.0.254/32 0, 10.1.0.0/16 10.1.0.1 1, 10.2.0.0/16 10.2.0.1 2,"
      "  0.0.0.0/0 10.2.0.1 2); routes[0] -> Discard;"
      "Script(write arp0.insert 10.1.0.1 02:00:00:00:00:01, write arp1.insert 10.2.0.1 02:00:00:00:00:02" +
      activate + ");";
  for (int side = 0; side < 2; ++side)
    chain += format(
        "in%d -> BenchFrames(%d) -> c%d :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);"
        "arp%d :: ARPQuerier(10.%d.0.254, 02:00:00:00:0%d:00) -> out%d;"
        "c%d[0] -> ARPResponder(10.%d.0.254 02:00:00:00:0%d:00) -> out%d; c%d[1] -> [1]arp%d; c%d[3] -> Discard;"
        "c%d[2] -> Paint(%d) -> Strip(14) -> CheckIPHeader(INTERFACES 10.1.0.254/16 10.2.0.254/16) -> routes;"
        "routes[%d] -> f%d :: Output(%d, 10.%d.0.254) -> [0]arp%d; f%d[1] -> routes;",
        side, side, side, side, side + 1, side + 1, side, side, side + 1, side + 1, side, side, side, side, side,
        side + 1, side + 1, side, side + 1, side + 1, side, side);
  return chain;
}

std::string router_chain() {
  std::string ends;
  for (int side = 0; side < 2; ++side)
    ends += format("in%d :: FromDPDKDevice(\"net_null%d%s\", ACTIVE false); out%d :: %s;", side, 2 * side, kPort, side,
                   port("ToDPDKDevice", 2 * side + 1).c_str());
  return ends + router_of(", write in0.active true, write in1.active true");
}

/** One router for all cores; a core has a port of its own at each network, which receives and sends. */
double cores_mpps(int cores) {
  std::string ends, activate;
  for (int side = 0; side < 2; ++side) {
    ends += format("in%d :: Null; out%d :: CPUSwitch;", side, side);
    for (int core = 0; core < cores; ++core) {
      const int number = 2 * core + side;
      ends += format(
          "from%d :: FromDPDKDevice(\"net_null%d%s\", ACTIVE false) -> in%d; out%d[%d] -> %s;"
          "StaticThreadSched(from%d %d);",
          number, number, kPort, side, side, core, port("ToDPDKDevice", number).c_str(), number, core);
      activate += format(", write from%d.active true", number);
    }
  }
  RunOptions options;
  options.pin = true;
  options.threads = cores;
  return engine_mpps(ends + router_of(activate), {}, options, kSeconds);
}

std::string nat_chain(Kind flows, int capacity) {
  return port("FromDPDKDevice", 0) + format(" -> BenchFrames(%d) -> Strip(14) -> CheckIPHeader", flows) +
         " -> [0]r :: IPRewriter(pattern 198.51.100.1-198.51.100.9 1024-65535# - - 0 1, drop" +
         format(", CAPACITY %d);", capacity) +
         "Idle -> [1]r; r[1] -> Discard; r[0] -> EtherEncap(0x0800, 02:00:00:00:01:00, 02:00:00:00:00:02) -> " +
         port("ToDPDKDevice", 1);
}

RunOptions pinned() {
  RunOptions options;
  options.pin = true;
  return options;
}

double chain_mpps(const std::string& chain) { return engine_mpps(chain, {}, pinned(), kSeconds); }

/** The same once `packets` have come. */
double chain_mpps_after(const std::string& chain, uint64_t packets) {
  const auto engine = make_engine(chain, {}, pinned());
  engine->start();
  while (engine->received() < packets) usleep(1000);
  const double mpps = running_mpps(*engine, kSeconds);
  end(*engine);
  return mpps;
}

double bare_mpps(int kind) {
  size_t at = 0;
  const auto& all = headers_of(kind);
  return bare_loop_mpps(kSeconds, kPort, [&at, &all](rte_mbuf** packets, uint16_t n) {
    for (uint16_t i = 0; i < n; ++i) {
      if (at == all.size()) at = 0;
      std::memcpy(rte_pktmbuf_mtod(packets[i], uint8_t*), all[at++].data(), sizeof(Headers));
    }
  });
}

const Register ip_router("ip-router", false, [] {
  return std::vector{paired(
      "ip-router", "Mpps", 0.25, kRounds, [] { return chain_mpps(router_chain()); },
      [] { return bare_mpps(kNetwork0); })};
});

const Register ip_router_cores("ip-router-cores", false, [] {
  constexpr int kCoreRounds = 5;
  std::vector<Result> results;
  for (const int cores : {2, 4, 8}) {
    if (cores > core_count()) break;
    results.push_back(paired(
        format("ip-router-cores-%d", cores), "Mpps", 0.9, kCoreRounds, [=] { return cores_mpps(cores); },
        [=] { return cores * cores_mpps(1); }));
    results.back().note = format("%d cores against %d times one", cores, cores);
  }
  return results;
});

/** Room for `capacity` mappings; a target of 0: none. */
std::vector<Result> measure_nat(const char* name, double target, Kind flows, int capacity) {
  const size_t count = headers_of(flows).size();
  Result result = paired(
      name, "Mpps", target, kRounds, [=] { return chain_mpps_after(nat_chain(flows, capacity), count); },
      [=] { return bare_mpps(flows); });
  result.note = format("%zu flows", count);
  return {result};
}

const Register nat("nat", false, [] { return measure_nat("nat", 0.15, kFlows, 200'000); });
const Register nat_1m("nat-1m", false, [] { return measure_nat("nat-1m", 0, kMillionFlows, 1'000'000); });

}  // namespace
}  // namespace heddle::bench
