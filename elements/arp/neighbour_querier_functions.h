#pragma once

// The functions of NeighbourQuerier, for the files of the elements that are one.

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "click/values.h"
#include "core/error.h"
#include "core/load.h"
#include "elements/arp/neighbour_querier.h"

namespace heddle {

/** A day at most, so that 32 bits are enough. */
inline uint32_t milliseconds_of(click::Duration duration) {
  constexpr uint64_t kLongest = 86'400'000;
  return static_cast<uint32_t>(std::min((duration.microseconds + 999) / 1000, kLongest));
}

template <class Protocol>
void NeighbourQuerier<Protocol>::configure_times(click::Arguments& arguments, uint32_t least) {
  click::Duration poll{uint64_t{poll_ms_} * 1000};
  own_.configure(arguments);
  arguments.keyword("POLL_TIMEOUT", poll).keyword("CAPACITY", capacity_, 1u, 1u << 20);
  of_one_ = std::max(std::min(capacity_, least), capacity_ / 8);
  arguments.keyword("ENTRY_PACKET_CAPACITY", of_one_, 0u, 1u << 20);
  if (of_one_ == 0) of_one_ = capacity_;
  poll_ms_ = milliseconds_of(poll);
}

constexpr uint32_t kMostEntries = 1u << 20;

template <class Protocol>
void NeighbourQuerier<Protocol>::Known::configure(click::Arguments& arguments) {
  click::Duration timeout{uint64_t{timeout_ms} * 1000};
  uint32_t entries = 1024;
  arguments.keyword("TIMEOUT", timeout).keyword("ENTRY_CAPACITY", entries, 0u, kMostEntries);
  if (entries == 0) entries = kMostEntries;
  timeout_ms = milliseconds_of(timeout);
  table = std::make_unique<NeighbourTable<Address>>(entries);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::Known::take(Known& old) {
  if (table->places() == old.table->places())
    std::swap(table, old.table);
  else
    old.table->visit([this](const Address& address, const auto& found) {
      table->set(address, found.ethernet, found.since_ms, found.in_use, 0);
    });
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::Known::set(const Address& address, const click::EthernetAddress& ethernet,
                                            uint32_t now_ms, bool wanted) {
  const BriefLock lock(changing);
  return table->set(address, ethernet, now_ms, wanted, timeout_ms);
}

template <class Protocol>
uint32_t NeighbourQuerier<Protocol>::clock_ms() {
  return static_cast<uint32_t>(heddle::now_ms());
}

template <class Protocol>
void NeighbourQuerier<Protocol>::start(const Environment& environment) {
  pool_ = environment.packets;
  packets_ = std::make_unique<WaitingPackets>(capacity_, carries);
  asked_ = std::make_unique<Asked[]>(size_t{kAskedGroups} * kAskedWays);
  clocks_ = std::make_unique<Clock[]>(static_cast<size_t>(environment.threads));
  if (known_ == &own_) own_.queriers = {this};
}

template <class Protocol>
void NeighbourQuerier<Protocol>::take_state(Element& old_element) {
  auto& old = static_cast<NeighbourQuerier&>(old_element);
  if (known_ == &own_ && old.known_ == &old.own_) own_.take(old.own_);
  const auto swap = [](auto& one, auto& other) { one = other.exchange(one); };
  swap(queries_, old.queries_), swap(responses_, old.responses_), swap(drops_, old.drops_);
  swap(refused_, old.refused_);
  if (capacity_ != old.capacity_ || carries != old.carries) return;
  std::swap(packets_, old.packets_), std::swap(asked_, old.asked_), std::swap(asks_, old.asks_);
  std::swap(ready_, old.ready_), std::swap(given_up_, old.given_up_);
  swap(asks_count_, old.asks_count_), swap(waiting_count_, old.waiting_count_);
  swap(ready_count_, old.ready_count_), swap(asked_count_, old.asked_count_), swap(looked_ms_, old.looked_ms_);
}

template <class Protocol>
auto NeighbourQuerier<Protocol>::header_to(const click::EthernetAddress& to) const -> Header {
  Header header;
  std::memcpy(&header[0], to.bytes.data(), 6);
  std::memcpy(&header[6], ethernet_.bytes.data(), 6);
  store_u16(&header[12], htons(Protocol::kEtherType));
  return header;
}

template <class Protocol>
void NeighbourQuerier<Protocol>::write_header(Packet* packet, const Header& header) {
  move_head(packet, -static_cast<int>(kHeaderBytes));
  std::memcpy(data(packet), header.data(), kHeaderBytes);
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::resolved(const Address& address, uint32_t now, click::EthernetAddress& to,
                                          uint32_t& age_ms) {
  age_ms = 0;
  if (protocol_.fixed(address, to)) return true;
  const auto found = known_->table->use(address);
  if (!found) return false;
  to = found->ethernet;
  age_ms = now - found->since_ms;
  return known_->good(age_ms);
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::known(const Address& address, uint32_t now, const Packet* packet,
                                       click::EthernetAddress& to, bool& asks) {
  uint32_t age_ms = 0;
  if (!resolved(address, now, to, age_ms)) return false;
  if (poll_ms_ != 0 && age_ms > poll_ms_ && known_->table->is_asked_again(address, now, kAgainMs)) [[unlikely]] {
    const BriefLock lock(locked_);
    asks = ask({address, true, timestamp_of(packet)}, kAsks);
  }
  return true;
}

template <class Protocol>
void NeighbourQuerier<Protocol>::let_ask_first(Batch& batch, int i) {
  const BriefLock lock(locked_);
  if (!packets_->add(ready_, batch, i)) return;
  ready_count_.fetch_add(1, std::memory_order_relaxed);
  batch.keep(i);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::run_cpu(Batch& batch) {
  const uint32_t* dst = batch.column(Column::dst);
  const uint32_t* input = batch.column(Column::input);
  const uint32_t now = now_ms(batch.thread);
  Address last{};   // the next hop before, which is often the same
  Header header{};  // of packets to it
  bool asks = false;
  const auto reaches = [&](const Address& hop, const Packet* packet) {
    click::EthernetAddress to;
    if (!known(hop, now, packet, to, asks)) return false;
    last = hop, header = header_to(to);
    return true;
  };
  Packet* const* const packets = batch.packets();  // the compiler cannot know that frames leave the batch alone
  const int n = batch.size();
  for (int i = 0; i < n; ++i) {
    Packet* packet = packets[i];
    if (input[i] != 0) {
      typename Protocol::Answer answer;
      const bool reply = Protocol::answer(data(packet), length(packet), answer);
      if (reply) learn(answer, now), last = {};
      batch.drop(i, reply ? kLearnt : kNotReply);
      continue;
    }
    const Address hop = length(packet) < Protocol::kMinBytes ? Address{} : protocol_.next_hop(dst[i], packet);
    if (!hop) {
      batch.drop(i, kNoAddress);
    } else if (packet->data_off < kHeaderBytes) {
      batch.drop(i, kNoHeadroom);
    } else if (length(packet) + kHeaderBytes > kMaxPacketBytes) {
      batch.drop(i, kTooLong);
    } else if (ready_count_.load(std::memory_order_relaxed) == 0 && (hop == last || reaches(hop, packet))) {
      write_header(packet, header);
      if (std::exchange(asks, false)) [[unlikely]]
        let_ask_first(batch, i);
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
void NeighbourQuerier<Protocol>::ask(Asked& entry, uint32_t now, uint64_t timestamp_ns) {
  if (now - entry.asked_ms >= kAtMostEveryMs && ask({entry.address, false, timestamp_ns}, kMaxAsksOfUnknown))
    entry.asked_ms = now;
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::ask(const Ask& ask, uint32_t most) {
  const uint32_t count = asks_count_.load(std::memory_order_relaxed);
  if (count >= most) return false;
  asks_[count] = ask;
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
  const BriefLock lock(locked_);
  click::EthernetAddress to;
  if (uint32_t age_ms = 0;
      resolved(address, now, to, age_ms)) {  // learnt meanwhile, or others that waited for it go first
    if (Asked* older = asked(address, now, false)) release(*older, to);  // others have learnt it
    write_header(batch.packet(i), header_to(to));
    if (ready_.empty() || !packets_->add(ready_, batch, i)) return;
    ready_count_.fetch_add(1, std::memory_order_relaxed);
    return batch.keep(i);
  }
  const uint64_t timestamp_ns = timestamp_of(batch.packet(i));
  Asked* entry = asked(address, now, true);
  if (entry != nullptr && keep(*entry, batch, i)) {
    batch.keep(i);
    waiting_count_.fetch_add(1, std::memory_order_relaxed);
  } else {
    drops_.fetch_add(1, std::memory_order_relaxed);
    batch.drop(i, kQueueFull);
  }
  if (entry != nullptr && entry->waiting == 0) return forget(*entry);
  if (entry != nullptr) ask(*entry, now, timestamp_ns);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::learn(const typename Protocol::Answer& answer, uint32_t now) {
  responses_.fetch_add(1, std::memory_order_relaxed);
  click::EthernetAddress fixed;
  const bool group = (answer.ethernet.bytes[0] & 1) != 0;
  bool believed = !group && answer.address && !protocol_.fixed(answer.address, fixed);  // else nobody's addresses
  const BriefLock lock(locked_);
  const bool wanted = believed && asked(answer.address, now, false) != nullptr;
  if (believed && Protocol::kOnlyAsked && !wanted) {
    const auto found = known_->table->find(answer.address);
    believed = found && (answer.overrides || found->ethernet == answer.ethernet);
  }
  if (!believed || !insert(answer.address, answer.ethernet, now, wanted))
    refused_.fetch_add(1, std::memory_order_relaxed);
}

template <class Protocol>
bool NeighbourQuerier<Protocol>::insert(const Address& address, const click::EthernetAddress& ethernet, uint32_t now,
                                        bool wanted) {
  if (!known_->set(address, ethernet, now, wanted)) return false;
  if (Asked* entry = asked(address, now, false)) release(*entry, ethernet);
  return true;
}

template <class Protocol>
void NeighbourQuerier<Protocol>::release(Asked& entry, const click::EthernetAddress& ethernet) {
  uint32_t moved = 0;
  packets_->move(entry.packets, ready_, [&](Packet* packet) {
    write_header(packet, header_to(ethernet));
    ++moved;
  });
  forget(entry);
  ready_count_.fetch_add(moved, std::memory_order_relaxed);
  waiting_count_.fetch_sub(moved, std::memory_order_relaxed);
}

template <class Protocol>
void NeighbourQuerier<Protocol>::on_timer(int thread) {
  if (asked_count_.load(std::memory_order_relaxed) == 0) return;
  const uint32_t now = now_ms(thread);
  if (now - looked_ms_.load(std::memory_order_relaxed) < kAtMostEveryMs) return;
  looked_ms_.store(now, std::memory_order_relaxed);
  const BriefLock lock(locked_);
  for (uint32_t i = 0; i < kAskedGroups * kAskedWays; ++i) {
    Asked& entry = asked_[i];
    if (!entry.address) continue;
    click::EthernetAddress to;
    if (uint32_t age_ms = 0; known_ != &own_ && resolved(entry.address, now, to, age_ms)) {  // others have learnt it
      release(entry, to);
      continue;
    }
    if (now - entry.since_ms < kPatienceMs) {
      if (now - entry.asked_ms > kAgainMs) ask(entry, now, 0);
      continue;
    }
    packets_->move(entry.packets, given_up_, [](Packet*) {});
    forget(entry);
  }
}

template <class Protocol>
void NeighbourQuerier<Protocol>::emit_queries(Batch& batch, bool ending) {
  uint32_t count = asks_count_.load(std::memory_order_relaxed);
  const uint32_t now = now_ms(batch.thread);
  for (; count > 0 && batch.size() < batch.capacity(); --count) {
    const int at = batch.size();
    if (!pool_->allocate(&batch.packets()[at], 1)) break;
    batch.resize(at + 1);
    Packet* packet = batch.packet(at);
    packet->data_len = Protocol::kQueryBytes, packet->pkt_len = Protocol::kQueryBytes;
    const auto& [address, known, timestamp_ns] = asks_[count - 1];
    set_capture_info(packet, {timestamp_ns, 0});
    protocol_.write_query(data(packet), ethernet_, address);
    if (const auto found = unicast_polls_ && known ? known_->table->find(address) : std::nullopt;
        found && known_->good(now - found->since_ms))
      std::memcpy(data(packet), found->ethernet.bytes.data(), 6);
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
  const BriefLock lock(locked_);
  if (ending)
    for (uint32_t i = 0; i < kAskedGroups * kAskedWays; ++i) {
      packets_->move(asked_[i].packets, given_up_, [](Packet*) {});
      if (asked_[i].address) forget(asked_[i]);
    }
  emit_queries(batch, ending);
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
}

template <class Protocol>
auto NeighbourQuerier<Protocol>::Known::lines() const -> std::vector<Line> {
  std::vector<Line> lines;
  const uint32_t now = clock_ms();
  table->visit([&](const Address& address, const auto& found) {
    const uint32_t age_ms = now - found.since_ms;
    lines.push_back({age_ms, age_ms, good(age_ms), address, found.ethernet});
  });
  std::vector<std::pair<Address, uint32_t>> unanswered;
  for (const NeighbourQuerier* querier : queriers) {
    if (!querier->asked_) continue;
    const BriefLock lock(querier->locked_);
    for (uint32_t i = 0; i < kAskedGroups * kAskedWays; ++i)
      if (const Asked& entry = querier->asked_[i]; entry.address)
        unanswered.emplace_back(entry.address, now - entry.since_ms);
  }
  for (const auto& [address, age_ms] : unanswered) {
    const auto old = std::ranges::find(lines, address, &Line::address);
    if (old == lines.end())
      lines.push_back({age_ms, age_ms, false, address, {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}});
    else if (!old->known)
      old->age_ms = age_ms;
  }
  std::ranges::stable_sort(lines, std::greater{}, &Line::age_ms);
  return lines;
}

template <class Protocol>
std::string NeighbourQuerier<Protocol>::Known::text() const {
  std::string text;
  for (const Line& line : lines())
    text += Protocol::text(line.address) + (line.known ? " 1 " : " 0 ") + to_text(line.ethernet) +
            format(" %.3f\n", static_cast<double>(line.set_ms) / 1000);
  return text;
}

/** An address that somebody can have. Throws Error. */
template <class Protocol>
typename Protocol::Address somebodys_address(const std::string& text) {
  const auto address = Protocol::parse(text);
  if (!address) throw Error("'" + text + "' is nobody's address");
  return address;
}

template <class Protocol>
auto NeighbourQuerier<Protocol>::parse_entry(const std::string& text) -> std::pair<Address, click::EthernetAddress> {
  const size_t space = text.find(' ');
  if (space == std::string::npos) throw Error("expected IP and ETH");
  const auto ethernet = click::value_of<click::EthernetAddress>(text.substr(text.rfind(' ') + 1));
  return {somebodys_address<Protocol>(text.substr(0, space)), ethernet};
}

template <class Protocol>
void NeighbourQuerier<Protocol>::Known::add_handlers(Handlers& list) {
  list.read("table", [this] { return text(); })
      .read("count", [this] { return std::to_string(lines().size()); })
      .write("delete",
             [this](const std::string& value) {
               const Address address = somebodys_address<Protocol>(value);
               const BriefLock lock(changing);
               table->remove(address);
             })
      .write("clear", [this](const std::string&) {
        const BriefLock lock(changing);
        table->clear();
      });
}

template <class Protocol>
void NeighbourQuerier<Protocol>::handlers(Handlers& list) {
  known_->add_handlers(list);
  list.read("length", [this] { return std::to_string(waiting_count_.load()); })
      .read("queries", [this] { return std::to_string(queries_.load()); })
      .read("responses", [this] { return std::to_string(responses_.load()); })
      .read("drops", [this] { return std::to_string(drops_.load()); })
      .read("stats",
            [this] {
              return format("%ju packets killed\n%ju %s queries sent\n", uintmax_t{drops_}, uintmax_t{queries_},
                            Protocol::kName);
            })
      .write("insert", [this](const std::string& text) {
        const auto [address, ethernet] = parse_entry(text);
        const BriefLock lock(locked_);
        insert(address, ethernet, clock_ms(), true);
      });
}

template <class Protocol>
std::vector<std::pair<std::string, uint64_t>> NeighbourQuerier<Protocol>::statistics() const {
  return {{"queries", queries_},
          {"responses", responses_},
          {"refused", refused_},
          {"entries", known_->table ? known_->table->size() : 0},
          {"replaced", known_->table ? known_->table->replaced() : 0}};
}

}  // namespace heddle
