// gopt-ip4, gopt-ip6, gopt-ndn, gopt-l2: whole packet handlers that gopt has transformed against the same as written,
// on one core (sections 4 and 4.2 of its paper). Frames lie one behind the other, as from a driver that has put them
// into the cache. The probe gopt-handler measures one on several cores, for bench/figures/gopt-figure-10.py.

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "bench/bench.h"
#include "bench/gopt/handler_kinds.h"
#include "bench/probe.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/huge_pages.h"

namespace heddle::bench {
namespace {

constexpr int kRounds = 11, kBatch = 64;
constexpr size_t kPackets = 1 << 18;

/** A thread's packets, their frames one behind the other, and where they are sent. */
class Traffic {
 public:
  Traffic(const HandlerKind& kind, uint64_t seed)
      : bytes_(kind.stride * kPackets), memory_(map_huge_pages(bytes_)), packets_(kPackets) {
    std::mt19937_64 random(seed);
    for (size_t i = 0; i < kPackets; ++i) {
      packets_[i] = {reinterpret_cast<uint8_t*>(memory_.get()) + i * kind.stride, static_cast<uint32_t>(kind.stride),
                     0};
      to_forward_ += kind.fill(random, packets_[i]) ? 1 : 0;
    }
    fresh_ = frames();
  }
  uint64_t to_forward() const { return to_forward_; }
  const ports& sent() const { return *ports_; }
  std::vector<std::byte> frames() const { return {memory_.get(), memory_.get() + bytes_}; }

  /** Takes the packets, as they were made, through the handler; seconds of the thread's own time. */
  template <class Handler>
  double run(const Handler& handler) {
    std::memcpy(memory_.get(), fresh_.data(), bytes_);
    *ports_ = {};
    const double start = cpu_seconds();
    for (size_t at = 0; at < kPackets; at += kBatch) handler(&packets_[at], kBatch, ports_.get());
    return cpu_seconds() - start;
  }

 private:
  size_t bytes_;
  HugePages memory_;
  std::vector<packet> packets_;
  uint64_t to_forward_ = 0;
  std::vector<std::byte> fresh_;
  std::unique_ptr<ports> ports_ = std::make_unique<ports>();
};

/** What a handler has done: packets and bytes by port, drops, and the frames that it leaves behind. */
struct Outcome {
  std::vector<uint64_t> counts;
  std::vector<std::byte> frames;
  bool operator==(const Outcome&) const = default;
};

template <class Handler>
Outcome outcome_of(Traffic& traffic, const Handler& handler) {
  traffic.run(handler);
  Outcome found{{traffic.sent().dropped}, traffic.frames()};
  for (const port& port : traffic.sent().port) found.counts.push_back(port.packets), found.counts.push_back(port.bytes);
  return found;
}

/** Throws Error unless both forms do the same to all packets, and forward those that they should. */
void check(const std::string& name, const HandlerKind& kind, Traffic& traffic) {
  const Outcome right = outcome_of(traffic, kind.forms.at("as-written"));
  for (const auto& [form, handler] : kind.forms)
    if (outcome_of(traffic, handler) != right) throw Error(name + ": " + form + " does something else");
  if (kPackets - right.counts[0] != traffic.to_forward())
    throw Error(
        format("%s: %zu packets forwarded, not %zu", name.c_str(), kPackets - right.counts[0], traffic.to_forward()));
}

Result compare(const std::string& name, const HandlerKind& kind) {
  Traffic traffic(kind, 2);
  check(name, kind, traffic);
  const auto rate = [&](const char* form) { return kPackets / traffic.run(kind.forms.at(form)) * 1e-6; };
  Result result = paired(
      name, "Mpps", kind.target, kRounds, [&] { return rate("gopt"); }, [&] { return rate("as-written"); });
  result.note = format("baseline: as written; batches of %d; ", kBatch) + kind.note;
  return result;
}

const Register ip4_benchmark("gopt-ip4", false, [] {
  pin_to_core(0);
  return std::vector{compare("gopt-ip4", ip4_kind(1)), compare("gopt-ip4x32", ip4_kind(32))};
});
const Register ip6_benchmark("gopt-ip6", false, [] {
  pin_to_core(0);
  return std::vector{compare("gopt-ip6", ip6_handler_kind())};
});
const Register ndn_benchmark("gopt-ndn", false, [] {
  pin_to_core(0);
  return std::vector{compare("gopt-ndn", ndn_kind(40'000'000))};
});
const Register l2_benchmark("gopt-l2", false, [] {
  pin_to_core(0);
  HandlerKind small = l2_kind(10'000'000);
  small.target = 0;  // it may lie in the cache
  return std::vector{compare("gopt-l2-10m", small), compare("gopt-l2", l2_kind(40'000'000))};
});

/** The kind that was asked for last stays: making it takes seconds. */
const HandlerKind& kind_named(const std::string& name) {
  static std::string last;
  static HandlerKind kind;
  if (name != last) kind = {}, kind = handler_kind_of(name), last = name;
  return kind;
}

std::vector<Probe::Value> handler(Probe::Parameters& parameters) {
  const std::string task = parameters.text("task", "ip4", {"echo", "ip4", "ip4x32", "ip6", "ndn", "l2"});
  const std::string form = parameters.text("form", "gopt", {"as-written", "gopt"});
  const int cores = parameters.number("cores", 1, 1, 1024), ms = parameters.number("ms", 300, 1, 60000);
  parameters.expect_all_used();
  const HandlerKind& kind = kind_named(task);
  if (!kind.forms.contains(form)) throw Error("there is no form '" + form + "' of " + task);
  std::atomic<int> ready{0};
  std::atomic<bool> stop{false};
  std::vector<double> rates(static_cast<size_t>(cores));
  std::vector<std::thread> threads;
  for (int core = 0; core < cores; ++core)
    threads.emplace_back([&, core] {
      pin_to_core(core);
      Traffic traffic(kind, static_cast<uint64_t>(core) + 1);
      traffic.run(kind.forms.at(form));  // warm-up
      for (++ready; ready.load() < cores;) std::this_thread::yield();
      double seconds = 0, packets = 0;
      do seconds += traffic.run(kind.forms.at(form)), packets += kPackets;
      while (!stop.load(std::memory_order_relaxed));
      rates[static_cast<size_t>(core)] = packets / seconds;
    });
  while (ready.load() < cores) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(ms));
  stop = true;
  for (auto& thread : threads) thread.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return {{"mpps", "Mpps", sum * 1e-6}};
}
const RegisterProbe gopt_handler("gopt-handler", handler);

}  // namespace
}  // namespace heddle::bench
