#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/huge_pages.h"
#include "functions/nids/match.h"

namespace heddle::nids {

/** What the rule options `flow` and `flowbits` ask about: who sends, whether there is a connection, and which bits are
 *  set, for each pair of endpoints (addresses of either version, ports, protocol); and `stream_size`: how much the
 *  sides of a TCP connection have sent. By any number of threads. Memory is fixed, but for bits, of which 64 take 8
 *  bytes more for each place, and for what has been sent, which takes 16.
 *
 *  TCP: a connection is there when one side has sent a SYN and the other a SYN with ACK; the former is the client,
 *  until a SYN of the other and an answer to it. Nobody who sends for one side only can bring that about, or undo it,
 *  so sequence numbers, FIN and RST need not be looked at, and the order in which SYNs are seen does not matter. Before
 *  that the client is the sender of the last SYN without ACK, or of the first packet seen. Other protocols: the client
 *  is the sender of the first packet, and there is a connection when both sides have sent; it is over after 30 s, or,
 *  if both have sent, 300 s (Suricata's times) without a packet.
 *
 *  Where there is no room, it is made of endpoints that nobody has answered, else of connections of which no packet of
 *  the client has acknowledged the server's SYN, else of any: of each kind that one that is idle the longest. Bits
 *  go with their place, and when something else begins between the same endpoints: of TCP with the first SYN, and when
 *  the answer to a SYN has another sequence number than the one before, which takes both sides as well. */
class Flows {
 public:
  static constexpr uint32_t kPlaces = 10 << 17;
  static constexpr uint32_t kNewMs = 30000, kAnsweredMs = 300000;
  static constexpr uint32_t kMaxBits = 1 << 14;

  /** `places`: pairs of endpoints at once, of 26 bytes, rounded up to a power of two of tens. Throws std::bad_alloc. */
  explicit Flows(uint32_t places = kPlaces);

  /** Notes the packet, which came at `now_ms`, and returns what is true of it: of FlowState. `begins`: whether a packet
   *  of TCP without SYN begins something; not, if only packets that are candidates for other reasons are seen. `ahead`:
   *  packets before it are still to be seen, and then this one again. */
  uint8_t see(const View& view, uint32_t now_ms, bool begins, bool ahead = false);
  /** The same, without noting it, of a packet of TCP that counts for nothing. */
  uint8_t look(const View& view);
  /** What the sides of the packet's TCP connection have sent, as see() has noted it; nothing: its handshake was not
   *  seen since follow_sent(). */
  std::optional<Sent> sent(const View& view);
  /** From now on see() notes what is sent. One thread at a time; packet threads come to know of it later. Throws
   *  Error. */
  void follow_sent();
  /** What has been noted changes places; nobody else uses either. */
  void swap(Flows& other);

  /** The number of the bit with this name, which gets one if it has none. One thread at a time; packet threads come to
   *  know of it later. Throws Error if there are kMaxBits, or no memory. */
  uint32_t number_of_bit(const std::string& name);
  /** Whether number_of_bit() has numbers for all bits of flows in these rules. */
  bool has_numbers_for(std::span<const Signature> rules) const;

 private:
  struct Entry {
    uint32_t low, high;  // addresses; low, with its port, is not above high; of IPv6 halves of what stands for both
    uint16_t low_port, high_port;
    uint8_t protocol;
    uint8_t seen;   // of Seen; 0: free
    uint8_t notes;  // of Note
    bool is_ip6;
    uint32_t server_next;  // behind the server's SYN
    uint32_t last_ms;

    bool is_of(const Entry& other) const {
      return low == other.low && high == other.high && low_port == other.low_port && high_port == other.high_port &&
             protocol == other.protocol && is_ip6 == other.is_ip6;
    }
  };
  static constexpr uint32_t kEntries = 10;
  struct alignas(64) Bucket {
    std::atomic_flag busy;
    Entry entries[kEntries];
  };
  static_assert(sizeof(Bucket) == 256);

 public:
  /** The bits of a packet's flow. Nobody else uses these, or those of some others, while it is there. */
  class Bits {
   public:
    Bits(Flows& flows, const View& view, uint32_t now_ms);
    ~Bits();
    Bits(const Bits&) = delete;
    Bits& operator=(const Bits&) = delete;

    bool has_flow() const { return bucket_ != nullptr; }  ///< not, of TCP or UDP without ports; then no bit is set
    bool is_set(uint32_t bit) const;
    void set(uint32_t bit, bool value);

   private:
    Flows& flows_;
    Bucket* bucket_ = nullptr;
    Entry* entry_ = nullptr;  // null: there is none, and no bit is set
    Entry key_{};             // that the flow has, or would have
    bool from_low_ = false;
  };

 private:
  static constexpr uint32_t kPlanes = kMaxBits / 64;

  /** The entry that the packet's flow would have, and whether the packet is from the end `low`. False: it has no
   *  flow. */
  static bool key_of(const View& view, uint32_t now_ms, Entry& key, bool& from_low);
  Bucket& bucket_of(const Entry& key);
  /** Of FlowState: what is true of a packet, as far as its flow has come. */
  static uint8_t state_of(const Entry& entry, const View& view, bool from_low);
  static Entry* find(Bucket& bucket, const Entry& key);
  /** Makes it the entry of `key`, in place of another. */
  Entry& place(Bucket& bucket, const Entry& key);
  void forget_bits(Bucket& bucket, Entry& entry);
  uint64_t& word_of(const HugePages& plane, Bucket& bucket, Entry& entry) const;
  /** Of the end `low` or the other: the sequence number of its SYN in the upper half, and in the lower how many it has
   *  used, 0: that SYN was not seen. */
  uint64_t& sent_of(Bucket& bucket, Entry& entry, bool low) const { return word_of(sent_[low ? 0 : 1], bucket, entry); }
  /** Notes what the packet of TCP, whose SYN `entry` knows of already, says of what is sent. */
  void note_sent(Bucket& bucket, Entry& entry, const View& view, bool from_low);

  uint64_t seed_;
  uint32_t mask_;
  std::unique_ptr<Bucket[]> buckets_;          // [mask_ + 1]
  std::map<std::string, uint32_t> bit_names_;  // numbers; for the thread that asks for these
  /** [bit / 64], a word for each place: untouched ones take no memory. */
  std::array<HugePages, kPlanes> planes_;
  std::atomic<uint32_t> plane_count_{0};
  std::array<HugePages, 2> sent_;  // a word for each place, if follows_sent_
  std::atomic<bool> follows_sent_{false};
};

}  // namespace heddle::nids
