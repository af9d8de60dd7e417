#include "elements/basic/time_sorted_sched.h"

#include <algorithm>
#include <set>
#include <utility>

#include "click/arguments.h"
#include "core/clock.h"

namespace heddle {

void TimeSortedSched::configure(click::Arguments& arguments) {
  arguments.keyword("BUFFER", buffer_, 1u, 65536u);
  end_call_.configure(arguments);
}

void TimeSortedSched::link(const Directory&) {
  std::set<const Element*> seen;
  std::vector<const Element*> open(before.begin(), before.end());
  while (!open.empty()) {
    const Element* element = open.back();
    open.pop_back();
    if (!seen.insert(element).second) continue;
    if (const auto* source = dynamic_cast<const Source*>(element)) sources_.push_back(source);
    open.insert(open.end(), element->before.begin(), element->before.end());
  }
}

void TimeSortedSched::start(const Environment& environment) {
  const size_t places = static_cast<size_t>(std::max(inputs, 1)) * buffer_;
  all_.resize(places);
  heap_.reserve(places), free_.reserve(places);
  for (size_t i = places; i-- > 0;) free_.push_back(static_cast<uint32_t>(i));
  held_.assign(static_cast<size_t>(std::max(inputs, 1)), 0);
  end_call_.start(environment.control, name);
}

void TimeSortedSched::hold(int input, Batch& batch, int i, ColumnSet columns, int origin) {
  const uint32_t at = free_.back();
  free_.pop_back();
  Held& held = all_[at];
  held.ahead.take(batch, i, columns, origin), held.input = input;
  const Packet* packet = batch.packet(i);
  const uint64_t time_ns = has_capture_info(packet) ? capture_info(packet).timestamp_ns : RouterClock::wall_ns();
  heap_.push_back({static_cast<int64_t>(time_ns), arrivals_++, input, at});
  std::push_heap(heap_.begin(), heap_.end());
  ++held_[static_cast<size_t>(input)];
}

int TimeSortedSched::release(Batch& batch) {
  if (heap_.empty()) {
    const auto exhausted = [](const Source* source) { return source->exhausted(); };
    const bool ended_before = std::exchange(ended_, std::all_of(sources_.begin(), sources_.end(), exhausted));
    if (ended_ && !ended_before) end_call_.reached();
    return -1;
  }
  std::pop_heap(heap_.begin(), heap_.end());
  const Place place = heap_.back();
  heap_.pop_back();
  free_.push_back(place.held);
  Held& held = all_[place.held];
  --held_[static_cast<size_t>(held.input)];
  if (place.time_ns < last_ns_) well_ordered_.store(false, std::memory_order_relaxed);
  last_ns_ = place.time_ns;
  return held.ahead.give(batch);
}

void TimeSortedSched::give_all_to(TimeSortedSched& heir) {
  while (!heap_.empty() && !heir.free_.empty()) {
    const Place place = heap_.back();
    heap_.pop_back();
    free_.push_back(place.held);
    --held_[static_cast<size_t>(place.input)];
    const uint32_t at = heir.free_.back();
    heir.free_.pop_back();
    heir.all_[at] = all_[place.held];
    heir.heap_.push_back({place.time_ns, heir.arrivals_++, place.input, at});
    ++heir.held_[static_cast<size_t>(place.input)];
  }
  std::make_heap(heir.heap_.begin(), heir.heap_.end());
}

void TimeSortedSched::take_state(Element& old_element) {
  auto& old = static_cast<TimeSortedSched&>(old_element);
  std::swap(last_ns_, old.last_ns_);
  well_ordered_ = old.well_ordered_.exchange(well_ordered_);
  std::swap(ended_, old.ended_);
  end_call_.go_on(ended_);
  if (inputs == old.inputs && carries == old.carries && sources_.size() == old.sources_.size()) old.give_all_to(*this);
}

std::string TimeSortedSched::stop() {
  for (const Place& place : heap_) all_[place.held].ahead.free(), ++left_;
  heap_.clear();
  return end_call_.finish();
}

void TimeSortedSched::handlers(Handlers& list) {
  list.read("well_ordered", [this] { return well_ordered_.load() ? "true" : "false"; });
}

std::vector<std::pair<std::string, uint64_t>> TimeSortedSched::statistics() const {
  if (left_ == 0) return {};
  return {{"left", left_}};
}

void MergeByTimestamp::configure(click::Arguments& arguments) {
  arguments.keyword("NULL_IS_DEAD", null_is_dead_);
  end_call_.configure(arguments);
}

void MergeByTimestamp::start(const Environment& environment) {
  TimeSortedSched::start(environment);
  dead_.assign(held_.size(), false);
}

bool MergeByTimestamp::wants(int input) const {
  return !dead_[static_cast<size_t>(input)] && TimeSortedSched::wants(input);
}

int MergeByTimestamp::release(Batch& batch) {
  // All have been asked, so those of which none is here had none.
  if (null_is_dead_)
    for (size_t input = 0; input < held_.size(); ++input) dead_[input] = dead_[input] || held_[input] == 0;
  return TimeSortedSched::release(batch);
}

HEDDLE_ELEMENT(MergeByTimestamp);
HEDDLE_ELEMENT(TimeSortedSched);

}  // namespace heddle
