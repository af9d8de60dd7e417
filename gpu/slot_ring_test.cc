// The host's end of a group of slots, with a GPU played by hand: no CUDA, no threads.

#include "gpu/slot_ring.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/frames.h"

namespace heddle::gpu {
namespace {

class Slots {
 public:
  explicit Slots(int count) : slots_(static_cast<size_t>(count)) {}
  SlotGroup group(bool wide = false) { return {slots_.data(), static_cast<int>(slots_.size()), wide}; }
  Slot& operator[](int i) { return slots_[static_cast<size_t>(i)]; }
  /** What the GPU does: answers packet i of slot `index` with exit `exits + i`, up to `lanes` of them. */
  void answer(int index, uint32_t exits = 0, int lanes = kSlotPackets) {
    Slot& slot = (*this)[index];
    for (int i = 0; i < lanes; ++i)
      slot.result.narrow[i] = stamp_of(slot.word[i]) << 24 | (exits + static_cast<uint32_t>(i));
  }

 private:
  std::vector<Slot> slots_;
};

const uint64_t kPlaces[kSlotPackets] = {pack_word(0, 60, 4096), pack_word(0, 0xffff, 0),
                                        pack_word(0, 0, kNoPacket - 1)};

TEST(Slot, WordsHoldWhatIsPutIn) {
  const uint64_t word = pack_word(255, 65535, kNoPacket - 1);
  EXPECT_EQ(stamp_of(word), 255u);
  EXPECT_EQ(length_of(word), 65535u);
  EXPECT_EQ(offset_of(word), kNoPacket - 1);
  EXPECT_EQ(next_stamp(1), 2u);
  EXPECT_EQ(next_stamp(254), 255u);
  EXPECT_EQ(next_stamp(255), 1u);  // never 0, which fresh memory has
}

TEST(SlotRing, WritesAllWords) {
  Slots slots(2);
  SlotRing ring(slots.group(), nullptr);
  ring.submit(ring.free_slot(), kPlaces, 2);
  EXPECT_EQ(slots[0].word[0], pack_word(1, 60, 4096) | kSwitch);
  EXPECT_EQ(slots[0].word[1], pack_word(1, 0xffff, 0) | kSwitch);
  for (int i = 2; i < kSlotPackets; ++i) EXPECT_EQ(slots[0].word[i], pack_word(1, 0, kNoPacket) | kSwitch) << i;
  EXPECT_EQ(slots[1].word[0], 0u);
}

TEST(SlotRing, IsDoneWhenEveryResultHasTheStamp) {
  Slots slots(1);
  SlotRing ring(slots.group(), nullptr);
  ring.submit(0, kPlaces, 3);
  EXPECT_FALSE(ring.oldest_done());
  slots.answer(0, 7, kSlotPackets - 1);
  EXPECT_FALSE(ring.oldest_done());  // one lane is late
  slots.answer(0, 7);
  EXPECT_TRUE(ring.oldest_done());
  EXPECT_EQ(ring.outcome(0, 2).exit, 9u);
  ring.release_oldest();
  ring.submit(0, kPlaces, 3);
  EXPECT_FALSE(ring.oldest_done());  // the results are those of the use before
}

TEST(SlotRing, GivesSlotsBackInOrder) {
  Slots slots(5);
  SlotRing ring(slots.group(), nullptr);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(ring.free_slot(), i);
    ring.submit(i, kPlaces, 1);
  }
  EXPECT_EQ(ring.free_slot(), -1);
  EXPECT_EQ(ring.in_flight(), 5);
  slots.answer(3);
  slots.answer(1);
  EXPECT_FALSE(ring.oldest_done());  // slot 0 is not done, whatever others are
  slots.answer(0);
  EXPECT_TRUE(ring.oldest_done());
  ring.release_oldest();
  EXPECT_EQ(ring.oldest(), 1);
  EXPECT_EQ(ring.free_slot(), 0);
  ring.submit(0, kPlaces, 1);  // used again: now the youngest
  for (int wanted : {1, 2, 3, 4, 0}) {
    slots.answer(wanted);
    ASSERT_EQ(ring.oldest(), wanted);
    ASSERT_TRUE(ring.oldest_done());
    ring.release_oldest();
  }
  EXPECT_EQ(ring.in_flight(), 0);
}

// The first use says which program to take up, and so does the first one behind a change.
TEST(SlotRing, SwitchesProgramsOnce) {
  const Program programs[2] = {};
  Slots slots(2);
  SlotRing ring(slots.group(), &programs[0]);
  const auto use = [&](int index) {
    ring.submit(index, kPlaces, 1);
    slots.answer(index);
    ring.release_oldest();
    return (slots[index].word[0] & kSwitch) != 0;
  };
  EXPECT_TRUE(use(0));
  EXPECT_EQ(slots[0].program, &programs[0]);
  EXPECT_FALSE(use(0));
  ring.switch_to(&programs[1]);
  EXPECT_TRUE(use(0));
  EXPECT_EQ(slots[0].program, &programs[1]);
  EXPECT_FALSE(use(0));
  EXPECT_TRUE(use(1));
  EXPECT_EQ(slots[1].program, &programs[1]);
}

TEST(SlotRing, WideResultsTellHowBothEndsHaveMoved) {
  Slots slots(1);
  SlotRing ring(slots.group(true), nullptr);
  ring.submit(0, kPlaces, 2);
  const Outcome outcomes[] = {{0x7fff, -32768, 32767}, {3, 32767, -32768}};
  for (int i = 0; i < kSlotPackets; ++i) {
    EXPECT_FALSE(ring.oldest_done());
    slots[0].result.wide[i] = pack_wide(1, outcomes[i % 2]);
  }
  ASSERT_TRUE(ring.oldest_done());
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = ring.outcome(0, i);
    EXPECT_EQ(outcome.exit, outcomes[i].exit);
    EXPECT_EQ(outcome.head, outcomes[i].head);
    EXPECT_EQ(outcome.tail, outcomes[i].tail);
  }
}

// Slots that somebody has used before go on with the stamp that their block expects.
TEST(SlotRing, TakesOverUsedSlots) {
  Slots slots(1);
  for (uint32_t ring_number = 0; ring_number < 3; ++ring_number) {
    SlotRing ring(slots.group(), nullptr);
    ring.submit(0, kPlaces, 1);
    EXPECT_EQ(stamp_of(slots[0].word[0]), ring_number + 1);
    EXPECT_FALSE(ring.oldest_done());
    slots.answer(0);
    ring.release_oldest();
  }
}

TEST(SlotRing, StampsGoRound) {
  Slots slots(1);
  SlotRing ring(slots.group(), nullptr);
  for (unsigned use = 0; use < 1000; ++use) {
    ring.submit(0, kPlaces, 1);
    ASSERT_EQ(stamp_of(slots[0].word[0]), use % 255 + 1);
    ASSERT_EQ(stamp_of(slots[0].word[kSlotPackets - 1]), use % 255 + 1);
    ASSERT_FALSE(ring.oldest_done());
    slots.answer(0, use);
    ASSERT_TRUE(ring.oldest_done());
    ASSERT_EQ(ring.outcome(0, 0).exit, use);
    ring.release_oldest();
  }
}

TEST(SlotRing, RandomUseLosesNothing) {
  auto random = test::random_for("slot ring");
  for (int count : {1, 2, 3, 63, 64, 65, 200}) {
    Slots slots(count);
    SlotRing ring(slots.group(), nullptr);
    std::vector<int> expected;  // in flight, oldest first
    for (int step = 0; step < 5000; ++step) {
      if (random() % 2 == 0) {
        const int index = ring.free_slot();
        ASSERT_EQ(index < 0, expected.size() == static_cast<size_t>(count));
        if (index < 0) continue;
        ASSERT_EQ(std::count(expected.begin(), expected.end(), index), 0);
        ring.submit(index, kPlaces, 1);
        expected.push_back(index);
      } else if (!expected.empty()) {
        slots.answer(expected[random() % expected.size()]);
        while (!expected.empty() && ring.oldest_done()) {
          ASSERT_EQ(ring.oldest(), expected[0]);
          ring.release_oldest();
          expected.erase(expected.begin());
        }
      }
      ASSERT_EQ(ring.in_flight(), static_cast<int>(expected.size()));
    }
  }
}

// The lowest free slot comes first, so that warps of higher ones may sleep.
TEST(SlotRing, FillsTheLowestFreeSlot) {
  Slots slots(130);
  SlotRing ring(slots.group(), nullptr);
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(ring.free_slot(), i);
      ring.submit(i, kPlaces, 1);
    }
    for (int i = 0; i < 3; ++i) slots.answer(i), ring.release_oldest();
  }
  for (int i = 0; i < 130; ++i) ring.submit(ring.free_slot(), kPlaces, 1);
  EXPECT_EQ(ring.free_slot(), -1);
  EXPECT_EQ(ring.in_flight(), ring.count());
  slots.answer(0);
  ring.release_oldest();
  EXPECT_EQ(ring.free_slot(), 0);
}

// A word that ends a slot's warp must not be one that hands it work.
TEST(Slot, StopWordIsNoWork) {
  for (uint32_t stamp = 1; stamp < 256; ++stamp) {
    EXPECT_NE(pack_word(stamp, 65535, kNoPacket), kStopWord);
    EXPECT_NE(stamp_of(kStopWord), stamp);
  }
}

}  // namespace
}  // namespace heddle::gpu
