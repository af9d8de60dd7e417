#pragma once

#include <functional>
#include <memory>
#include <string>

#include "core/element.h"
#include "elements/endpoints/end_call.h"

namespace heddle {

/** ICMPPingSource: sends pings and counts the answers.
 *
 *      ICMPPingSource(SADDR, DADDR [, INTERVAL, IDENTIFIER, keywords LIMIT, COUNT, DATA, ACTIVE, VERBOSE, STOP,
 *                     END_CALL])
 *
 *  SADDR, DADDR: source and destination addresses. INTERVAL: time between two, default 1 s; where
 *  packets are pulled, it is not used: each pull gets one. IDENTIFIER: 0 to 65535,
 *  default 0. LIMIT or COUNT: pings in all, negative: no limit (default). DATA: bytes behind the ICMP header, default
 *  none. ACTIVE: whether it sends, default true. VERBOSE: whether each answer is printed to standard error, default
 *  true if input 0 is connected. STOP: whether the program ends when LIMIT have been sent and, if input 0 is connected,
 *  answered or 2 s have gone by; END_CALL: a handler and a value, written then.
 *
 *  Output 0, push or pull: IPv4 packets with annotations dst, l3 and l4; TTL 255. Input 0, if connected: packets with
 *  annotation l3, of which echo replies with its addresses and IDENTIFIER are answers; all end here: "answer", "other".
 *  Runs on the first packet thread, or where StaticThreadSched puts it. RFC 792. Also called ICMPSendPings.
 *
 *  Handlers: `count` (r): pings sent; `answers` (r), `rtt_min`, `rtt_avg`, `rtt_max` (r): ms; `active` (rw); `limit`
 *  (rw); `interval` (rw); `reset_counts` (w); `summary` (r).
 *
 *  Example:
 *
 *      ICMPPingSource(10.0.0.1, 10.0.0.2, INTERVAL 0.1, LIMIT 3) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2)
 *          -> ToDump(out.pcap);
 */
class ICMPPingSource : public Source {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0-1/1"; }
  const char* processing() const override { return "h/a"; }
  void link(const Directory&) override;
  bool leads(int, int) const override { return false; }  // packets that come end here
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  /** Pings of the same addresses and identifier go on. */
  void take_state(Element& old) override;
  void receive(Batch& batch) override;
  void run_cpu(Batch& batch) override;
  bool exhausted() const override;
  bool keeps_running() const override { return end_call_.pending(); }
  std::string stop() override { return end_call_.finish(); }
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  enum Reason : int { kAnswer, kOther };

  static constexpr uint32_t kRemembered = 4096;  // pings whose answers are recognised, a power of two
  bool limit_reached() const;
  void make(Batch& batch, uint64_t now_us);
  bool answered(Packet* packet, uint32_t l3, uint64_t now_us);

  uint32_t source_ = 0, destination_ = 0;  // network byte order
  uint16_t identifier_ = 0;
  std::atomic<uint64_t> interval_us_{1'000'000};
  std::string data_;
  bool is_pulled_ = false;  // its output
  bool verbose_ = true;
  std::atomic<int64_t> limit_{-1};
  std::atomic<bool> active_{true};
  std::function<bool()> stopping_;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  uint64_t next_us_ = 0, spacing_us_ = 0;  // when the next one leaves; the interval before it
  std::atomic<uint64_t> last_us_{0};
  /** When ping number i % kRemembered has left, in microseconds; 0: answered. */
  std::unique_ptr<std::atomic<uint64_t>[]> sent_us_ = std::make_unique<std::atomic<uint64_t>[]>(kRemembered);
  std::atomic<uint64_t> sent_{0}, answers_{0}, min_us_{UINT64_MAX}, max_us_{0}, sum_us_{0};
  std::atomic<bool> ended_{false};
  EndCall end_call_;
};

}  // namespace heddle
