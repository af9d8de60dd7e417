#include "elements/basic/delay_shaper.h"

#include "click/arguments.h"
#include "core/clock.h"
#include "core/column_pack.h"
#include "elements/basic/packet_time.h"

namespace heddle {

void DelayShaper::configure(click::Arguments& arguments) {
  click::Duration delay;
  arguments.required("DELAY", delay);
  delay_us_ = delay.microseconds;
}

void DelayShaper::hold(int, Batch& batch, int i, ColumnSet columns, int origin) {
  packet_ = batch.packet(i), columns_ = columns, origin_ = origin;
  ColumnPack(columns).save(batch, i, values_.data());
  // Click takes what is before 1970 and its first second for no time stamp.
  constexpr int64_t kSecond = 1'000'000'000;
  const uint64_t stamp = has_capture_info(packet_) ? capture_info(packet_).timestamp_ns : 0;
  due_ns_ = (static_cast<int64_t>(stamp) < kSecond ? RouterClock::wall_ns() : stamp) +
            delay_us_.load(std::memory_order_relaxed) * 1000;
}

int DelayShaper::release(Batch& batch) {
  if (packet_ == nullptr) return -1;
  const uint64_t now = RouterClock::wall_ns();
  if (now < due_ns_ && !stopping_()) {
    RouterClock::wait_for(RouterClock::now() + std::chrono::nanoseconds(due_ns_ - now));
    return -1;
  }
  set_time(packet_, now);
  batch.packets()[0] = packet_;
  ColumnPack(columns_).load(batch, 0, values_.data());
  batch.resize(1);
  packet_ = nullptr;
  return origin_;
}

void DelayShaper::take_state(Element& old_element) {
  auto& old = static_cast<DelayShaper&>(old_element);
  if (predecessor == &old ? same_arguments : old.same_arguments) delay_us_ = old.delay_us_.exchange(delay_us_);
  if (carries != old.carries) return;
  std::swap(packet_, old.packet_), std::swap(due_ns_, old.due_ns_), std::swap(origin_, old.origin_);
  std::swap(columns_, old.columns_), std::swap(values_, old.values_);
}

std::string DelayShaper::stop() {
  if (packet_ != nullptr) rte_pktmbuf_free(packet_), ++left_;
  packet_ = nullptr;
  return {};
}

void DelayShaper::handlers(Handlers& list) {
  list.read("delay", [this] { return format("%.6f", static_cast<double>(delay_us_.load()) / 1e6); })
      .write("delay",
             [this](const std::string& text) { delay_us_ = click::value_of<click::Duration>(text).microseconds; });
}

std::vector<std::pair<std::string, uint64_t>> DelayShaper::statistics() const {
  if (left_ == 0) return {};
  return {{"left", left_}};
}

HEDDLE_ELEMENT(DelayShaper);
HEDDLE_COMPOUND(DelayUnqueue);

}  // namespace heddle
