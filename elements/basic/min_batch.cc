#include "elements/basic/min_batch.h"

#include <algorithm>
#include <limits>

#include "click/arguments.h"
#include "core/error.h"
#include "core/packet_pool.h"

namespace heddle {

bool parse(std::string_view text, MinBatch::Timer& timer) {
  constexpr int64_t kLongest = int64_t{86400} * 1000000;
  click::Duration duration;
  if (click::parse(text, timer.microseconds, -1, kLongest)) return true;
  if (!click::parse(text, duration) || duration.microseconds > kLongest) return false;
  timer.microseconds = static_cast<int64_t>(duration.microseconds);
  return true;
}
std::string expectation(MinBatch::Timer) { return "microseconds, a time such as 1ms, or -1 for no limit"; }

void MinBatch::configure(click::Arguments& arguments) {
  arguments.optional("BURST", burst_, 1u, 1u << 20).optional("TIMER", timer_);
}

void MinBatch::start(const Environment& environment) {
  if (home >= 0) throw Error("'" + name + "' runs on the threads that push to it; StaticThreadSched cannot move it");
  threads_ = environment.threads;
  ring_size_ = environment.packets->capacity() + environment.large_packets->capacity();
  const size_t kept = (burst_ - 1) * static_cast<size_t>(threads_);
  if (kept > environment.packets->capacity() / 2)
    throw Error(format("'%s': BURST %u on %d threads may keep %zu of %u packets, more than half of them", name.c_str(),
                       burst_, threads_, kept, environment.packets->capacity()));
  gathered_ = std::make_unique<Gathered[]>(static_cast<size_t>(threads_));
  columns_ = ColumnPack(carries);
  for (int thread = 0; thread < threads_; ++thread) {
    Gathered& gathered = gathered_[static_cast<size_t>(thread)];
    gathered.packets = std::make_unique_for_overwrite<Packet*[]>(ring_size_);
    gathered.columns = std::make_unique_for_overwrite<std::byte[]>(ring_size_ * columns_.bytes());
  }
}

void MinBatch::run_cpu(Batch& batch) {
  Gathered& mine = gathered_[static_cast<size_t>(batch.thread)];
  const size_t count = mine.count.load(std::memory_order_relaxed);
  if (count == 0 && timer_.microseconds >= 0) mine.since = Clock::now();
  for (int i = 0; i < batch.size(); ++i) {
    size_t at = mine.first + count + static_cast<size_t>(i);
    if (at >= ring_size_) at -= ring_size_;
    mine.packets[at] = batch.packet(i);
    columns_.save(batch, i, &mine.columns[at * columns_.bytes()]);
  }
  mine.count.store(count + static_cast<size_t>(batch.size()), std::memory_order_relaxed);
  batch.resize(0);
}

void MinBatch::receive(Batch& batch) {
  Gathered& mine = gathered_[static_cast<size_t>(batch.thread)];
  const size_t count = mine.count.load(std::memory_order_relaxed);
  if (count == 0) return;
  if (mine.due == 0) {
    const bool late =
        timer_.microseconds >= 0 && Clock::reached(mine.since + std::chrono::microseconds(timer_.microseconds));
    if (count < burst_ && !late && !released_.load(std::memory_order_relaxed)) return;
    mine.due = count;
  }
  const auto n = std::min(count, static_cast<size_t>(batch.room()));
  for (size_t i = 0; i < n; ++i) {
    batch.packets()[i] = mine.packets[mine.first];
    columns_.load(batch, static_cast<int>(i), &mine.columns[mine.first * columns_.bytes()]);
    if (++mine.first == ring_size_) mine.first = 0;
  }
  batch.resize(static_cast<int>(n));
  mine.due -= std::min(mine.due, n);
  mine.count.store(count - n, std::memory_order_relaxed);
  if (timer_.microseconds >= 0 && mine.due == 0 && count > n) mine.since = Clock::now();
}

void MinBatch::take_state(Element& old_element) {
  auto& old = static_cast<MinBatch&>(old_element);
  if (columns_.columns() == old.columns_.columns()) std::swap(gathered_, old.gathered_);
}

uint64_t MinBatch::packets_held() const {
  uint64_t packets = 0;
  for (int thread = 0; thread < gathering_threads(); ++thread) packets += gathered_[static_cast<size_t>(thread)].count;
  return packets;
}

bool MinBatch::nothing_gathered() const {
  return std::all_of(gathered_.get(), gathered_.get() + gathering_threads(),
                     [](const Gathered& thread) { return thread.count.load(std::memory_order_relaxed) == 0; });
}

bool MinBatch::exhausted() const { return nothing_gathered() || (timer_.microseconds < 0 && !released_); }

bool MinBatch::release() {
  released_ = true;
  return !nothing_gathered();
}

std::string MinBatch::stop() {
  for (int thread = 0; thread < gathering_threads(); ++thread) {
    Gathered& gathered = gathered_[static_cast<size_t>(thread)];
    for (; gathered.count > 0; --gathered.count, ++left_) {
      rte_pktmbuf_free(gathered.packets[gathered.first]);
      if (++gathered.first == ring_size_) gathered.first = 0;
    }
  }
  return {};
}

std::vector<std::pair<std::string, uint64_t>> MinBatch::statistics() const {
  if (left_ == 0) return {};
  return {{"left", left_}};
}

HEDDLE_ELEMENT(MinBatch);

}  // namespace heddle
