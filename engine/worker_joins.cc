// Where ways meet, and what begins by a timer.
#include <rte_cycles.h>

#include <algorithm>
#include <cstring>

#include "core/clock.h"
#include "core/column_pack.h"
#include "core/packet_pool.h"
#include "engine/worker.h"

namespace heddle {

Worker::Way Worker::way_to(int from, int output, int target) const {
  Way result{target};
  int index = 0;
  for (const Join& join : shared_.plan->joins.list) {
    if (!join.ordered) continue;
    for (size_t w = 0; join.node == target && w < join.ways.size(); ++w)
      if (join.ways[w].from == from && join.ways[w].output == output) {
        result.join = index;
        result.join_way = static_cast<int>(w);
      }
    ++index;
  }
  return result;
}

void Worker::make_joins() {
  // Packets wait for those in flight, so more need not wait than there can be; a batch, as some are divided.
  most_waiting_ = shared_.batch_size;
  for (auto& path : paths_) most_waiting_ += path->lane->capacity() + (path->gathered ? path->gathered->capacity() : 0);
  const size_t all = shared_.packets->capacity() + shared_.large_packets->capacity();
  for (const Join& join : shared_.plan->joins.list) {
    if (!join.ordered) continue;
    std::vector<const Path*> before;
    for (int segment : join.segments)
      for (auto& path : paths_)
        if (path->segment == segment && path->numbers) before.push_back(path.get());
    const ColumnSet live = shared_.plan->nodes[static_cast<size_t>(join.node)].live;
    joins_.push_back(
        {join.node, std::move(before),
         Reorder(static_cast<int>(join.ways.size()), live, static_cast<size_t>(2 * most_waiting_), all, spare_)});
  }
}

void Worker::number(Batch& batch) {
  uint32_t* numbers = batch.numbers();
  for (int i = 0; i < batch.size(); ++i) numbers[i] = next_number_ + static_cast<uint32_t>(i);
  next_number_ += static_cast<uint32_t>(batch.size());
}

// Between batches: all packets of this thread are in lanes or at joins, so those before a join that are older than a
// packet at it are in flight in a lane, or wait for such a packet themselves.
void Worker::pass_joins() {
  waiting_ = 0;
  for (JoinHere& join : joins_) {
    uint32_t limit = next_number_;
    for (const Path* path : join.before)
      if (!path->numbers->empty()) {
        if (earlier(path->numbers->oldest(), limit)) limit = path->numbers->oldest();
      } else if (path->gathered && !path->gathered->empty()) {
        if (const uint32_t first = path->gathered->numbers()[0]; earlier(first, limit)) limit = first;
      }
    for (bool more = join.reorder.waiting() > 0; more;) {
      auto batch = spare_.borrow();
      more = join.reorder.release(limit, *batch);
      run(join.node, *batch);
      spare_.give_back(std::move(batch));
    }
    if (join.reorder.waiting() > 0) add(counts_[static_cast<size_t>(join.node)].waited, join.reorder.count_new());
    waiting_ += join.reorder.waiting();
  }
}

void Worker::make_timers() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    Element* element = steps_[i].element;
    if (element->timer_us() <= 0) continue;
    Timer timer{static_cast<int>(i), element, dynamic_cast<Emitter*>(element), {}, 0, 0, 0, false};
    const uint64_t ticks_per_us = RouterClock::simulated() ? 1000 : static_cast<uint64_t>(tsc_hz() / 1e6);
    timer.period = ticks_per_us * static_cast<uint64_t>(element->timer_us());
    const ColumnSet set = element->access(Processor::cpu).column_writes;
    timer.clear = steps_[i].live_behind & ~set & kClearedColumns;
    for (const Way& way : ways_[i]) timer.ways.push_back(way_to(timer.node, Join::Way::kLate, way.target));
    timer.numbered = steps_[i].numbered_behind;
    timers_.push_back(std::move(timer));
  }
}

bool Worker::emit(Timer& timer, bool ending) {
  auto batch = spare_.borrow();
  timer.emitter->emit(*batch, ending);
  const int given = batch->size();
  if (given > 0) {
    if (timer.clear != 0) clear_missing(*batch, timer.clear);
    if (timer.numbered) number(*batch);
    divide(timer.node, timer.ways, steps_[static_cast<size_t>(timer.node)].live_behind, timer.numbered, *batch, given);
    if (!joins_.empty()) pass_joins();
  }
  spare_.give_back(std::move(batch));
  return given > 0;
}

void Worker::emit_due() {
  due_ = false;
  for (Timer& timer : timers_)
    while (timer.emitter != nullptr && timer.emitter->due(thread_) && emit(timer, false)) {
    }
}

// Simulated: the clock stops for the timer now and then, but not for an emitter that has nothing to give. Where it
// stops for others, all that are due run, and emitters in any case.
void Worker::await(const Timer& timer, uint64_t last) {
  // Packets are held, and entries age, for much longer times.
  constexpr uint64_t kHeldNs = 1'000'000, kAgeingNs = 1'000'000'000;
  if (timer.emitter != nullptr && !timer.emitter->holds()) return;
  const uint64_t wait = std::max(timer.period, timer.emitter != nullptr ? kHeldNs : kAgeingNs);
  RouterClock::wait_for(RouterClock::time_point(std::chrono::nanoseconds(last + wait)));
}

bool Worker::run_timers(uint64_t now, bool ending) {
  bool busy = false;
  const bool simulated = RouterClock::simulated();
  if (simulated) now = static_cast<uint64_t>(RouterClock::now().time_since_epoch().count());
  for (Timer& timer : timers_) {
    const bool due = now - timer.last >= timer.period;
    if (simulated) await(timer, due ? now : timer.last);
    if (!due && !((ending || simulated) && timer.emitter != nullptr)) continue;
    if (due) {
      timer.last = now;
      timer.element->on_timer(thread_);
      unpublished_ = unpublished_ || timer.emitter == nullptr;
    }
    if (timer.emitter == nullptr) continue;
    busy = emit(timer, ending) || busy;
  }
  unpublished_ = unpublished_ || busy;
  return busy;
}

}  // namespace heddle
