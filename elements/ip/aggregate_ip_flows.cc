#include "elements/ip/aggregate_ip_flows.h"

#include <bit>

#include "click/arguments.h"
#include "core/clock.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

constexpr uint8_t kFin = 1;

void duration(click::Arguments& arguments, const char* keyword, uint64_t& ns) {
  click::Duration value{ns / 1000};
  arguments.keyword(keyword, value);
  constexpr uint64_t kLongestUs = uint64_t{100 * 365} * 86'400'000'000;
  ns = std::min(value.microseconds, kLongestUs) * 1000;
}

}  // namespace

void AggregateIPFlows::configure(click::Arguments& arguments) {
  duration(arguments, "TCP_TIMEOUT", tcp_ns_);
  duration(arguments, "TCP_DONE_TIMEOUT", tcp_done_ns_);
  duration(arguments, "UDP_TIMEOUT", udp_ns_);
  duration(arguments, "FRAGMENT_TIMEOUT", fragment_ns_);
  duration(arguments, "REAP", reap_ns_);
  arguments.keyword("FRAGMENTS", fragments_).keyword("ICMP", icmp_);
  arguments.keyword("CAPACITY", capacity_, 1u, 1u << 27);
}

Access AggregateIPFlows::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}},
          .column_reads = columns(Column::l3),
          .column_writes = columns(Column::aggregate, Column::paint)};
}

std::span<const char* const> AggregateIPFlows::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_flow"};
  return kReasons;
}

void AggregateIPFlows::start(const Environment&) {
  const size_t buckets = std::bit_ceil((capacity_ + kWays - 1) / kWays);
  mask_ = buckets - 1;
  entries_ = std::make_unique<Entry[]>(buckets * kWays);
}

void AggregateIPFlows::take_state(Element& old_element) {
  auto& old = static_cast<AggregateIPFlows&>(old_element);
  numbers_ = old.numbers_.exchange(numbers_);
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
  constexpr uint32_t kIcmpHeader = 8, kLeast = kIcmpHeader + 20 + 4;
  if (!icmp_ || ip.payload() < kLeast || !is_icmp_error(*ip.behind())) return {0, 0};
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
  return {entry->number, reversed == entry->reversed ? 1u : 0u};
}

AggregateIPFlows::Found AggregateIPFlows::flow_of(const Ip4Header& ip, uint64_t now_ns) {
  const uint8_t protocol = ip.at[9];
  if (protocol == kIcmp && !ip.fragment()) return flow_of_error(ip, now_ns);
  if (protocol != kTcp && protocol != kUdp) return {0, 0};
  if (!ip.first_fragment()) return flow_of_fragment(ip, now_ns);
  if (ip.payload() < 4) return {0, 0};
  bool reversed = false;
  const Key key = key_of(ip.source(), ip.destination(), ip.behind(), protocol, reversed);
  Entry* entry = find(key, now_ns);
  if (entry == nullptr) {
    entry = &make(key, now_ns);
    entry->number = numbers_.fetch_add(1, std::memory_order_relaxed) + 1;
    entry->reversed = reversed;
  }
  entry->last_ns = std::max(entry->last_ns, now_ns);
  if (protocol == kTcp && ip.payload() >= 14 && (ip.behind()[13] & kFin) != 0) entry->fins |= reversed ? 2 : 1;
  const Found found{entry->number, reversed == entry->reversed ? 0u : 1u};
  if (fragments_ && ip.fragment()) {  // others of this packet follow
    Entry& rest = make(fragments_of(ip), now_ns);
    rest.number = found.number, rest.reversed = found.direction != 0;
  }
  return found;
}

void AggregateIPFlows::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* aggregate = batch.column(Column::aggregate);
  uint32_t* paint = batch.column(Column::paint);
  const uint64_t arrived_ns = RouterClock::wall_ns();
  while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  for (int i = 0; i < batch.size(); ++i) {
    const Packet* packet = batch.packet(i);
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    const uint64_t now_ns = has_capture_info(packet) ? capture_info(packet).timestamp_ns : arrived_ns;
    if (!listeners_.empty()) {
      if (reaped_ns_ == 0) reaped_ns_ = now_ns;
      if (now_ns > reaped_ns_ && now_ns - reaped_ns_ >= reap_ns_) reap(reaped_ns_ = now_ns, false);
    }
    const Found found = ip ? flow_of(ip, now_ns) : Found{0, 0};
    aggregate[i] = found.number, paint[i] = found.direction;
    if (found.number != 0) continue;
    if (outputs > 1)
      batch.next()[i] = 1;
    else
      batch.drop(i, 0);
  }
  busy_.clear(std::memory_order_release);
}

void AggregateIPFlows::handlers(Handlers& list) {
  list.write("clear",
             [this](const std::string&) {
               if (!listeners_.empty() && entries_ != nullptr) {
                 while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
                 reap(0, true);
                 busy_.clear(std::memory_order_release);
               }
               generation_.fetch_add(1, std::memory_order_relaxed);
             })
      .read("count", [this] { return std::to_string(numbers_); });
}

std::vector<std::pair<std::string, uint64_t>> AggregateIPFlows::statistics() const {
  return {{"flows", numbers_}, {"forgotten", forgotten_}};
}

HEDDLE_ELEMENT(AggregateIPFlows);

}  // namespace heddle
