#pragma once

#include <array>
#include <memory>
#include <vector>

#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

/** IPReassembler: puts fragments of IPv4 packets together.
 *
 *      IPReassembler([keywords HIMEM, TIMEOUT])
 *
 *  HIMEM: bytes of fragments that may wait, default 262144; when there are more, the oldest packets are given up
 *  ("no_memory"). TIMEOUT: how long a packet's fragments are waited for, default 30 s. The header is at annotation l3,
 *  and CheckIPHeader has cut what is behind the packet. Push input, push outputs:
 *  where packets are pulled, as Click's may be, put an Unqueue before it.
 *
 *  Output 0: packets that are no fragments, and whole ones, in place of the fragment that completes them, with what was
 *  before the first fragment's header, its options and the annotations of the one that came last. Output 1, if
 *  connected: the first fragments of packets that have not become whole in time, for ICMPError (timeexceeded,
 *  reassembly); the others are dropped ("timeout"). Other drops: "no_header"; "bad_fragment", one that is not the last
 *  and whose length is no multiple of 8, or one that reaches beyond 65,407 bytes; "duplicate", a fragment that has come
 *  before, byte by byte, alone; "overlap", fragments that overlap otherwise or do not agree about the end, with all
 *  others of their packet; "too_many", more than 64 fragments of a packet; "no_buffer". At most 256 packets wait.
 *  Fragments of one packet may come to any thread. RFC 791, 3.2; RFC 815; overlaps as RFC 5722 wants for IPv6.
 *
 *  Handlers: `waiting` (r): packets that wait; `whole` (r): packets put together.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPReassembler -> Unstrip(14) -> ToDump(out.pcap);
 */
class IPReassembler : public Emitter {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void on_timer(int thread) override;
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return packets_held() > 0; }
  uint64_t packets_held() const override { return fragments_.load(std::memory_order_relaxed); }
  bool due(int) const override { return given_up_count_.load(std::memory_order_relaxed) > 0; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  enum Reason : int { kTimeout, kNoHeader, kBadFragment, kOverlap, kTooMany, kNoMemory, kNoBuffer, kDuplicate };

  static constexpr int kDatagrams = 256, kFragments = 64;
  struct Fragment {
    Packet* packet;
    uint32_t l3, from, bytes;  // of the payload
  };
  struct Datagram {
    uint64_t addresses = 0;
    uint32_t protocol_and_id = 0;  // 0: free (an identification and 0x10000 times protocol + 1)
    uint64_t since_ms = 0;
    uint32_t total = 0, bytes = 0;  // of the payload: 0 until the last fragment is there; those that are there
    int count = 0;
    std::array<Fragment, kFragments> fragments;  // by `from`
  };
  struct GivenUp {
    Packet* packet;
    uint32_t l3;
    uint8_t reason;
    bool first;
  };

  void take_in(Batch& batch, int i);
  Datagram* find(uint64_t addresses, uint32_t protocol_and_id);
  /** Whether it has come before: the same bytes at the same place, and both the last or neither. */
  static bool has(const Datagram& datagram, const Fragment& fragment, bool last);
  /** False: it does not fit to the others. */
  static bool insert(Datagram& datagram, const Fragment& fragment, bool last);
  void give_up(Datagram& datagram, int reason);
  void give_up_oldest();
  void complete(Datagram& datagram, Batch& batch, int i);
  void free_fragments(Datagram& datagram);

  uint64_t most_bytes_ = 262144, timeout_ms_ = 30000;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  std::atomic_flag locked_;                // for what follows
  std::unique_ptr<Datagram[]> datagrams_;  // [kDatagrams]
  std::vector<GivenUp> given_up_;
  uint64_t bytes_ = 0;
  std::atomic<uint64_t> fragments_{0}, given_up_count_{0}, waiting_{0}, whole_{0}, looked_ms_{0};
};

}  // namespace heddle
