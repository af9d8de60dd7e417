#include "measure/campaign/search.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr int kDoublings = 20;       // of start_pps, before it is given up that packets will be lost
constexpr double kMin = 1.0 / 4096;  // of the rate that failed first: nothing passes
constexpr double kCannot = 0.5;      // share of the time: a generator that is late for so long cannot send the rate
constexpr int kLateAgain = 2;        // times that a trial is made again because the generator was late

class Search {
 public:
  Search(Target& target, const SearchOptions& options) : target_(target), options_(options) {}

  SearchResult run() {
    bracket();
    for (;;) {
      bisect();
      if (passed_.empty() && unknown_) fail_unknown();
      if (passed_.empty() || passes(passed_.back(), options_.final_s, true)) break;
      failed(passed_.back());
      if (options_.final_s <= options_.trial_s) continue;
      // Short trials were too kind: only long ones count from here on.
      passed_.clear();
      options_.trial_s = options_.final_s;
    }
    if (!passed_.empty()) result_.rate_pps = passed_.back();
    result_.generator_limited = failed_pps_ == 0 || failed_pps_ != result_.lossy_pps;
    return result_;
  }

 private:
  // From start_pps upwards until packets are lost, or the generator sends no more.
  void bracket() {
    double rate = options_.start_pps;
    for (int i = 0; i < kDoublings && failed_pps_ == 0; ++i, rate *= 2) try_at(rate);
  }

  void bisect() {
    for (;;) {
      const double low = passed_.empty() ? 0 : passed_.back();
      if (failed_pps_ - low <= options_.resolution * failed_pps_ || failed_pps_ < floor_) return;
      try_at((low + failed_pps_) / 2);
    }
  }

  void try_at(double rate) {
    if (passes(rate, options_.trial_s, false))
      passed_.push_back(rate);
    else
      failed(rate);
  }

  // From now on, so do all above it.
  void failed(double rate) {
    failed_pps_ = rate;
    if (floor_ == 0) floor_ = rate * kMin;
    while (!passed_.empty() && passed_.back() >= rate) passed_.pop_back();
  }

  bool passes(double rate, double seconds, bool stamps) {
    int again = options_.retries, late_again = kLateAgain;
    for (bool first = true;; first = false) {
      result_.decisive = target_.run({rate, seconds, stamps});
      const Outcome& outcome = result_.decisive;
      ++result_.trials;
      unknown_ = unknown_ || !outcome.known();
      // No other rate would tell more.
      if (outcome.lost == outcome.offered && outcome.unrecognised > outcome.lost / 2) fail_unknown();
      const bool cannot = outcome.behind > kCannot;
      if (!cannot && outcome.offered > 0 && outcome.loss() <= options_.loss) {
        result_.retried += !first;
        return true;
      }
      target_.rest();
      if (outcome.behind > kLate && late_again-- > 0) continue;
      if (cannot) return false;
      if (again-- > 0) continue;
      result_.late += outcome.behind > kLate || outcome.held_up > kHeldUp;
      result_.lossy_pps = rate;
      return false;
    }
  }

  [[noreturn]] static void fail_unknown() {
    throw Error(
        "zero-loss: packets come out that are not recognised, so that nobody knows what was lost: the chain changes or "
        "makes payloads; --measure throughput counts what comes out");
  }

  Target& target_;
  SearchOptions options_;
  SearchResult result_;
  std::vector<double> passed_;  // rates that passed, rising; all below failed_pps_
  double failed_pps_ = 0;       // the lowest rate that did not pass; 0: none yet
  double floor_ = 0;
  bool unknown_ = false;  // of some trial it is not known what it has lost
};

}  // namespace

SearchResult find_zero_loss(Target& target, const SearchOptions& options) { return Search(target, options).run(); }

}  // namespace heddle::bench
