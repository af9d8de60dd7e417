// memif-peer: the other end of a router's memif ports, in a process of its own: it listens, waits until a client
// connects (FromGPUPort and ToGPUPort with ROLE client), and recirculates its buffers, so that the router is measured
// and not this end's copies: of each packet it writes the first 42 bytes, for functions may have made anything of them,
// and the descriptor. Packets go to any address, or with routes=FILE (as of heddle routes) to one that has a route.
//
// With rate=N, so many packets a second are due on all queues together, at equal distances, and latencies are known:
// from the time at which a packet was due until this end has seen it back. Packets of a queue come back in their order,
// so the n-th is the n-th that was sent; when the router has dropped one nobody knows which came back, and there are no
// latencies.
//
//     heddle_bench --probe memif-peer "socket=/tmp/a.sock queues=4 size=1460 seconds=5"
//     heddle run -e 'FromGPUPort(a, SOCKET /tmp/a.sock, QUEUES 4, NDESC 2048) -> ... -> ToGPUPort(a)' --device gpu

#include <poll.h>
#include <rte_cycles.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "bench/ring_functions.h"
#include "core/clock.h"
#include "core/error.h"
#include "functions/ip_lookup/route_file.h"
#include "io/memif/port.h"
#include "measure/wire/histogram.h"
#include "measure/wire/pace.h"

namespace heddle::bench {
namespace {

constexpr double kQuietS = 2;  // after which nothing more will come back of what is missing
constexpr int kPollMs = 10;

struct PeerOptions {
  std::string socket;
  int queues;
  uint32_t size;  ///< bytes of a packet, Ethernet header included
  double seconds, wait_s;
  double rate_pps;  ///< on all queues together; 0: as many as there is room for
  int threads, first_core;
  std::vector<ip_lookup::Route> routes;  ///< to which packets go; none: to any address
};

/** Waits until the client is there. */
const memif::ServerSession& connect(memif::Port& port, double wait_s) {
  port.open();
  for (const double until = seconds_now() + wait_s; port.server_session() == nullptr;) {
    if (seconds_now() > until) throw Error(format("nobody has connected in %.0f s", wait_s));
    pollfd waits{port.descriptor(), POLLIN, 0};
    poll(&waits, 1, kPollMs);
    port.serve();
  }
  return *port.server_session();
}

/** The buffers that the client gives for packets to it, which must lie in one region: that of the first. Waits until it
 *  has given some. */
std::span<std::byte> buffers_of(const memif::ServerSession& session, double wait_s) {
  memif::Ring& ring = *session.transmitting().front().ring;
  for (const double until = seconds_now() + wait_s; __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE) == 0;) {
    if (seconds_now() > until) throw Error("the client gives no buffers");
    std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  }
  const uint16_t region = ring.descriptors()->region;
  if (region >= session.regions().size()) throw Error("a descriptor names a region that is not there");
  return {session.regions()[region].base(), session.regions()[region].bytes()};
}

/** Only what is received while it is `measured` counts: the rings have filled by then. */
enum class Phase { warm_up, measured, over };

/** One queue of this end: sends when packets are due, and notes how long they take. One thread uses it; end().got() is
 *  for any. */
class Queue {
 public:
  Queue(const gpu::RingPair& pair, uint8_t* base, const Pace& pace) : end_(pair, base), pace_(pace) {
    if (pace_.is_limited()) due_.resize(kMaxUnderWay);
  }

  const PeerEnd& end() const { return end_; }
  const Histogram& latency_ticks() const { return latency_; }

  /** What has come back goes into the ring again. */
  void take(bool measured) {
    const int n = end_.waiting();
    if (n == 0) return;
    const uint64_t first = end_.got();
    end_.give_back(n);
    if (!measured || !pace_.is_limited()) return;
    const uint64_t now = rte_rdtsc();
    for (uint64_t number = first; number < first + static_cast<uint64_t>(n); ++number)
      latency_.record(now - due_[number % kMaxUnderWay]);
  }
  /** `write(frame, number)` fills one and returns its length. */
  template <class Write>
  void send(uint64_t start_tsc, const Write& write) {
    int n = end_.room();
    if (pace_.is_limited()) {
      const uint64_t now = (rte_rdtsc() - start_tsc) << Pace::kFraction;
      int due = 0;
      for (; due < n && pace_.due() <= now; ++due, pace_.pass())
        due_[(end_.sent() + static_cast<uint64_t>(due)) % kMaxUnderWay] = start_tsc + (pace_.due() >> Pace::kFraction);
      n = due;
    }
    if (n > 0) end_.send(n, write);
  }

 private:
  static constexpr size_t kMaxUnderWay = 1 << 16;  // rings count in 16 bits

  PeerEnd end_;
  Pace pace_;
  std::vector<uint64_t> due_;  // the packet with this number, by time stamp counter
  Histogram latency_;
};

/** What one of the threads does for the rings from `first` on, each that is so many threads on. */
class Circulation {
 public:
  Circulation(const memif::ServerSession& session, std::span<std::byte> buffers, const PeerOptions& options,
              size_t first)
      : buffers_(buffers), size_(options.size) {
    std::mt19937 random(static_cast<unsigned>(first));
    for (Header& header : headers_) {
      header.fill(0x02), header[12] = 8, header[13] = 0;
      const RingHeader ip =
          options.routes.empty() ? ring_header(size_, random) : ring_header(size_, options.routes, random);
      std::copy(ip.begin(), ip.end(), header.begin() + kRingLink);
    }
    const double queues = options.queues;
    const Pace pace = options.rate_pps > 0 ? Pace(tsc_hz() * queues / options.rate_pps, 1, 0) : Pace();
    for (size_t i = first; i < session.transmitting().size(); i += static_cast<size_t>(options.threads)) {
      gpu::RingPair pair{};  // as the router's end sees it
      pair.rx = end_of(session.transmitting()[i]), pair.tx = end_of(session.receiving()[i]);
      queues_.push_back(std::make_unique<Queue>(pair, reinterpret_cast<uint8_t*>(buffers.data()), pace));
    }
  }

  void run(const std::atomic<Phase>& phase) {
    const uint64_t start = rte_rdtsc();
    for (Phase now; (now = phase.load(std::memory_order_relaxed)) != Phase::over;)
      for (const auto& queue : queues_) queue->take(now == Phase::measured), send(*queue, start);
    uint64_t last = got();
    for (double since = seconds_now(); got() != sent() && seconds_now() < since + kQuietS;) {
      for (const auto& queue : queues_) queue->take(false);
      if (got() != last) last = got(), since = seconds_now();
    }
  }
  /** So far; any thread. */
  uint64_t got() const {
    uint64_t sum = 0;
    for (const auto& queue : queues_) sum += queue->end().got();
    return sum;
  }
  uint64_t sent() const {
    uint64_t sum = 0;
    for (const auto& queue : queues_) sum += queue->end().sent();
    return sum;
  }
  void add_latencies_to(Histogram& all) const {
    for (const auto& queue : queues_) all.merge(queue->latency_ticks());
  }

 private:
  using Header = std::array<uint8_t, kRingPayload>;

  static gpu::RingEnd end_of(const memif::SharedRing& ring) {
    gpu::RingEnd end{};
    end.ring = ring.ring, end.size = 1u << ring.log2_size, end.owner = true;
    return end;
  }
  void send(Queue& queue, uint64_t start_tsc) {
    queue.send(start_tsc, [this](uint8_t* frame, uint64_t number) {
      // Where it lies the client says.
      const auto at = static_cast<uint64_t>(frame - reinterpret_cast<uint8_t*>(buffers_.data()));
      if (at + size_ > buffers_.size()) throw Error("a descriptor points out of the buffers");
      std::memcpy(frame, headers_[number % headers_.size()].data(), kRingPayload);
      return size_;
    });
  }

  std::span<std::byte> buffers_;
  uint32_t size_;
  std::array<Header, 4096> headers_;
  std::vector<std::unique_ptr<Queue>> queues_;
};

std::vector<Probe::Value> measure(const PeerOptions& options) {
  memif::PortConfig config{options.socket, memif::Role::server, {}};
  config.interface.receiving = config.interface.transmitting = options.queues;
  memif::Port port(config, nullptr, nullptr);
  const memif::ServerSession& session = connect(port, options.wait_s);
  const auto buffers = buffers_of(session, options.wait_s);
  std::vector<std::unique_ptr<Circulation>> parts;
  for (int t = 0; t < options.threads; ++t)
    parts.push_back(std::make_unique<Circulation>(session, buffers, options, static_cast<size_t>(t)));
  std::atomic<Phase> phase{Phase::warm_up};
  std::string problem;
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < options.threads; ++t)
    threads.emplace_back([&, t] {
      pin_to_core(options.first_core + t);
      try {
        parts[static_cast<size_t>(t)]->run(phase);
      } catch (const Error& error) {
        if (!failed.exchange(true)) problem = error.what();
      }
    });
  const auto got = [&] {
    uint64_t sum = 0;
    for (const auto& part : parts) sum += part->got();
    return sum;
  };
  const auto stay = [&](double seconds) {
    for (const double until = seconds_now() + seconds; seconds_now() < until && !failed;)
      std::this_thread::sleep_for(std::chrono::milliseconds(kPollMs));
  };
  stay(std::min(0.3, options.seconds));
  phase = Phase::measured;
  const uint64_t before = got();
  const double start = seconds_now();
  stay(options.seconds);
  const uint64_t packets = got() - before;
  const double elapsed = seconds_now() - start;
  phase = Phase::over;
  for (std::thread& thread : threads) thread.join();
  if (failed) throw Error(problem);
  uint64_t sent = 0;
  Histogram ticks;
  for (const auto& part : parts) sent += part->sent(), part->add_latencies_to(ticks);
  const double mpps = static_cast<double>(packets) * 1e-6 / elapsed;
  std::vector<Probe::Value> values{{"mpps", "Mpps", mpps},
                                   {"gbps", "Gb/s", mpps * options.size * 8e-3},
                                   {"sent", "packets", static_cast<double>(sent)},
                                   {"came_back", "packets", static_cast<double>(got())}};
  if (sent == got() && ticks.count() > 0)
    for (const auto& [name, percent] : {std::pair{"latency_p50", 50.0}, {"latency_p99", 99.0}, {"latency_p999", 99.9}})
      values.push_back({name, "us", static_cast<double>(ticks.percentile(percent)) * 1e6 / tsc_hz()});
  return values;
}

const RegisterProbe memif_peer("memif-peer", [](Probe::Parameters& parameters) {
  PeerOptions options;
  options.socket = parameters.text("socket", "");
  if (options.socket.empty()) throw Error("socket: where to listen is missing");
  options.queues = parameters.number("queues", 1, 1, 64);
  options.size = static_cast<uint32_t>(parameters.number("size", 64, kRingPayload, 9216));
  options.seconds = parameters.number("seconds", 2, 1, 3600);
  options.rate_pps = parameters.number("rate", 0, 0, 1'000'000'000);
  options.wait_s = parameters.number("wait", 60, 1, 3600);
  options.threads = std::min(options.queues, parameters.number("threads", 1, 1, 64));
  options.first_core = parameters.number("core", 0, 0, 1023);
  if (const std::string file = parameters.text("routes", ""); !file.empty()) {
    std::vector<std::string> errors;
    options.routes = ip_lookup::read_route_file(file, errors);
    if (!errors.empty()) throw Error(errors.front());
    if (options.routes.empty()) throw Error("routes: " + file + " has none");
  }
  parameters.expect_all_used();
  return measure(options);
});

}  // namespace
}  // namespace heddle::bench
