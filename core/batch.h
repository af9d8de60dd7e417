#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/cache_line.h"
#include "core/columns.h"
#include "core/packet.h"

namespace heddle {

/** What an element processes at a time: arrays, one entry a packet, in arrival order. Capacity is fixed at start;
 * nothing here allocates afterwards. A batch owns its packets until a sink frees them or the engine moves them on. */
class alignas(kCacheLine) Batch {
 public:
  /** Has room for `capacity` packets with `columns`. */
  explicit Batch(int capacity, ColumnSet columns = kAllColumns)
      : capacity_(capacity),
        room_(capacity),
        packets_(static_cast<size_t>(capacity)),
        next_(static_cast<size_t>(capacity)),
        numbers_(static_cast<size_t>(capacity)),
        columns_(static_cast<size_t>(capacity) * static_cast<size_t>(words(columns))) {
    // Wide columns come first, so that all are aligned.
    uint32_t* at = columns_.data();
    for (const ColumnSet width : {columns & kWideColumns, columns & ~kWideColumns})
      each_column(width, [&](Column which) {
        column_[static_cast<size_t>(which)] = at;
        at += words(which) * capacity;
      });
  }

  int size() const { return size_; }
  int capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  void resize(int size) {
    size_ = size;
    forget_bytes();
  }

  /** How many packets a source may put in: the capacity, or fewer when somebody pulls. */
  int room() const { return room_; }
  void set_room(int room) { room_ = room < capacity_ ? room : capacity_; }

  Packet** packets() { return packets_.data(); }
  Packet* packet(int i) { return packets_[static_cast<size_t>(i)]; }
  uint8_t* frame(int i) { return data(packet(i)); }
  uint32_t length(int i) { return heddle::length(packet(i)); }

  /** Bytes of all packets. Summed when first asked for; the engine forgets the sum behind an element that says that it
   *  changes lengths. */
  uint64_t bytes() {
    if (bytes_ == kUnknown) {
      uint64_t sum = 0;
#pragma GCC unroll 8
      for (int i = 0; i < size_; ++i) sum += length(i);
      bytes_ = sum;
    }
    return bytes_;
  }
  void forget_bytes() { bytes_ = kUnknown; }

  /** Output port that each packet leaves by, or kDrop + reason. All are 0 when an element gets the batch; it marks the
   *  packets that go elsewhere. Asking for the array counts as marking: who changes nothing should not ask. */
  uint16_t* next() {
    marked_ = true;
    return next_.data();
  }
  void drop(int i, int reason) { next()[static_cast<size_t>(i)] = static_cast<uint16_t>(kDrop | reason); }
  /** The element has taken the packet out and gives it back later (see Emitter). */
  void keep(int i) { next()[static_cast<size_t>(i)] = kKept; }
  bool marked() const { return marked_; }
  /** Makes the first `n` entries of next() 0 again. */
  void clear_marks(int n) {
    std::memset(next_.data(), 0, sizeof(uint16_t) * static_cast<size_t>(n));
    marked_ = false;
  }

  /** A column of 32 bits, [capacity]; null if the batch does not have it. */
  uint32_t* column(Column which) { return column_[static_cast<size_t>(which)]; }
  /** The same of 64 bits. */
  uint64_t* wide_column(Column which) { return reinterpret_cast<uint64_t*>(column_[static_cast<size_t>(which)]); }

  /** The engine's: by these it restores the order where ways meet, which it knows to need them. */
  uint32_t* numbers() { return numbers_.data(); }

  /** Which thread runs this batch: index into per-thread counters. */
  int thread = 0;

  /** Appends packet `i` of `from` with the columns in `live`. */
  void append(Batch& from, int i, ColumnSet live) {
    packets_[static_cast<size_t>(size_)] = from.packet(i);
    each_column(live, [&](Column which) {
      if (is_wide(which)) {
        wide_column(which)[size_] = from.wide_column(which)[i];
      } else {
        column(which)[size_] = from.column(which)[i];
      }
    });
    ++size_;
    forget_bytes();
  }

  /** Frees every packet and empties the batch. */
  void free_packets() {
    rte_pktmbuf_free_bulk(packets_.data(), static_cast<unsigned>(size_));
    resize(0);
  }

 private:
  static constexpr uint64_t kUnknown = UINT64_MAX;

  int size_ = 0, capacity_, room_;
  bool marked_ = false;
  uint64_t bytes_ = kUnknown;
  std::vector<Packet*, Unshared<Packet*>> packets_;    // [capacity]
  std::vector<uint16_t, Unshared<uint16_t>> next_;     // [capacity]
  std::vector<uint32_t, Unshared<uint32_t>> numbers_;  // [capacity]
  std::vector<uint32_t, Unshared<uint32_t>> columns_;  // those that it has, one after the other
  std::array<uint32_t*, kColumns> column_{};           // where each begins
};

}  // namespace heddle
