#pragma once

#include <random>
#include <vector>

#include "core/element.h"

namespace heddle {

/** RandomSwitch: sends each packet to an output chosen at random.
 *
 *      RandomSwitch
 *
 *  One push input, one or more push outputs, all equally probable.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> r :: RandomSwitch; r[0] -> Discard; r[1] -> ToDump(out.pcap);
 */
class RandomSwitch : public Element {
 public:
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;

 private:
  std::vector<std::mt19937> random_;  // by thread
};

/** RandomSample: lets packets through at random.
 *
 *      RandomSample([P, keywords P, DROP, ACTIVE])
 *
 *  P: probability that a packet leaves by output 0, 0 to 1. DROP: probability that it does not, instead of P. ACTIVE:
 *  false lets all through, default true. The others leave by output 1, if it is connected, or are dropped
 *  ("sampled_out").
 *
 *  Handlers: `sampling_prob` (rw), `drop_prob` (rw), `active` (rw), `drops` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> RandomSample(0.1) -> ToDump(out.pcap);
 */
class RandomSample : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<double> share_{1};
  std::atomic<bool> active_{true};
  PerThreadCounts dropped_{counts};
  std::vector<std::mt19937> random_;  // by thread
};

}  // namespace heddle
