#include "engine/lane_driver.h"

#include <algorithm>
#include <bit>

#include "core/counters.h"

namespace heddle {
namespace {

size_t ring_size(int packets) { return std::bit_ceil(static_cast<size_t>(packets)); }

}  // namespace

/** A worker's end. */
class LaneDriver::WorkersLane : public Lane {
 public:
  WorkersLane(std::shared_ptr<LaneDriver> driver, int worker)
      : driver_(std::move(driver)), way_(*driver_->ways_[static_cast<size_t>(worker)]), first_(worker == 0) {}

  std::span<const LaneExit> exits() const override { return driver_->lane_->exits(); }
  ColumnSet columns_behind() const override { return driver_->lane_->columns_behind(); }
  int capacity() const override { return way_.capacity(); }
  int feed(Batch& batch, int first) override { return way_.give(batch, first); }
  void flush() override {}
  bool poll(Batch& out) override { return way_.take(out); }
  uint64_t fed() const override { return way_.given(); }
  uint64_t returned() const override { return way_.taken(); }
  // What crosses the bus is counted once.
  LaneBytes bytes() const override { return first_ ? driver_->lane_->bytes() : LaneBytes{}; }
  std::string failure() override {
    return driver_->failed_.load(std::memory_order_acquire) ? driver_->failure_ : std::string();
  }
  // What has come back before goes on.
  bool is_dead() override { return way_.oldest_is_lost(); }
  void abandon(Batch& out) override { way_.take_lost(out); }

 private:
  const std::shared_ptr<LaneDriver> driver_;
  HandOver& way_;
  const bool first_;
};

LaneDriver::LaneDriver(std::unique_ptr<Lane> lane, const Options& options)
    : lane_(std::move(lane)),
      owners_(ring_size(lane_->capacity() + options.batch)),
      batch_(options.batch),
      back_(std::max(options.batch, 32)) {
  static_assert(kMaxThreads <= 256);
  for (int worker = 0; worker < options.workers; ++worker)
    ways_.push_back(std::make_unique<HandOver>(options.waiting, options.wanted, lane_->columns_behind()));
}

int LaneDriver::room(int capacity, int workers, int batch) {
  return static_cast<int>(ring_size(std::max(capacity / workers, 2 * batch)));
}

std::unique_ptr<Lane> LaneDriver::lane_of(int worker) {
  return std::make_unique<WorkersLane>(shared_from_this(), worker);
}

bool LaneDriver::serve() {
  bool busy = hand_back();
  if (busy)
    vain_ = 0;
  else if (failure_checks_.due(++vain_))
    check_failure();
  if (failed_.load(std::memory_order_relaxed)) [[unlikely]]
    return lose() || busy;
  return feed() || busy;
}

HandOver& LaneDriver::oldest_owner() {
  return *ways_[owners_[static_cast<size_t>(first_owner_++) & (owners_.size() - 1)]];
}

bool LaneDriver::hand_back() {
  if (lane_->in_flight() == 0 || !lane_->poll(back_)) return false;
  const int n = back_.size();
  for (int i = 0; i < n; ++i) oldest_owner().answer(back_, i);
  for (auto& way : ways_) way->publish();
  back_.clear_marks(n);
  back_.resize(0);
  return true;
}

bool LaneDriver::fetch() {
  batch_.resize(0);
  fed_ = 0;
  const auto workers = static_cast<int>(ways_.size());
  for (int k = 0; k < workers && batch_.size() < batch_.capacity(); ++k) {
    const int worker = (turn_ + k) % workers;
    for (int n = ways_[static_cast<size_t>(worker)]->accept(batch_); n > 0; --n)
      owners_[static_cast<size_t>(next_owner_++) & (owners_.size() - 1)] = static_cast<uint8_t>(worker);
  }
  turn_ = (turn_ + 1) % workers;
  return !batch_.empty();
}

bool LaneDriver::feed() {
  if (fed_ == batch_.size() && !fetch()) return false;
  const int taken = lane_->feed(batch_, fed_);
  fed_ += taken;
  lane_->flush();
  return taken > 0;
}

void LaneDriver::check_failure() {
  if (!failed_.load(std::memory_order_relaxed)) {
    failure_ = lane_->failure();
    if (failure_.empty()) return;
    failed_.store(true, std::memory_order_release);
  }
  if (lane_->is_dead()) abandon();  // else they come back: until then kernels may write to them
}

void LaneDriver::abandon() {
  while (lane_->in_flight() > 0) {
    lane_->abandon(back_);
    for (int i = 0; i < back_.size(); ++i) oldest_owner().lose();
    back_.resize(0);
  }
}

bool LaneDriver::lose() {
  if (lane_->in_flight() > 0) return false;  // it comes back first
  batch_.resize(0);
  fed_ = 0;
  first_owner_ = next_owner_;
  bool any = false;
  for (auto& way : ways_) any = way->lose_all() || any;
  return any;
}

}  // namespace heddle
