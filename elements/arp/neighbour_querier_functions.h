#pragma once

// The functions of NeighbourQuerier, for the files of the elements that are one.

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "click/values.h"
#include "core/error.h"
#include "core/load.h"
#include "elements/arp/neighbour_querier.h"

namespace heddle {

template <class Protocol>
void NeighbourQuerier<Protocol>::configure_times(click::Arguments& arguments) {
  click::Duration timeout{uint64_t{timeout_ms_} * 1000}, poll{uint64_t{poll_ms_} * 1000};
  uint32_t entries = 1024;
  arguments.keyword("TIMEOUT", timeout).keyword("POLL_TIMEOUT", poll);
  arguments.keyword("CAPACITY", capacity_, 1u, 1u << 20).keyword("ENTRY_CAPACITY", entries, 1u, 1u << 20);
  of_one_ = std::max(1u, capacity_ / 8);
  arguments.keyword("ENTRY_PACKET_CAPACITY", of_one_, 0u, 1u << 20);
  if (of_one_ == 0) of_one_ = capacity_;
  constexpr uint64_t kLongest = 86'400'000;  // a day, so that 32 bits of milliseconds are enough
  timeout_ms_ = static_cast<uint32_t>(std::min((timeout.microseconds + 999) / 1000, kLongest));
  poll_ms_ = static_cast<uint32_t>(std::min((poll.microseconds + 999) / 1000, kLongest));
  table_ = std::make_unique<Table>(entries);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::start(const Environment& environment) {
  pool_ = environment.packets;
  packets_ = std::make_unique<WaitingPackets>(capacity_, carries);
  asked_ = std::make_unique<Asked[]>(size_t{kAskedGroups} * kAskedWays);
  clocks_ = std::make_unique<Clock[]>(static_cast<size_t>(environment.threads));
}

template <class Protocol>
void NeighbourQuerier<Protocol>::take_state(Element& old_element) {
  auto& old = static_cast<NeighbourQuerier&>(old_element);
  if (table_->places() == old.table_->places())
    std::swap(table_, old.table_);
  else
    old.table_->visit(
        [this](const Address& address, const auto& found) { table_->set(address, found.ethernet, found.since_ms); });
  const auto swap = [](auto& one, auto& other) { one = other.exchange(one); };
  swap(queries_, old.queries_), swap(responses_, old.responses_), swap(drops_, old.drops_);
  if (capacity_ != old.capacity_ || carries != old.carries) return;
  std::swap(packets_, old.packets_), std::swap(asked_, old.asked_), std::swap(asks_, old.asks_);
  std::swap(ready_, old.ready_), std::swap(given_up_, old.given_up_);
  swap(asks_count_, old.asks_count_), swap(waiting_count_, old.waiting_count_);
  swap(ready_count_, old.ready_count_), swap(asked_count_, old.asked_count_), swap(looked_ms_, old.looked_ms_);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::write_header(Packet* packet, const click::EthernetAddress& to) const {
  move_head(packet, -static_cast<int>(kHeaderBytes));
  uint8_t* frame = data(packet);
  std::memcpy(frame, to.bytes.data(), 6);
  std::memcpy(frame + 6, ethernet_.bytes.data(), 6);
  store_u16(frame + 12, htons(Protocol::kEtherType));
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::resolved(const Address& address, uint32_t now, click::EthernetAddress& to,
                                          uint32_t& age_ms) const {
  age_ms = 0;
  if (protocol_.fixed(address, to)) return true;
  const auto found = table_->find(address);
  if (!found) return false;
  to = found->ethernet;
  age_ms = now - found->since_ms;
  return timeout_ms_ == 0 || age_ms <= timeout_ms_;
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::known(const Address& address, uint32_t now, click::EthernetAddress& to) {
  uint32_t age_ms = 0;
  if (!resolved(address, now, to, age_ms)) return false;
  if (poll_ms_ != 0 && age_ms > poll_ms_ && table_->is_asked_again(address, now, kAgainMs)) [[unlikely]] {
    const Lock lock(locked_);
    ask(address, kAsks);
  }
  return true;
}

template <class Protocol>
void NeighbourQuerier<Protocol>::run_cpu(Batch& batch) {
  const uint32_t* dst = batch.column(Column::dst);
  const uint32_t* input = batch.column(Column::input);
  const uint32_t now = now_ms(batch.thread);
  Address last{};  // the next hop before, which is often the same
  click::EthernetAddress to;
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (input[i] != 0) {
      typename Protocol::Answer answer;
      const bool reply = Protocol::answer(data(packet), length(packet), answer);
      if (reply) learn(answer, now), last = {};
      batch.drop(i, reply ? kLearnt : kNotReply);
      continue;
    }
    const Address hop = length(packet) < Protocol::kLeastBytes ? Address{} : protocol_.next_hop(dst[i], packet);
    if (!hop) {
      batch.drop(i, kNoAddress);
    } else if (packet->data_off < kHeaderBytes) {
      batch.drop(i, kNoHeadroom);
    } else if (length(packet) + kHeaderBytes > kMaxPacketBytes) {
      batch.drop(i, kTooLong);
    } else if (ready_count_.load(std::memory_order_relaxed) == 0 && (hop == last || known(hop, now, to))) {
      last = hop;
      write_header(packet, to);
    } else {
      last = {};
      wait_for(batch, i, hop, now);
    }
  }
}

template <class Protocol>
typename NeighbourQuerier<Protocol>::Asked* NeighbourQuerier<Protocol>::asked(const Address& address, uint32_t now,
                                                                              bool make) {
  Asked* group = &asked_[size_t{address.hash() >> 16 & (kAskedGroups - 1)} * kAskedWays];
  Asked* place = nullptr;
  for (uint32_t way = 0; way < kAskedWays; ++way) {
    if (group[way].address == address) return &group[way];
    if (!group[way].address) place = &group[way];
  }
  if (!make || place == nullptr) return nullptr;
  *place = {address, now, now - kAtMostEveryMs, 0, {}};
  asked_count_.fetch_add(1, std::memory_order_relaxed);
  return place;
}

template <class Protocol>
void NeighbourQuerier<Protocol>::forget(Asked& entry) {
  entry.address = {};
  asked_count_.fetch_sub(1, std::memory_order_relaxed);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::ask(Asked& entry, uint32_t now) {
  if (now - entry.asked_ms >= kAtMostEveryMs && ask(entry.address, kMostAsksOfUnknown)) entry.asked_ms = now;
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::ask(const Address& address, uint32_t most) {
  const uint32_t count = asks_count_.load(std::memory_order_relaxed);
  if (count >= most) return false;
  asks_[count] = address;
  asks_count_.store(count + 1, std::memory_order_relaxed);
  return true;
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::keep(Asked& entry, Batch& batch, int i) {
  if (entry.waiting < of_one_ && packets_->add(entry.packets, batch, i)) {
    ++entry.waiting;
    return true;
  }
  if (entry.waiting > 0) packets_->replace_first(entry.packets, batch, i);
  return false;
}

template <class Protocol>
void NeighbourQuerier<Protocol>::wait_for(Batch& batch, int i, const Address& address, uint32_t now) {
  const Lock lock(locked_);
  click::EthernetAddress to;
  if (uint32_t age_ms = 0;
      resolved(address, now, to, age_ms)) {  // learnt meanwhile, or others that waited for it go first
    write_header(batch.packet(i), to);
    if (ready_.empty() || !packets_->add(ready_, batch, i)) return;
    ready_count_.fetch_add(1, std::memory_order_relaxed);
    return batch.keep(i);
  }
  Asked* entry = asked(address, now, true);
  if (entry != nullptr && keep(*entry, batch, i)) {
    batch.keep(i);
    waiting_count_.fetch_add(1, std::memory_order_relaxed);
  } else {
    drops_.fetch_add(1, std::memory_order_relaxed);
    batch.drop(i, kQueueFull);
  }
  if (entry != nullptr && entry->waiting == 0) return forget(*entry);
  if (entry != nullptr) ask(*entry, now);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::learn(const typename Protocol::Answer& answer, uint32_t now) {
  responses_.fetch_add(1, std::memory_order_relaxed);
  click::EthernetAddress fixed;
  const bool group = (answer.ethernet.bytes[0] & 1) != 0;
  if (group || !answer.address || protocol_.fixed(answer.address, fixed)) return;  // nobody has such addresses
  const Lock lock(locked_);
  if (Protocol::kOnlyAsked && asked(answer.address, now, false) == nullptr) {
    const auto found = table_->find(answer.address);
    if (!found || (!answer.overrides && found->ethernet != answer.ethernet)) return;
  }
  insert(answer.address, answer.ethernet, now);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::insert(const Address& address, const click::EthernetAddress& ethernet, uint32_t now) {
  table_->set(address, ethernet, now);
  Asked* entry = asked(address, now, false);
  if (entry == nullptr) return;
  uint32_t moved = 0;
  packets_->move(entry->packets, ready_, [&](Packet* packet) {
    write_header(packet, ethernet);
    ++moved;
  });
  forget(*entry);
  ready_count_.fetch_add(moved, std::memory_order_relaxed);
  waiting_count_.fetch_sub(moved, std::memory_order_relaxed);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::on_timer(int thread) {
  if (asked_count_.load(std::memory_order_relaxed) == 0) return;
  const uint32_t now = now_ms(thread);
  if (now - looked_ms_.load(std::memory_order_relaxed) < kAtMostEveryMs) return;
  looked_ms_.store(now, std::memory_order_relaxed);
  const Lock lock(locked_);
  for (uint32_t i = 0; i < kAskedGroups * kAskedWays; ++i) {
    Asked& entry = asked_[i];
    if (!entry.address) continue;
    if (now - entry.since_ms < kPatienceMs) {
      if (now - entry.asked_ms >= kAgainMs) ask(entry, now);
      continue;
    }
    packets_->move(entry.packets, given_up_, [](Packet*) {});
    forget(entry);
  }
}

template <class Protocol>
void NeighbourQuerier<Protocol>::emit_queries(Batch& batch, bool ending) {
  uint32_t count = asks_count_.load(std::memory_order_relaxed);
  for (; count > 0 && batch.size() < batch.capacity(); --count) {
    const int at = batch.size();
    if (!pool_->allocate(&batch.packets()[at], 1)) break;
    batch.resize(at + 1);
    Packet* packet = batch.packet(at);
    packet->data_len = Protocol::kQueryBytes, packet->pkt_len = Protocol::kQueryBytes;
    set_capture_info(packet, {});
    protocol_.write_query(data(packet), ethernet_, asks_[count - 1]);
    each_column(carries, [&](Column which) {
      if (is_wide(which))
        batch.wide_column(which)[at] = 0;
      else
        batch.column(which)[at] = 0;
    });
    batch.next()[at] = outputs > 1 ? 1 : 0;
    queries_.fetch_add(1, std::memory_order_relaxed);
  }
  asks_count_.store(ending && batch.empty() ? 0 : count, std::memory_order_relaxed);  // no packet is free: not asked
}

template <class Protocol>
void NeighbourQuerier<Protocol>::emit(Batch& batch, bool ending) {
  if (!holds()) return;
  const Lock lock(locked_);
  if (ending)
    for (uint32_t i = 0; i < kAskedGroups * kAskedWays; ++i) {
      packets_->move(asked_[i].packets, given_up_, [](Packet*) {});
      if (asked_[i].address) forget(asked_[i]);
    }
  for (; !ready_.empty() && batch.size() < batch.capacity(); ready_count_.fetch_sub(1, std::memory_order_relaxed))
    packets_->take(ready_, batch);
  for (; !given_up_.empty() && batch.size() < batch.capacity();
       waiting_count_.fetch_sub(1, std::memory_order_relaxed)) {
    packets_->take(given_up_, batch);
    const int at = batch.size() - 1;
    drops_.fetch_add(1, std::memory_order_relaxed);
    if (outputs > 2 && !ending)
      batch.next()[at] = 2;
    else
      batch.drop(at, kUnanswered);
  }
  emit_queries(batch, ending);
}

template <class Protocol>
std::string NeighbourQuerier<Protocol>::table_text() {
  std::string text;
  const auto now = static_cast<uint32_t>(heddle::now_ms());
  table_->visit([&](const Address& address, const auto& found) {
    text += Protocol::text(address) + " 1 " + to_text(found.ethernet) +
            format(" %.3f\n", static_cast<double>(now - found.since_ms) / 1000);
  });
  return text;
}

template <class Protocol>
void NeighbourQuerier<Protocol>::handlers(Handlers& list) {
  const auto now = [] { return static_cast<uint32_t>(heddle::now_ms()); };
  const auto somebodys = [](const std::string& text) {
    const Address address = Protocol::parse(text);
    if (!address) throw Error("'" + text + "' is nobody's address");
    return address;
  };
  list.read("table", [this] { return table_text(); })
      .read("count", [this] { return std::to_string(table_->size()); })
      .read("length", [this] { return std::to_string(waiting_count_.load()); })
      .read("queries", [this] { return std::to_string(queries_.load()); })
      .read("responses", [this] { return std::to_string(responses_.load()); })
      .read("drops", [this] { return std::to_string(drops_.load()); })
      .read("stats",
            [this] {
              return format("%ju packets killed\n%ju %s queries sent\n", uintmax_t{drops_}, uintmax_t{queries_},
                            Protocol::kName);
            })
      .write("insert",
             [=, this](const std::string& text) {
               const size_t space = text.find(' ');
               if (space == std::string::npos) throw Error("expected IP and ETH");
               const auto ethernet = click::value_of<click::EthernetAddress>(text.substr(text.rfind(' ') + 1));
               const Address address = somebodys(text.substr(0, space));
               const Lock lock(locked_);
               insert(address, ethernet, now());
             })
      .write("delete",
             [=, this](const std::string& text) {
               const Lock lock(locked_);
               table_->remove(somebodys(text));
             })
      .write("clear", [this](const std::string&) {
        const Lock lock(locked_);
        table_->clear();
      });
}

template <class Protocol>
std::vector<std::pair<std::string, uint64_t>> NeighbourQuerier<Protocol>::statistics() const {
  return {{"queries", queries_},
          {"responses", responses_},
          {"entries", table_ ? table_->size() : 0},
          {"replaced", table_ ? table_->replaced() : 0}};
}

}  // namespace heddle
