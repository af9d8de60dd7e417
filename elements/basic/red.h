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
  void link(const Directory& directory) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override { random_.seed(environment.seed_of(*this, 0)); }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  /** The nearest queues behind it, or, where something pulls first, before it. */
  void follow(unsigned length);
  bool marks();
  unsigned length() const;

  std::atomic<unsigned> min_{0}, max_{0};  // packets
  std::atomic<double> max_p_{0}, average_{0};
  double weight_ = 0;
  enum class Place : uint8_t { pushed, pulled, named };
  Place place_ = Place::pushed;  // packets that pass enter the queues, come from them, or neither
  std::string names_;
  std::vector<const Storage*> queues_;
  PerThreadCounts dropped_{counts};

  std::atomic_flag held_;           // by the thread that decides; guards what follows
  uint64_t since_drop_ = 0;         // packets that passed between the thresholds since the last drop
  RouterClock::time_point last_{};  // when packets came last
  std::minstd_rand random_;
};

}  // namespace heddle
