#include "functions/classifier/tuple_engine.h"

#include "core/error.h"

namespace heddle::classifier {
namespace {

constexpr uint32_t kAlways = ~0u;     // a span: all versions
constexpr uint32_t kSpan = 1u << 30;  // more versions than there are between two calls of reclaim()
constexpr size_t kPending = 1024;     // changed rules that are worth waiting for readers

template <class T>
void store(T& where, T value) {
  std::atomic_ref(where).store(value, std::memory_order_release);
}

uint32_t first_of(uint64_t head) { return static_cast<uint32_t>(head); }
uint64_t head_of(uint32_t first, uint64_t filter) { return filter << 32 | first; }

}  // namespace

TupleEngine::TupleEngine(const Limits& limits)
    : limits_(limits),
      entries_(map_huge_pages(kMaxRules * sizeof(TupleEntry))),
      checks_(limits.layout.empty() ? HugePages()
                                    : map_huge_pages(kMaxRules * sizeof(TupleCheck) * limits.layout.size())),
      image_(reinterpret_cast<const TupleEntry*>(entries_.get()), reinterpret_cast<const TupleCheck*>(checks_.get()),
             limits_, [this] { return tables_for_image(*ways_.load(std::memory_order_relaxed)); }) {
  publish_ways(ways_of({}));
}

TupleEngine::~TupleEngine() { delete ways_.load(); }

TupleEngine::State& TupleEngine::state(uint32_t id) {
  if (id >= states_.size()) states_.resize(std::max<size_t>(id + 1, 2 * states_.size()));
  return states_[id];
}

uint64_t TupleEngine::hash_in(const Table& table, uint32_t id) const {
  const uint32_t* low = entry(id).low;
  return hash_of(words_of(low[0], low[1], low[2], low[3], low[4]) & table.mask);
}

void TupleEngine::check_room(size_t rules) const {
  constexpr size_t kBytes = sizeof(TupleEntry) + sizeof(State) + 2 * sizeof(uint64_t), kMegabyte = size_t{1} << 20;
  const size_t bytes = rules * (kBytes + sizeof(TupleCheck) * limits_.layout.size());
  if (bytes > limits_.most_bytes)
    throw Error(format("%zu rules need hash tables of %zu MB, and MEMORY allows %zu MB", rules,
                       (bytes + kMegabyte - 1) / kMegabyte, limits_.most_bytes / kMegabyte));
}

std::unique_ptr<TupleEngine::Table> TupleEngine::make_table(const Tuple& tuple, size_t rules) {
  auto table = std::make_unique<Table>();
  table->tuple = tuple;
  table->mask = mask_of(tuple);
  table->heads.bits = std::countr_zero(std::bit_ceil(std::max<size_t>(2 * rules, 512)));
  table->heads.memory = map_huge_pages(sizeof(uint64_t) << table->heads.bits);
  return table;
}

void TupleEngine::write(const SetRule& rule, uint32_t version, uint32_t versions) {
  ids_ = std::max(ids_, rule.id + 1);
  TupleEntry& to = entry(rule.id);
  for (size_t f = 0; f < kFields; ++f) {
    to.low[f] = rule.rule.low[f];
    to.span[f] = rule.rule.high[f] - rule.rule.low[f];
  }
  to.low[kVersion] = version, to.span[kVersion] = versions;
  to.low[kNumber] = rule.number, to.low[kNext] = rule.rule.next;
  if (checks_ == nullptr) return;
  const size_t places = limits_.layout.size();
  TupleCheck* checks = reinterpret_cast<TupleCheck*>(checks_.get()) + rule.id * places;
  std::fill_n(checks, places, TupleCheck{0, 0, 0});
  for (const auto& [place, mask, low, high] : rule.rule.more)
    checks[*find(limits_.layout, place)] = {mask, low, high - low};
}

uint64_t TupleEngine::filter_of(const Table& table, uint32_t first) const {
  uint64_t filter = 0;
  for (uint32_t at = first; at != 0; at = link(table, at - 1))
    filter |= uint64_t{1} << filter_bit(hash_in(table, at - 1));
  return filter;
}

void TupleEngine::set_link(const Table& table, uint32_t id, uint32_t next) {
  store(link(table, id), next);
  image_.note(link(table, id));
}

void TupleEngine::set_head(const Table& table, uint64_t& head, uint64_t value) {
  store(head, value);
  image_.note(table.heads.data(), head);
}

/** Into the chain, where its number belongs. */
void TupleEngine::link_in(Table& table, uint32_t id) {
  const uint64_t hash = hash_in(table, id);
  uint64_t& head = table.heads.of(hash);
  const uint64_t filter = head >> 32 | uint64_t{1} << filter_bit(hash);
  uint32_t before = 0, at = first_of(head);
  while (at != 0 && entry(at - 1).low[kNumber] < entry(id).low[kNumber]) before = at, at = link(table, at - 1);
  set_link(table, id, at);
  if (before != 0) set_link(table, before - 1, id + 1);
  set_head(table, head, head_of(before != 0 ? first_of(head) : id + 1, filter));
}

void TupleEngine::unlink(Table& table, uint32_t id) {
  uint64_t& head = table.heads.of(hash_in(table, id));
  uint32_t before = 0, at = first_of(head);
  while (at != id + 1) before = at, at = link(table, at - 1);
  const uint32_t behind = link(table, id);
  if (before != 0) set_link(table, before - 1, behind);
  const uint32_t first = before != 0 ? first_of(head) : behind;
  set_head(table, head, head_of(first, filter_of(table, first)));
}

/** Rules of its key that are in the table, up to kCollisions. */
int TupleEngine::collisions(const Table& table, uint32_t id) const {
  const auto words = [&](uint32_t of) {
    const uint32_t* low = entry(of).low;
    return words_of(low[0], low[1], low[2], low[3], low[4]) & table.mask;
  };
  const Words mine = words(id);
  const uint64_t hash = hash_of(mine), head = table.heads.of(hash);
  if (!may_have(head, hash)) return 0;
  int count = 0;
  for (uint32_t at = first_of(head); at != 0 && count < kCollisions; at = link(table, at - 1))
    count += words(at - 1) == mine ? 1 : 0;
  return count;
}

TupleEngine::Table& TupleEngine::add_table(const Tuple& tuple) {
  const auto bits = [](const Tuple& of) { return of[0] + of[1] + of[2] + of[3] + of[4]; };
  const auto place = std::ranges::find_if(tables_, [&](const auto& table) { return bits(table->tuple) < bits(tuple); });
  ways_changed_ = true;
  return **tables_.insert(place, make_table(tuple, 0));
}

/** The table for a rule that has been written: of those with room for it the one that looks at most bits. */
TupleEngine::Table& TupleEngine::table_for(const SetRule& rule) {
  const Tuple own = tuple_of(rule.rule);
  for (const auto& table : tables_)
    if (fits(table->tuple, own) && (table->tuple == own || collisions(*table, rule.id) < kCollisions)) return *table;
  Tuple relaxed = own;
  for (const Field f : {kSource, kDestination}) relaxed[f] &= 0xfc;
  if (relaxed[kSource] + relaxed[kDestination] >= 24)
    relaxed[kSourcePort] = relaxed[kDestinationPort] = relaxed[kProtocol] = 0;
  const bool taken = std::ranges::any_of(tables_, [&](const auto& table) { return table->tuple == relaxed; });
  return add_table(taken ? own : relaxed);
}

/** Twice as many heads. Chains are made anew by the other link, while readers go by the one that they have. */
void TupleEngine::grow(Table& table) {
  Heads larger;
  larger.bits = table.heads.bits + 1;
  larger.memory = map_huge_pages(sizeof(uint64_t) << larger.bits);
  const Table before{table.tuple, table.mask, {}, table.best, table.count, table.link};
  Heads old = std::exchange(table.heads, std::move(larger));
  table.link ^= 1;
  for (size_t head = 0; head < size_t{1} << old.bits; ++head)
    for (uint32_t at = first_of(old.data()[head]); at != 0; at = link(before, at - 1)) link_in(table, at - 1);
  table.may_grow = false;
  retired_heads_.push_back(std::move(old));
  ways_changed_ = true;
}

std::unique_ptr<TupleEngine::Ways> TupleEngine::ways_of(const Tables& tables) {
  auto ways = std::make_unique<Ways>();
  for (const auto& table : tables)
    ways->push_back({table->mask, table->heads.data(), table->best, static_cast<uint8_t>(64 - table->heads.bits),
                     static_cast<uint8_t>(kLinks[table->link])});
  std::ranges::sort(*ways, {}, &TupleWay::best);
  return ways;
}

void TupleEngine::publish_ways(std::unique_ptr<const Ways> ways) {
  const Ways* old = ways_.exchange(ways.release(), std::memory_order_acq_rel);
  if (old != nullptr) retired_ways_.emplace_back(old);
  ways_changed_ = false;
  image_.note_ways();
}

TupleTable::Tables TupleEngine::tables_for_image(const Ways& ways) const {
  return {ways, ids_, version_.load(std::memory_order_relaxed)};
}

heddle::Table* TupleEngine::table() { return kFields + limits_.layout.size() <= kMaxDimensions ? &image_ : nullptr; }

void TupleEngine::load(std::span<const SetRule> rules) {
  check_room(rules.size());
  Tables tables;
  for (const SetRule& rule : rules) write(rule, 0, kAlways);
  for (auto& [tuple, members] : merge_tuples(rules)) {
    Table& table = *tables.emplace_back(make_table(tuple, members.size()));
    table.count = members.size();
    std::ranges::sort(members, std::greater());  // so that each is the first of its chain
    for (const uint32_t i : members) {
      link_in(table, rules[i].id);
      state(rules[i].id) = {&table, Phase::settled};
      table.best = std::min(table.best, rules[i].number);
    }
  }
  const auto bits = [](const auto& table) {
    return table->tuple[0] + table->tuple[1] + table->tuple[2] + table->tuple[3] + table->tuple[4];
  };
  std::ranges::sort(tables, std::greater(), bits);
  auto ways = ways_of(tables);
  image_.make_room(tables_for_image(*ways), true);
  tables_.swap(tables);
  publish_ways(std::move(ways));
  image_.publish();
  for (auto& table : tables) retired_tables_.push_back(std::move(table));
  rules_ = rules.size();
  fresh_.clear(), dead_.clear();
}

void TupleEngine::insert(const SetRule& rule, uint32_t version) {
  write(rule, version, kSpan);
  image_.note_entry(rule.id);
  Table& table = table_for(rule);
  link_in(table, rule.id);
  state(rule.id) = {&table, Phase::fresh};
  fresh_.push_back(rule.id);
  if (rule.number < table.best) table.best = rule.number, ways_changed_ = true;
  if (++table.count > size_t{1} << table.heads.bits && table.may_grow) grow(table);
}

void TupleEngine::change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet&) {
  check_room(rules_ + added.size());
  const uint32_t now = version_.load(std::memory_order_relaxed);
  const size_t fresh_before = fresh_.size();
  try {
    for (const SetRule& rule : added) insert(rule, now + 1);
    if (ways_changed_) publish_ways(ways_of(tables_));
    image_.make_room(tables_for_image(*ways_.load(std::memory_order_relaxed)));
  } catch (...) {  // no memory for a table: what has been linked goes before any version has it
    image_.fall_behind();
    for (size_t i = fresh_before; i < fresh_.size(); ++i) {
      store(entry(fresh_[i]).low[kVersion], now - 2 * kSpan);
      store(entry(fresh_[i]).span[kVersion], 0u);
      state(fresh_[i]).phase = Phase::dead;
      dead_.push_back(fresh_[i]);
    }
    throw;
  }
  for (const uint32_t id : gone) {
    TupleEntry& old = entry(id);
    State& was = state(id);
    if (was.phase == Phase::settled) {
      store(old.low[kVersion], now - kSpan);
      image_.note_first(old.low[kVersion]);
      store(old.span[kVersion], kSpan);
    } else {
      store(old.span[kVersion], now - old.low[kVersion]);
    }
    image_.note(old.span[kVersion]);
    was.phase = Phase::dead;
    dead_.push_back(id);
  }
  version_.store(now + 1, std::memory_order_release);
  image_.publish();
  rules_ += added.size() - gone.size();
}

bool TupleEngine::has_retired() const {
  return fresh_.size() + dead_.size() >= kPending || retired_ways_.size() >= kPending || !retired_tables_.empty() ||
         !retired_heads_.empty() || image_.has_retired();
}

void TupleEngine::reclaim() {
  image_.reclaim();
  retired_ways_.clear();
  retired_tables_.clear();
  retired_heads_.clear();
  for (const uint32_t id : dead_) {
    State& was = states_[id];
    unlink(*was.table, id);
    --was.table->count;
    was = {};
  }
  for (const uint32_t id : fresh_)
    if (states_[id].phase == Phase::fresh) {
      store(entry(id).span[kVersion], kAlways);
      image_.note(entry(id).span[kVersion]);
      states_[id].phase = Phase::settled;
    }
  fresh_.clear(), dead_.clear();
  for (auto& table : tables_) {
    table->may_grow = true;
    if (table->count == 0) retired_tables_.push_back(std::move(table)), ways_changed_ = true;
  }
  std::erase(tables_, nullptr);
  if (ways_changed_) publish_ways(ways_of(tables_));
  image_.publish();
}

size_t TupleEngine::bytes() const {
  size_t bytes =
      rules_ * (sizeof(TupleEntry) + sizeof(TupleCheck) * limits_.layout.size()) + states_.size() * sizeof(State);
  for (const auto& table : tables_) bytes += sizeof(uint64_t) << table->heads.bits;
  return bytes;
}

}  // namespace heddle::classifier
