#include "elements/analysis/aggregate_first.h"

#include <algorithm>

#include "click/arguments.h"
#include "elements/analysis/packet_size.h"

namespace heddle {
namespace {

uint32_t saturated(uint64_t value) { return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX)); }

}  // namespace

void AggregateFirst::configure(click::Arguments& arguments) {
  arguments.keyword("CAPACITY", capacity_, 1u, AggregateTable::kMax);
  ended_.configure(arguments);
}

std::span<const char* const> AggregateFirst::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_first"};
  return kReasons;
}

void AggregateFirst::start(const Environment&) { table_.make(capacity_); }

void AggregateFirst::take_state(Element& old_element) {
  auto& old = static_cast<AggregateFirst&>(old_element);
  if (capacity_ != old.capacity_) return;
  table_.swap(old.table_);
  full_ = old.full_.exchange(full_);
}

void AggregateFirst::run_cpu(Batch& batch) {
  const uint32_t* aggregate = batch.column(Column::aggregate);
  const AggregateTable::Lock lock(table_);
  for (int i = 0; i < batch.size(); ++i) {
    if (table_.find(aggregate[i]) == nullptr) {
      if (table_.add(aggregate[i]) == nullptr) full_.fetch_add(1, std::memory_order_relaxed);
    } else if (outputs > 1) {
      batch.next()[i] = 1;
    } else {
      batch.drop(i, 0);
    }
  }
  if (!ended_.any()) return;
  ended_.take([this](uint32_t number) {
    if (table_.find(number) != nullptr) table_.remove(number);
    return true;
  });
}

void AggregateFirst::handlers(Handlers& list) {
  list.read("nagg", [this] { return std::to_string(table_.size()); }).write("clear", [this](const std::string&) {
    const AggregateTable::Lock lock(table_);
    table_.clear();
  });
}

std::vector<std::pair<std::string, uint64_t>> AggregateFirst::statistics() const {
  return {{"aggregates", table_.size()}, {"full", full_}};
}

void AggregateLast::configure(click::Arguments& arguments) {
  arguments.keyword("STOP_AFTER_CLEAR", stops_).keyword("CAPACITY", capacity_, 1u, 1u << 20);
  ended_.configure(arguments);
}

std::span<const char* const> AggregateLast::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_last", "full"};
  return kReasons;
}

void AggregateLast::start(const Environment& environment) {
  pack_ = ColumnPack(carries);
  table_.make(capacity_);
  for (Store* store : {&kept_, &leaving_}) {
    store->packets.resize(capacity_), store->aggregates.resize(capacity_);
    store->columns.resize(capacity_ * pack_.bytes());
  }
  order_.reserve(capacity_);
  if (!stops_ || environment.control == nullptr) return;
  stop_call_.after_counting();  // scripts read counts when the program has been stopped
  stop_call_.start(environment.control, name, [control = environment.control] { control->stop(); });
}

void AggregateLast::take_state(Element& old_element) {
  auto& old = static_cast<AggregateLast&>(old_element);
  if (capacity_ != old.capacity_ || carries != old.carries) return;
  table_.swap(old.table_);
  std::swap(kept_, old.kept_), std::swap(leaving_, old.leaving_), std::swap(order_, old.order_);
  std::swap(cleared_, old.cleared_);
  full_ = old.full_.exchange(full_), leaving_count_ = old.leaving_count_.exchange(leaving_count_);
  clearing_ = old.clearing_.exchange(clearing_);
}

void AggregateLast::keep(Batch& batch, int i, size_t place) {
  kept_.packets[place] = batch.packet(i);
  kept_.aggregates[place] = batch.column(Column::aggregate)[i];
  pack_.save(batch, i, columns_of(kept_, place));
}

void AggregateLast::replace(Batch& batch, int i, size_t place) {
  Packet* const old = kept_.packets[place];
  Packet* const last = batch.packet(i);
  CaptureInfo info = has_capture_info(last) ? capture_info(last) : CaptureInfo{};
  info.missing_bytes = saturated(uint64_t{info.missing_bytes} + length(old) + missing_bytes(old));
  info.more_packets = saturated(info.more_packets + packets_in(old));
  last->port = RTE_MBUF_PORT_INVALID;  // it has something to tell now that no port does
  set_capture_info(last, info);
  std::byte before[kColumns * sizeof(uint64_t)];
  std::copy_n(columns_of(kept_, place), pack_.bytes(), before);  // of none, too, which are nowhere
  keep(batch, i, place);
  batch.packets()[i] = old;
  pack_.load(batch, i, before);
}

void AggregateLast::run_cpu(Batch& batch) {
  constexpr int kNotLast = 0, kFull = 1;  // indices of drop_reasons()
  const AggregateTable::Lock lock(table_);
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t aggregate = batch.column(Column::aggregate)[i], size = table_.size();
    const uint64_t* place = table_.find(aggregate);
    if (place == nullptr) {
      if (uint64_t* added = table_.add(aggregate)) {
        AggregateTable::set(*added, size);
        keep(batch, i, size);
        batch.keep(i);
        continue;
      }
      full_.fetch_add(1, std::memory_order_relaxed);
    } else {
      replace(batch, i, static_cast<size_t>(*place));
    }
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, place == nullptr ? kFull : kNotLast);
  }
}

void AggregateLast::let_all_go() {
  std::swap(kept_, leaving_);
  order_.resize(table_.size());
  for (uint32_t place = 0; place < order_.size(); ++place) order_[place] = place;
  std::sort(order_.begin(), order_.end(),
            [this](uint32_t a, uint32_t b) { return leaving_.aggregates[a] > leaving_.aggregates[b]; });
  leaving_count_.store(order_.size(), std::memory_order_relaxed);
  table_.clear();
}

void AggregateLast::let_go(Batch& batch, Store& store, size_t place) {
  const int i = batch.size();
  batch.resize(i + 1);
  batch.packets()[i] = store.packets[place];
  pack_.load(batch, i, columns_of(store, place));
}

void AggregateLast::let_go(Batch& batch, uint32_t aggregate) {
  const uint64_t* found = table_.find(aggregate);
  if (found == nullptr) return;
  const size_t place = static_cast<size_t>(*found), last = table_.size() - 1;
  let_go(batch, kept_, place);
  if (place != last) {
    kept_.packets[place] = kept_.packets[last], kept_.aggregates[place] = kept_.aggregates[last];
    std::copy_n(columns_of(kept_, last), pack_.bytes(), columns_of(kept_, place));
    AggregateTable::set(*table_.find(kept_.aggregates[place]), place);
  }
  table_.remove(aggregate);
}

void AggregateLast::emit(Batch& batch, bool ending) {
  if (!ending && !clearing_.load(std::memory_order_relaxed) && leaving_count_ == 0 && !ended_.any()) return;
  const AggregateTable::Lock lock(table_);
  const auto room = [&batch] { return batch.size() < batch.capacity(); };
  ended_.take([&](uint32_t number) {
    if (!room()) return false;
    let_go(batch, number);
    return true;
  });
  if (order_.empty() && !cleared_) {
    cleared_ = clearing_.exchange(false);
    if (cleared_ || ending) let_all_go();
  }
  for (; !order_.empty() && room(); order_.pop_back()) let_go(batch, leaving_, order_.back());
  leaving_count_.store(order_.size(), std::memory_order_relaxed);
  if (!order_.empty() || !cleared_) return;
  cleared_ = false;
  if (stops_) stop_call_.ask();
}

std::string AggregateLast::stop() {
  for (uint32_t place = 0; place < table_.size(); ++place) rte_pktmbuf_free(kept_.packets[place]);
  for (const uint32_t place : order_) rte_pktmbuf_free(leaving_.packets[place]);
  table_.clear();
  order_.clear();
  leaving_count_ = 0;
  return stop_call_.finish();
}

void AggregateLast::handlers(Handlers& list) {
  list.read("nagg", [this] { return std::to_string(table_.size()); }).write("clear", [this](const std::string&) {
    clearing_ = true;
  });
}

std::vector<std::pair<std::string, uint64_t>> AggregateLast::statistics() const {
  return {{"aggregates", table_.size()}, {"full", full_}};
}

HEDDLE_ELEMENT(AggregateFirst);
HEDDLE_ELEMENT(AggregateLast);

}  // namespace heddle
