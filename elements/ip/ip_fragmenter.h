#pragma once

#include <memory>

#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

/** IPFragmenter: cuts long IPv4 packets into fragments.
 *
 *      IPFragmenter(MTU [, HONOR_DF, VERBOSE, keywords HONOR_DF, VERBOSE])
 *
 *  MTU: most bytes of a packet from its IPv4 header (annotation l3) on, 68 to 65535. HONOR_DF: whether packets that
 *  must not be fragmented are refused, default true; false fragments them, too. VERBOSE: whether such packets are
 *  reported on standard error, default false. What is before the header goes before each fragment. Push input, push
 *  outputs.
 *
 *  Output 0: packets that fit, and fragments, in order; they leave right behind the batch that their packet came in.
 *  Output 1, if connected: packets that do not fit and must not be fragmented; if not, they are dropped
 *  ("dont_fragment"). Other drops: no header at l3 ("no_header"), a length in it that is not the packet's
 *  ("bad_length"), more than 1024 packets of a thread wait ("full"), no packet buffer is free ("no_buffer", the whole
 *  packet). RFC 791, 3.2: options without the copy bit are in the first fragment only; in the others No Operation
 *  stands for them.
 *
 *  Handlers: `drops` (r), `fragments` (r): fragments made.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> f :: IPFragmenter(576) -> Unstrip(14) -> ToDump(out.pcap);
 *      f[1] -> ICMPError(10.0.0.1, unreachable, needfrag, PMTU 576) -> Discard;
 */
class IPFragmenter : public Emitter {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return packets_held() > 0; }
  uint64_t packets_held() const override;
  bool due(int thread) const override { return long_[static_cast<size_t>(thread)].count.load() > 0; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  static constexpr uint32_t kMostWaiting = 1024;
  /** Packets of a thread that do not fit, until they are cut. */
  struct alignas(kCacheLine) Long {
    std::unique_ptr<Packet*[]> packets;    // [kMostWaiting], a ring
    std::unique_ptr<std::byte[]> columns;  // [kMostWaiting][columns_.bytes()]
    uint32_t first = 0;
    std::atomic<uint32_t> count{0};
    uint32_t done = 0;  // bytes of the first one's payload that have left
  };
  void keep(Batch& batch, int i);
  /** Appends the next fragment of the first packet of `from`; false: no room, or no packet is free, which drops it. */
  bool append_fragment(Long& from, Batch& batch, uint32_t l3);
  void finish(Long& from);

  uint32_t mtu_ = 1500;
  bool honor_df_ = true, verbose_ = false;
  ColumnPack columns_;
  std::unique_ptr<Long[]> long_;  // by thread
  int threads_ = 0;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  std::atomic<uint64_t> fragments_{0}, drops_{0};
};

}  // namespace heddle
