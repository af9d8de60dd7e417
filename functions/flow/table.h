#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/huge_pages.h"
#include "functions/flow/rewrite.h"

namespace heddle::flow {

/** What the packets of a flow have in common: addresses and ports (0 where there are none) and protocol, host byte
 *  order. Of IPv6 the addresses are the halves of what stands for both (ip6_name.h), in the other order the other way
 *  round, and the protocol has kIp6 added. So the key of the way back has addresses and ports exchanged. */
struct Key {
  uint32_t source, destination;
  uint16_t source_port, destination_port;
  uint32_t protocol;
  bool operator==(const Key&) const = default;

  static constexpr uint32_t kIp6 = 256;
  /** `addresses`: the source and then the destination, 32 bytes as they lie in the header. */
  static Key of_ip6(const uint8_t* addresses, uint16_t source_port, uint16_t destination_port, uint8_t protocol);
};

/** What a packet says of its flow's TCP connection; `none`: it is not of TCP, or does not show its flags. `resets`: it
 *  has RST; `closes`: else FIN; `opens`: else SYN, or no ACK, so that it may come before the other side has said
 *  anything. */
enum class Says : uint8_t { none, opens, goes_on, closes, resets };
/** By the flags of a TCP header, which stand at this byte of it. */
constexpr uint32_t kTcpFlagsAt = 13;
constexpr uint8_t kTcpSyn = 2, kTcpAck = 16;
constexpr Says says_of_tcp(uint8_t flags) {
  constexpr uint8_t kFin = 1, kRst = 4;
  if ((flags & kRst) != 0) return Says::resets;
  if ((flags & kFin) != 0) return Says::closes;
  return (flags & kTcpSyn) != 0 || (flags & kTcpAck) == 0 ? Says::opens : Says::goes_on;
}

/** Milliseconds without a packet after which flows are over: those of TCP that both sides go on with, others of TCP,
 *  and all others. */
struct Timeouts {
  uint32_t tcp_ms, tcp_transitory_ms, other_ms;
};

constexpr uint32_t kNoFlow = ~0u;
constexpr int kWords = 4;

/** A flow. Its thread writes it, and alone reads it but for what is said of any thread, `life` and the words. */
struct alignas(64) Entry {
  Key key;
  uint32_t last_ms;                     ///< when a packet came last, on the table's clock
  std::atomic<uint32_t> life;           ///< low kStateBits: of State; above: generation()
  std::atomic<uint64_t> words[kWords];  ///< of the functions that share the table; 0 at first
  uint32_t batch;                       ///< the last that had a packet of it
  uint32_t next_ending;                 ///< of those that are over, but still in use by a batch

  /** What is known of a flow. It goes on once a packet has come that is not its first, and of TCP has more than a
   *  handshake's first half takes. It is answered once the way back has been seen. Its TCP connection is closing after
   *  a FIN, until a SYN begins another. It is reset after a RST, whose sequence number nobody checks, so that anyone
   *  may have sent it: until an ACK shows that the connection goes on all the same, or a SYN begins another. Its way
   *  back may have been there before it, and is to be looked for when it goes on. The thread is changing its key. */
  enum State : uint32_t { kGoesOn = 1, kAnswered = 2, kClosing = 4, kReset = 8, kLooks = 16, kChanging = 32 };
  static constexpr int kStateBits = 6;

  uint64_t word(int which) const { return words[which].load(std::memory_order_relaxed); }
  bool is(State state) const { return (life.load(std::memory_order_relaxed) & state) != 0; }
  /** Whether its TCP connection is closing or reset. */
  bool ends() const { return (life.load(std::memory_order_relaxed) & (kClosing | kReset)) != 0; }
  /** Whether both sides have gone on with it and none has ended it: it is not what a flood leaves behind. */
  bool established() const {
    return (life.load(std::memory_order_relaxed) & (kGoesOn | kAnswered | kClosing | kReset)) == (kGoesOn | kAnswered);
  }
  /** Flows that have had this place, with this one, modulo 2^26. */
  uint32_t generation() const { return life.load(std::memory_order_relaxed) >> kStateBits; }
  void set(State state) {
    if (!is(state)) life.store(life.load(std::memory_order_relaxed) | state, std::memory_order_relaxed);
  }
  void clear(State state) {
    if (is(state)) life.store(life.load(std::memory_order_relaxed) & ~uint32_t{state}, std::memory_order_relaxed);
  }
  /** Another flow begins here. Its thread, at a place whose tag says that there is none. */
  void begin(const Key& its, uint32_t state);
  /** Whether the flow here is this one. Any thread. */
  bool has_now(const Key& wanted);
  void set_word(int which, uint64_t value) { words[which].store(value, std::memory_order_relaxed); }
};
static_assert(sizeof(Entry) == 64);

/** Is told when a flow ends, on the thread that has it, before its entry is used again. */
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void flow_ends(const Entry& entry, int thread) = 0;
};

/** The flows of one thread: a hash table of fixed size with two buckets of eight places for a key, of which a new flow
 *  takes the emptier one. Flows never move, so their places are names for them. When both buckets are full, a new flow
 *  takes the place of one that is over; else of one that does not go on, is closing or reset, else of one that nobody
 *  has answered, of these the one that is idle the longest: a flood, as long as nobody goes on with its flows from both
 *  sides, pushes out none that is established. If there is none of these it gets no place.
 *
 *  The functions of a chain see a batch one after the other, so what a packet of the batch under way has found stays as
 *  it is until the next one begins: a flow that is over meanwhile, as times of captures may say, gets another place,
 *  and nobody takes the old one before. */
class ThreadTable {
 public:
  struct Counts {
    std::atomic<uint64_t> flows{0}, added{0}, expired{0}, evicted{0};
  };
  static constexpr int kMax = 64;  ///< keys in one call

  /** Places of a table for `capacity` flows, a power of two. */
  static uint32_t places_for(size_t capacity);
  /** Room for `capacity` flows or more. `seed`: of the hash, so that nobody can know which keys collide. */
  ThreadTable(int thread, size_t capacity, const Timeouts& timeouts, uint64_t seed,
              const std::vector<Watcher*>& watchers);

  /** From now on flows last so long, and these hear of those that end. No thread uses the table. */
  void serve(const Timeouts& timeouts, const std::vector<Watcher*>& watchers) {
    timeouts_ = timeouts, watchers_ = &watchers;
  }
  /** A batch begins: nobody uses what the one before has found. */
  void begin_batch() {
    ++batch_;
    end_all();
  }
  /** Finds the flows of `n` packets of the batch, or begins them; flows[i]: the place of keys[i]'s, or kNoFlow.
   *  now_ms[i]: its time; says[i]: what it says, Says::none without `says`. */
  void find_or_add(const Key* keys, const uint32_t* now_ms, uint32_t* flows, int n, const Says* says = nullptr);
  /** Whether the flow in the place may end now for a new one, and rather than the one in `other` (kNoFlow: none). */
  bool may_end(uint32_t place, uint32_t other, uint32_t now_ms) const;
  /** Ends such a flow. */
  void make_room(uint32_t place, uint32_t now_ms);
  /** The place of a flow, or kNoFlow. Any thread; to others than the table's own it may end at any time. */
  uint32_t find(const Key& key) const;
  /** Looks at the next `count` places and ends the flows there that are over. */
  void age(size_t count, uint32_t now_ms);

  /** Any `place` names some entry. */
  Entry& entry(uint32_t place) { return entries_[place & (places() - 1)]; }
  const Entry& entry(uint32_t place) const { return entries_[place & (places() - 1)]; }
  uint32_t places() const { return mask_ * kWays + kWays; }
  const Counts& counts() const { return counts_; }

 private:
  static constexpr uint32_t kWays = 8, kEnding = 2, kStays = 2;
  /** Those of a flow and its way back have the same tag, and buckets that are neighbours in a cache line of tags: a
   *  flow that begins looks for its way back without waiting for memory once more. */
  struct Hash {
    uint32_t bucket[2], tag;
  };
  Hash hash_of(const Key& key) const;
  /** Asks for the entries that may be the flow's; whether there are any. */
  bool prefetch_entries(const Hash& hash) const;
  /** For the table's own thread. */
  uint32_t find_own(const Hash& hash, const Key& key) const;
  void set_tag(uint32_t place, uint32_t tag) { std::atomic_ref(tags_[place]).store(tag, std::memory_order_release); }
  uint32_t find_in(uint32_t bucket, uint32_t tag, const Key& key) const;
  /** One of the emptier bucket of the two, or kNoFlow. */
  uint32_t free_place(const Hash& hash) const;
  uint32_t add(const Hash& hash, const Key& key, uint32_t now_ms, Says says);
  /** A place of these buckets whose flow may end for a new one, or kNoFlow. */
  uint32_t victim(const Hash& hash, uint32_t now_ms) const;
  /** The clock goes round, and packets of a capture may be a little out of order. */
  static int32_t idle_ms(const Entry& entry, uint32_t now_ms) { return static_cast<int32_t>(now_ms - entry.last_ms); }
  uint32_t timeout_of(const Entry& entry) const {
    if ((entry.key.protocol & 0xff) != kTcp) return timeouts_.other_ms;
    return entry.established() ? timeouts_.tcp_ms : timeouts_.tcp_transitory_ms;
  }
  bool is_over(const Entry& entry, uint32_t now_ms) const {
    return idle_ms(entry, now_ms) > static_cast<int32_t>(timeout_of(entry));
  }
  /** Those with less end first; kStays: it does not. */
  static uint32_t standing(const Entry& entry) {
    if (!entry.is(Entry::kGoesOn) || entry.ends()) return 0;
    return entry.is(Entry::kAnswered) ? kStays : 1;
  }
  /** Notes what a packet says that is not its flow's first. */
  void note(Entry& entry, Says says, uint32_t now_ms);
  /** A SYN begins another connection: nothing that is known of the one before, on its way back either, is of this. */
  void begin_again(Entry& entry, uint32_t now_ms);
  /** The flow of the other direction, or null. */
  Entry* way_back(const Key& key, uint32_t now_ms);
  /** Whether the flow of the other direction is there and does not end; it then knows that it is answered. */
  bool answers(const Key& key, uint32_t now_ms);
  void end(uint32_t place);
  /** Ends the flow there, but not before the next batch begins if this one has packets of it. */
  void end_or_defer(uint32_t place);
  void end_all();
  void count(std::atomic<uint64_t>& counter, uint64_t more) {
    counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  int thread_;
  uint32_t mask_;
  Timeouts timeouts_;
  uint64_t seed_;
  const std::vector<Watcher*>* watchers_;
  HugePages tag_memory_, entry_memory_;
  uint32_t* tags_;  // [buckets][kWays]; 0: free, kEnding: of a flow that is over; else odd
  Entry* entries_;  // [buckets][kWays]
  uint32_t next_aged_ = 0, batch_ = 0, first_ending_ = kNoFlow;
  Counts counts_;
};

}  // namespace heddle::flow
