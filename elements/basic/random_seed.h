#pragma once

#include <optional>

#include "core/element.h"

namespace heddle {

/** RandomSeed: makes what elements do at random the same in each run.
 *
 *      RandomSeed([SEED])
 *
 *  SEED: a number from 0 to 4294967295; without it, each run is another. Each element has random numbers of its own for
 *  each packet thread, which follow from SEED, its name (of one without, it says the place in the configuration) and
 *  the thread, so what others do changes nothing: RandomSource, RandomSwitch, RandomSample, RandomBitErrors, RED,
 *  SetRandIPAddress, FastUDPFlows, the SAMPLE of FromDump and FromIPSummaryDump, IPRateMonitor, ForceTCP and ForceUDP,
 *  the rewriters' ports, the identification of IP6Fragmenter, and the function `random` of scripts. A run repeats
 *  exactly on one packet thread where packets come from files or generators; with several, packets may come to them in
 *  another order. Keys, and what only guards against attacks, stay random. Of several, the last one counts. No ports.
 *
 *  Example:
 *
 *      RandomSeed(7); RandomSource(64, LIMIT 1000) -> RandomSample(0.1) -> ToDump(out.pcap);
 */
class RandomSeed : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
  std::optional<uint32_t> seed() const { return seed_; }

 private:
  std::optional<uint32_t> seed_;
};

}  // namespace heddle
