#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "click/values.h"
#include "core/clock.h"
#include "core/element.h"
#include "elements/basic/rate.h"

namespace heddle {

/** A rate that may not be exceeded, of packets or of bytes: tokens for those that came due, a handler's value. One
 *  thread takes. */
class Allowance {
 public:
  /** Reads the argument RATE: packets a second, or, of bytes, a bandwidth. At most 10 ms of the rate gather, but at
   *  least two packets of usual length; or what the keywords BURST_SIZE (BURST_BYTES) and BURST_DURATION say, and then
   *  as much is there from the start. */
  void configure(click::Arguments& arguments, bool of_bytes);
  void handlers(Handlers& list);
  /** Whether the next packet may go; packets that it takes may leave a debt. */
  bool open();
  /** Has as much as at the start, from the next question on. Any thread. */
  void reset() { reset_ = true; }
  void start(const Environment& environment) { stopping_ = environment.stopping; }
  /** How many of `wanted` packets may go. All, when the run is to end: what is on its way is processed to the end. */
  int packets(int wanted);
  void take(uint64_t packets, uint64_t bytes) { tokens_ -= static_cast<double>(of_bytes_ ? bytes : packets); }
  bool of_bytes() const { return of_bytes_; }
  double rate() const { return rate_.load(std::memory_order_relaxed); }

 private:
  void fill();
  double at_start() const;
  /** Most tokens that gather at a rate. */
  double most(double rate) const;

  std::atomic<double> rate_{0};
  double burst_ = 0, burst_s_ = 0;  // BURST_SIZE, BURST_DURATION; 0: not given
  bool of_bytes_ = false;
  double tokens_ = 0;
  std::atomic<bool> reset_{false};
  std::function<bool()> stopping_;
  RouterClock::time_point filled_at_ = RouterClock::now();
};

/** RatedUnqueue: pulls packets at a rate and pushes them on.
 *
 *      RatedUnqueue(RATE [, keywords BURST_SIZE, BURST_DURATION])
 *
 *  RATE: packets a second. Pull input, push output; runs on the first packet thread, or where StaticThreadSched puts
 *  it. What it has missed for less than 10 ms it makes up for. BURST_SIZE, BURST_DURATION: how much it makes up for
 *  instead, packets, or a time of the rate (one packet at least); at the start so many may go at once.
 *
 *  Handlers: `rate` (rw), `count` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> RatedUnqueue(1000) -> ToDump(out.pcap);
 */
class RatedUnqueue : public Element {
 public:
  void configure(click::Arguments& arguments) override { allowance_.configure(arguments, false); }
  bool can_live_reconfigure() const override { return true; }
  const char* processing() const override { return "l/h"; }
  int demand(int thread) override;
  void start(const Environment& environment) override { allowance_.start(environment); }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 protected:
  Allowance allowance_;
  PerThreadCounts counts_{counts};
};

/** BandwidthRatedUnqueue: pulls packets at a bandwidth and pushes them on.
 *
 *      BandwidthRatedUnqueue(RATE [, keywords BURST_BYTES, BURST_DURATION])
 *
 *  RATE: a bandwidth such as 10Mbps (bits) or 64kBps (bytes); a number alone is bytes a second. Pull input, push
 *  output; runs on the first packet thread, or where StaticThreadSched puts it. A packet goes when the bytes of those
 *  before it are due. BURST_BYTES (also BURST_SIZE), BURST_DURATION: as BURST_SIZE and BURST_DURATION of RatedUnqueue,
 *  in bytes.
 *
 *  Handlers: `rate` (rw, bytes a second), `count` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> BandwidthRatedUnqueue(10Mbps) -> ToDump(out.pcap);
 */
class BandwidthRatedUnqueue : public RatedUnqueue {
 public:
  void configure(click::Arguments& arguments) override { allowance_.configure(arguments, true); }
};

/** Shaper: lets packets be pulled at a rate only.
 *
 *      Shaper(RATE [, keywords BURST_SIZE, BURST_DURATION])
 *
 *  RATE: packets a second. Pull input, pull outputs. Output 0 gives packets up to RATE. What was not pulled for less
 *  than 10 ms may be pulled later, or what BURST_SIZE and BURST_DURATION say, as those of RatedUnqueue. Output 1, which
 *  may be left out, gives packets only while output 0 gives none because of RATE; they do not count. Where both are
 *  pulled through a TimeSortedSched, which looks at packets before it takes them, RATE is kept only on the average.
 *
 *  Handlers: `rate` (rw); `reset` (w): what may be pulled is as at the start.
 *
 *  Example, what is beyond 1000 packets a second has less priority behind:
 *
 *      FromDump(in.pcap) -> Queue -> s :: Shaper(1000) -> [0]p :: PrioSched -> Unqueue -> ToDump(out.pcap);
 *      s[1] -> [1]p;
 */
class Shaper : public Element {
 public:
  void configure(click::Arguments& arguments) override { allowance_.configure(arguments, false); }
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "l/l"; }
  bool limits_pull() const override { return true; }
  void start(const Environment& environment) override { allowance_.start(environment); }
  int lets_through(int thread, int output, int wanted) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 protected:
  Allowance allowance_;

 private:
  int output_ = 0;  // that was asked for last
};

/** BandwidthShaper: lets packets be pulled at a bandwidth only.
 *
 *      BandwidthShaper(RATE [, keywords BURST_BYTES, BURST_DURATION])
 *
 *  RATE: a bandwidth such as 10Mbps (bits) or 64kBps (bytes); a number alone is bytes a second. Pull input, pull
 *  outputs, as Shaper's. BURST_BYTES, BURST_DURATION: as those of BandwidthRatedUnqueue.
 *
 *  Handlers: `rate` (rw, bytes a second), `reset` (w).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> BandwidthShaper(10Mbps) -> Unqueue -> ToDump(out.pcap);
 */
class BandwidthShaper : public Shaper {
 public:
  void configure(click::Arguments& arguments) override { allowance_.configure(arguments, true); }
};

/** RatedSplitter: sends what is beyond a rate another way.
 *
 *      RatedSplitter(RATE [, keywords BURST_SIZE, BURST_DURATION])
 *
 *  RATE: packets a second, over all threads. Push. Output 0: packets up to RATE; output 1: the others, which are
 *  dropped ("beyond") where it is not connected. BURST_SIZE, BURST_DURATION: how many packets may follow each other at
 *  once after a silence and at the start, packets, or a time of the rate (one packet at least); default 10 ms, and two
 *  packets at least.
 *
 *  Handlers: `rate` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> r :: RatedSplitter(1000) -> ToDump(out.pcap); r[1] -> Discard;
 */
class RatedSplitter : public Element {
 public:
  void configure(click::Arguments& arguments) override { allowance_.configure(arguments, false); }
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "h/h"; }
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override { allowance_.handlers(list); }

 protected:
  Allowance allowance_;
  std::atomic_flag taken_;  // by the thread that splits
};

/** BandwidthRatedSplitter: sends what is beyond a bandwidth another way.
 *
 *      BandwidthRatedSplitter(RATE [, keywords BURST_BYTES, BURST_DURATION])
 *
 *  RATE: a bandwidth such as 10Mbps (bits) or 64kBps (bytes); a number alone is bytes a second; over all threads. Push.
 *  Output 0: packets up to RATE; output 1: the others, which are dropped ("beyond") where it is not connected.
 *  BURST_BYTES, BURST_DURATION: as those of BandwidthRatedUnqueue.
 *
 *  Handlers: `rate` (rw, bytes a second).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> r :: BandwidthRatedSplitter(10Mbps) -> ToDump(out.pcap); r[1] -> Discard;
 */
class BandwidthRatedSplitter : public RatedSplitter {
 public:
  void configure(click::Arguments& arguments) override { allowance_.configure(arguments, true); }
};

/** Meter: sorts packets by the rate at which they have come of late.
 *
 *      Meter(RATE1 [, RATE2, ...])
 *
 *  Rates in packets a second, rising. Push; an output more than rates. While the rate (an average over some
 *  milliseconds, each thread's own) is below RATE1 packets leave by output 0, below RATE2 by output 1, and so on,
 *  beyond the last by the last output.
 *
 *  Handlers: `rate` (r, the highest of the threads).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> m :: Meter(1000) -> ToDump(out.pcap); m[1] -> Discard;
 */
class Meter : public Element {
 public:
  void configure(click::Arguments& arguments) override { read_rates(arguments, false); }
  const char* ports() const override { return "1/2-"; }
  const char* processing() const override { return "h/h"; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 protected:
  void read_rates(click::Arguments& arguments, bool of_bytes);

 private:
  struct alignas(kCacheLine) Gauge {
    BatchClock clock;
    Rate rate;
  };
  std::vector<double> rates_;
  bool of_bytes_ = false;
  std::unique_ptr<Gauge[]> gauges_;  // by thread
  int threads_ = 0;
};

/** BandwidthMeter: sorts packets by the bandwidth at which they have come of late.
 *
 *      BandwidthMeter(RATE1 [, RATE2, ...])
 *
 *  As Meter, with bandwidths such as 10Mbps (bits) or 64kBps (bytes).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> m :: BandwidthMeter(1Mbps) -> ToDump(out.pcap); m[1] -> Discard;
 */
class BandwidthMeter : public Meter {
 public:
  void configure(click::Arguments& arguments) override { read_rates(arguments, true); }
};

}  // namespace heddle
