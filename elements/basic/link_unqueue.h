#pragma once

#include <functional>
#include <vector>

#include "core/clock.h"
#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

/** LinkUnqueue: pulls packets and pushes them on as a link of some latency and bandwidth would.
 *
 *      LinkUnqueue(LATENCY, BANDWIDTH)
 *
 *  LATENCY: how long the first byte takes, such as 5ms; a number alone is seconds. BANDWIDTH: such as 10Mbps (bits) or
 *  64kBps (bytes); a number alone is bytes a second. A packet enters the link when the one before is on it, and is
 *  pushed, with this time as its time stamp, when its last byte has come out: after its length / BANDWIDTH and LATENCY.
 *  Bytes that a capture does not have count. Pull input, push output; runs on the first packet thread, or where
 *  StaticThreadSched puts it. The link holds what fits in packets of 64 bytes, 1,024 at least and 1,048,576 at most;
 *  while it is full it pulls none. Others wait in the Queue before it.
 *
 *  When the program is stopped what is on the link leaves at once. Hot reconfiguration: it goes over, as far as it has
 *  the annotations that are read behind the link.
 *
 *  Handlers: `latency` (r, seconds), `bandwidth` (r, bytes a second), `size` (r, packets on the link), `reset` (w,
 *  drops them).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> LinkUnqueue(5ms, 1Mbps) -> ToDump(out.pcap);
 */
class LinkUnqueue : public Source {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1"; }
  const char* processing() const override { return "l/h"; }
  Access access(Processor) const override { return {.reads = {kWholePacket}}; }
  void start(const Environment& environment) override;
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  bool exhausted() const override { return held_ == 0; }
  void take_state(Element& old) override;
  uint64_t packets_held() const override { return held_; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  /** A packet on the link. */
  struct Held {
    Packet* packet = nullptr;
    RouterClock::time_point due{};
  };
  static constexpr uint64_t kMin = 1024, kMax = uint64_t{1} << 20;

  std::byte* columns_of(uint64_t number) { return columns_.data() + number % ring_.size() * pack_.bytes(); }
  Held& held(uint64_t number) { return ring_[number % ring_.size()]; }
  void free_all();

  double latency_s_ = 0, bytes_per_second_ = 0;
  std::function<bool()> stopping_;

  // Of the thread that runs it. Packets are [first_, first_ + held_), by number modulo the size.
  std::vector<Held> ring_;
  std::vector<std::byte> columns_;  // [size of ring_][bytes of pack_]
  ColumnPack pack_;
  uint64_t first_ = 0;
  RouterClock::time_point free_at_{};  // when the last packet is on the link
  bool asked_ = false, idle_ = true;   // it has asked for a packet since the last one; there was none then

  std::atomic<uint64_t> held_{0};
  std::atomic<bool> reset_{false};
  uint64_t left_ = 0;
};

}  // namespace heddle
