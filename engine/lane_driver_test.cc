// The master's end of a lane and the workers' ends: every packet comes back to who handed it over, in order, and a lane
// that fails loses what it has, and no more.
#include "engine/lane_driver.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>

#include "tests/support/frames.h"

namespace heddle::test {
namespace {

constexpr ColumnSet kThere = columns(Column::dst, Column::cycles), kBack = columns(Column::cycles, Column::paint);

/** A lane that does nothing: packets come back when the test says so, or some of them each time. What it answers
 *  follows from the columns that it was fed with. */
class SlowLane : public Lane {
 public:
  explicit SlowLane(int capacity) : capacity_(capacity) {}
  std::span<const LaneExit> exits() const override { return exits_; }
  ColumnSet columns_behind() const override { return kBack; }
  int capacity() const override { return capacity_; }
  int feed(Batch& batch, int first) override {
    largest_ = std::max(largest_, batch.size());
    const int n = std::min(batch.size() - first, capacity_ - in_flight());
    for (int i = first; i < first + n; ++i)
      held_.push_back({batch.packet(i), batch.column(Column::dst)[i], batch.wide_column(Column::cycles)[i]});
    fed_ += static_cast<uint64_t>(n);
    return n;
  }
  void flush() override { ++flushes_; }
  bool poll(Batch& out) override {
    int n = stuck_ ? 0 : static_cast<int>(random_() % 40);
    const int before = out.size();
    for (; n > 0 && !held_.empty() && out.size() < out.capacity(); --n) {
      const int at = out.size();
      out.packets()[at] = held_.front().packet;
      out.next()[at] = static_cast<uint16_t>(held_.front().dst % 3);
      out.wide_column(Column::cycles)[at] = held_.front().cycles + 1;
      out.column(Column::paint)[at] = held_.front().dst + 7;
      out.resize(at + 1);
      held_.pop_front();
    }
    returned_ += static_cast<uint64_t>(out.size() - before);
    return out.size() > before;
  }
  uint64_t fed() const override { return fed_; }
  uint64_t returned() const override { return returned_; }
  LaneBytes bytes() const override { return {11, 22, 0, 0}; }
  std::string failure() override {
    ++looks_;
    return failed_ ? "it has failed" : "";
  }
  bool is_dead() override {
    ++looks_;
    return dead_;
  }
  void abandon(Batch& out) override {
    for (; !held_.empty() && out.size() < out.capacity(); held_.pop_front(), ++returned_) {
      out.packets()[out.size()] = held_.front().packet;
      out.resize(out.size() + 1);
    }
  }

  bool stuck_ = false, failed_ = false, dead_ = false;
  int largest_ = 0, flushes_ = 0, looks_ = 0;  // looks: whether it has failed, or is dead

 private:
  struct Held {
    Packet* packet;
    uint32_t dst;
    uint64_t cycles;
  };
  const int capacity_;
  std::vector<LaneExit> exits_{{0, 1, 0, 0}, {0, 2, 0, 0}, {0, 3, 0, 0}};
  std::deque<Held> held_;
  uint64_t fed_ = 0, returned_ = 0;
  std::minstd_rand random_{1};
};

/** A worker: its packets are numbers, which their columns repeat. */
class Numbers {
 public:
  Numbers(Lane& lane, uint32_t worker, int batch) : lane_(lane), worker_(worker), batch_(batch), out_(batch) {}

  /** Hands over up to `n` more; returns how many it could. */
  int give(int n) {
    batch_.resize(n);
    for (int i = 0; i < n; ++i) {
      const uint64_t number = given_ + static_cast<uint64_t>(i);
      batch_.packets()[i] = packet(number);
      batch_.column(Column::dst)[i] = static_cast<uint32_t>(number) * 5 + worker_;
      batch_.wide_column(Column::cycles)[i] = number << 32 | worker_;
    }
    int done = 0;
    for (int more; done < n && (more = lane_.feed(batch_, done)) > 0;) done += more;
    lane_.flush();
    given_ += static_cast<uint64_t>(done);
    return done;
  }
  /** Looks at what is back. */
  void look() {
    while (lane_.poll(out_)) {
      for (int i = 0; i < out_.size(); ++i, ++back_) {
        const uint32_t dst = static_cast<uint32_t>(back_) * 5 + worker_;
        wrong_ += out_.packet(i) != packet(back_) || out_.next()[i] != dst % 3 ||
                  out_.wide_column(Column::cycles)[i] != (back_ << 32 | worker_) + 1 ||
                  out_.column(Column::paint)[i] != dst + 7;
      }
      out_.clear_marks(out_.size());
      out_.resize(0);
    }
  }
  void give_up() {
    while (lane_.in_flight() > 0) {
      lane_.abandon(out_);
      for (int i = 0; i < out_.size(); ++i, ++lost_) wrong_ += out_.packet(i) != packet(back_ + lost_);
      out_.resize(0);
    }
  }
  uint64_t given() const { return given_; }
  uint64_t back() const { return back_; }
  uint64_t lost() const { return lost_; }
  uint64_t wrong() const { return wrong_; }

 private:
  // Never looked into.
  Packet* packet(uint64_t number) const { return reinterpret_cast<Packet*>((number << 8 | worker_) << 8); }

  Lane& lane_;
  const uint64_t worker_;
  Batch batch_, out_;
  uint64_t given_ = 1, back_ = 1, lost_ = 0, wrong_ = 0;
};

struct Driven {
  Driven(int workers, int capacity, int waiting, int batch = 32) {
    auto made = std::make_unique<SlowLane>(capacity);
    slow = made.get();
    driver = std::make_shared<LaneDriver>(std::move(made), LaneDriver::Options{workers, batch, kThere, waiting});
    for (int worker = 0; worker < workers; ++worker) {
      lanes.push_back(driver->lane_of(worker));
      numbers.push_back(std::make_unique<Numbers>(*lanes.back(), static_cast<uint32_t>(worker), 64));
    }
  }
  // Rounds in vain, until the master looks whether the lane has failed.
  void let_it_notice() const {
    for (const int before = slow->looks_; slow->looks_ == before;) driver->serve();
    driver->serve();
  }
  SlowLane* slow;
  std::shared_ptr<LaneDriver> driver;
  std::vector<std::unique_ptr<Lane>> lanes;
  std::vector<std::unique_ptr<Numbers>> numbers;
};

TEST(LaneDriver, EachWorkerGetsItsOwnBackInOrder) {
  auto random = random_for("lane driver");
  Driven all(3, 100, 64);
  for (int round = 0; round < 3000; ++round) {
    Numbers& worker = *all.numbers[random() % 3];
    worker.give(static_cast<int>(random() % 65));
    for (auto turns = random() % 4; turns > 0; --turns) all.driver->serve();
    all.numbers[random() % 3]->look();
  }
  while (all.driver->serve()) {
  }
  for (auto& worker : all.numbers) {
    for (int turns = 0; turns < 200; ++turns) all.driver->serve(), worker->look();
    EXPECT_GT(worker->given(), 10000u);
    EXPECT_EQ(worker->back(), worker->given());
    EXPECT_EQ(worker->wrong(), 0u);
  }
  EXPECT_LE(all.slow->largest_, 32);
  EXPECT_FALSE(all.driver->serve());
}

TEST(LaneDriver, WorkersOnThreadsOfTheirOwn) {
  constexpr uint64_t kPackets = 20000;
  Driven all(3, 100, 128);
  std::atomic<int> working{3};
  std::vector<std::thread> threads;
  for (auto& worker : all.numbers)
    threads.emplace_back([&, numbers = worker.get()] {
      std::minstd_rand random(7);
      while (numbers->back() < kPackets) {
        if (numbers->given() < kPackets)
          numbers->give(static_cast<int>(std::min<uint64_t>(random() % 65, kPackets - numbers->given())));
        numbers->look();
        if (random() % 16 == 0) std::this_thread::yield();
      }
      --working;
    });
  while (working > 0)
    if (!all.driver->serve()) std::this_thread::yield();
  for (auto& thread : threads) thread.join();
  for (auto& worker : all.numbers) {
    EXPECT_EQ(worker->back(), kPackets);
    EXPECT_EQ(worker->wrong(), 0u);
  }
}

TEST(LaneDriver, WhatFindsNoRoomIsNotTaken) {
  Driven all(2, 16, 64);
  all.slow->stuck_ = true;
  EXPECT_EQ(all.lanes[0]->capacity(), 64);
  EXPECT_EQ(all.numbers[0]->give(60), 60);
  EXPECT_EQ(all.numbers[0]->give(60), 4);
  for (int i = 0; i < 10; ++i) all.driver->serve();
  EXPECT_EQ(all.slow->in_flight(), 16);
  EXPECT_EQ(all.numbers[0]->give(1), 0) << "a packet keeps its place until it is back";
  EXPECT_EQ(all.numbers[1]->give(30), 30) << "one worker's packets take no place of another's";
  EXPECT_EQ(all.lanes[0]->in_flight(), 64);
  all.slow->stuck_ = false;
  for (int i = 0; i < 1000; ++i) all.driver->serve();
  for (auto& worker : all.numbers) {
    worker->look();
    EXPECT_EQ(worker->back(), worker->given());
    EXPECT_EQ(worker->wrong(), 0u);
  }
}

TEST(LaneDriver, BytesAreCountedOnce) {
  Driven all(2, 16, 64);
  EXPECT_EQ(all.lanes[0]->bytes().to_gpu + all.lanes[1]->bytes().to_gpu, 11u);
  EXPECT_EQ(all.lanes[0]->bytes().from_gpu + all.lanes[1]->bytes().from_gpu, 22u);
  EXPECT_EQ(all.lanes[1]->exits().size(), 3u);
  EXPECT_EQ(all.lanes[1]->columns_behind(), kBack);
}

TEST(LaneDriver, RoomIsAShareOfTheLaneAndTwoBatchesAtLeast) {
  EXPECT_EQ(LaneDriver::room(8192, 2, 1024), 4096);
  EXPECT_EQ(LaneDriver::room(8192, 3, 1024), 4096);  // a power of two
  EXPECT_EQ(LaneDriver::room(1024, 8, 1024), 2048);
}

TEST(LaneDriver, ALaneThatFailsLosesWhatItHas) {
  Driven all(2, 40, 64);
  all.numbers[0]->give(50), all.numbers[1]->give(50);
  while (all.slow->returned() < 20) all.driver->serve();
  all.slow->stuck_ = all.slow->failed_ = all.slow->dead_ = true;
  const uint64_t returned = all.slow->returned();
  EXPECT_EQ(all.lanes[0]->failure(), "");
  all.let_it_notice();
  for (auto& lane : all.lanes) EXPECT_EQ(lane->failure(), "it has failed");
  for (auto& worker : all.numbers) {
    worker->look();
    worker->give_up();
    EXPECT_EQ(worker->back() + worker->lost(), worker->given());
    EXPECT_EQ(worker->wrong(), 0u);
  }
  EXPECT_EQ(all.numbers[0]->back() + all.numbers[1]->back() - 2, returned);
  EXPECT_EQ(all.numbers[0]->give(10), 10);  // also what is handed over from now on
  all.driver->serve();
  all.numbers[0]->give_up();
  EXPECT_EQ(all.numbers[0]->back() + all.numbers[0]->lost(), all.numbers[0]->given());
}

TEST(LaneDriver, WhatMayComeBackAfterAFailureDoes) {
  Driven all(2, 40, 64);
  all.slow->stuck_ = true;
  all.numbers[0]->give(50), all.numbers[1]->give(50);
  for (int i = 0; i < 10; ++i) all.driver->serve();
  ASSERT_EQ(all.slow->in_flight(), 40);
  all.slow->failed_ = true;
  all.let_it_notice();
  EXPECT_EQ(all.lanes[0]->failure(), "it has failed");
  for (auto& lane : all.lanes) EXPECT_FALSE(lane->is_dead()) << "nothing is lost yet";
  all.slow->stuck_ = false;
  for (int i = 0; i < 100; ++i) all.driver->serve();
  for (auto& worker : all.numbers) {
    worker->look();
    EXPECT_EQ(worker->wrong(), 0u);
  }
  EXPECT_EQ(all.numbers[0]->back() + all.numbers[1]->back() - 2, 40u);
  for (auto& lane : all.lanes) EXPECT_TRUE(lane->is_dead());
  for (auto& worker : all.numbers) {
    worker->give_up();
    EXPECT_EQ(worker->back() + worker->lost(), worker->given());
  }
}

TEST(LaneDriver, ALaneThatDiesLaterLosesTheRest) {
  Driven all(1, 40, 64);
  all.slow->stuck_ = all.slow->failed_ = true;
  all.numbers[0]->give(60);
  for (int i = 0; i < 10; ++i) all.driver->serve();
  all.let_it_notice();
  EXPECT_FALSE(all.lanes[0]->is_dead());
  all.slow->dead_ = true;
  all.let_it_notice();
  EXPECT_TRUE(all.lanes[0]->is_dead());
  all.numbers[0]->give_up();
  EXPECT_EQ(all.numbers[0]->lost(), 60u);
  EXPECT_EQ(all.numbers[0]->wrong(), 0u);
}

}  // namespace
}  // namespace heddle::test
