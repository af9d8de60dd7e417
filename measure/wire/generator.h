#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/packet_pool.h"
#include "measure/wire/histogram.h"
#include "measure/wire/pace.h"
#include "measure/wire/sequences.h"
#include "measure/wire/traffic.h"

namespace heddle::bench {

/** Rates that people may ask for, in packets a second. */
constexpr double kMinRate_pps = 0.001, kMaxRate_pps = 1e9;

/** What is to be sent, and for how long. */
struct Load {
  /** Packets a second, over all generator threads, each due at its own time whatever happens to those before (open
   *  loop); what is late is sent late. 0: as fast as the wire takes them, waiting while it is full. At most
   *  kMaxRate_pps. */
  double rate_pps = 0;
  Swing swing{};                       ///< of the rate, from the beginning of the warm-up on
  double warmup_s = 0.1, seconds = 1;  ///< that does not count, and that does
  bool stamps = false;                 ///< measure latency
  double quiet_s = 0.25;               ///< packets are lost when nothing has arrived for so long
  /** Packets that the chain has discarded by its own rules since run() was called, if that is known: nobody waits for
   *  them. Called on run()'s thread. */
  std::function<uint64_t()> discarded{};
  /** Called by run() on its own thread when measuring begins and ends, for samplers. */
  std::function<void()> on_begin{}, on_end{};
};

/** What has happened to the packets that were due within Load::seconds, wherever they were when the time was over.
 *  Packets of the warm-up and of earlier runs that arrive do not count. Without signatures nobody can tell these apart:
 *  then the warm-up counts, only offered, sent, received, lost and arrived are known, and copies make up for losses. */
struct Counts {
  uint64_t intended = 0;    ///< due (RFC 2285: intended load); 0 without a rate
  uint64_t offered = 0;     ///< of these put on the wire (RFC 2285: offered load): less if the rate is too much
  uint64_t sent = 0;        ///< that the wire took; a full ring refuses packets if there is a rate
  uint64_t received = 0;    ///< different ones
  uint64_t lost = 0;        ///< offered - received
  uint64_t reordered = 0;   ///< of those received: RFC 4737, within flows
  uint64_t duplicated = 0;  ///< further copies, exact within Generator::window() packets of a flow
  uint64_t foreign = 0;     ///< frames in which no signature of ours was found, since measuring began
  /** Frames within Load::seconds, also from the warm-up and foreign: for throughput; and their bytes with FCS. */
  uint64_t arrived = 0, arrived_bytes = 0;
  double seconds = 0;    ///< that were measured: less than asked for after stop()
  double sending_s = 0;  ///< until the last of those offered had been sent: more than `seconds` if that was late
  /** Share of the time in which the generator held the others up: with a rate, it was more than a burst or 10 us late;
   *  without one, the wire would have taken more. */
  double behind = 0;
  Histogram latency_ns;  ///< from the time when a packet was due to its reception; empty without stamps

  double arrived_pps() const { return seconds > 0 ? static_cast<double>(arrived) / seconds : 0; }
};

struct GeneratorOptions {
  int threads = 1;
  /** Of these threads: they only receive and the others only send, each on its own queues; a queue's packets are sent
   *  by one and received by another. 0: each does both. */
  int receivers = 0;
  int first_core = -1;  ///< threads keep to the cores that the process may use from this one on; -1: not kept
};

class GeneratorThread;

/** Sends traffic and receives what comes back, on DPDK ports with any driver. A packet's flow decides its queue, and
 *  a queue its thread. */
class Generator {
 public:
  /** `receiving`: all its ports; `sending`: those of them to which it sends, as many as the traffic was made for. All
   *  are started and have the traffic's queues. Packets come from `pool`. What is passed outlives the generator. Throws
   *  Error. */
  Generator(const Traffic& traffic, const std::vector<uint16_t>& receiving, const std::vector<uint16_t>& sending,
            PacketPool& pool, const GeneratorOptions& options = {});
  ~Generator();
  Generator(const Generator&) = delete;
  Generator& operator=(const Generator&) = delete;

  /** Sends and measures; returns when all is over. One caller at a time. Throws Error if there cannot be such a
   *  rate. */
  Counts run(const Load& load);
  /** Makes the run that goes on return soon. From any thread or a signal handler. */
  void stop() { stopping_.store(true, std::memory_order_relaxed); }

  /** Since the last run began, the warm-up included; from any thread. */
  struct Progress {
    uint64_t sent = 0, received = 0;
    bool duplicated = false;  ///< some of those received had come before
  };
  Progress progress() const;

  /** Packets of a flow within which duplicates are found. */
  uint32_t window() const { return sequences_.window(); }

 private:
  bool sleep_until(uint64_t tsc);
  void wait_for_the_rest(const Load& load);

  Sequences sequences_;
  std::vector<std::unique_ptr<GeneratorThread>> threads_;
  GeneratorOptions options_;
  std::atomic<bool> stopping_{false};
};

}  // namespace heddle::bench
