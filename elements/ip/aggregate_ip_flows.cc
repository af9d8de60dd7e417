#include "elements/ip/aggregate_ip_flows.h"

#include <algorithm>
#include <bit>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/packet_pool.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

constexpr uint8_t kFin = 1;

}  // namespace

void AggregateIPFlows::configure_duration(click::Arguments& arguments, const char* keyword, uint64_t& ns) {
  click::Duration value{ns / 1000};
  arguments.keyword(keyword, value);
  constexpr uint64_t kLongestUs = uint64_t{100 * 365} * 86'400'000'000;
  ns = std::min(value.microseconds, kLongestUs) * 1000;
}

void AggregateIPFlows::configure_others(click::Arguments& arguments) {
  configure_duration(arguments, "REAP", reap_ns_);
  arguments.keyword("CAPACITY", capacity_, 1u, 1u << 27);
}

void AggregateIPFlows::configure(click::Arguments& arguments) {
  configure_duration(arguments, "TCP_TIMEOUT", tcp_ns_);
  configure_duration(arguments, "TCP_DONE_TIMEOUT", tcp_done_ns_);
  configure_duration(arguments, "UDP_TIMEOUT", udp_ns_);
  configure_duration(arguments, "FRAGMENT_TIMEOUT", fragment_ns_);
  arguments.keyword("FRAGMENTS", fragments_).keyword("ICMP", icmp_).keyword("TRACEINFO", trace_file_);
  configure_others(arguments);
}

Access AggregateIPFlows::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}},
          .column_reads = columns(Column::l3),
          // Packets that have waited have their columns again: once started, so that the engine does not clear them.
          .column_writes = columns(Column::aggregate, Column::paint) | (waits_ ? carries : 0)};
}

std::span<const char* const> AggregateIPFlows::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_flow"};
  return kReasons;
}

void AggregateIPFlows::start(const Environment& environment) {
  waits_ = fragments_ && !pulled[0];
  if (waits_) {
    const auto threads = static_cast<uint32_t>(environment.threads);
    pack_ = ColumnPack(carries);
    most_held_ = environment.packets == nullptr
                     ? kMaxHeld
                     : std::min(kMaxHeld, std::max(1u, environment.packets->capacity() / 8 / threads));
    waiting_.resize(threads);
    for (Waiting& waiting : waiting_) {
      waiting.packets.resize(most_held_);
      waiting.columns.resize(most_held_ * pack_.bytes());
      waiting.order.reserve(most_held_);
      for (uint32_t place = most_held_; place > 0; --place) waiting.free.push_back(static_cast<uint16_t>(place - 1));
    }
  }
  const size_t buckets = std::bit_ceil((capacity_ + kWays - 1) / kWays);
  mask_ = buckets - 1;
  entries_ = std::make_unique<Entry[]>(buckets * kWays);
  stopping_ = environment.stopping;
  const bool goes_on = predecessor != nullptr && same_arguments;  // take_state() brings the file
  if (!trace_file_.empty() && !goes_on) trace_ = std::make_unique<FlowTrace>(trace_file_, "'" + name + "'", stopping_);
}

void AggregateIPFlows::take_state(Element& old_element) {
  auto& old = static_cast<AggregateIPFlows&>(old_element);
  numbers_ = old.numbers_.exchange(numbers_);
  if ((predecessor == &old ? this : &old)->same_arguments) trace_.swap(old.trace_);
  for (AggregateIPFlows* one : {this, &old})
    if (one->trace_) one->trace_->set_stopping(one->stopping_);
  if (carries == old.carries && most_held_ == old.most_held_ && waiting_.size() == old.waiting_.size()) {
    waiting_.swap(old.waiting_);
    held_ = old.held_.exchange(held_);
    for (Waiting& waiting : waiting_) waiting.looked_at = ~uint64_t{0};  // another table
  }
  if (mask_ != old.mask_) return;
  std::swap(entries_, old.entries_);
  generation_ = old.generation_.exchange(generation_), forgotten_ = old.forgotten_.exchange(forgotten_);
}

AggregateIPFlows::Key AggregateIPFlows::key_of(uint32_t source, uint32_t destination, const uint8_t* ports,
                                               uint8_t protocol, bool& reversed) {
  const uint16_t from = load_u16(ports), to = load_u16(ports + 2);
  reversed = source > destination || (source == destination && from > to);
  if (reversed) return {{destination, source}, {to, from}, protocol, false};
  return {{source, destination}, {from, to}, protocol, false};
}

AggregateIPFlows::Key AggregateIPFlows::fragments_of(const Ip4Header& ip) {
  return {{ip.source(), ip.destination()}, {load_u16(ip.at + 4), 0}, ip.at[9], true};
}

AggregateIPFlows::Entry* AggregateIPFlows::bucket(const Key& key) const {
  uint64_t hash = (uint64_t{key.addresses[0]} << 32 | key.addresses[1]) * 0x9e3779b97f4a7c15u;
  const uint64_t rest = uint64_t{key.ports[0]} << 24 | uint64_t{key.ports[1]} << 8 | key.protocol;
  hash ^= (rest << 1 | (key.fragments ? 1 : 0)) * 0xc2b2ae3d27d4eb4fu;
  hash ^= hash >> 29;
  hash *= 0x165667b19e3779f9u;
  return &entries_[(hash >> 32 & mask_) * kWays];
}

bool AggregateIPFlows::live(const Entry& entry, uint64_t now_ns) const {
  if (entry.number == 0 || entry.generation != generation_.load(std::memory_order_relaxed)) return false;
  const bool done = entry.fins == 3;
  uint64_t timeout_ns = done ? tcp_done_ns_ : tcp_ns_;
  if (entry.key.fragments)
    timeout_ns = fragment_ns_;
  else if (entry.key.protocol == kUdp)
    timeout_ns = udp_ns_;
  return now_ns <= entry.last_ns || now_ns - entry.last_ns <= timeout_ns;
}

AggregateIPFlows::Entry* AggregateIPFlows::find(const Key& key, uint64_t now_ns) const {
  Entry* const first = bucket(key);
  for (Entry* entry = first; entry != first + kWays; ++entry)
    if (entry->key == key && live(*entry, now_ns)) return entry;
  return nullptr;
}

bool AggregateIPFlows::of_flow(const Entry& entry) const {
  return entry.number != 0 && !entry.key.fragments && entry.generation == generation_.load(std::memory_order_relaxed);
}

void AggregateIPFlows::tell_end(const Entry& entry) {
  if (!of_flow(entry)) return;
  for (FlowListener* listener : listeners_) listener->flow_ended(entry.number);
  if (trace_) trace_->end(entry.number);
}

void AggregateIPFlows::reap(uint64_t now_ns, bool all) {
  for (size_t i = 0; i < (mask_ + 1) * kWays; ++i) {
    Entry& entry = entries_[i];
    if (!of_flow(entry) || (!all && live(entry, now_ns))) continue;
    tell_end(entry);
    entry.number = 0;
  }
}

AggregateIPFlows::Entry& AggregateIPFlows::make(const Key& key, uint64_t now_ns) {
  Entry* const first = bucket(key);
  // One of that name, also if it has ended, so that there are never two; else a free one; else the oldest.
  const auto worth = [&](const Entry& entry) {
    if (entry.key == key && entry.number != 0) return uint64_t{0};
    return live(entry, now_ns) ? std::max(entry.last_ns, uint64_t{2}) : 1;
  };
  Entry* chosen = std::min_element(first, first + kWays, [&](auto& a, auto& b) { return worth(a) < worth(b); });
  tell_end(*chosen);
  if (worth(*chosen) > 1) forgotten_.fetch_add(1, std::memory_order_relaxed);
  *chosen = {key, 0, now_ns, generation_.load(std::memory_order_relaxed), false, 0};
  return *chosen;
}

AggregateIPFlows::Found AggregateIPFlows::flow_of_fragment(const Ip4Header& ip, uint64_t now_ns) const {
  const Entry* entry = fragments_ ? find(fragments_of(ip), now_ns) : nullptr;
  if (entry == nullptr) return {0, 0};
  return {entry->number, entry->reversed ? 1u : 0u};
}

AggregateIPFlows::Found AggregateIPFlows::flow_of_error(const Ip4Header& ip, uint64_t now_ns) const {
  constexpr uint32_t kIcmpHeader = 8, kMinPayload = kIcmpHeader + 20 + 4;
  if (!icmp_ || ip.payload() < kMinPayload || !is_icmp_error(*ip.behind())) return {0, 0};
  const uint8_t* quoted = ip.behind() + kIcmpHeader;
  const uint32_t bytes = (quoted[0] & 15u) * 4;
  const uint8_t protocol = quoted[9];
  if (bytes < 20 || ip.payload() < kIcmpHeader + bytes + 4 || (protocol != kTcp && protocol != kUdp) ||
      (load_u16(quoted + 6) & htons(0x1fff)) != 0)
    return {0, 0};
  bool reversed = false;
  const Entry* entry =
      find(key_of(load_u32(quoted + 12), load_u32(quoted + 16), quoted + bytes, protocol, reversed), now_ns);
  if (entry == nullptr) return {0, 0};
  return {entry->number, reversed == entry->reversed ? 1u : 0u, true};
}

AggregateIPFlows::Entry& AggregateIPFlows::entry_of(const Key& key, bool reversed, uint64_t now_ns) {
  Entry* entry = find(key, now_ns);
  if (entry == nullptr) {
    entry = &make(key, now_ns);
    entry->number = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
    entry->reversed = reversed;
    const size_t source = reversed ? 1 : 0;
    if (trace_)
      trace_->begin(entry->number,
                    {{key.addresses[source], key.addresses[1 - source]}, {key.ports[source], key.ports[1 - source]}},
                    now_ns);
  }
  entry->last_ns = std::max(entry->last_ns, now_ns);
  return *entry;
}

AggregateIPFlows::Found AggregateIPFlows::flow_of(const Ip4Header& ip, uint64_t now_ns) {
  const uint8_t protocol = ip.at[9];
  if (protocol == kIcmp && !ip.fragment()) return flow_of_error(ip, now_ns);
  if (protocol != kTcp && protocol != kUdp) return {0, 0};
  if (!ip.first_fragment()) return flow_of_fragment(ip, now_ns);
  if (ip.payload() < 4) return {0, 0};
  bool reversed = false;
  const Key key = key_of(ip.source(), ip.destination(), ip.behind(), protocol, reversed);
  Entry& entry = entry_of(key, reversed, now_ns);
  if (protocol == kTcp && ip.payload() >= 14 && (ip.behind()[13] & kFin) != 0) entry.fins |= reversed ? 2 : 1;
  const Found found{entry.number, reversed == entry.reversed ? 0u : 1u};
  if (fragments_ && ip.fragment()) {  // others of this packet follow
    Entry& rest = make(fragments_of(ip), now_ns);
    rest.number = found.number, rest.reversed = found.direction != 0;
    firsts_.fetch_add(1, std::memory_order_relaxed);
  }
  return found;
}

uint16_t AggregateIPFlows::pair_of(const Ip4Header& ip) {
  const uint32_t low = std::min(ip.source(), ip.destination()), high = std::max(ip.source(), ip.destination());
  const uint64_t hash = ((uint64_t{low} << 32 | high) + ip.at[9]) * 0x9e3779b97f4a7c15u;
  return static_cast<uint16_t>((hash >> 32) % kPairs);
}

bool AggregateIPFlows::has_come(const Waiting& waiting, uint64_t ns, bool stamped) {
  return ns < (stamped ? waiting.latest_ns : RouterClock::wall_ns());
}

bool AggregateIPFlows::hold(Waiting& waiting, Batch& batch, int i, const Held& held) {
  if (waiting.free.empty()) {
    unheld_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  const uint16_t place = waiting.free.back();
  waiting.free.pop_back();
  waiting.packets[place] = held;
  pack_.save(batch, i, waiting.columns.data() + place * pack_.bytes());
  waiting.order.push_back(place);
  ++waiting.of_pair[held.pair];
  if (!held.decided && waiting.next_ns == 0)
    waiting.next_ns = held.since_ns + fragment_ns_, waiting.next_stamped = held.stamped;
  held_.fetch_add(1, std::memory_order_relaxed);
  batch.keep(i);
  return true;
}

bool AggregateIPFlows::due(int thread) const {
  if (!waits_) return false;
  const Waiting& waiting = waiting_[static_cast<size_t>(thread)];
  if (waiting.order.empty()) return false;
  return waiting.looked_at != changes() ||
         (waiting.next_ns != 0 && has_come(waiting, waiting.next_ns, waiting.next_stamped));
}

void AggregateIPFlows::emit(Batch& batch, bool ending) {
  if (!waits_ || (!ending && !due(batch.thread))) return;
  Waiting& waiting = waiting_[static_cast<size_t>(batch.thread)];
  waiting.looked_at = changes();
  waiting.next_ns = 0;
  std::array<bool, kPairs> blocked{};
  size_t left = 0;
  while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  for (const uint16_t place : waiting.order) {
    Held& held = waiting.packets[place];
    const uint64_t until_ns = held.since_ns + fragment_ns_;
    if (!held.decided) {
      const bool forgotten = held.generation != generation_.load(std::memory_order_relaxed);
      const Entry* entry = forgotten ? nullptr : find(held.fragments, held.since_ns);
      if (entry != nullptr) held.found = {entry->number, entry->reversed ? 1u : 0u};
      held.decided = entry != nullptr || forgotten || ending || has_come(waiting, until_ns, held.stamped);
    }
    const bool full = batch.size() == batch.capacity();
    if (!held.decided || full || blocked[held.pair]) {
      blocked[held.pair] = true;
      if (!held.decided && (waiting.next_ns == 0 || until_ns < waiting.next_ns))
        waiting.next_ns = until_ns, waiting.next_stamped = held.stamped;
      if (full) waiting.looked_at = ~uint64_t{0};
      waiting.order[left++] = place;
      continue;
    }
    const int at = batch.size();
    batch.resize(at + 1);
    batch.packets()[at] = held.packet;
    pack_.load(batch, at, waiting.columns.data() + place * pack_.bytes());
    give(batch, at, held.found, held.since_ns);
    --waiting.of_pair[held.pair];
    waiting.free.push_back(place);
    held_.fetch_sub(1, std::memory_order_relaxed);
  }
  busy_.clear(std::memory_order_release);
  waiting.order.resize(left);
}

std::string AggregateIPFlows::stop() {
  for (Waiting& waiting : waiting_) {
    for (const uint16_t place : waiting.order) rte_pktmbuf_free(waiting.packets[place].packet);
    waiting.order.clear();
  }
  held_ = 0;
  return trace_ ? trace_->stop() : std::string();
}

void AggregateIPFlows::give(Batch& batch, int i, const Found& found, uint64_t now_ns) {
  if (uint32_t* aggregate = batch.column(Column::aggregate)) aggregate[i] = found.number;
  if (uint32_t* paint = batch.column(Column::paint)) paint[i] = found.direction;
  if (trace_ && !found.error) trace_->count(found.number, found.direction, now_ns);
  if (found.number != 0) return;
  if (outputs > 1)
    batch.next()[i] = 1;
  else
    batch.drop(i, 0);
}

void AggregateIPFlows::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  Waiting* const waiting = waits_ ? &waiting_[static_cast<size_t>(batch.thread)] : nullptr;
  const uint64_t arrived_ns = RouterClock::wall_ns();
  while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    const bool stamped = has_capture_info(packet);
    const uint64_t now_ns = stamped ? capture_info(packet).timestamp_ns : arrived_ns;
    if (tells_ends()) {
      if (reaped_ns_ == 0) reaped_ns_ = now_ns;
      if (now_ns > reaped_ns_ && now_ns - reaped_ns_ >= reap_ns_) reap(reaped_ns_ = now_ns, false);
    }
    const Found found = ip ? flow_of(ip, now_ns) : Found{0, 0};
    if (waiting != nullptr && ip && (ip.at[9] == kTcp || ip.at[9] == kUdp)) {
      if (stamped) waiting->latest_ns = std::max(waiting->latest_ns, now_ns);
      const bool decided = found.number != 0 || ip.first_fragment();
      if (!decided || !waiting->order.empty()) {
        const uint16_t pair = pair_of(ip);
        const Held held{batch.packet(i), fragments_of(ip), now_ns, generation_, found, decided, stamped, pair};
        if ((!decided || waiting->of_pair[pair] != 0) && hold(*waiting, batch, i, held)) continue;
      }
    }
    give(batch, i, found, now_ns);
  }
  busy_.clear(std::memory_order_release);
}

void AggregateIPFlows::handlers(Handlers& list) {
  list.write("clear",
             [this](const std::string&) {
               const bool tells = tells_ends() && entries_ != nullptr;
               while (tells && busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
               if (tells) reap(0, true);
               generation_.fetch_add(1, std::memory_order_relaxed);  // before flows begin that would be of the old one
               if (tells) busy_.clear(std::memory_order_release);
             })
      .read("count", [this] { return std::to_string(numbers_); });
}

std::vector<std::pair<std::string, uint64_t>> AggregateIPFlows::statistics() const {
  return {{"flows", numbers_}, {"forgotten", forgotten_}, {"held", held_}, {"unheld", unheld_}};
}

void AggregateIPAddrPair::configure(click::Arguments& arguments) {
  tcp_ns_ = 0;
  configure_duration(arguments, "TIMEOUT", tcp_ns_);
  if (tcp_ns_ == 0) tcp_ns_ = UINT64_MAX;
  fragments_ = false;  // they have their addresses themselves
  configure_others(arguments);
}

AggregateIPFlows::Found AggregateIPAddrPair::flow_of(const Ip4Header& ip, uint64_t now_ns) {
  static constexpr uint8_t kNoPorts[4]{};
  bool reversed = false;
  const Key key = key_of(ip.source(), ip.destination(), kNoPorts, 0, reversed);
  const Entry& entry = entry_of(key, reversed, now_ns);
  return {entry.number, reversed == entry.reversed ? 0u : 1u};
}

HEDDLE_ELEMENT(AggregateIPAddrPair);
HEDDLE_ELEMENT(AggregateIPFlows);

}  // namespace heddle
