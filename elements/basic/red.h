#pragma once

#include <random>
#include <vector>

#include "core/clock.h"
#include "core/element.h"

namespace heddle {

class Storage;

/** RED: drops packets at random before queues are full (Random Early Detection).
 *
 *      RED(MIN_THRESH, MAX_THRESH, MAX_P [, keywords QUEUES, STABILITY])
 *
 *  Works with the average length of the queues that it leads to (pushed) or is fed by (pulled), the nearest on each
 *  way; several count together. Below MIN_THRESH packets pass; from there to MAX_THRESH the probability of a drop rises
 *  to MAX_P (0 to 1), from there to twice MAX_THRESH to 1 ("gentle"); beyond that all are dropped. QUEUES: names of
 *  queues, separated by spaces, to be used instead. STABILITY: how slowly the average follows, the weight of a packet
 *  being 1 / 2^STABILITY; 0 to 16, default 4. When packets find the queues empty, the average falls as if one had come
 *  every 10 ms since the last. Marked packets leave by output 1 if there is one, else they are dropped ("early").
 *
 *  Handlers: `min_thresh`, `max_thresh` (rw; the one is never above the other), `max_p` (rw), `avg_queue_size` (r),
 *  `queues` (r, names), `drops` (r), `stats` (r).
 *
 *  (S. Floyd, V. Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions on
 *  Networking 1(4), 1993, with drops spaced uniformly; S. Floyd, "Recommendation on using the gentle variant of RED",
 *  2000.)
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> RED(5, 50, 0.02) -> Queue(200) -> RatedUnqueue(1000) -> Discard;
 */
class RED : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  void link(const Directory& directory) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override { random_.seed(environment.seed_of(*this, 0)); }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 protected:
  /** Reads MAX_P, and the keywords. */
  void configure_others(click::Arguments& arguments);

  std::atomic<unsigned> min_{0}, max_{0};  // packets
  std::atomic<double> max_p_{0}, average_{0};
  std::atomic_flag held_;  // by the thread that decides

 private:
  /** The nearest queues behind it, or, where something pulls first, before it. */
  void follow(unsigned length);
  bool marks();
  unsigned length() const;

  double weight_ = 0;
  enum class Place : uint8_t { pushed, pulled, named };
  Place place_ = Place::pushed;  // packets that pass enter the queues, come from them, or neither
  std::string names_;
  std::vector<const Storage*> queues_;
  PerThreadCounts dropped_{counts};

  // Of the thread that decides.
  uint64_t since_drop_ = 0;         // packets that passed between the thresholds since the last drop
  RouterClock::time_point last_{};  // when packets came last
  std::minstd_rand random_;
};

/** AdaptiveRED: drops packets at random so that queues have a certain length on average (Adaptive RED).
 *
 *      AdaptiveRED(TARGET_Q, MAX_P [, keywords QUEUES, STABILITY])
 *
 *  As RED with a MIN_THRESH of TARGET_Q / 2 and a MAX_THRESH of 3 TARGET_Q / 2, whose MAX_P follows the average length:
 *  every half second it rises by a quarter, but at most by 0.01, if that is above the middle of the two, up to 0.5, and
 *  falls by a tenth if it is below, down to 0.01. TARGET_Q: packets, 2 to 500,000. MAX_P: where it begins. QUEUES,
 *  STABILITY: as of RED.
 *
 *  Handlers: those of RED; `max_p` is the present one.
 *
 *  (S. Floyd, R. Gummadi, S. Shenker, "Adaptive RED: An Algorithm for Increasing the Robustness of RED's Active Queue
 *  Management", 2001, with Click's target of a point instead of a range.)
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> AdaptiveRED(25, 0.02) -> Queue(200) -> RatedUnqueue(1000) -> Discard;
 */
class AdaptiveRED : public RED {
 public:
  void configure(click::Arguments& arguments) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return 10'000; }
  void on_timer(int thread) override;

 private:
  /** Makes up for the half seconds that have passed. */
  void adapt();

  RouterClock::time_point next_{};  // within held_: when it is to be done
};

}  // namespace heddle
