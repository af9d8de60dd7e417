#include "engine/atoms.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/frames.h"

namespace heddle {
namespace {

Atoms cut(const std::vector<std::pair<Access, int>>& list) {
  Atoms atoms;
  for (auto& [access, head] : list) atoms.add(access, head);
  atoms.cut();
  return atoms;
}

TEST(Atoms, CutAtEveryEdge) {
  const Access first{.reads = {{Base::head, 0, 6}, {Base::head, 4, 14}}}, second{.writes = {{Base::head, 0, kToEnd}}};
  const Atoms atoms = cut({{first, 0}, {second, 0}});
  ASSERT_EQ(atoms.all().size(), 4u);
  EXPECT_EQ(atoms.text(0b0001), "frame[0,4)");
  EXPECT_EQ(atoms.text(0b0010), "frame[4,6)");
  EXPECT_EQ(atoms.text(0b0100), "frame[6,14)");
  EXPECT_EQ(atoms.text(0b1000), "frame[14,end)");
  EXPECT_EQ(atoms.masks(first, 0).reads, 0b0111u);
  EXPECT_EQ(atoms.masks(first, 0).writes, 0u);
  EXPECT_EQ(atoms.masks(second, 0).writes, 0b1111u);
  EXPECT_EQ(atoms.masks(second, 0).reads, 0u);
}

TEST(Atoms, NeighboursAreShownAsOne) {
  const Access access{.reads = {{Base::head, 0, 6}, {Base::head, 6, 12}, {Base::head, 20, 24}, {Base::l3, 16, 20}},
                      .column_reads = columns(Column::dst, Column::paint)};
  const Atoms atoms = cut({{access, 0}});
  EXPECT_EQ(atoms.text(atoms.masks(access, 0).reads & 0b1011), "frame[0,12) frame[20,24)");
  EXPECT_EQ(atoms.text(atoms.everything()), "frame[0,24) l3[16,20) dst paint");
  EXPECT_EQ(atoms.text(0), "");
  EXPECT_EQ(atoms.column_atoms() & atoms.packet_atoms(), 0u);
  EXPECT_EQ(atoms.column_atoms(), AtomSet{0b1100000});
}

TEST(Atoms, CountFromTheFrameAsReceived) {
  const Access address{.reads = {{Base::head, 16, 20}}}, frame{.reads = {{Base::head, 0, 34}}};
  const Atoms atoms = cut({{address, 14}, {frame, 0}});
  EXPECT_EQ(atoms.text(atoms.masks(address, 14).reads), "frame[30,34)");
  EXPECT_EQ(atoms.masks(frame, 0).reads, 0b11u);
  EXPECT_EQ(atoms.size(atoms.masks(address, 14).reads).bytes, 4);
}

// Where headers lie is only known within bounds: at least 14 and 34 bytes behind the start.
TEST(Atoms, OfDifferentBasesMayOverlap) {
  const Access ethernet{.reads = {{Base::head, 0, 14}}}, deep{.reads = {{Base::head, 28, 34}}},
      l3{.reads = {{Base::l3, 16, 20}}}, l4{.reads = {{Base::l4, 0, 4}}}, tail{.reads = {{Base::end, -4, 0}}},
      rest{.reads = {{Base::l3, 0, kToEnd}}};
  Atoms atoms = cut({{ethernet, 0}, {deep, 0}, {l3, 0}, {l4, 0}, {rest, 0}});
  const auto reads = [&](const Access& access) { return atoms.masks(access, 0).reads; };
  EXPECT_EQ(reads(ethernet) & reads(l3), 0u);
  EXPECT_EQ(reads(ethernet) & reads(l4), 0u);
  EXPECT_EQ(reads(l3) & reads(l4), 0u);  // the transport header is 20 bytes or more behind
  EXPECT_NE(reads(deep) & reads(l3), 0u);
  EXPECT_EQ(reads(deep) & reads(l4), 0u);
  EXPECT_NE(reads(rest) & reads(l4), 0u);
  atoms = cut({{ethernet, 0}, {deep, 0}, {l3, 0}, {l4, 0}, {tail, 0}, {rest, 0}});
  for (auto* any : {&ethernet, &deep, &l3, &l4, &rest}) EXPECT_NE(reads(tail) & reads(*any), 0u);
}

// The bounds against real places: two intervals that share a byte in any possible frame must share an atom.
TEST(Atoms, OverlapIsNeverMissed) {
  auto random = test::random_for("atoms");
  for (int round = 0; round < 20000; ++round) {
    const int l3 = 14 + static_cast<int>(random() % 3) * 4, l4 = l3 + 20 + static_cast<int>(random() % 11) * 4;
    const int length = l4 + static_cast<int>(random() % 60);
    const int start[] = {0, l3, l4, length};
    Access access[2];
    bool covered[2][200] = {};
    for (int k = 0; k < 2; ++k) {
      const int base = static_cast<int>(random() % 4), size = 1 + static_cast<int>(random() % 30);
      const int from = base == 3 ? -size : static_cast<int>(random() % 40);
      const int to = base == 3 ? 0 : random() % 8 == 0 ? kToEnd : from + size;
      access[k].reads = {{static_cast<Base>(base), from, to}};
      for (int at = 0; at < length; ++at)
        covered[k][at] = at >= start[base] + from && (to == kToEnd || at < start[base] + to);
    }
    const Atoms atoms = cut({{access[0], 0}, {access[1], 0}});
    bool share = false;
    for (int at = 0; at < length; ++at) share = share || (covered[0][at] && covered[1][at]);
    if (share) {
      ASSERT_NE(atoms.masks(access[0], 0).reads & atoms.masks(access[1], 0).reads, 0u) << "round " << round;
    }
  }
}

// A write that may miss part of an atom leaves old bytes there, which have to be present: it counts as a read.
TEST(Atoms, PartialWritesCountAsReads) {
  const Access frame{.reads = {{Base::head, 14, 60}}}, l3{.writes = {{Base::l3, 8, 10}}};
  const Atoms atoms = cut({{frame, 0}, {l3, 0}});
  const AtomAccess access = atoms.masks(l3, 0);
  EXPECT_EQ(atoms.text(access.writes), "frame[14,60) l3[8,10)");
  EXPECT_EQ(atoms.text(access.reads), "frame[14,60)");
}

TEST(Atoms, SizesAddUp) {
  const Access access{.reads = {{Base::head, 0, 12}, {Base::head, 20, kToEnd}, {Base::l3, 12, 20}},
                      .column_reads = columns(Column::dst, Column::l3)};
  const Atoms atoms = cut({{access, 0}});
  const auto size = atoms.size(atoms.masks(access, 0).reads);
  EXPECT_TRUE(size.open);
  // [0,12), l3[12,20) and two columns; not the gap [12,20), which is before anything that l3[12,20) can be.
  EXPECT_EQ(size.bytes, 12 + 8 + 8);
  EXPECT_FALSE(atoms.size(atoms.column_atoms()).open);
}

TEST(Atoms, SixtyFourFitAndNotOneMore) {
  Access access;
  for (int i = 0; i < 32; ++i) access.reads.push_back({Base::head, 4 * i, 4 * i + 2});  // 32 fields and 31 gaps
  access.column_reads = columns(Column::dst);
  const Atoms atoms = cut({{access, 0}});
  EXPECT_EQ(atoms.all().size(), 64u);
  EXPECT_EQ(atoms.everything(), ~AtomSet{0});
  access.column_reads = columns(Column::dst, Column::paint);
  try {
    cut({{access, 0}});
    FAIL() << "65 atoms were taken";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "the chain names 65 distinct fields, the planner can follow 64; use fewer Classifier offsets");
  }
}

}  // namespace
}  // namespace heddle
