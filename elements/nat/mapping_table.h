#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "core/cache_line.h"
#include "core/huge_pages.h"

namespace heddle::nat {

/** What mappings are found by. Everything as it lies in packets; what a kind does not look at is 0. */
enum class Kind : uint8_t { tcp, udp, ping, address, pair };
struct FlowKey {
  uint32_t source = 0, destination = 0;
  uint16_t source_port = 0, destination_port = 0;
  Kind kind = Kind::tcp;
  uint8_t owner = 0;  ///< whose flow it is, of those that share a table
  bool operator==(const FlowKey&) const = default;
  FlowKey reversed() const { return {destination, source, destination_port, source_port, kind, owner}; }
};

/** What becomes of a packet with a mapping. */
struct Rewrite {
  FlowKey to;
  uint32_t mapping = 0;  ///< its number, for touch()
  uint8_t output = 0;
  bool reply = false;
  uint8_t annotation = 0;  ///< what create() was told
};

/** How far the bytes that a TCP flow sends have moved, because something in it has become longer or shorter
 *  (FTPPortMapper): those that begin behind the sequence number `from`, the last of the segment that has become so, by
 *  `after` bytes, those before it by `before`. Of the flow's packets as they come; replies acknowledge what has
 *  left. */
struct Shift {
  uint32_t from = 0;
  int16_t before = 0, after = 0;
  explicit operator bool() const { return before != 0 || after != 0; }
};
/** The last two: what lies behind `earlier` and before `newest` has moved as both say, earlier.after =
 *  newest.before. */
struct Shifts {
  Shift newest, earlier;
  explicit operator bool() const { return static_cast<bool>(newest); }
};

/** The mappings of a rewriter: a flow, what it is rewritten to, and the way back, each found by the packets of its
 *  direction. A fixed number. Any thread looks up without waiting: buckets of a cache line with a version, which
 *  readers compare before and after. Changes are made one at a time; a new mapping takes a lock for some hundred
 *  nanoseconds.
 *
 *  Not functions/flow's table, which is each packet thread's own and needs all packets of a flow on one thread: replies
 *  to a rewritten flow have other addresses, so receive-side scaling brings them to another thread than the flow's,
 *  which must find the mapping, too. There an entry is one direction, and ends by one time-out or for a newer flow;
 *  here it is found by both, ends by what either side has sent, as Click's does, and goes for another one in that
 *  order. */
class MappingTable {
 public:
  /** Memory is taken as mappings come. Throws Error when the machine has less than so many want. */
  explicit MappingTable(uint32_t capacity);

  bool find(const FlowKey& key, Rewrite& found) const { return find(key, hash(key), found); }

  // The same in steps, for flows whose memory is to come while others are looked up.
  /** By which a flow is looked for in any table. */
  static uint32_t hash(const FlowKey& key);
  void prefetch(uint32_t hash) const { __builtin_prefetch(&buckets_[hash & mask_]); }
  /** Asks for its mapping, where prefetch() has brought what says which one that is. */
  void prefetch_mapping(const FlowKey& key, uint32_t hash) const;
  bool find(const FlowKey& key, uint32_t hash, Rewrite& found) const;

  /** What packets of a mapping have shown. kSecond and kThird: that there were two, three that have shown anything. */
  enum Seen : uint8_t {
    kForward = 1,
    kReply = 2,
    kForwardEnd = 4,
    kReplyEnd = 8,
    kReset = 16,
    kStart = 32,
    kSecond = 64,
    kThird = 128
  };
  /** Notes that a packet has come, and what it shows. `now_ms`: milliseconds of any clock, that of expire(). */
  void touch(uint32_t mapping, uint64_t now_ms, uint8_t seen);

  Shifts shifts(uint32_t mapping) const {
    const Mapping& of = mappings_[mapping];
    const auto newest = std::bit_cast<Shift>(of.shift.load(std::memory_order_acquire));
    return {newest, std::bit_cast<Shift>(of.earlier_shift.load(std::memory_order_relaxed))};
  }
  /** Sets the newest; the one before becomes the earlier one. */
  void add_shift(uint32_t mapping, Shift shift);

  enum class Outcome : uint8_t { made, full, taken, moved };
  /** Makes a mapping: packets of `flow` become `to` and leave by `forward`; those of to.reversed() become
   *  flow.reversed() and leave by `back`. If both are the same key, packets of it are those of the way back. `input`:
   *  by which it came. `taken`: the way back is another mapping's. If the mapping is there by now: made. `moved`: all
   *  mappings are in another table by now (move_to), where this one must be made. */
  Outcome create(const FlowKey& flow, const FlowKey& to, uint8_t forward, uint8_t back, uint64_t now_ms,
                 uint8_t input = 0, uint8_t annotation = 0);

  struct Idle {
    Kind kind;
    uint8_t owner;
    uint8_t seen;
    int64_t ms;  ///< since the last packet; below 0 where another thread's clock is ahead
  };
  /** Takes out those of the next `count` that `dead` says; false: another thread is at it. */
  bool expire(uint64_t now_ms, uint32_t count, const std::function<bool(const Idle&)>& dead);
  /** How many milliseconds after its last packet a mapping may go for a new one, and how many after it ends. */
  struct Limits {
    int64_t guarantee, timeout;
  };
  using LimitsOf = std::function<Limits(const Idle&)>;
  /** In a full table, makes room for a mapping: takes out the one that ends first of those whose guarantee is over; in
   *  one of more than 4096, one of those that end first of 4096 that are looked at together. False: there is none that
   *  ends by `latest_ms`. */
  bool give_up(uint64_t now_ms, uint64_t latest_ms, const LimitsOf& limits);
  /** Takes out those that end first until there are `most`, those whose guarantee is over before others. From now on
   *  there are no more than that. */
  void shrink(uint32_t most, uint64_t now_ms, const LimitsOf& limits);
  void clear();
  /** Takes out those of an owner that were made for packets of an input. */
  void clear_input(uint8_t owner, uint8_t input);
  /** Makes those mappings of `other` that are `from`'s as `owner`'s, as far as there is room, but those that leave by
   *  outputs beyond `outputs`. */
  void copy(const MappingTable& other, uint8_t from, uint8_t owner, int outputs);
  /** Makes the mappings in `other`, as far as there is room, while threads look up and make some here; those that come
   *  and go meanwhile do so there, too, and behind it none is made here. Nobody else changes `other` before this is
   *  done. */
  void move_to(MappingTable& other);
  /** Behind move_to(), when no thread works with this one any more: tells `other` what packets have shown here
   *  since. */
  void hand_over(MappingTable& other) const;
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  uint32_t size_of(uint8_t owner) const { return sizes_[owner].load(std::memory_order_relaxed); }
  uint32_t capacity() const { return capacity_; }
  struct View {
    FlowKey flow, to;
    uint8_t forward, back, input;
    int64_t idle_ms;  ///< as Idle::ms
  };
  void visit(uint64_t now_ms, const std::function<void(const View&)>& each) const;

 private:
  static constexpr int kWays = 3;
  static constexpr uint32_t kNone = UINT32_MAX, kReplyBit = 0x80000000, kKindShift = 28,
                            kIndex = (1u << kKindShift) - 1;

  /** A key and its mapping in two words; free if the second is 0. A mapping's number has the kind and 1 above it. */
  struct Entry {
    std::atomic<uint64_t> addresses{0};
    std::atomic<uint64_t> rest{0};  // ports in the low half, above them the mapping, its kind and its direction
  };
  /** version: odd while it changes. passed: entries that belong here or before and lie further on. */
  struct alignas(kCacheLine) Bucket {
    std::atomic<uint32_t> version{0}, passed{0};
    Entry entries[kWays];
  };
  struct alignas(kCacheLine) Mapping {
    std::array<std::atomic<uint64_t>, 4> words{};  // flow: addresses, ports; what it becomes: the same
    std::atomic<uint64_t> shift{0}, earlier_shift{0};
    std::atomic<uint64_t> used_ms{0};
    std::atomic<uint32_t> outputs{0};  // forward, back, kind, input; a byte each
    std::atomic<uint8_t> seen{0}, owner{0}, annotation{0};
    std::atomic<bool> used{false};  // else words[0] is the next free one
    FlowKey key(size_t first) const {
      const uint64_t addresses = words[first].load(std::memory_order_relaxed),
                     ports = words[first + 1].load(std::memory_order_relaxed);
      return {static_cast<uint32_t>(addresses >> 32),
              static_cast<uint32_t>(addresses),
              static_cast<uint16_t>(ports >> 16),
              static_cast<uint16_t>(ports),
              kind(),
              owner.load(std::memory_order_relaxed)};
    }
    FlowKey flow() const { return key(0); }
    FlowKey to() const { return key(2); }
    Kind kind() const { return static_cast<Kind>(outputs.load(std::memory_order_relaxed) >> 16 & 0xff); }
    uint8_t input() const { return static_cast<uint8_t>(outputs.load(std::memory_order_relaxed) >> 24); }
  };
  static_assert(sizeof(Mapping) == kCacheLine);

  static uint64_t addresses_of(const FlowKey& key) { return uint64_t{key.source} << 32 | key.destination; }
  static uint32_t ports_of(const FlowKey& key) { return uint32_t{key.source_port} << 16 | key.destination_port; }
  /** Of Entry::rest: all but mapping and direction. Nothing that is free has it. */
  static constexpr uint64_t kRestOfKey = uint64_t{0x7} << (32 + kKindShift) | 0xffffffff;
  static uint64_t rest_of(const FlowKey& key) { return uint64_t{kind_bits(key.kind)} << 32 | ports_of(key); }
  static uint32_t kind_bits(Kind kind) { return (static_cast<uint32_t>(kind) + 1) << kKindShift; }
  static Idle idle_of(const Mapping& mapping, uint64_t now_ms) {
    return {mapping.kind(), mapping.owner, mapping.seen, static_cast<int64_t>(now_ms - mapping.used_ms)};
  }
  bool insert(const FlowKey& key, uint32_t value);
  void remove(const FlowKey& key, uint32_t value);
  void remove_mapping(uint32_t index);
  /** As create(), under the lock, of a mapping as it is in another table; null: there is no room, or it is there. */
  Mapping* place(const FlowKey& flow, const FlowKey& to, uint32_t outputs, uint64_t used_ms, uint8_t annotation,
                 Outcome& outcome);
  /** The mapping of `other` that is the same one, or null. */
  Mapping* same_in(MappingTable& other, uint32_t index) const;
  /** A mapping that may go, as it was when it was looked at. */
  struct Candidate {
    bool guaranteed;
    uint64_t end_ms, used_ms;
    uint32_t index;
    uint8_t seen;
    auto operator<=>(const Candidate&) const = default;
  };
  Candidate candidate_of(uint32_t index, uint64_t now_ms, const LimitsOf& limits) const;
  /** Whether it is as it was. */
  bool is_valid(const Candidate& candidate) const;
  void look_for_candidates(uint64_t now_ms, const LimitsOf& limits);
  template <class Change>
  static void change(Bucket& bucket, const Change& what);

  uint32_t capacity_, mask_;
  uint32_t most_ = capacity_;  // there may be at once, by changing_
  HugePages memory_;           // all zeros at first: buckets that are free, mappings that were never used
  Bucket* buckets_;
  Mapping* mappings_;
  mutable std::mutex changing_;                    // for what follows
  uint32_t free_ = kNone, fresh_ = 0, swept_ = 0;  // free ones; the first that was never used; the next to look at
  std::vector<Candidate> candidates_;              // to be given up, from the back on
  uint32_t looked_at_ = 0;                         // the next that may become one
  uint64_t none_before_ms_ = 0;                    // none may go until then
  std::atomic<uint32_t> size_{0};
  std::array<std::atomic<uint32_t>, 256> sizes_{};  // by owner
  MappingTable* next_ = nullptr;                    // where they are moved
  bool moved_ = false;                              // all of them
};

}  // namespace heddle::nat
