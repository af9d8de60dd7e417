#pragma once

#include <atomic>
#include <random>
#include <vector>

#include "core/element.h"

namespace heddle {

/** RandomBitErrors: changes bits of packets at random.
 *
 *      RandomBitErrors(P [, KIND, ACTIVE])
 *
 *  P: with which probability each bit is changed, 0 to 1. KIND: flip (default), set (to 1) or clear (to 0). ACTIVE:
 *  whether it does, default true. One input, one output.
 *
 *  Handlers: `p_bit_error`, `error_kind`, `active` (rw).
 *
 *  Example, what a bad line does to checksums:
 *
 *      FromDump(in.pcap) -> RandomBitErrors(0.0001) -> CheckIPHeader(14) -> ToDump(right.pcap);
 */
class RandomBitErrors : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  enum class Kind : uint8_t { flip, set, clear };
  static Kind kind_of(const std::string& word);

  std::atomic<double> share_{0};
  std::atomic<Kind> kind_{Kind::flip};
  std::atomic<bool> active_{true};
  std::vector<std::mt19937> random_;  // by packet thread
};

}  // namespace heddle
