#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "core/columns.h"
#include "core/packet.h"

namespace heddle {

/** What an element processes at a time: arrays, one entry a packet, in arrival order. Capacity is fixed at start;
 * nothing here allocates afterwards. A batch owns its packets until a sink frees them or the engine moves them on. */
class Batch {
 public:
  explicit Batch(int capacity)
      : capacity_(capacity),
        room_(capacity),
        packets_(new Packet*[static_cast<size_t>(capacity)]),
        next_(new uint16_t[static_cast<size_t>(capacity)]()),
        columns_(new uint32_t[static_cast<size_t>(capacity) * kColumns]) {}

  int size() const { return size_; }
  int capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  void resize(int size) { size_ = size; }

  /** How many packets a source may put in: the capacity, or fewer when somebody pulls. */
  int room() const { return room_; }
  void set_room(int room) { room_ = room < capacity_ ? room : capacity_; }

  Packet** packets() { return packets_.get(); }
  Packet* packet(int i) { return packets_[static_cast<size_t>(i)]; }
  uint8_t* frame(int i) { return data(packet(i)); }
  uint32_t length(int i) { return heddle::length(packet(i)); }

  /** Output port that each packet leaves by, or kDrop + reason. All are 0 when an element gets the batch; it marks the
   *  packets that go elsewhere. Asking for the array counts as marking: who changes nothing should not ask. */
  uint16_t* next() {
    marked_ = true;
    return next_.get();
  }
  void drop(int i, int reason) { next()[static_cast<size_t>(i)] = static_cast<uint16_t>(kDrop | reason); }
  bool marked() const { return marked_; }
  /** Makes the first `n` entries of next() 0 again. */
  void clear_marks(int n) {
    std::memset(next_.get(), 0, sizeof(uint16_t) * static_cast<size_t>(n));
    marked_ = false;
  }

  uint32_t* column(Column which) {
    return columns_.get() + static_cast<size_t>(which) * static_cast<size_t>(capacity_);
  }

  /** Which thread runs this batch: index into per-thread counters. */
  int thread = 0;

  /** Appends packet `i` of `from` with the columns in `live`. */
  void append(Batch& from, int i, ColumnSet live) {
    packets_[static_cast<size_t>(size_)] = from.packet(i);
    for (ColumnSet rest = live; rest != 0; rest &= static_cast<ColumnSet>(rest - 1)) {
      const auto which = static_cast<Column>(__builtin_ctz(rest));
      column(which)[size_] = from.column(which)[i];
    }
    ++size_;
  }

  /** Frees every packet and empties the batch. */
  void free_packets() {
    rte_pktmbuf_free_bulk(packets_.get(), static_cast<unsigned>(size_));
    size_ = 0;
  }

 private:
  int size_ = 0, capacity_, room_;
  bool marked_ = false;
  std::unique_ptr<Packet*[]> packets_;   // [capacity]
  std::unique_ptr<uint16_t[]> next_;     // [capacity]
  std::unique_ptr<uint32_t[]> columns_;  // [kColumns][capacity]
};

}  // namespace heddle
