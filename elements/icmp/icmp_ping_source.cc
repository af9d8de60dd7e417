#include "elements/icmp/icmp_ping_source.h"

#include <algorithm>
#include <cstdio>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/packet_pool.h"
#include "elements/endpoints/checksums.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

constexpr uint32_t kHeaders = 28;
constexpr uint64_t kPatienceUs = 2'000'000;

uint64_t now_us() {
  const auto now = RouterClock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

bool reached_us(uint64_t us) { return RouterClock::reached(RouterClock::time_point(std::chrono::microseconds(us))); }

std::string ms(uint64_t us) { return format("%.3f", static_cast<double>(us) / 1000); }

}  // namespace

void ICMPPingSource::configure(click::Arguments& arguments) {
  click::Ipv4Address source, destination;
  click::Duration interval{interval_us_};
  bool active = true;
  int64_t limit = -1;
  verbose_ = inputs > 0;
  arguments.required("SADDR", source).required("DADDR", destination).optional("INTERVAL", interval);
  arguments.optional("IDENTIFIER", identifier_).keyword("LIMIT", limit).keyword("COUNT", limit);
  arguments.keyword("DATA", data_).keyword("ACTIVE", active).keyword("VERBOSE", verbose_);
  end_call_.configure(arguments);
  if (data_.size() > 65000) arguments.error("DATA has more than 65000 bytes");
  source_ = htonl(source.value), destination_ = htonl(destination.value);
  interval_us_ = interval.microseconds, active_ = active, limit_ = limit;
}

void ICMPPingSource::link(const Directory&) {
  const std::vector<bool>& pulled_there = behind[0]->pulled;
  is_pulled_ = !pulled_there.empty() && std::ranges::count(pulled_there, false) == 0;
}

Access ICMPPingSource::access(Processor) const {
  Access access{.column_writes = columns(Column::dst, Column::l3, Column::l4)};
  if (inputs > 0) {
    access.reads = {kWholePacket, {Base::l3, 0, kToEnd}};
    access.column_reads = columns(Column::l3);
  }
  return access;
}

std::span<const char* const> ICMPPingSource::drop_reasons() const {
  static constexpr const char* kReasons[] = {"answer", "other"};
  return kReasons;
}

void ICMPPingSource::start(const Environment& environment) {
  packets_ = environment.packets, large_packets_ = environment.large_packets;
  stopping_ = environment.stopping;
  end_call_.start(environment.control, name);
}

void ICMPPingSource::take_state(Element& old_element) {
  auto& old = static_cast<ICMPPingSource&>(old_element);
  if (old.source_ != source_ || old.destination_ != destination_ || old.identifier_ != identifier_) return;
  std::swap(sent_us_, old.sent_us_), std::swap(next_us_, old.next_us_), std::swap(spacing_us_, old.spacing_us_);
  for (auto number : {&ICMPPingSource::last_us_, &ICMPPingSource::sent_, &ICMPPingSource::answers_,
                      &ICMPPingSource::min_us_, &ICMPPingSource::max_us_, &ICMPPingSource::sum_us_})
    (this->*number) = (old.*number).exchange(this->*number);
  ended_ = old.ended_.exchange(ended_) && limit_reached();  // a LIMIT that is higher has an end again
  end_call_.go_on(ended_);
}

bool ICMPPingSource::limit_reached() const {
  const int64_t limit = limit_.load(std::memory_order_relaxed);
  return limit >= 0 && sent_.load(std::memory_order_relaxed) >= static_cast<uint64_t>(limit);
}

// With an input, the chain behind it may still bring answers.
bool ICMPPingSource::exhausted() const {
  if (!active_.load(std::memory_order_relaxed) || (stopping_ && stopping_())) return true;
  if (!limit_reached()) return false;
  return inputs == 0 || answers_ >= sent_ || reached_us(last_us_.load(std::memory_order_relaxed) + kPatienceUs);
}

void ICMPPingSource::make(Batch& batch, uint64_t now) {
  const auto payload = static_cast<uint32_t>(data_.size());
  const uint32_t bytes = kHeaders + payload;
  const int at = batch.size();
  PacketPool& pool = bytes <= packets_->data_bytes() ? *packets_ : *large_packets_;
  if (!pool.allocate(&batch.packets()[at], 1)) return;
  batch.resize(at + 1);
  Packet* packet = batch.packet(at);
  packet->data_len = static_cast<uint16_t>(bytes), packet->pkt_len = bytes;
  set_capture_info(packet, {});
  const auto number = static_cast<uint16_t>(sent_.load(std::memory_order_relaxed));
  uint8_t* ip = data(packet);
  std::memset(ip, 0, kHeaders);
  ip[0] = 0x45, ip[8] = 255, ip[9] = kIcmp;
  store_u16(ip + 2, htons(static_cast<uint16_t>(bytes)));
  store_u16(ip + 4, htons(number));
  store_u32(ip + 12, source_);
  store_u32(ip + 16, destination_);
  set_ip4_header_checksum(ip, 20);
  ip[20] = kEcho;
  store_u16(ip + 24, htons(identifier_));
  store_u16(ip + 26, htons(number));
  std::memcpy(ip + kHeaders, data_.data(), payload);
  store_u16(ip + 22, htons(static_cast<uint16_t>(checksum_of(checksum_add(0, ip + 20, 8 + payload)))));
  batch.column(Column::dst)[at] = destination_;
  batch.column(Column::l3)[at] = packet->data_off;
  batch.column(Column::l4)[at] = packet->data_off + 20u;
  if (carries != 0) each_column(carries & kClearedColumns, [&](Column which) { batch.column(which)[at] = 0; });
  sent_us_[number % kRemembered] = now;
  last_us_ = now;
  sent_.fetch_add(1, std::memory_order_relaxed);
}

void ICMPPingSource::receive(Batch& batch) {
  if (!active_.load(std::memory_order_relaxed)) return;
  if (limit_reached()) {
    if (!ended_ && exhausted() && !ended_.exchange(true)) end_call_.reached();
    return;
  }
  if (stopping_()) return;
  if (is_pulled_) {
    for (int size = -1; size < batch.size() && batch.size() < batch.room() && !limit_reached();) {
      size = batch.size();
      make(batch, now_us());
    }
    return;
  }
  const uint64_t now = now_us(), interval = interval_us_.load(std::memory_order_relaxed);
  if (next_us_ == 0)
    next_us_ = now;
  else if (interval != spacing_us_)
    next_us_ = std::max(next_us_ - spacing_us_ + interval, now);
  spacing_us_ = interval;
  if (!reached_us(next_us_)) return;
  make(batch, now);
  next_us_ = std::max(next_us_ + interval, now - std::min(now, interval));  // it does not catch up
}

bool ICMPPingSource::answered(Packet* packet, uint32_t l3, uint64_t now) {
  const Ip4Header ip = ip4_header(packet, l3);
  if (!ip || ip.at[9] != kIcmp || ip.fragment() || ip.payload() < 8) return false;
  const uint8_t* icmp = ip.behind();
  if (icmp[0] != kEchoReply || load_u16(icmp + 4) != htons(identifier_)) return false;
  if (ip.source() != destination_ || ip.destination() != source_) return false;
  const uint16_t number = ntohs(load_u16(icmp + 6));
  const uint64_t sent = sent_us_[number % kRemembered].exchange(0);
  if (sent == 0) return false;  // again
  const uint64_t us = now - sent;
  answers_.fetch_add(1);
  sum_us_.fetch_add(us);
  for (uint64_t least = min_us_; us < least && !min_us_.compare_exchange_weak(least, us);) continue;
  for (uint64_t most = max_us_; us > most && !max_us_.compare_exchange_weak(most, us);) continue;
  if (verbose_)
    std::fprintf(stderr, "%u bytes from %s: icmp_seq=%u ttl=%u time=%s ms\n", ip.payload(),
                 to_text(click::Ipv4Address{ntohl(ip.source())}).c_str(), number, ip.at[8], ms(us).c_str());
  return true;
}

void ICMPPingSource::run_cpu(Batch& batch) {
  const uint64_t now = now_us();
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) batch.drop(i, answered(batch.packet(i), l3[i], now) ? kAnswer : kOther);
}

void ICMPPingSource::handlers(Handlers& list) {
  const auto average = [this] { return answers_ == 0 ? 0 : sum_us_ / answers_; };
  const auto least = [this] { return answers_ == 0 ? 0 : min_us_.load(); };
  list.read("count", [this] { return std::to_string(sent_.load()); })
      .read("answers", [this] { return std::to_string(answers_.load()); })
      .read("rtt_min", [=] { return ms(least()); })
      .read("rtt_avg", [=] { return ms(average()); })
      .read("rtt_max", [this] { return ms(max_us_); })
      .read("interval", [this] { return format("%.6f", static_cast<double>(interval_us_) / 1e6); })
      .write("interval",
             [this](const std::string& value) { interval_us_ = click::value_of<click::Duration>(value).microseconds; })
      .read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); })
      .read("limit", [this] { return std::to_string(limit_.load()); })
      .write("limit", [this](const std::string& value) { limit_ = click::value_of<int64_t>(value); })
      .write("reset_counts",
             [this](const std::string&) { sent_ = 0, answers_ = 0, sum_us_ = 0, max_us_ = 0, min_us_ = UINT64_MAX; })
      .read("summary", [=, this] {
        const uint64_t sent = sent_, answers = answers_;
        return format("%ju packets transmitted, %ju received, %.0f%% packet loss\nrtt min/avg/max = %s/%s/%s ms\n",
                      uintmax_t{sent}, uintmax_t{answers},
                      sent == 0 ? 0.0 : 100.0 - 100.0 * static_cast<double>(answers) / static_cast<double>(sent),
                      ms(least()).c_str(), ms(average()).c_str(), ms(max_us_).c_str());
      });
}

std::vector<std::pair<std::string, uint64_t>> ICMPPingSource::statistics() const {
  return {{"sent", sent_}, {"answers", answers_}};
}

HEDDLE_ELEMENT(ICMPPingSource);
HEDDLE_ELEMENT_NAMED(ICMPPingSource, ICMPSendPings);

}  // namespace heddle
