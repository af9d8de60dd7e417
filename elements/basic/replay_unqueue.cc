#include "elements/basic/replay_unqueue.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "click/arguments.h"
#include "core/error.h"
#include "core/packet_pool.h"

namespace heddle {
namespace {

constexpr int64_t kLongestUs = INT64_MAX / 4000;  // its nanoseconds can be added to a time

}  // namespace

void ReplayUnqueue::configure(click::Arguments& arguments) {
  int64_t stop = stop_, megabytes = 4096;
  click::Duration stop_time;
  bool active = true, ignored = false;
  int timing = 0;
  arguments.keyword("STOP", stop).keyword("STOP_TIME", stop_time).keyword("ACTIVE", active);
  arguments.keyword("LIMIT", limit_).keyword("MEMORY", megabytes, int64_t{1}, int64_t{1} << 20);
  arguments.keyword("BURST", burst_, 1, 1 << 20).keyword("QUICK_CLONE", ignored).keyword("VERBOSE", ignored);
  arguments.keyword("FREEONTERMINATE", ignored).keyword("USE_SIGNAL", ignored).keyword("TIMING", timing);
  if (timing != 0) arguments.error("TIMING", "0: packets go as fast as the chain takes them; RatedUnqueue slows them");
  if (limit_ == 0) arguments.error("LIMIT", "1 or more, or -1: no limit");
  stop_ = stop, active_ = active, most_bytes_ = static_cast<size_t>(megabytes) << 20;
  stop_time_us_ = static_cast<int64_t>(std::min(stop_time.microseconds, uint64_t{kLongestUs}));
}

std::span<const char* const> ReplayUnqueue::drop_reasons() const {
  static constexpr const char* kReasons[] = {"too_long"};
  return kReasons;
}

void ReplayUnqueue::start(const Environment& environment) {
  packets_ = environment.packets, large_packets_ = environment.large_packets;
  stopping_ = environment.stopping;
  pack_ = ColumnPack(carries);
  Control* control = environment.control;
  call_.after_counting();
  call_.start(control, name, control != nullptr ? [=] { control->stop(); } : std::function<void()>());
}

int ReplayUnqueue::demand(int) {
  forget_if_asked();
  if (!active_.load(std::memory_order_relaxed) || !loading() || stopping_()) return -1;
  const int64_t room = limit_ < 0 ? INT_MAX : limit_ - static_cast<int64_t>(list_.size());
  const bool dry = asked_ && !came_ && !list_.empty();
  if (dry || room <= 0 || bytes_.size() + list_.size() * sizeof(Kept) >= most_bytes_) {
    loaded_ = true;
    next_ = 0, begun_ = {};
    return -1;
  }
  asked_ = true, came_ = false;
  return static_cast<int>(std::min(room, int64_t{burst_}));
}

void ReplayUnqueue::run_cpu(Batch& batch) {
  came_ = true;
  const uint32_t most = large_packets_->data_bytes() + RTE_PKTMBUF_HEADROOM;
  int dropped = 0;
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (packet->data_off + length(packet) > most) {
      batch.packets()[dropped] = packet;
      batch.drop(dropped++, 0);
      continue;
    }
    const size_t at = bytes_.size();
    bytes_.resize(at + length(packet) + pack_.bytes());
    std::memcpy(bytes_.data() + at, data(packet), length(packet));
    pack_.save(batch, i, bytes_.data() + at + length(packet));
    list_.push_back(
        {at, packet->data_off, packet->data_len, has_capture_info(packet) ? capture_info(packet) : CaptureInfo{0, 0}});
    rte_pktmbuf_free(packet);
  }
  batch.resize(dropped);
  kept_.store(list_.size(), std::memory_order_relaxed);
}

bool ReplayUnqueue::over() const {
  const auto since_us = [&] {
    return std::chrono::duration_cast<std::chrono::microseconds>(RouterClock::now() - begun_).count();
  };
  return stop_.load(std::memory_order_relaxed) == 0 || (has_time() && begun_ != RouterClock::time_point{} &&
                                                        since_us() >= stop_time_us_.load(std::memory_order_relaxed));
}

void ReplayUnqueue::receive(Batch& batch) {
  forget_if_asked();
  if (!active_.load(std::memory_order_relaxed) || loading() || stopping_()) return;
  if (over()) return end();
  if (begun_ == RouterClock::time_point{}) begun_ = RouterClock::now();
  const int most = std::min(batch.room(), batch.size() + burst_);
  while (batch.size() < most) {
    if (!append_copy(batch, list_[next_])) return;
    if (++next_ < list_.size()) continue;
    next_ = 0;
    rounds_.fetch_add(1, std::memory_order_relaxed);
    int64_t left = stop_.load(std::memory_order_relaxed);
    if (!has_time() && left > 0) stop_.compare_exchange_strong(left, left - 1);  // unless a handler writes it now
    if (over()) return;  // the next call ends it, when these packets have been counted
  }
}

/** False: no buffer is free. */
bool ReplayUnqueue::append_copy(Batch& batch, const Kept& kept) {
  const uint32_t end = uint32_t{kept.offset} + kept.length;
  PacketPool* pool = end <= packets_->data_bytes() + RTE_PKTMBUF_HEADROOM ? packets_ : large_packets_;
  const int i = batch.size();
  Packet*& packet = batch.packets()[i];
  if (!pool->allocate(&packet, 1)) return false;
  packet->data_off = kept.offset, packet->data_len = kept.length, packet->pkt_len = kept.length;
  set_capture_info(packet, kept.info);
  std::memcpy(data(packet), bytes_.data() + kept.at, kept.length);
  batch.resize(i + 1);
  pack_.load(batch, i, bytes_.data() + kept.at + kept.length);
  return true;
}

void ReplayUnqueue::end() {
  active_ = false;
  begun_ = {};
  call_.ask();
}

void ReplayUnqueue::forget_if_asked() {
  if (!reset_.load(std::memory_order_relaxed) || !reset_.exchange(false)) return;
  list_.clear(), bytes_.clear();
  asked_ = came_ = false;
  kept_ = 0, loaded_ = false;
}

bool ReplayUnqueue::exhausted() const {
  if (call_.under_way()) return false;
  return !active_.load(std::memory_order_relaxed) || kept_.load(std::memory_order_relaxed) == 0 || stopping_();
}

void ReplayUnqueue::take_state(Element& old_element) {
  auto& old = static_cast<ReplayUnqueue&>(old_element);
  if (carries != old.carries || !(predecessor == &old ? this : &old)->same_arguments) return;
  std::swap(list_, old.list_), std::swap(bytes_, old.bytes_), std::swap(next_, old.next_);
  std::swap(asked_, old.asked_), std::swap(came_, old.came_), std::swap(begun_, old.begun_);
  for (auto flag : {&ReplayUnqueue::active_, &ReplayUnqueue::reset_, &ReplayUnqueue::loaded_})
    (this->*flag) = (old.*flag).exchange(this->*flag);
  for (auto number : {&ReplayUnqueue::stop_, &ReplayUnqueue::stop_time_us_})
    (this->*number) = (old.*number).exchange(this->*number);
  for (auto number : {&ReplayUnqueue::kept_, &ReplayUnqueue::rounds_})
    (this->*number) = (old.*number).exchange(this->*number);
}

void ReplayUnqueue::handlers(Handlers& list) {
  list.read("active", [this] { return std::string(active_ ? "true" : "false"); })
      .write("active", [this](const std::string& value) { active_ = click::value_of<bool>(value); })
      .read("stop", [this] { return std::to_string(stop_.load()); })
      .write("stop", [this](const std::string& value) { stop_ = click::value_of<int64_t>(value); })
      .read("stop_time", [this] { return format("%.6f", static_cast<double>(stop_time_us_.load()) / 1e6); })
      .write("stop_time",
             [this](const std::string& value) {
               stop_time_us_ = static_cast<int64_t>(
                   std::min(click::value_of<click::Duration>(value).microseconds, uint64_t{kLongestUs}));
             })
      .write("reset", [this](const std::string&) { reset_ = true; });
}

std::vector<std::pair<std::string, uint64_t>> ReplayUnqueue::statistics() const {
  return {{"loaded", kept_}, {"rounds", rounds_}};
}

HEDDLE_ELEMENT(ReplayUnqueue);
HEDDLE_ELEMENT(MultiReplayUnqueue);

}  // namespace heddle
