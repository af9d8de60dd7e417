#pragma once

#include <memory>
#include <vector>

#include "core/batch.h"
#include "core/column_pack.h"

namespace heddle {

/** Packets that wait for the Ethernet addresses of their next hops, in lists, with their columns; a fixed number. One
 *  thread at a time uses it. */
class WaitingPackets {
 public:
  struct List {
    int first = -1, last = -1;
    bool empty() const { return first < 0; }
  };

  WaitingPackets(uint32_t capacity, ColumnSet columns);
  ~WaitingPackets();
  WaitingPackets(const WaitingPackets&) = delete;
  WaitingPackets& operator=(const WaitingPackets&) = delete;

  /** False if there is no room. */
  bool add(List& list, Batch& batch, int i);
  /** Puts packet `i` behind the others of `list`, which is not empty, for the first of them; that becomes packet
   *  `i`. */
  void replace_first(List& list, Batch& batch, int i);
  /** Takes the first packet of `list`, which is not empty, into `batch`. */
  void take(List& list, Batch& batch);
  /** Moves all of `from` behind those of `to`; `each` sees every packet. */
  template <class Visit>
  void move(List& from, List& to, const Visit& each) {
    for (int at = from.first; at >= 0; at = next_[static_cast<size_t>(at)]) each(packets_[static_cast<size_t>(at)]);
    if (from.empty()) return;
    (to.empty() ? to.first : next_[static_cast<size_t>(to.last)]) = from.first;
    to.last = from.last;
    from = {};
  }
  uint32_t size() const { return size_; }

 private:
  void save(size_t slot, Batch& batch, int i);
  void append(List& list, int at);

  ColumnPack columns_;
  std::vector<Packet*> packets_;  // [capacity]
  std::vector<int> next_;         // [capacity]: in its list, or of the free ones; -1: the last
  std::vector<std::byte> bytes_;  // [capacity][columns_.bytes()]
  int free_ = -1;
  uint32_t size_ = 0;
};

}  // namespace heddle
