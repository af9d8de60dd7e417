#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "functions/nids/match.h"

namespace heddle::nids {

/** What the rule option `flow` asks about: who sends, and whether there is a connection, for each pair of endpoints
 *  (addresses, ports, protocol). By any number of threads. Memory is fixed.
 *
 *  TCP: a connection is there when one side has sent a SYN and the other a SYN with ACK; the former is the client,
 *  until a SYN of the other and an answer to it. Nobody who sends for one side only can bring that about, or undo it,
 *  so sequence numbers, FIN and RST need not be looked at, and the order in which SYNs are seen does not matter. Before
 *  that the client is the sender of the last SYN without ACK, or of the first packet seen. Other protocols: the client
 *  is the sender of the first packet, and there is a connection when both sides have sent; it is over after 30 s, or,
 *  if both have sent, 300 s (Suricata's times) without a packet.
 *
 *  Where there is no room, it is made of endpoints that nobody has answered, else of connections of which no packet of
 *  the client has acknowledged the server's SYN, else of any: of each kind that one that is idle the longest. */
class Flows {
 public:
  static constexpr uint32_t kPlaces = 10 << 17;
  static constexpr uint32_t kNewMs = 30000, kAnsweredMs = 300000;

  /** `places`: pairs of endpoints at once, of 26 bytes, rounded up to a power of two of tens. Throws std::bad_alloc. */
  explicit Flows(uint32_t places = kPlaces);

  /** Notes the packet, which came at `now_ms`, and returns what is true of it: of FlowBits. `begins`: whether a packet
   *  of TCP without SYN begins something; not, if only packets that are candidates for other reasons are seen. */
  uint8_t see(const View& view, uint32_t now_ms, bool begins);
  /** What has been noted changes places; nobody else uses either. */
  void swap(Flows& other);

 private:
  struct Entry {
    uint32_t low, high;  // addresses; low, with its port, is not above high
    uint16_t low_port, high_port;
    uint8_t protocol;
    uint8_t seen;  // of Seen; 0: free
    uint16_t unused;
    uint32_t server_next;  // behind the server's SYN
    uint32_t last_ms;

    bool is_of(const Entry& other) const {
      return low == other.low && high == other.high && low_port == other.low_port && high_port == other.high_port &&
             protocol == other.protocol;
    }
  };
  static constexpr uint32_t kEntries = 10;
  struct alignas(64) Bucket {
    std::atomic_flag busy;
    Entry entries[kEntries];
  };
  static_assert(sizeof(Bucket) == 256);

  static Entry* find(Bucket& bucket, const Entry& key);
  static Entry& place_in(Bucket& bucket, uint32_t now_ms);

  uint64_t seed_;
  uint32_t mask_;
  std::unique_ptr<Bucket[]> buckets_;  // [mask_ + 1]
};

}  // namespace heddle::nids
