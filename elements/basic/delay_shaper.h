#pragma once

#include <array>
#include <functional>

#include "core/compound.h"
#include "core/element.h"

namespace heddle {

/** DelayShaper: holds pulled packets back until they are of some age.
 *
 *      DelayShaper(DELAY)
 *
 *  DELAY: time since a packet's time stamp after which it may be pulled; the time stamp is then when it leaves. A
 *  packet without time stamp gets the present time when this element first sees it, and it sees one at a time: put
 *  SetTimestamp before the Queue. Order is kept. One pull input, one pull output.
 *
 *  At the end of the program what it holds leaves at once. Hot reconfiguration: the packet that it holds goes over.
 *
 *  Handlers: `delay` (rw), seconds when read; for packets that are seen from then on.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetTimestamp -> Queue -> DelayShaper(50ms) -> Unqueue -> ToDump(out.pcap);
 */
class DelayShaper : public LookAheadScheduler {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1"; }
  void start(const Environment& environment) override { stopping_ = environment.stopping; }
  void take_state(Element& old) override;
  uint64_t packets_held() const override { return packet_ == nullptr ? 0 : 1; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  bool wants(int) const override { return packet_ == nullptr; }
  void hold(int input, Batch& batch, int i, ColumnSet columns, int origin) override;
  int release(Batch& batch) override;
  bool holds() const override { return packet_ != nullptr; }

 private:
  std::atomic<uint64_t> delay_us_{0};
  std::function<bool()> stopping_;

  // The packet that it holds; null: none.
  Packet* packet_ = nullptr;
  uint64_t due_ns_ = 0;  // since 1970
  int origin_ = 0;
  ColumnSet columns_ = 0;
  std::array<std::byte, sizeof(uint32_t) * static_cast<size_t>(words(kAllColumns))> values_{};
  uint64_t left_ = 0;
};

/** DelayUnqueue: pulls packets and pushes them on when they are of some age.
 *
 *      DelayUnqueue(DELAY)
 *
 *  A DelayShaper(DELAY) and an Unqueue: DELAY counts from a packet's time stamp. One pull input, one push output. Its
 *  parts are called `shaper` and `unqueue`, with the handlers of their classes.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetTimestamp -> Queue -> DelayUnqueue(50ms) -> ToDump(out.pcap);
 */
class DelayUnqueue : public Compound {
 public:
  static constexpr const char* kText = R"({
    $delay | input -> shaper :: DelayShaper($delay) -> unqueue :: Unqueue -> output
  })";
};

}  // namespace heddle
