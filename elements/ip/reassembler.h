#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/element.h"
#include "core/sip_hash.h"

namespace heddle {

/** What IPReassembler and IP6Reassembler have in common: fragments wait, within limits of memory and time, until their
 *  packet is whole. All threads have one store of them, for fragments of one packet may come to any thread. */
class Reassembler : public Emitter {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }  // what it gives on its own leaves by output 1
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void on_timer(int thread) override;
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return packets_held() > 0; }
  uint64_t packets_held() const override { return fragments_.load(std::memory_order_relaxed); }
  bool due(int) const override { return given_up_count_.load(std::memory_order_relaxed) > 0; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** `timeout_ms`: how long a packet's fragments are waited for, unless TIMEOUT says otherwise. */
  explicit Reassembler(uint64_t timeout_ms) : timeout_ms_(timeout_ms) {}

  enum Reason : int {
    kTimeout,
    kNoHeader,
    kBadFragment,
    kOverlap,
    kTooMany,
    kNoMemory,
    kNoBuffer,
    kDuplicate,
    kMixedEcn,
    kHeaderChain
  };

  struct Fragment {
    Packet* packet;
    uint32_t l3;            // of its IP header
    uint32_t header_bytes;  // of the headers before its part that a whole packet has, too
    uint32_t part_at;       // where its part begins, from the IP header on
    uint32_t from, bytes;   // of the packet's payload: its part
    uint8_t ecn;            // its codepoint
  };
  /** What fragments of one packet have in common, by which they find each other. */
  using Key = std::array<uint64_t, 5>;

  /** Packet `i` is that fragment of the packet `key`; `last`: nothing follows its part. */
  void take_in(Batch& batch, int i, const Key& key, const Fragment& fragment, bool last);
  /** Packet `i`, the only fragment of its packet, becomes that. */
  void take_alone(Batch& batch, int i, const Fragment& fragment);

  /** Makes the header at `ip`, which the first fragment had, that of a whole packet with `header_bytes` of headers
   *  before `bytes` of payload. `first`: the first fragment's headers, and all behind them. `congested`: its codepoint
   *  is CE. */
  virtual void make_whole(uint8_t* ip, const uint8_t* first, uint32_t header_bytes, uint32_t bytes,
                          bool congested) const = 0;
  /** Bytes from the IP header `ip` to what annotation l4 marks. */
  virtual uint32_t transport_at(const uint8_t* ip) const = 0;

 private:
  static constexpr size_t kDatagrams = 256;
  static constexpr int kFragments = 64;
  struct Datagram {
    Key key;
    uint32_t total = 0, bytes = 0;  // of the payload: 0 until the last fragment is there; those that are there
    int count = 0;
    std::array<Fragment, kFragments> fragments;  // by `from`
  };
  /** What is looked at of every datagram: apart, for there is little of it. */
  struct Place {
    uint64_t hash = 0;  // of the datagram's key; 0: free
    uint64_t number = 0, since_ms = 0;
  };
  struct GivenUp {
    Packet* packet;
    uint32_t l3;
    uint8_t reason;
    bool first;
  };

  /** The datagram's place, which is a new one if there is none. */
  size_t find(const Key& key);
  /** Whether it has come before: the same bytes at the same place, and both the last or neither. */
  static bool has(const Datagram& datagram, const Fragment& fragment, bool last);
  /** False: it does not fit to the others. */
  static bool insert(Datagram& datagram, const Fragment& fragment, bool last);
  struct Codepoints {
    bool ce = false;
    bool mixed = false;  // Not-ECT and others
  };
  static Codepoints codepoints_of(std::span<const Fragment> fragments);
  void give_up(size_t at, int reason);
  void give_up_oldest();
  /** Null: there is no buffer for it. */
  Packet* put_together(std::span<const Fragment> fragments) const;
  void become(Batch& batch, int i, Packet* whole, const Fragment& first);
  void complete(size_t at, Batch& batch, int i);
  void free_fragments(size_t at);

  uint64_t most_bytes_ = 262144, timeout_ms_;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  std::function<void(const Packet* part, Packet* whole)> goes_on_in_;
  SipKey hash_key_{};
  std::atomic_flag locked_;  // for what follows
  std::array<Place, kDatagrams> places_;
  std::unique_ptr<Datagram[]> datagrams_;  // [kDatagrams]
  std::vector<GivenUp> given_up_;
  uint64_t bytes_ = 0, next_number_ = 0;
  std::atomic<uint64_t> fragments_{0}, given_up_count_{0}, waiting_{0}, whole_{0}, looked_ms_{0};
};

}  // namespace heddle
