#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "measure/wire/histogram.h"
#include "measure/wire/pace.h"

namespace heddle::bench {

/** One trial: packets sent at one rate for some time. */
struct Trial {
  double rate_pps = 0;  ///< 0: as fast as the generator can
  double seconds = 1;
  bool stamps = false;  ///< packets carry the time at which they were due, for latencies
  Swing swing{};        ///< of the rate
};

/** Of packets received, in microseconds, from the time at which a packet was due to leave until its reception. */
struct Latency {
  double mean_us = 0, p50_us = 0, p90_us = 0, p99_us = 0, p999_us = 0, max_us = 0;
};

/** What a trial has shown. What cannot be measured is absent. */
struct Outcome {
  double seconds = 0;
  uint64_t intended = 0;   ///< due to be sent; 0 without a rate
  uint64_t offered = 0;    ///< put on the wire: fewer if the generator was late
  uint64_t forwarded = 0;  ///< packets that came out, or ended inside the chain by its own rules
  uint64_t lost = 0;       ///< of those offered; at most so many if not known()
  uint64_t reordered = 0, duplicated = 0;
  uint64_t kept = 0;          ///< packets that are still in the chain, and leave when more come: they count as lost
  uint64_t unrecognised = 0;  ///< packets that came out without a signature: the chain has changed or made them
  double sending_s = 0;       ///< until all that were offered had been sent, if that is more than `seconds`
  double forwarded_bits = 0;  ///< of frames, check sequence included
  double behind = 0;          ///< share of the time in which the generator was late
  double held_up = 0;         ///< share of the packets for which the wire back had no room when the router sent them
  std::optional<Latency> latency{};
  std::optional<Histogram> latency_ns{};
  std::optional<double> cycles_per_packet{};  ///< TSC cycles of busy packet threads
  std::optional<double> cpu_utilisation{};    ///< share of the packet threads' time in which they found packets
  std::optional<double> core_share{};  ///< of their cores that packet threads and generator had: 1 if they were alone
  std::optional<double> gpu_utilisation{}, gpu_power_w{};
  /** That crossed the bus between CPU and GPU, by packets received: slots, copies, and what kernels declare to read and
   *  write of packets in place. Absent without a GPU segment that packet threads feed. */
  std::optional<double> bytes_to_gpu{}, bytes_from_gpu{};

  /** Whether it is known what became of the packets offered. */
  bool known() const { return unrecognised == 0 || lost == 0; }
  double offered_pps() const { return seconds > 0 ? static_cast<double>(offered) / std::max(seconds, sending_s) : 0; }
  double forwarded_pps() const { return seconds > 0 ? static_cast<double>(forwarded) / seconds : 0; }
  double loss() const { return offered > 0 ? static_cast<double>(lost) / static_cast<double>(offered) : 0; }
};

/** Share of a trial's time from which on the generator counts as late. */
constexpr double kLate = 0.01;
/** Share of the packets that may find no room behind the router: beyond it the generator takes them too slowly. */
constexpr double kHeldUp = 0.05;

/** What is measured: a router on a wire, or in tests one that is simulated. */
class Target {
 public:
  virtual ~Target() = default;
  virtual Outcome run(const Trial& trial) = 0;
  /** Lets everything settle after packets were lost. */
  virtual void rest() {}
};

}  // namespace heddle::bench
