#include <arpa/inet.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/load.h"
#include "elements/ip6/header.h"
#include "functions/classifier/rule.h"
#include "functions/flow/flow.h"

namespace heddle {

using flow::Key;
using flow::kNoFlow;
using flow::Says;
using flow::ThreadTable;

namespace {

enum Reason : int { kGood = -1, kShort, kFull, kIp6 };
constexpr uint32_t kNetworkBytes = 20, kPortBytes = 4;

/** Reads the ports at `transport`, and what TCP's flags say there. */
Reason read_ports(const uint8_t* frame, uint32_t bytes, uint32_t transport, Key& key, Says& says) {
  if (transport > bytes || bytes - transport < kPortBytes) return kShort;
  key.source_port = ntohs(load_u16(frame + transport)), key.destination_port = ntohs(load_u16(frame + transport + 2));
  if ((key.protocol & 0xff) == flow::kTcp && bytes - transport > flow::kTcpFlagsAt)
    says = flow::says_of_tcp(frame[transport + flow::kTcpFlagsAt]);
  return kGood;
}

/** The same as key_of(), of an IPv6 packet. */
Reason ip6_key_of(const uint8_t* frame, uint32_t bytes, uint32_t network, uint32_t transport, Key& key, Says& says) {
  if (bytes - network < kIp6HeaderBytes) return kShort;
  const uint8_t* header = frame + network;
  const ip6::Behind behind = ip6::behind_extensions(header[6], std::min(transport, bytes), bytes,
                                                    [&](uint32_t at) { return load_u32(frame + at); });
  key = Key::of_ip6(header + 8, 0, 0, behind.number);
  if (behind.later_fragment || !classifier::names_ports(behind.number)) return kGood;
  return read_ports(frame, bytes, behind.at, key, says);
}

/** Of the packet [frame, frame + bytes) with headers at these offsets, and what it says; or why it has none. */
Reason key_of(const uint8_t* frame, uint32_t bytes, uint32_t network, uint32_t transport, bool takes_ip6, Key& key,
              Says& says) {
  says = Says::none;
  if (network > bytes || bytes - network < kNetworkBytes) return kShort;
  const uint8_t* header = frame + network;
  if (header[0] >> 4 == 6) return takes_ip6 ? ip6_key_of(frame, bytes, network, transport, key, says) : kIp6;
  const uint32_t control = load_u32(header + 6);
  key = {ntohl(load_u32(header + 12)), ntohl(load_u32(header + 16)), 0, 0, header[9]};
  if (!classifier::has_ports(control)) return kGood;
  return read_ports(frame, bytes, transport, key, says);
}

constexpr flow::Timeouts kUsualTimeouts{60000, 60000, 60000};
constexpr flow::Timeouts kNatTimeouts{7440000, 240000, 300000};  // RFC 5382, REQ-5; RFC 4787, REQ-5

}  // namespace

void FlowTable::configure(click::Arguments& arguments) {
  arguments.keyword("CAPACITY", capacity_, size_t{1}, size_t{1} << 24).keyword("TIMESTAMPS", timestamps_);
  const auto time = [&](const char* keyword, uint64_t most_minutes) {
    constexpr uint64_t kUnset = ~uint64_t{0};
    click::Duration duration{kUnset};
    arguments.keyword(keyword, duration);
    if (duration.microseconds == kUnset) return uint32_t{0};
    const uint64_t ms = duration.microseconds / 1000;
    if (ms < 1 || ms > most_minutes * 60000)
      arguments.error(keyword, format("a time from 1ms to %llumin", static_cast<unsigned long long>(most_minutes)));
    return static_cast<uint32_t>(ms);
  };
  timeout_ms_ = time("TIMEOUT", 30);
  tcp_timeout_ms_ = time("TCP_TIMEOUT", 480);
  tcp_transitory_timeout_ms_ = time("TCP_NODATA_TIMEOUT", 480);
}

Access FlowTable::access(Processor) const {
  using enum Base;
  return {.reads = {{l3, 0, 40}, {l4, 0, kToEnd}},  // extension headers have any length
          .column_reads = columns(Column::l3, Column::l4),
          .column_writes = columns(Column::flow, Column::flow_ms)};
}

std::span<const char* const> FlowTable::drop_reasons() const {
  static constexpr const char* kReasons[] = {"short", "full", "ip6"};
  return kReasons;
}

int FlowTable::take_word(const Element& taker, bool takes_ip6, flow::Watcher* watcher, bool outlives_arguments) {
  if (takers_.size() == flow::kWords) {
    std::string names;
    for (const Element* other : takers_) names += (names.empty() ? "'" : ", '") + other->name + "'";
    throw Error("TABLE: the flows of '" + name + "' have four words, which " + names + " have; give '" + taker.name +
                "' a FlowTable of its own");
  }
  takers_.push_back(&taker);
  outlives_arguments_.push_back(outlives_arguments);
  takes_ip6_ = takes_ip6_ && takes_ip6;
  if (watcher != nullptr) watchers_.push_back(watcher);
  return static_cast<int>(takers_.size()) - 1;
}

flow::Timeouts FlowTable::timeouts() const {
  flow::Timeouts all = for_nat_ ? kNatTimeouts : kUsualTimeouts;
  if (timeout_ms_ != 0) all = {timeout_ms_, timeout_ms_, timeout_ms_};
  if (tcp_timeout_ms_ != 0) all.tcp_ms = tcp_timeout_ms_;
  if (tcp_transitory_timeout_ms_ != 0) all.tcp_transitory_ms = tcp_transitory_timeout_ms_;
  return all;
}

bool FlowTable::shares_flows_with(const FlowTable& other) const {
  if (predecessor != &other) return other.predecessor == this && other.shares_flows_with(*this);
  if (capacity_ != other.capacity_ || timestamps_ != other.timestamps_ || takers_.size() != other.takers_.size())
    return false;
  for (size_t k = 0; k < takers_.size(); ++k)
    if (takers_[k]->predecessor != other.takers_[k] || !(takers_[k]->same_arguments || outlives_arguments_[k]))
      return false;
  return true;
}

void FlowTable::take_state(Element& old_element) {
  auto& old = static_cast<FlowTable&>(old_element);
  if (!shares_flows_with(old)) return;
  std::swap(tables_, old.tables_), std::swap(clocks_, old.clocks_);
  for (FlowTable* one : {this, &old})
    for (auto& thread : one->tables_) thread->serve(one->timeouts(), one->watchers_);
}

void FlowTable::start(const Environment& environment) {
  std::random_device random;
  const auto threads = static_cast<size_t>(environment.threads);
  places_ = places(environment.threads);
  clocks_.assign(threads, Clock{timestamps_ ? 0 : now_ms()});
  for (size_t t = 0; t < threads; ++t)
    tables_.push_back(std::make_unique<ThreadTable>(static_cast<int>(t), capacity_of_each(threads), timeouts(),
                                                    uint64_t{random()} << 32 | random(), watchers_));
}

flow::Places FlowTable::places(int threads) const {
  const auto all = static_cast<size_t>(threads);
  return flow::Places::of(static_cast<uint32_t>(all * ThreadTable::places_for(capacity_of_each(all))));
}

uint32_t FlowTable::now_ms() {
  using namespace std::chrono;
  return static_cast<uint32_t>(duration_cast<milliseconds>(RouterClock::now().time_since_epoch()).count());
}

void FlowTable::run_cpu(Batch& batch) {
  constexpr int kGroup = ThreadTable::kMax;
  const auto thread = static_cast<size_t>(batch.thread);
  ThreadTable& table = *tables_[thread];
  table.begin_batch();
  const uint32_t *l3 = batch.column(Column::l3), *l4 = batch.column(Column::l4);
  uint32_t *column = batch.column(Column::flow), *ms = batch.column(Column::flow_ms);
  const uint32_t first = static_cast<uint32_t>(thread) * table.places();
  const uint32_t now = timestamps_ ? clocks_[thread].now_ms : now_ms();
  uint32_t latest = now;
  for (int base = 0; base < batch.size(); base += kGroup) {
    Key keys[kGroup];
    Says says[kGroup];
    uint32_t times[kGroup], flows[kGroup];
    int packets[kGroup], n = 0;
    for (int i = base; i < std::min(batch.size(), base + kGroup); ++i) {
      const Packet* packet = batch.packet(i);
      if (column != nullptr) column[i] = kNoFlow;
      const Reason reason = key_of(data(packet), length(packet), l3[i] - packet->data_off, l4[i] - packet->data_off,
                                   takes_ip6_, keys[n], says[n]);
      if (reason != kGood) {
        batch.drop(i, reason);
        continue;
      }
      latest = times[n] = time_of(packet, now);
      packets[n++] = i;
    }
    table.find_or_add(keys, times, flows, n, says);
    for (int k = 0; k < n; ++k) {
      if (ms != nullptr) ms[packets[k]] = times[k];
      if (flows[k] == kNoFlow)
        batch.drop(packets[k], kFull);
      else if (column != nullptr)
        column[packets[k]] = places_.column_of(first + flows[k], table.entry(flows[k]).generation());
    }
  }
  clocks_[thread].now_ms = latest;
}

void FlowTable::on_timer(int thread) {
  // All places twice in the time that a flow lasts, so it is gone at most half of that late.
  ThreadTable& table = *tables_[static_cast<size_t>(thread)];
  const flow::Timeouts all = timeouts();
  const uint64_t ms = std::min({all.tcp_ms, all.tcp_transitory_ms, all.other_ms});
  const uint64_t calls = std::max<uint64_t>(1, ms * 1000 / static_cast<uint32_t>(timer_us()) / 2);
  Clock& clock = clocks_[static_cast<size_t>(thread)];
  if (!timestamps_) clock.now_ms = now_ms();
  table.age(table.places() / calls + 1, clock.now_ms);
}

uint32_t FlowTable::find(const Key& key) const {
  for (size_t thread = 0; thread < tables_.size(); ++thread)
    if (const uint32_t place = tables_[thread]->find(key); place != kNoFlow)
      return static_cast<uint32_t>(thread) * tables_[thread]->places() + place;
  return kNoFlow;
}

uint64_t FlowTable::sum(std::atomic<uint64_t> ThreadTable::Counts::*which) const {
  uint64_t total = 0;
  for (const auto& table : tables_) total += (table->counts().*which).load(std::memory_order_relaxed);
  return total;
}

void FlowTable::handlers(Handlers& list) {
  list.read("flows", [this] { return std::to_string(sum(&ThreadTable::Counts::flows)); }).read("capacity", [this] {
    uint64_t places = 0;
    for (const auto& table : tables_) places += table->places();
    return std::to_string(places);
  });
}

std::vector<std::pair<std::string, uint64_t>> FlowTable::statistics() const {
  return {{"flows", sum(&ThreadTable::Counts::flows)},
          {"added", sum(&ThreadTable::Counts::added)},
          {"expired", sum(&ThreadTable::Counts::expired)},
          {"evicted", sum(&ThreadTable::Counts::evicted)}};
}

std::string FlowTable::wrong_setter(Column column, const Element& setter, const char* argument) const {
  if (column != Column::flow || &setter == this || dynamic_cast<const FlowTable*>(&setter) == nullptr) return "";
  return format(", not by '%s'; give it %s '%s', or put '%s' between the two", name.c_str(), argument,
                setter.name.c_str(), name.c_str());
}

void FlowElement::read_table(click::Arguments& arguments) { arguments.required("TABLE", table_name_); }

void FlowElement::link(const Directory& directory) {
  const std::vector<Element*> named = directory(table_name_);
  table_ = named.size() == 1 ? dynamic_cast<FlowTable*>(named[0]) : nullptr;
  if (table_ == nullptr) throw Error("TABLE: '" + table_name_ + "' is not a FlowTable of this chain");
  word_ = table_->take_word(*this, takes_ip6(), watcher(), word_outlives_arguments());
}

std::string FlowElement::wrong_setter(Column column, const Element& setter) const {
  return table_ == nullptr ? "" : table_->wrong_setter(column, setter, "TABLE");
}

const FlowElement* FlowElement::cpu_side_behind(bool placed) const {
  std::vector<const Element*> found = {this};
  for (size_t at = 0; at < found.size(); ++at)
    for (const Element* next : found[at]->behind) {
      if (std::ranges::find(found, next) != found.end()) continue;
      const auto* other = dynamic_cast<const FlowElement*>(next);
      if (other != nullptr && !(placed ? other->on_gpu : other->has_gpu_side())) return other;
      found.push_back(next);
    }
  return nullptr;
}

void FlowElement::check_place() const {
  if (!on_gpu) return;
  if (const FlowElement* other = cpu_side_behind(true); other != nullptr)
    throw Error("on a GPU it must stand behind '" + other->name +
                "', for flows may end while packets are there; give it DEVICE cpu, or move it");
}

HEDDLE_ELEMENT(FlowTable);

}  // namespace heddle
