// gpu-classify-changes: what a change of one rule takes while packets are classified on a GPU, in sets of 10,000 and
// 100,000 rules like access lists, with the engine that ENGINE auto takes there and with the others that a GPU has.
// A rule leaves by the handler `remove` and comes back by `add`; each has ended when no packet is classified by the
// rules before it. One change comes right behind the other, and then, as other figures, so many a second as the time
// that is asked for allows, and 16 rules at once by the handler `ctrl`. The same with any set: the probe
// classifier-gpu-changes, also on simt.

#include <arpa/inet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bench/bench.h"
#include "bench/engine_run.h"
#include "bench/probe.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/load.h"
#include "measure/generate/filter_set.h"

namespace heddle::bench {
namespace {

constexpr size_t kPackets = 65'536, kHeaderBytes = 38;
constexpr double kPatienceSeconds = 30;                 // simt is slow, and machines are busy
using HeaderBytes = std::array<uint8_t, kHeaderBytes>;  // Ethernet, IPv4, ports

/** What FilterHeaders writes. */
std::vector<HeaderBytes> headers;

/** Gives packets the headers in turn, a cursor a thread. */
class FilterHeaders : public Element {
 public:
  Access access(Processor) const override { return {.writes = {{Base::head, 0, kHeaderBytes}}}; }
  void run_cpu(Batch& batch) override {
    size_t& at = cursors_[static_cast<size_t>(batch.thread)].at;
    for (int i = 0; i < batch.size(); ++i, at = (at + 1) % headers.size())
      std::memcpy(batch.frame(i), headers[at].data(), kHeaderBytes);
  }
  void start(const Environment&) override {
    for (size_t thread = 0; thread < kMaxThreads; ++thread) cursors_[thread].at = thread * 7919 % headers.size();
  }

 private:
  struct alignas(64) Cursor {
    size_t at = 0;
  };
  std::array<Cursor, kMaxThreads> cursors_;
};
HEDDLE_ELEMENT(FilterHeaders);

HeaderBytes bytes_of(const Header& header) {
  HeaderBytes bytes{};
  bytes[12] = 0x08, bytes[14] = 0x45, bytes[23] = header.protocol;
  store_u32(&bytes[26], htonl(header.source)), store_u32(&bytes[30], htonl(header.destination));
  store_u16(&bytes[34], htons(header.source_port)), store_u16(&bytes[36], htons(header.destination_port));
  return bytes;
}

/** A set of rules in a file that is gone with it, and headers of which four of five lie at a corner of a rule. */
class RulesAndPackets {
 public:
  RulesAndPackets(const std::string& like, size_t count)
      : path_(format("/tmp/heddle-bench-%d.rules", static_cast<int>(getpid()))) {
    const auto filters = generate_filters(parameters_like(like), {.count = count});
    const std::string text = to_text(filters);
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    std::ofstream out(path_);
    if (!(out << text).flush()) throw Error("cannot write " + path_);
    std::mt19937 random(1);
    headers.clear();
    for (const TraceHeader& one : generate_headers(filters, kPackets, 1, 0, 1)) {
      headers.push_back(bytes_of(one.header));
      if (random() % 5 == 0)
        for (size_t i = 26; i < kHeaderBytes; ++i) headers.back()[i] = static_cast<uint8_t>(random());
    }
  }
  ~RulesAndPackets() { unlink(path_.c_str()); }
  RulesAndPackets(const RulesAndPackets&) = delete;
  RulesAndPackets& operator=(const RulesAndPackets&) = delete;
  const std::string& path() const { return path_; }

  std::vector<std::string> lines;  ///< the rules, by number

 private:
  std::string path_;
};

/** How rules are changed. */
struct Pace {
  int a_second = 0;    ///< changes; 0: one right behind the other
  size_t at_once = 1;  ///< rules a change
};

/** A classifier on a GPU, with packet threads that give it all that they can. */
class Classifier {
 public:
  /** `engine`: what ENGINE says. Throws Error. */
  Classifier(const RulesAndPackets& rules, const std::string& engine, const std::string& device, int threads)
      : rules_(rules), threads_(threads) {
    PlanOptions plan;
    plan.set_device(device);
    RunOptions options;
    options.pin = true, options.threads = threads;
    engine_ = make_engine(
        "FromDPDKDevice(\"net_null0,size=60\") -> FilterHeaders -> MarkIPHeader(14) -> "
        "c :: BitVectorClassifier(RULES " +
            rules.path() + ", DEFAULT 0, ENGINE " + engine + ") -> ToDPDKDevice(net_null1)",
        plan, options);
    engine_->start();
  }

  /** Millions of packets a second, with changes meanwhile. */
  double mpps_with_changes(double seconds, Pace pace) {
    return running_mpps(*engine_, seconds,
                        {[this, pace](Engine&, const std::atomic<bool>& stop) { change_rules(pace, stop); }});
  }
  double mpps(double seconds) { return running_mpps(*engine_, seconds); }
  /** Throws Error if packets were lost, or changes, or no packet has hit a rule. */
  void end() {
    if (engine_->handlers().read("c.count") != std::to_string(rules_.lines.size())) throw Error("rules were lost");
    for (const double start = seconds_now(); engine_->handlers().read("c.hits").empty(); usleep(1000))
      if (seconds_now() > start + kPatienceSeconds) throw Error("no packet has hit a rule");
    bench::end(*engine_);
  }
  /** Its engine, and why. */
  std::string choice() { return engine_->handlers().read("c.engine"); }

  std::vector<double> change_ms;  ///< of each since it was emptied
  double changing_seconds = 0;    ///< that they took, with what was waited in between

 private:
  void change_rules(Pace pace, const std::atomic<bool>& stop) {
    pin_to_core(threads_);
    const double start = seconds_now();
    const auto change = [&](const std::string& commands) {
      const double before = seconds_now();
      engine_->handlers().write("c.ctrl", commands);
      const double now = seconds_now();
      change_ms.push_back(1e3 * (now - before));
      if (const double due = before + 1.0 / pace.a_second; pace.a_second != 0 && now < due)
        std::this_thread::sleep_for(std::chrono::duration<double>(due - now));
    };
    do {
      std::set<size_t> changed;
      while (changed.size() < std::min(pace.at_once, rules_.lines.size()))
        changed.insert(random_() % rules_.lines.size());
      std::string gone, back;
      for (const size_t rule : changed) {
        gone += format("remove %zu\n", rule);
        back += format("add %zu ", rule) + rules_.lines[rule] + "\n";
      }
      change(gone);
      change(back);
    } while (!stop);
    changing_seconds += seconds_now() - start;
  }

  const RulesAndPackets& rules_;
  int threads_;
  std::mt19937 random_{3};
  std::unique_ptr<Engine> engine_;
};

/** Packet threads: as gpu-classify has, where there are cores for them and for changes. */
int packet_threads() { return std::clamp(core_count() - 1, 1, 4); }

std::vector<Result> gpu_classify_changes() {
  constexpr double kSeconds = 2;
  constexpr int kRounds = 3;
  std::vector<Result> results;
  for (const auto& [name, count, figure] : {std::tuple{"10k", 10'000, 1.0}, std::tuple{"100k", 100'000, 5.0}}) {
    const RulesAndPackets rules("acl", static_cast<size_t>(count));
    std::string taken;  // by auto
    for (std::string engine : {"auto", "hypersplit", "bitvector", "tuple"}) {
      if (engine == taken) continue;
      std::optional<Classifier> classifier;
      try {
        classifier.emplace(rules, engine, "gpu", packet_threads());
      } catch (const Error& error) {
        std::fprintf(stderr, "gpu-classify-changes-%s-%s: %s\n", name, engine.c_str(), error.what());
        continue;
      }
      const std::string choice = classifier->choice();
      if (engine == "auto") engine = taken = choice.substr(7, choice.find(':') - 7);  // "engine NAME: WHY"
      const double alone = classifier->mpps(kSeconds);
      for (const Pace pace : {Pace{}, Pace{.a_second = static_cast<int>(1e3 / figure)}, Pace{.at_once = 16}}) {
        classifier->changing_seconds = 0;
        std::vector<double> rates;
        double longest = 0;
        size_t changes = 0;
        results.push_back(absolute(format("gpu-classify-changes-%s-%s", name, engine.c_str()) +
                                       (pace.a_second == 0 ? "" : format("-%d", pace.a_second)) +
                                       (pace.at_once == 1 ? "" : format("-by-%zu", pace.at_once)),
                                   "ms", figure, true, kRounds, [&] {
                                     classifier->change_ms.clear();
                                     rates.push_back(classifier->mpps_with_changes(kSeconds, pace));
                                     changes += pace.at_once * classifier->change_ms.size();
                                     longest = std::max(longest, percentile(classifier->change_ms, 1));
                                     return percentile(classifier->change_ms, 0.5);
                                   }));
        results.back().note =
            format("the longest %.3f ms; %.0f rules a second; %.1f Mpps meanwhile, %.1f without; ", longest,
                   static_cast<double>(changes) / classifier->changing_seconds, percentile(rates, 0.5), alone) +
            choice;
      }
      classifier->end();
    }
  }
  return results;
}

std::vector<Probe::Value> changes_probe(Probe::Parameters& parameters) {
  const std::string like = parameters.text("like", "acl", {"acl", "fw", "ipc"});
  const std::string engine = parameters.text("engine", "auto", {"auto", "bitvector", "hypersplit", "tuple"});
  const std::string device = parameters.text("device", "gpu", {"gpu", "simt"});
  const auto count = static_cast<size_t>(parameters.number("rules", 10'000, 1, 1'000'000));
  const int ms = parameters.number("ms", 2000, 1, 600'000);
  const Pace pace{.a_second = parameters.number("changes", 0, 0, 1'000'000),
                  .at_once = static_cast<size_t>(parameters.number("at_once", 1, 1, 10'000))};
  parameters.expect_all_used();
  const RulesAndPackets rules(like, count);
  Classifier classifier(rules, engine, device, packet_threads());
  const double alone = classifier.mpps(1e-3 * ms);
  const double meanwhile = classifier.mpps_with_changes(1e-3 * ms, pace);
  classifier.end();
  return {{"change_ms", "ms", percentile(classifier.change_ms, 0.5)},
          {"longest_ms", "ms", percentile(classifier.change_ms, 1)},
          {"rules_per_second", "1/s",
           static_cast<double>(pace.at_once * classifier.change_ms.size()) / classifier.changing_seconds},
          {"mpps", "Mpps", meanwhile},
          {"mpps_without_changes", "Mpps", alone}};
}

const RegisterProbe probe("classifier-gpu-changes", changes_probe);
const Register registered("gpu-classify-changes", true, gpu_classify_changes);

}  // namespace
}  // namespace heddle::bench
