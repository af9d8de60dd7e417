#include "bench/measure/search.h"

#include <algorithm>

#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr int kDoublings = 20;         // of start_pps, before it is given up that packets will be lost
constexpr double kLeast = 1.0 / 4096;  // of the rate that lost packets first: nothing passes

class Search {
 public:
  Search(Target& target, const SearchOptions& options) : target_(target), options_(options) {}

  SearchResult run() {
    bracket();
    for (;;) {
      bisect();
      if (passed_.empty() && unknown_) fail_unknown();
      if (passed_.empty()) return result_;  // not even the lowest rate
      if (options_.final_s <= options_.trial_s || passes(passed_.back(), options_.final_s)) break;
      // Short trials were too kind: only long ones count from here on.
      lossy(passed_.back());
      passed_.clear();
      options_.trial_s = options_.final_s;
      result_.generator_limited = false;
    }
    result_.rate_pps = passed_.back();
    return result_;
  }

 private:
  // From start_pps upwards until packets are lost, or the generator sends no more.
  void bracket() {
    double rate = options_.start_pps;
    for (int i = 0; i < kDoublings && result_.lossy_pps == 0 && !result_.generator_limited; ++i, rate *= 2)
      try_at(rate);
    if (result_.lossy_pps == 0) result_.generator_limited = true;
  }

  void bisect() {
    while (!result_.generator_limited) {
      const double high = result_.lossy_pps, low = passed_.empty() ? 0 : passed_.back();
      if (high - low <= options_.resolution * high || high < floor_) return;
      try_at((low + high) / 2);
    }
  }

  void try_at(double rate) {
    if (passes(rate, options_.trial_s))
      passed_.push_back(sent_pps_);
    else
      lossy(rate);
  }

  // The rate loses packets: so do, from now on, all above it.
  void lossy(double rate) {
    result_.lossy_pps = rate;
    if (floor_ == 0) floor_ = rate * kLeast;
    while (!passed_.empty() && passed_.back() >= rate) passed_.pop_back();
  }

  bool passes(double rate, double seconds) {
    for (int attempt = 0; attempt <= options_.retries; ++attempt) {
      const Outcome outcome = target_.run({rate, seconds, false});
      ++result_.trials;
      unknown_ = unknown_ || !outcome.known();
      // No other rate would tell more.
      if (outcome.lost == outcome.offered && outcome.unrecognised > outcome.lost / 2) fail_unknown();
      if (outcome.offered > 0 && outcome.loss() <= options_.loss) {
        result_.retried += attempt > 0;
        sent_pps_ = outcome.behind > kLate ? std::min(rate, outcome.offered_pps()) : rate;
        result_.generator_limited = outcome.behind > kLate;
        return true;
      }
      target_.rest();
    }
    return false;
  }

  [[noreturn]] static void fail_unknown() {
    throw Error(
        "zero-loss: packets come out that are not recognised, so that nobody knows what was lost: the chain changes or "
        "makes payloads; --measure throughput counts what comes out");
  }

  Target& target_;
  SearchOptions options_;
  SearchResult result_;
  std::vector<double> passed_;  // rates without loss, rising; all below lossy_pps
  double sent_pps_ = 0, floor_ = 0;
  bool unknown_ = false;  // of some trial it is not known what it has lost
};

}  // namespace

SearchResult find_zero_loss(Target& target, const SearchOptions& options) { return Search(target, options).run(); }

}  // namespace heddle::bench
