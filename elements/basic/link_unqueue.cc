#include "elements/basic/link_unqueue.h"

#include <algorithm>
#include <climits>

#include "click/arguments.h"
#include "elements/basic/packet_time.h"

namespace heddle {

void LinkUnqueue::configure(click::Arguments& arguments) {
  click::Duration latency;
  click::Bandwidth bandwidth{1};
  arguments.required("LATENCY", latency).required("BANDWIDTH", bandwidth);
  latency_s_ = static_cast<double>(latency.microseconds) / 1e6;
  bytes_per_second_ = static_cast<double>(bandwidth.bytes_per_second);
  if (bandwidth.bytes_per_second == 0) arguments.error("BANDWIDTH", "more than none");
}

void LinkUnqueue::start(const Environment& environment) {
  stopping_ = environment.stopping;
  pack_ = ColumnPack(carries);
  const double packets = latency_s_ * bytes_per_second_ / 64;
  ring_.resize(packets < kMax ? std::max(static_cast<uint64_t>(packets), kMin) : kMax);
  columns_.resize(ring_.size() * pack_.bytes());
}

int LinkUnqueue::demand(int) {
  const uint64_t room = ring_.size() - held_;
  if (stopping_()) return static_cast<int>(std::min(room, uint64_t{INT_MAX}));
  if (room == 0 || !RouterClock::reached(free_at_)) return 0;
  idle_ = idle_ || asked_;
  asked_ = true;
  return 1;
}

void LinkUnqueue::run_cpu(Batch& batch) {
  const RouterClock::time_point now = RouterClock::now();
  const bool stopping = stopping_();
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (!stopping) {
      const uint64_t missing = has_capture_info(packet) ? capture_info(packet).missing_bytes : 0;
      const auto bytes = static_cast<double>(length(packet) + missing);
      free_at_ = (idle_ ? now : free_at_) + RouterClock::seconds(bytes / bytes_per_second_);
      idle_ = asked_ = false;
    }
    const uint64_t number = first_ + held_;
    held(number) = {packet, stopping ? now : free_at_ + RouterClock::seconds(latency_s_)};
    pack_.save(batch, i, columns_of(number));
    held_.fetch_add(1, std::memory_order_relaxed);
  }
  batch.resize(0);
}

void LinkUnqueue::receive(Batch& batch) {
  if (reset_.load(std::memory_order_relaxed) && reset_.exchange(false)) free_all();
  if (held_ == 0) return;
  const RouterClock::time_point now = RouterClock::now();
  const uint64_t wall_ns = RouterClock::wall_ns();
  const bool stopping = stopping_();
  while (held_ > 0 && batch.size() < batch.room()) {
    const auto [packet, due] = held(first_);
    if (due > now && !stopping) return RouterClock::wait_for(due);
    set_time(packet, wall_ns - static_cast<uint64_t>(std::max(now - due, RouterClock::duration(0)).count()));
    const int i = batch.size();
    batch.packets()[i] = packet;
    batch.resize(i + 1);
    pack_.load(batch, i, columns_of(first_));
    ++first_;
    held_.fetch_sub(1, std::memory_order_relaxed);
  }
}

void LinkUnqueue::free_all() {
  for (; held_ > 0; ++first_, held_.fetch_sub(1)) rte_pktmbuf_free(held(first_).packet);
}

void LinkUnqueue::take_state(Element& old_element) {
  auto& old = static_cast<LinkUnqueue&>(old_element);
  if (carries != old.carries) return;
  std::swap(ring_, old.ring_), std::swap(columns_, old.columns_), std::swap(first_, old.first_);
  std::swap(free_at_, old.free_at_), std::swap(asked_, old.asked_), std::swap(idle_, old.idle_);
  held_ = old.held_.exchange(held_);
}

std::string LinkUnqueue::stop() {
  left_ += held_;
  free_all();
  return {};
}

void LinkUnqueue::handlers(Handlers& list) {
  list.read("latency", [this] { return format("%.6f", latency_s_); })
      .read("bandwidth", [this] { return format("%.15g", bytes_per_second_); })
      .read("size", [this] { return std::to_string(held_.load()); })
      .write("reset", [this](const std::string&) { reset_ = true; });
}

std::vector<std::pair<std::string, uint64_t>> LinkUnqueue::statistics() const {
  if (left_ == 0) return {};
  return {{"left", left_}};
}

HEDDLE_ELEMENT(LinkUnqueue);

}  // namespace heddle
