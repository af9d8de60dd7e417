#include "elements/arp/arp_querier.h"

#include "click/arguments.h"
#include "core/packet_pool.h"
#include "elements/arp/arp.h"

namespace heddle {
namespace {

enum Reason : int { kUnanswered, kQueueFull, kNoAddress, kNoHeadroom, kTooLong, kLearnt, kNotReply };
constexpr uint32_t kHeaderBytes = 14, kShortestFrame = 60;
constexpr uint32_t kPatienceMs = 3000, kAgainMs = 1000, kAtMostEveryMs = 100;
constexpr click::EthernetAddress kEverybody{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

/** 224.0.0.0/4 as Ethernet knows it (RFC 1112, 6.4). */
click::EthernetAddress group_address(uint32_t ip) {
  const uint32_t host = ntohl(ip);
  return {{0x01, 0x00, 0x5e, static_cast<uint8_t>(host >> 16 & 0x7f), static_cast<uint8_t>(host >> 8),
           static_cast<uint8_t>(host)}};
}
bool is_group(uint32_t ip) { return (ntohl(ip) >> 28) == 14; }

}  // namespace

void ARPQuerier::configure(click::Arguments& arguments) {
  click::Ipv4Address ip, broadcast{0xffffffff};
  click::Duration timeout{uint64_t{timeout_ms_} * 1000}, poll{uint64_t{poll_ms_} * 1000};
  uint32_t entries = 1024;
  const auto given = arguments.rest();
  if (given.empty() || given.size() > 2) {
    arguments.error("expected IP and ETH");
  } else {
    if (!arguments.read(given[0].text, ip)) arguments.error(given[0], click::expectation(ip));
    if (!arguments.read(given.back().text, ethernet_)) arguments.error(given.back(), click::expectation(ethernet_));
  }
  arguments.keyword("TIMEOUT", timeout).keyword("POLL_TIMEOUT", poll).keyword("BROADCAST", broadcast);
  arguments.keyword("CAPACITY", capacity_, 1u, 1u << 20).keyword("ENTRY_CAPACITY", entries, 1u, 1u << 20);
  constexpr uint64_t kLongest = 86'400'000;  // a day, so that 32 bits of milliseconds are enough
  ip_ = htonl(ip.value), broadcast_ = htonl(broadcast.value);
  timeout_ms_ = static_cast<uint32_t>(std::min(timeout.microseconds / 1000, kLongest));
  poll_ms_ = static_cast<uint32_t>(std::min(poll.microseconds / 1000, kLongest));
  table_ = std::make_unique<ArpTable>(entries);
}

Access ARPQuerier::access(Processor) const {
  return {.reads = {{Base::head, 0, 42}},
          .writes = {{Base::head, -14, 0}},
          .column_reads = columns(Column::dst, Column::input)};
}

std::span<const char* const> ARPQuerier::drop_reasons() const {
  static constexpr const char* kReasons[] = {"unanswered", "queue_full", "no_address",   "no_headroom",
                                             "too_long",   "learnt",     "not_arp_reply"};
  return kReasons;
}

void ARPQuerier::start(const Environment& environment) {
  pool_ = environment.packets;
  packets_ = std::make_unique<WaitingPackets>(capacity_, carries);
  asked_ = std::make_unique<Asked[]>(size_t{kAskedGroups} * kAskedWays);
  clocks_ = std::make_unique<Clock[]>(static_cast<size_t>(environment.threads));
}

void ARPQuerier::take_state(Element& old_element) {
  auto& old = static_cast<ARPQuerier&>(old_element);
  if (table_->places() == old.table_->places())
    std::swap(table_, old.table_);
  else
    old.table_->visit(
        [this](uint32_t ip, const ArpTable::Found& found) { table_->set(ip, found.ethernet, found.since_ms); });
  const auto swap = [](auto& one, auto& other) { one = other.exchange(one); };
  swap(queries_, old.queries_), swap(responses_, old.responses_), swap(drops_, old.drops_);
  if (capacity_ != old.capacity_ || carries != old.carries) return;
  std::swap(packets_, old.packets_), std::swap(asked_, old.asked_), std::swap(asks_, old.asks_);
  std::swap(ready_, old.ready_), std::swap(given_up_, old.given_up_);
  swap(asks_count_, old.asks_count_), swap(waiting_count_, old.waiting_count_);
  swap(ready_count_, old.ready_count_), swap(asked_count_, old.asked_count_), swap(looked_ms_, old.looked_ms_);
}

void ARPQuerier::write_header(Packet* packet, const click::EthernetAddress& to) const {
  move_head(packet, -static_cast<int>(kHeaderBytes));
  uint8_t* frame = data(packet);
  std::memcpy(frame, to.bytes.data(), 6);
  std::memcpy(frame + 6, ethernet_.bytes.data(), 6);
  store_u16(frame + 12, htons(arp::kEtherTypeIp));
}

bool ARPQuerier::resolved(uint32_t ip, uint32_t now, click::EthernetAddress& to, uint32_t& age_ms) const {
  age_ms = 0;
  if (ip == 0xffffffff || ip == broadcast_) {
    to = kEverybody;
    return true;
  }
  if (is_group(ip)) {
    to = group_address(ip);
    return true;
  }
  const auto found = table_->find(ip);
  if (!found) return false;
  to = found->ethernet;
  age_ms = now - found->since_ms;
  return timeout_ms_ == 0 || age_ms <= timeout_ms_;
}

bool ARPQuerier::known(uint32_t ip, uint32_t now, click::EthernetAddress& to) {
  uint32_t age_ms = 0;
  if (!resolved(ip, now, to, age_ms)) return false;
  if (poll_ms_ != 0 && age_ms > poll_ms_) [[unlikely]]
    poll(ip, now);
  return true;
}

void ARPQuerier::run_cpu(Batch& batch) {
  const uint32_t* dst = batch.column(Column::dst);
  const uint32_t* input = batch.column(Column::input);
  const uint32_t now = now_ms(batch.thread);
  uint32_t last = 0;  // the next hop before, which is often the same
  click::EthernetAddress to;
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (input[i] != 0) {
      const bool reply = arp::is_arp(data(packet), length(packet)) && arp::operation(data(packet)) == arp::kReply;
      if (reply) learn(data(packet), now);
      batch.drop(i, reply ? kLearnt : kNotReply);
    } else if (dst[i] == 0) {
      batch.drop(i, kNoAddress);
    } else if (packet->data_off < kHeaderBytes) {
      batch.drop(i, kNoHeadroom);
    } else if (length(packet) + kHeaderBytes > kMaxPacketBytes) {
      batch.drop(i, kTooLong);
    } else if (ready_count_.load(std::memory_order_relaxed) == 0 && (dst[i] == last || known(dst[i], now, to))) {
      last = dst[i];
      write_header(packet, to);
    } else {
      last = 0;
      wait_for(batch, i, dst[i], now);
    }
  }
}

ARPQuerier::Asked* ARPQuerier::asked(uint32_t ip, uint32_t now, bool make) {
  Asked* group = &asked_[size_t{(ip * 2654435761u) >> 16 & (kAskedGroups - 1)} * kAskedWays];
  Asked* place = nullptr;
  for (uint32_t way = 0; way < kAskedWays; ++way) {
    if (group[way].ip == ip) return &group[way];
    if (group[way].ip == 0) place = &group[way];
  }
  if (!make || place == nullptr) return nullptr;
  *place = {ip, now, now - kAtMostEveryMs, {}};
  asked_count_.fetch_add(1, std::memory_order_relaxed);
  return place;
}

void ARPQuerier::forget(Asked& entry) {
  entry.ip = 0;
  asked_count_.fetch_sub(1, std::memory_order_relaxed);
}

void ARPQuerier::ask(Asked& entry, uint32_t now) {
  const uint32_t count = asks_count_.load(std::memory_order_relaxed);
  if (now - entry.asked_ms < kAtMostEveryMs || count == kAsks) return;
  entry.asked_ms = now;
  asks_[count] = entry.ip;
  asks_count_.store(count + 1, std::memory_order_relaxed);
}

void ARPQuerier::wait_for(Batch& batch, int i, uint32_t ip, uint32_t now) {
  const Lock lock(locked_);
  click::EthernetAddress to;
  if (uint32_t age_ms = 0; resolved(ip, now, to, age_ms)) {  // learnt meanwhile, or others that waited for it go first
    write_header(batch.packet(i), to);
    if (ready_.empty() || !packets_->add(ready_, batch, i)) return;
    ready_count_.fetch_add(1, std::memory_order_relaxed);
    return batch.keep(i);
  }
  Asked* entry = asked(ip, now, true);
  if (entry == nullptr || !packets_->add(entry->packets, batch, i)) {
    drops_.fetch_add(1, std::memory_order_relaxed);
    batch.drop(i, kQueueFull);
    if (entry != nullptr && entry->packets.empty()) forget(*entry);
    return;
  }
  batch.keep(i);
  waiting_count_.fetch_add(1, std::memory_order_relaxed);
  ask(*entry, now);
}

void ARPQuerier::poll(uint32_t ip, uint32_t now) {
  const Lock lock(locked_);
  if (Asked* entry = asked(ip, now, true)) ask(*entry, now);
}

void ARPQuerier::learn(const uint8_t* frame, uint32_t now) {
  click::EthernetAddress ethernet;
  std::memcpy(ethernet.bytes.data(), arp::sender_ethernet(frame), 6);
  responses_.fetch_add(1, std::memory_order_relaxed);
  const uint32_t ip = arp::sender_ip(frame);
  if ((ethernet.bytes[0] & 1) != 0 || ip == 0 || ip == 0xffffffff || is_group(ip)) return;  // nobody has such addresses
  insert(ip, ethernet, now);
}

void ARPQuerier::insert(uint32_t ip, const click::EthernetAddress& ethernet, uint32_t now) {
  const Lock lock(locked_);
  table_->set(ip, ethernet, now);
  Asked* entry = asked(ip, now, false);
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

void ARPQuerier::on_timer(int thread) {
  if (asked_count_.load(std::memory_order_relaxed) == 0) return;
  const uint32_t now = now_ms(thread);
  if (now - looked_ms_.load(std::memory_order_relaxed) < kAtMostEveryMs) return;
  looked_ms_.store(now, std::memory_order_relaxed);
  const Lock lock(locked_);
  for (uint32_t i = 0; i < kAskedGroups * kAskedWays; ++i) {
    Asked& entry = asked_[i];
    if (entry.ip == 0) continue;
    if (now - entry.since_ms < kPatienceMs) {
      if (now - entry.asked_ms >= kAgainMs) ask(entry, now);
      continue;
    }
    packets_->move(entry.packets, given_up_, [](Packet*) {});
    forget(entry);
  }
}

void ARPQuerier::emit_queries(Batch& batch, bool ending) {
  uint32_t count = asks_count_.load(std::memory_order_relaxed);
  for (; count > 0 && batch.size() < batch.capacity(); --count) {
    const int at = batch.size();
    if (!pool_->allocate(&batch.packets()[at], 1)) break;
    batch.resize(at + 1);
    Packet* packet = batch.packet(at);
    packet->data_len = kShortestFrame, packet->pkt_len = kShortestFrame;
    set_capture_info(packet, {});
    std::memset(data(packet) + arp::kFrameBytes, 0, kShortestFrame - arp::kFrameBytes);
    arp::write(data(packet), arp::kRequest, ethernet_.bytes.data(), ip_, nullptr, asks_[count - 1]);
    each_column(carries, [&](Column which) {
      if (is_wide(which))
        batch.wide_column(which)[at] = 0;
      else
        batch.column(which)[at] = 0;
    });
    batch.next()[at] = static_cast<uint16_t>(outputs - 1);
    queries_.fetch_add(1, std::memory_order_relaxed);
  }
  asks_count_.store(ending && batch.empty() ? 0 : count, std::memory_order_relaxed);  // no packet is free: not asked
}

void ARPQuerier::emit(Batch& batch, bool ending) {
  if (!holds()) return;
  const Lock lock(locked_);
  if (ending)
    for (uint32_t i = 0; i < kAskedGroups * kAskedWays; ++i) {
      packets_->move(asked_[i].packets, given_up_, [](Packet*) {});
      if (asked_[i].ip != 0) forget(asked_[i]);
    }
  for (; !ready_.empty() && batch.size() < batch.capacity(); ready_count_.fetch_sub(1, std::memory_order_relaxed))
    packets_->take(ready_, batch);
  for (; !given_up_.empty() && batch.size() < batch.capacity();
       waiting_count_.fetch_sub(1, std::memory_order_relaxed)) {
    packets_->take(given_up_, batch);
    batch.drop(batch.size() - 1, kUnanswered);
    drops_.fetch_add(1, std::memory_order_relaxed);
  }
  emit_queries(batch, ending);
}

std::string ARPQuerier::table_text() {
  std::string text;
  const auto now = static_cast<uint32_t>(heddle::now_ms());
  table_->visit([&](uint32_t ip, const ArpTable::Found& found) {
    text += to_text(click::Ipv4Address{ntohl(ip)}) + " 1 " + to_text(found.ethernet) +
            format(" %.3f\n", static_cast<double>(now - found.since_ms) / 1000);
  });
  return text;
}

std::string ARPQuerier::stats_text() const {
  return format("%ju packets killed\n%ju ARP queries sent\n", uintmax_t{drops_}, uintmax_t{queries_});
}

void ARPQuerier::handlers(Handlers& list) {
  const auto now = [] { return static_cast<uint32_t>(heddle::now_ms()); };
  const auto address = [](const std::string& text) { return htonl(click::value_of<click::Ipv4Address>(text).value); };
  list.read("table", [this] { return table_text(); })
      .read("count", [this] { return std::to_string(table_->size()); })
      .read("length", [this] { return std::to_string(waiting_count_.load()); })
      .read("queries", [this] { return std::to_string(queries_.load()); })
      .read("responses", [this] { return std::to_string(responses_.load()); })
      .read("drops", [this] { return std::to_string(drops_.load()); })
      .read("stats", [this] { return stats_text(); })
      .read("ipaddr", [this] { return to_text(click::Ipv4Address{ntohl(ip_)}); })
      .write("insert",
             [=, this](const std::string& text) {
               const size_t space = text.find(' ');
               if (space == std::string::npos) throw Error("expected IP and ETH");
               const auto ethernet = click::value_of<click::EthernetAddress>(text.substr(text.rfind(' ') + 1));
               insert(address(text.substr(0, space)), ethernet, now());
             })
      .write("delete",
             [=, this](const std::string& text) {
               const Lock lock(locked_);
               table_->remove(address(text));
             })
      .write("clear", [this](const std::string&) {
        const Lock lock(locked_);
        table_->clear();
      });
}

std::vector<std::pair<std::string, uint64_t>> ARPQuerier::statistics() const {
  return {{"queries", queries_},
          {"responses", responses_},
          {"entries", table_ ? table_->size() : 0},
          {"replaced", table_ ? table_->replaced() : 0}};
}

HEDDLE_ELEMENT(ARPQuerier);

}  // namespace heddle
