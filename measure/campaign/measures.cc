#include "measure/campaign/measures.h"

#include <algorithm>

#include "core/error.h"
#include "measure/campaign/search.h"

namespace heddle::bench {
namespace {

constexpr double kOthers = 0.02;  // share of the cores that others may have
constexpr double kIdle = 0.05;    // share of their time in which saturated packet threads find nothing at most
constexpr double kCopies = 1.05;  // packets that come out for each that was offered, beyond those of the warm-up
constexpr double kSlower = 0.5;   // share of the time in which the wire has room if the generator is the slower one

class Repetition {
 public:
  Repetition(Target& target, const Setup& setup) : target_(target), setup_(setup) {}

  Measurement throughput() {
    const Outcome outcome = target_.run({0, setup_.trial_s, false});
    add_rates(outcome);
    add_costs(outcome);
    if (outcome.offered > 0) add("generator_behind", outcome.behind, "1");
    if (!disturbed(outcome) && outcome.behind > kSlower && outcome.cpu_utilisation &&
        *outcome.cpu_utilisation < 1 - kIdle)
      warn("the generator is the bottleneck: the wire had room most of the time, and the router was idle at times" +
           more_cores());
    if (setup_.elsewhere && outcome.behind > kSlower)
      warn("the generator may be the bottleneck: the wire had room most of the time" + more_cores());
    check_taken(outcome);
    return std::move(result_);
  }

  Measurement latency() {
    const Outcome outcome = target_.run({setup_.rate_pps, setup_.trial_s, true, setup_.swing});
    if (outcome.intended == 0)
      warn("no packet was due within a trial, so that nothing is known; give a higher --rate or a longer --trial");
    add_rates(outcome);
    add_latency(outcome);
    add_costs(outcome);
    check_generator(outcome);
    check_taken(outcome);
    return std::move(result_);
  }

  Measurement zero_loss() {
    const SearchResult found = find_zero_loss(target_, search_options());
    if (found.generator_limited)
      warn("the generator is the bottleneck: it cannot send more than was forwarded" + more_cores());
    if (found.retried > 0) warn("trials that lost packets were made again and lost none (--retries)");
    if (found.late > 0)
      warn(
          "the generator was late in trials that lost packets, which may be its fault: what was found may be too low; "
          "let nothing else run");
    if (found.rate_pps == 0) {
      const uint64_t kept = found.decisive.kept;
      warn(kept > found.decisive.lost / 2
               ? format("no rate without loss was found: at the end of a trial %llu packets stayed in the chain "
                        "until more would come, which counts as loss; give elements that gather packets a limit, "
                        "as MinBatch its TIMER, or allow some loss (--loss)",
                        static_cast<unsigned long long>(kept))
               : "no rate without loss was found; allow some (--loss), or see what the chain drops (heddle run)");
      add("mpps", 0, "Mpps");
      return std::move(result_);
    }
    const Outcome& outcome = found.decisive;
    add("mpps", found.rate_pps * 1e-6, "Mpps");
    add("gbps", found.rate_pps * bits_per_packet(outcome) * 1e-9, "Gb/s");
    if (found.lossy_pps > 0) add("lossy_mpps", found.lossy_pps * 1e-6, "Mpps");
    add("trials", found.trials, "1");
    if (outcome.unrecognised > 0) add("unrecognised", static_cast<double>(outcome.unrecognised), "packets");
    if (outcome.known())
      add("loss", outcome.loss(), "1");
    else
      warn(
          "the last trial lost packets or gave back some that were not recognised: the chain changes or makes "
          "payloads");
    add_latency(outcome);
    add_costs(outcome);
    check_generator(outcome);
    return std::move(result_);
  }

 private:
  double final_s() const { return setup_.final_s > 0 ? setup_.final_s : setup_.trial_s; }

  SearchOptions search_options() {
    SearchOptions options;
    options.loss = setup_.loss, options.resolution = setup_.resolution, options.retries = setup_.retries;
    options.trial_s = setup_.trial_s, options.final_s = final_s();
    options.start_pps = setup_.start_pps;
    if (options.start_pps == 0) {
      options.start_pps = target_.run({0, setup_.trial_s, false}).forwarded_pps();
      target_.rest();
    }
    if (options.start_pps == 0) options.start_pps = 1000;  // it forwards nothing: let the search find that out
    return options;
  }

  static double bits_per_packet(const Outcome& outcome) {
    return outcome.forwarded > 0 ? outcome.forwarded_bits / static_cast<double>(outcome.forwarded) : 0;
  }

  void add_rates(const Outcome& outcome) {
    add("mpps", outcome.forwarded_pps() * 1e-6, "Mpps");
    if (outcome.seconds > 0) add("gbps", outcome.forwarded_bits / outcome.seconds * 1e-9, "Gb/s");
    if (outcome.intended > 0)
      add("intended_mpps", static_cast<double>(outcome.intended) / outcome.seconds * 1e-6, "Mpps");
    if (outcome.unrecognised > 0) add("unrecognised", static_cast<double>(outcome.unrecognised), "packets");
    if (outcome.offered == 0) return;
    add("offered_mpps", outcome.offered_pps() * 1e-6, "Mpps");
    if (outcome.forwarded == 0)
      warn("nothing came out: the chain has kept or dropped every packet, or had no time on its cores");
    if (!outcome.known())
      warn(
          "packets came out that were not recognised (see unrecognised), so that loss, order and latency are not "
          "known: the chain changes or makes payloads");
    if (outcome.duplicated > 0 || outcome.forwarded_pps() > kCopies * outcome.offered_pps())
      warn(
          "more packets came out than were offered: the chain copies or makes packets (or the wire repeats them); mpps "
          "and gbps count all that came out, and a packet is lost when none of its copies did");
    if (!outcome.known()) return;
    add("loss", outcome.loss(), "1");
    add("reordered", static_cast<double>(outcome.reordered), "packets");
    add("duplicated", static_cast<double>(outcome.duplicated), "packets");
  }

  void add_latency(const Outcome& outcome) {
    if (!outcome.latency) return;
    result_.latency_ns = outcome.latency_ns;
    const Latency& latency = *outcome.latency;
    add("latency_mean_us", latency.mean_us, "us");
    add("latency_p50_us", latency.p50_us, "us");
    add("latency_p90_us", latency.p90_us, "us");
    add("latency_p99_us", latency.p99_us, "us");
    add("latency_p999_us", latency.p999_us, "us");
    add("latency_max_us", latency.max_us, "us");
  }

  static bool disturbed(const Outcome& outcome) { return outcome.core_share && *outcome.core_share < 1 - kOthers; }

  void add_costs(const Outcome& outcome) {
    if (outcome.cycles_per_packet) add("cycles_per_packet", *outcome.cycles_per_packet, "cycles");
    if (outcome.cpu_utilisation) add("cpu_utilisation", *outcome.cpu_utilisation, "1");
    if (outcome.core_share) add("core_share", *outcome.core_share, "1");
    if (disturbed(outcome))
      warn("other programs had part of the cores (see core_share): what was measured is too low; let nothing else run");
    if (outcome.bytes_to_gpu) add("bytes_to_gpu", *outcome.bytes_to_gpu, "B");
    if (outcome.bytes_from_gpu) add("bytes_from_gpu", *outcome.bytes_from_gpu, "B");
    if (outcome.gpu_utilisation) add("gpu_utilisation", *outcome.gpu_utilisation, "1");
    if (!outcome.gpu_power_w) return;
    add("gpu_power_w", *outcome.gpu_power_w, "W");
    if (*outcome.gpu_power_w > 0) add("packets_per_joule", outcome.forwarded_pps() / *outcome.gpu_power_w, "1/J");
  }

  std::string more_cores() const {
    const bool useful = !setup_.elsewhere && setup_.generators < kGeneratorsPerThread * setup_.cores;
    return useful ? "; give it more cores (--generators)" : "";
  }

  void check_taken(const Outcome& outcome) {
    if (outcome.held_up > kHeldUp)
      warn(format(
          "the generator is the bottleneck: it takes packets so slowly that the wire had no room for %.0f %% of them "
          "when the router sent them; what was lost or waited there is not the router's",
          std::min(100.0, 100 * outcome.held_up)));
  }

  void check_generator(const Outcome& outcome) {
    add("generator_behind", outcome.behind, "1");
    if (outcome.behind > kLate)
      warn(
          "the generator is the bottleneck: it was late for more than 1 % of the time, which latencies "
          "contain; a lower rate helps" +
          more_cores());
  }

  void add(const char* name, double value, const char* unit) { result_.samples.push_back({name, value, unit}); }
  void warn(std::string text) { result_.warnings.push_back(std::move(text)); }

  Target& target_;
  const Setup& setup_;
  Measurement result_;
};

}  // namespace

Measurement measure(Target& target, const Setup& setup, const std::string& measure) {
  Repetition repetition(target, setup);
  if (measure == kThroughput) return repetition.throughput();
  if (measure == kLatency) return repetition.latency();
  if (measure == kZeroLoss) return repetition.zero_loss();
  throw Error("measure '" + measure + "' is not throughput, latency or zero-loss");
}

}  // namespace heddle::bench
