#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>

#include "core/cache_line.h"

namespace heddle::nat {

/** What mappings are found by. Everything as it lies in packets; what a kind does not look at is 0. */
enum class Kind : uint8_t { tcp, udp, ping, address, pair };
struct FlowKey {
  uint32_t source = 0, destination = 0;
  uint16_t source_port = 0, destination_port = 0;
  Kind kind = Kind::tcp;
  bool operator==(const FlowKey&) const = default;
  FlowKey reversed() const { return {destination, source, destination_port, source_port, kind}; }
};

/** What becomes of a packet with a mapping. */
struct Rewrite {
  FlowKey to;
  uint32_t mapping = 0;  ///< its number, for touch()
  uint8_t output = 0;
  bool reply = false;
};

/** How far the bytes that a TCP flow sends have moved, because something in it has become longer or shorter
 *  (FTPPortMapper): those that begin behind the sequence number `from` by `after` bytes, those before it by `before`.
 *  Of the flow's packets as they come; replies acknowledge what has left. */
struct Shift {
  uint32_t from = 0;
  int16_t before = 0, after = 0;
  explicit operator bool() const { return before != 0 || after != 0; }
};

/** Mappings: a flow, what it is rewritten to, and the way back, each found by the packets of its direction. A fixed
 *  number. Any thread looks up without waiting: buckets of a cache line with a version, which readers compare before
 *  and after. Changes are made one at a time; a new mapping takes a lock for some hundred nanoseconds. */
class MappingTable {
 public:
  explicit MappingTable(uint32_t capacity);

  bool find(const FlowKey& key, Rewrite& found) const;
  void prefetch(const FlowKey& key) const { __builtin_prefetch(&buckets_[home(key)]); }
  /** The same of its mapping, where prefetch() has brought what says which one that is. */
  void prefetch_mapping(const FlowKey& key) const;

  /** What packets of a mapping have shown. */
  enum Seen : uint8_t { kForward = 1, kReply = 2, kForwardEnd = 4, kReplyEnd = 8, kReset = 16, kStart = 32 };
  /** Notes that a packet has come, and what it shows. `now_s`: seconds of any clock, that of expire(). */
  void touch(uint32_t mapping, uint32_t now_s, uint8_t seen);

  Shift shift(uint32_t mapping) const {
    return std::bit_cast<Shift>(mappings_[mapping].shift.load(std::memory_order_relaxed));
  }
  void set_shift(uint32_t mapping, Shift shift);

  enum class Outcome : uint8_t { made, full, taken, moved };
  /** Makes a mapping: packets of `flow` become `to` and leave by `forward`; those of to.reversed() become
   *  flow.reversed() and leave by `back`. `input`: by which it came. `taken`: the way back is another mapping's. If the
   *  mapping is there by now: made. `moved`: all mappings are in another table by now (move_to), where this one must be
   *  made. */
  Outcome create(const FlowKey& flow, const FlowKey& to, uint8_t forward, uint8_t back, uint32_t now_s,
                 uint8_t input = 0);

  /** Takes out those of the next `count` that `dead` says; false: another thread is at it. */
  struct Idle {
    Kind kind;
    uint8_t seen;
    uint32_t seconds;  ///< since the last packet
  };
  bool expire(uint32_t now_s, uint32_t count, const std::function<bool(const Idle&)>& dead);
  void clear();
  /** Takes out those that were made for packets of an input. */
  void clear_input(uint8_t input);
  /** Makes the mappings of `other`, as far as there is room, but those that leave by outputs beyond `outputs`. */
  void copy(const MappingTable& other, int outputs);
  /** Makes the mappings in `other`, as far as there is room, while threads look up and make some here; those that come
   *  and go meanwhile do so there, too, and behind it none is made here. Nobody else changes `other` before this is
   *  done. */
  void move_to(MappingTable& other);
  /** Behind move_to(), when no thread works with this one any more: tells `other` what packets have shown here
   *  since. */
  void hand_over(MappingTable& other) const;
  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  uint32_t capacity() const { return capacity_; }
  /** Calls with flow, what it becomes, its output and the seconds since the last packet. */
  void visit(uint32_t now_s,
             const std::function<void(const FlowKey&, const FlowKey&, uint8_t output, uint32_t seconds)>& each) const;

 private:
  static constexpr int kWays = 3;
  static constexpr uint32_t kNone = UINT32_MAX, kReplyBit = 0x80000000, kKindShift = 28,
                            kIndex = (1u << kKindShift) - 1;

  /** A key and its mapping in two words; free if the second is all ones. A mapping's number has the kind above it. */
  struct Entry {
    std::atomic<uint64_t> addresses{0};
    std::atomic<uint64_t> rest{
        UINT64_MAX};  // ports in the low half, above them the mapping, its kind and its direction
  };
  /** version: odd while it changes. passed: entries that belong here or before and lie further on. */
  struct alignas(kCacheLine) Bucket {
    std::atomic<uint32_t> version{0}, passed{0};
    Entry entries[kWays];
  };
  struct alignas(kCacheLine) Mapping {
    std::array<std::atomic<uint64_t>, 4> words{};  // flow: addresses, ports; what it becomes: the same
    std::atomic<uint64_t> shift{0};
    std::atomic<uint32_t> outputs{0}, used_s{0};  // outputs: forward, back, kind, input; a byte each
    std::atomic<uint8_t> seen{0};
    std::atomic<bool> used{false};
    uint32_t next_free = kNone;
  };

  static uint64_t addresses_of(const FlowKey& key) { return uint64_t{key.source} << 32 | key.destination; }
  static uint32_t ports_of(const FlowKey& key) { return uint32_t{key.source_port} << 16 | key.destination_port; }
  static FlowKey key_of(uint64_t addresses, uint64_t ports, Kind kind);
  uint32_t home(const FlowKey& key) const;
  bool insert(const FlowKey& key, uint32_t value);
  void remove(const FlowKey& key, uint32_t value);
  void remove_mapping(uint32_t index);
  /** As create(), under the lock, of a mapping as it is in another table; null: there is no room, or it is there. */
  Mapping* place(const FlowKey& flow, const FlowKey& to, uint32_t outputs, uint32_t used_s, Outcome& outcome);
  /** The mapping of `other` that is the same one, or null. */
  Mapping* same_in(MappingTable& other, uint32_t index) const;
  template <class Change>
  static void change(Bucket& bucket, const Change& what);

  uint32_t capacity_, mask_;
  std::unique_ptr<Bucket[]> buckets_;
  std::unique_ptr<Mapping[]> mappings_;
  mutable std::mutex changing_;                    // for what follows
  uint32_t free_ = kNone, fresh_ = 0, swept_ = 0;  // free ones; the first that was never used; the next to look at
  std::atomic<uint32_t> size_{0};
  MappingTable* next_ = nullptr;  // where they are moved
  bool moved_ = false;            // all of them
};

}  // namespace heddle::nat
