#include "engine/hand_over.h"

#include <algorithm>
#include <bit>

#include "core/error.h"

namespace heddle {

HandOver::HandOver(int capacity, ColumnSet there, ColumnSet back)
    : there_(there),
      back_(back),
      stride_(std::max(there_.bytes(), back_.bytes())),
      mask_(static_cast<size_t>(capacity) - 1),
      packets_(new Packet*[static_cast<size_t>(capacity)]),
      exits_(new uint16_t[static_cast<size_t>(capacity)]),
      columns_(new std::byte[static_cast<size_t>(capacity) * stride_]) {
  if (!std::has_single_bit(static_cast<size_t>(capacity))) throw Error("HandOver: its capacity is no power of two");
}

int HandOver::give(Batch& batch, int first) {
  const uint64_t given = given_.load(std::memory_order_relaxed);
  const int n = std::min(batch.size() - first, capacity() - static_cast<int>(given - taken_));
  for (int i = 0; i < n; ++i) {
    const uint64_t number = given + static_cast<uint64_t>(i);
    packets_[place(number)] = batch.packet(first + i);
    there_.save(batch, first + i, columns_at(number));
  }
  if (n > 0) given_.store(given + static_cast<uint64_t>(n), std::memory_order_release);
  return n;
}

bool HandOver::take(Batch& out) {
  const uint64_t answered = answered_.load(std::memory_order_acquire);
  const int before = out.size();
  int at = before;
  for (; taken_ < answered && at < out.capacity() && exits_[place(taken_)] != kLost; ++taken_, ++at) {
    out.packets()[at] = packets_[place(taken_)];
    out.next()[at] = exits_[place(taken_)];
    back_.load(out, at, columns_at(taken_));
  }
  out.resize(at);
  return at > before;
}

void HandOver::take_lost(Batch& out) {
  const uint64_t answered = answered_.load(std::memory_order_acquire);
  int at = out.size();
  for (; taken_ < answered && at < out.capacity(); ++taken_, ++at) out.packets()[at] = packets_[place(taken_)];
  out.resize(at);
}

bool HandOver::oldest_is_lost() const {
  return taken_ < answered_.load(std::memory_order_acquire) && exits_[place(taken_)] == kLost;
}

int HandOver::accept(Batch& batch) {
  const int n = static_cast<int>(std::min<uint64_t>(given_.load(std::memory_order_acquire) - accepted_,
                                                    static_cast<uint64_t>(batch.capacity() - batch.size())));
  const int first = batch.size();
  for (int i = 0; i < n; ++i, ++accepted_) {
    batch.packets()[first + i] = packets_[place(accepted_)];
    there_.load(batch, first + i, columns_at(accepted_));
  }
  batch.resize(first + n);
  return n;
}

void HandOver::answer(Batch& batch, int i) {
  exits_[place(answering_)] = batch.next()[i];
  back_.save(batch, i, columns_at(answering_));
  ++answering_;
}

void HandOver::lose() { exits_[place(answering_++)] = kLost; }

bool HandOver::lose_all() {
  accepted_ = given_.load(std::memory_order_acquire);
  const bool any = answering_ < accepted_;
  while (answering_ < accepted_) lose();
  publish();
  return any;
}

void HandOver::publish() {
  if (answered_.load(std::memory_order_relaxed) != answering_) answered_.store(answering_, std::memory_order_release);
}

}  // namespace heddle
