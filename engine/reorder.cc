#include "engine/reorder.h"

#include <algorithm>
#include <bit>

namespace heddle {

std::unique_ptr<Batch> SpareBatches::make() const {
  auto batch = std::make_unique<Batch>(capacity_);
  batch->thread = thread_;
  return batch;
}

void SpareBatches::add(size_t count) {
  made_ += count;
  spare_.reserve(made_);
  for (size_t i = 0; i < count; ++i) spare_.push_back(make());
}

std::unique_ptr<Batch> SpareBatches::borrow() {
  if (spare_.empty()) [[unlikely]]
    return make();
  auto batch = std::move(spare_.back());
  spare_.pop_back();
  batch->resize(0);
  return batch;
}

Reorder::Reorder(int ways, ColumnSet columns, size_t usual, size_t most, SpareBatches& spare)
    : columns_(columns), spare_(spare), ways_(static_cast<size_t>(ways)) {
  heap_.reserve(ways_.size());
  // Full batches, and one at either end that is not.
  const auto batches = [&](size_t packets) { return packets / static_cast<size_t>(spare.capacity()) + 2; };
  for (Way& way : ways_) way.ring.resize(std::bit_ceil(batches(most)));
  spare.add(batches(std::min(usual, most)) + 2 * ways_.size());
}

void Reorder::add(int index, Batch& batch) {
  Way& way = ways_[static_cast<size_t>(index)];
  waiting_ += batch.size();
  if (way.size == 0 && batch.size() > 0) {  // the batch itself stays
    way.size = batch.size(), way.first = 0;
    auto chunk = spare_.borrow();
    std::swap(*chunk, batch);
    way.ring[way.tail++ & (way.ring.size() - 1)] = std::move(chunk);
    return;
  }
  way.size += batch.size();
  for (int i = 0; i < batch.size(); ++i) {
    if (way.back().size() == way.back().capacity()) way.ring[way.tail++ & (way.ring.size() - 1)] = spare_.borrow();
    Batch& to = way.back();
    to.append(batch, i, columns_);
    to.numbers()[to.size() - 1] = batch.numbers()[i];
  }
  batch.resize(0);
}

bool Reorder::before(int a, int b) {
  const uint32_t one = ways_[static_cast<size_t>(a)].number(), other = ways_[static_cast<size_t>(b)].number();
  return one == other ? a < b : earlier(one, other);
}

void Reorder::pop(Way& way, Batch& out) {
  Batch& from = way.front();
  out.append(from, way.first, columns_);
  out.numbers()[out.size() - 1] = from.numbers()[way.first];
  --way.size, --waiting_;
  if (way.old > 0) --way.old;
  if (++way.first < from.size()) return;
  from.resize(0);
  spare_.give_back(std::move(way.ring[way.head++ & (way.ring.size() - 1)]));
  way.first = 0;
}

bool Reorder::pop_batch(Way& way, uint32_t limit, Batch& out) {
  Batch& from = way.front();
  if (way.first > 0 || !earlier(from.numbers()[from.size() - 1], limit)) return false;
  std::swap(from, out);
  way.size -= out.size(), waiting_ -= out.size();
  way.old = std::max(way.old - out.size(), 0);
  spare_.give_back(std::move(way.ring[way.head++ & (way.ring.size() - 1)]));
  return true;
}

bool Reorder::release(uint32_t limit, Batch& out) {
  const auto later = [this](int a, int b) { return before(b, a); };  // the heap's first is its largest
  heap_.clear();
  for (size_t w = 0; w < ways_.size(); ++w)
    if (ways_[w].size > 0 && earlier(ways_[w].number(), limit)) heap_.push_back(static_cast<int>(w));
  if (heap_.size() == 1 && pop_batch(ways_[static_cast<size_t>(heap_.front())], limit, out)) return true;
  std::make_heap(heap_.begin(), heap_.end(), later);
  while (!heap_.empty() && out.size() < out.capacity()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const int first = heap_.back();
    heap_.pop_back();
    Way& way = ways_[static_cast<size_t>(first)];
    // Its turn lasts until another way has an older packet.
    do pop(way, out);
    while (way.size > 0 && earlier(way.number(), limit) && out.size() < out.capacity() &&
           (heap_.empty() || before(first, heap_.front())));
    if (way.size > 0 && earlier(way.number(), limit)) {
      heap_.push_back(first);
      std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }
  return !out.empty();
}

uint64_t Reorder::count_new() {
  uint64_t more = 0;
  for (Way& way : ways_) more += static_cast<uint64_t>(way.size - way.old), way.old = way.size;
  return more;
}

NumbersInFlight::NumbersInFlight(int capacity)
    : ring_(std::bit_ceil(static_cast<size_t>(std::max(capacity, 1)))), mask_(ring_.size() - 1) {}

}  // namespace heddle
