// Rings that kernels drive, on simt and, where there is one, on a GPU: every frame is numbered, and checked by the
// peer.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <thread>

#include "bench/ring_rig.h"
#include "core/error.h"
#include "kernels/ring_serving.h"
#include "simt/blocks.h"
#include "tests/support/patience.h"
#include "tests/support/ring_cases.h"

namespace heddle {
namespace {

using bench::PeerEnd;
using bench::RingRig;

constexpr uint32_t kMin = 12;  // of EtherMirror; shorter frames are dropped

/** Frame `number`: its length, and each of its bytes. */
uint32_t length_of(uint64_t number, uint32_t least, uint32_t most) {
  return least + static_cast<uint32_t>((number * 0x9e3779b97f4a7c15ull >> 40) % (most - least + 1));
}
void write(uint8_t* frame, uint64_t number, uint32_t length) {
  uint64_t state = number * 0xbf58476d1ce4e5b9ull + 1;
  for (uint32_t at = 0; at < length; at += 8, state = state * 6364136223846793005ull + 1442695040888963407ull)
    std::memcpy(frame + at, &state, std::min(8u, length - at));
}
bool is_mirrored(const uint8_t* frame, uint64_t number, uint32_t length) {
  std::vector<uint8_t> wanted(length);
  write(wanted.data(), number, length);
  std::swap_ranges(wanted.begin(), wanted.begin() + 6, wanted.begin() + 6);
  return std::memcmp(frame, wanted.data(), length) == 0;
}

/** One peer: sends numbered frames, checks what comes back. Frames shorter than kMin do not. */
class Checker {
 public:
  Checker(PeerEnd& end, uint32_t least, uint32_t most) : end_(end), least_(least), most_(most) {}
  void visit(uint64_t upto, int burst) {
    const auto left = static_cast<int>(std::min<uint64_t>(upto - end_.sent(), static_cast<uint64_t>(burst)));
    if (const int n = std::min(end_.room(), left); n > 0)
      end_.send(n, [&](uint8_t* frame, uint64_t number) {
        const uint32_t length = length_of(number, least_, most_);
        write(frame, number, length);
        return length;
      });
    if (const int n = std::min(end_.waiting(), burst); n > 0)
      end_.take(n, [&](const uint8_t* frame, uint32_t length, uint64_t) {
        while (length_of(next_, least_, most_) < kMin) ++next_;
        wrong_ += length != length_of(next_, least_, most_) || !is_mirrored(frame, next_, length);
        ++next_;
      });
  }
  /** Whether nothing is on its way. */
  bool done(uint64_t upto) {
    while (next_ < upto && length_of(next_, least_, most_) < kMin) ++next_;
    return end_.sent() == upto && next_ == upto;
  }
  uint64_t wrong() const { return wrong_; }
  uint64_t progress() const { return end_.sent() + next_; }

 private:
  PeerEnd& end_;
  uint32_t least_, most_;
  uint64_t next_ = 0, wrong_ = 0;
};

class RingKernel : public testing::TestWithParam<test::RingCase> {
 protected:
  RingRig::Options options(int pairs, uint32_t size) const {
    RingRig::Options options;
    options.device = GetParam().device, options.owner = GetParam().owner, options.workers = GetParam().workers();
    options.split = GetParam().split;
    options.outputs = GetParam().outputs();
    options.pairs = pairs, options.size = size;
    return options;
  }
  bool on_simt() const { return GetParam().device.starts_with("simt"); }

  /** On simt, slow: worker number `worker` of the first pair, of kSlowWorkers if they are in one block. */
  std::optional<simt::HeldWarp> slow(int worker) const {
    constexpr unsigned kLanes = gpu::kSlotPackets;
    const auto w = static_cast<unsigned>(worker);
    if (GetParam().spread) return std::optional<simt::HeldWarp>(std::in_place, 1 + w, 0, gpu::kTeamWarps * kLanes);
    if (GetParam().split) return std::optional<simt::HeldWarp>(std::in_place, 0, w, kSlowWorkers * kLanes);
    return std::optional<simt::HeldWarp>(std::in_place, 0, 2 + w, (kSlowWorkers + 2) * kLanes);
  }
  static constexpr int kSlowWorkers = 4;

  /** All pairs of all rigs, by one thread, in bursts of any size. */
  static void exchange(
      const std::vector<RingRig*>& rigs, uint64_t frames, uint32_t least, uint32_t most,
      const std::function<void()>& between = [] {}) {
    std::vector<Checker> checkers;
    for (RingRig* rig : rigs)
      for (int i = 0; i < rig->pairs(); ++i) checkers.emplace_back(rig->end(i), least, most);
    std::mt19937 random(1);
    test::Patience patience;
    for (bool done = false; !done;) {
      uint64_t progress = 0;
      done = true;
      for (Checker& checker : checkers) {
        checker.visit(frames, static_cast<int>(1 + random() % 200));
        done = checker.done(frames) && done;
        progress += checker.progress();
      }
      ASSERT_FALSE(patience.is_over(progress)) << "frames are lost";
      between();
    }
    for (const Checker& checker : checkers) EXPECT_EQ(checker.wrong(), 0u);
  }
};

using Tiles = gpu::TileWords<128>;

TEST(TileWords, SayWhoseTheyAre) {
  for (const uint32_t tile : {0u, 1u, 127u, 128u, 0x7fffffu, 0x800000u, 0xffffffffu}) {
    const auto made = Tiles::Made::of(tile, 0xffffffe0u, 32);
    const auto dropped = Tiles::Dropped::of(tile, Tiles::Dropped::kOwn, true, 0xfffffffdu);
    const auto done = Tiles::Done::of(tile, 32, 31);
    EXPECT_EQ(made.start(), 0xffffffe0u);
    EXPECT_EQ(made.packets(), 32u);
    EXPECT_TRUE(dropped.chained());
    EXPECT_EQ(dropped.count(), 0xfffffffdu);
    EXPECT_EQ(done.packets(), 32u);
    EXPECT_EQ(done.placed(), 31u);
    for (const uint32_t other : {tile, tile - 128, tile + 128, tile + 3 * 128}) {
      EXPECT_EQ(made.is_of(other), other == tile) << tile << " " << other;
      EXPECT_EQ(dropped.state(other), other == tile ? Tiles::Dropped::kOwn : Tiles::Dropped::kNone);
      EXPECT_EQ(done.is_of(other), other == tile);
    }
  }
  EXPECT_FALSE(Tiles::Dropped::of(5, Tiles::Dropped::kTotal, false, 1).chained());
}

TEST(TileWords, BeginWithoutTiles) {
  Tiles words;
  words.begin(7, 0, 2), words.begin(7, 1, 2);
  for (uint32_t tile = 0; tile < 128; ++tile) {
    EXPECT_FALSE(Tiles::Made{words.made[tile]}.is_of(tile));
    EXPECT_EQ(Tiles::Dropped{words.dropped[tile]}.state(tile), Tiles::Dropped::kNone);
    EXPECT_FALSE(Tiles::Done{words.done[tile]}.is_of(tile));
  }
  const Tiles::Dropped before{words.dropped[Tiles::place(~0u)]};
  EXPECT_EQ(before.state(~0u), Tiles::Dropped::kTotal);
  EXPECT_EQ(before.count(), 7u);
}

TEST(SplitRings, ThatDoNotFitAtOnceAreRefused) {
  RingRig::Options options;
  options.device = "simt", options.size = 32;
  options.pairs = 22;  // of the 64 blocks that simt has room for
  EXPECT_NO_THROW(RingRig{options});
  options.split = true;
  try {
    RingRig rig(options);
    FAIL() << "it has started";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("22 ring pairs of a port (receive), 22 ring pairs of a port (application)"), text.npos) << text;
    EXPECT_NE(text.find("there is room for 20 of 22 ring pairs of a port (transmit)"), text.npos) << text;
    EXPECT_NE(text.find("KERNELS fused"), text.npos) << text;
  }
}

TEST_P(RingKernel, GathersEveryByte) {
  if (!GetParam().spread) GTEST_SKIP() << "nothing is gathered";
  RingRig::Options options = this->options(2, 256);
  constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
  for (const uint32_t around : {0u, 7u, 100u}) {
    options.copies = {
        .in = kWhole, .out = {gpu::Span::kFromStart, gpu::Span::kToEnd}, .before = around, .behind = around};
    RingRig rig(options);
    const uint64_t frames = on_simt() ? static_cast<uint64_t>(test::tries(1'000, 50'000)) : 500'000;
    exchange({&rig}, frames, 1, options.capacity);
    const auto counts = test::counts_of(rig, 2 * frames);
    EXPECT_EQ(counts.received, 2 * frames);
    EXPECT_EQ(counts.sent + counts.dropped, 2 * frames);
    EXPECT_GT(counts.dropped, 0u);  // too short to be mirrored
  }
}

TEST_P(RingKernel, KeepsEveryFrameAndItsOrder) {
  for (const uint32_t size : {32u, 1024u, 4096u}) {
    RingRig rig(options(2, size));
    const uint64_t frames = on_simt() ? static_cast<uint64_t>(test::tries(10'000, 200'000)) : 2'000'000;
    exchange({&rig}, frames, 60, 80);
    const auto counts = test::counts_of(rig, 2 * frames);
    EXPECT_EQ(counts.received, 2 * frames);
    EXPECT_EQ(counts.sent, 2 * frames);
    EXPECT_EQ(counts.dropped, 0u);
  }
}

TEST_P(RingKernel, ClosesTheGapsThatDropsLeave) {
  RingRig rig(options(1, 256));
  const uint64_t frames = on_simt() ? 20'000 : 1'000'000;
  exchange({&rig}, frames, 1, 40);
  const auto counts = test::counts_of(rig, frames);
  EXPECT_EQ(counts.received, frames);
  EXPECT_EQ(counts.sent + counts.dropped, frames);
  EXPECT_GT(counts.dropped, frames / 8);
}

// So many tiles are under way that one may look back over more than 32 of them.
TEST_P(RingKernel, ManyTilesCloseTheGapsThatDropsLeave) {
  RingRig::Options wide = options(1, 4096);
  if (GetParam().spread) wide.workers = 64;
  RingRig rig(wide);
  const uint64_t frames = on_simt() ? 20'000 : 1'000'000;
  Checker checker(rig.end(0), 1, 40);
  for (test::Patience patience; !checker.done(frames) && !patience.is_over(checker.progress());)
    checker.visit(frames, 2000);
  EXPECT_TRUE(checker.done(frames));
  EXPECT_EQ(checker.wrong(), 0u);
  const auto counts = test::counts_of(rig, frames);
  EXPECT_EQ(counts.sent + counts.dropped, frames);
}

TEST_P(RingKernel, LongFrames) {
  RingRig rig(options(1, 512));
  exchange({&rig}, on_simt() ? 3'000 : 300'000, 1000, 2048);
}

// The two buffers of a frame that is copied lie apart by whole words, or by bytes.
TEST_P(RingKernel, FramesThatBeginAnywhere) {
  if (GetParam().owner) GTEST_SKIP() << "nothing is copied";
  for (const uint32_t stagger : {4u, 7u}) {
    RingRig::Options staggered = options(1, 512);
    staggered.stagger = stagger;
    RingRig rig(staggered);
    exchange({&rig}, on_simt() ? 3'000 : 300'000, 12, 1600);
  }
}

// The kernel ends and begins again while frames are under way: none is lost, and none comes twice.
TEST_P(RingKernel, StopsAndGoesOn) {
  RingRig rig(options(2, 128));
  uint64_t stopped_at = 0;
  int stops = 0;
  exchange({&rig}, on_simt() ? 5'000 : 500'000, 1, 100, [&] {
    if (rig.end(1).got() < stopped_at + 500) return;
    stopped_at = rig.end(1).got(), ++stops;
    rig.pause(), rig.resume();
  });
  EXPECT_GE(stops, 5);
}

// One way between two ports wants much more shared memory than the other: blocks of both reside on a multiprocessor.
TEST_P(RingKernel, ProgramsBesideEachOther) {
  RingRig::Options small = options(2, 1024), large = small;
  const auto most = std::ranges::max_element(gpu::functions(), {}, [](const gpu::FunctionTraits& function) {
    return function.on_rings && function.shared_bytes == 0 ? function.scratch_bytes : 0;
  });
  const RingRig::Function unreached{.name = std::string(most->name), .table = {}, .outputs = {RingRig::kTransmit}};
  large.functions.push_back(unreached);
  if (GetParam().spread && !on_simt()) small.workers = large.workers = 128;
  const RingRig::Together both({small, large});
  exchange({both.rigs()[0].get(), both.rigs()[1].get()}, on_simt() ? 2'000 : 500'000, 60, 80);
}

// Each kernel has one of the hardware's queues for itself: one that shared it would never begin.
TEST_P(RingKernel, AsManyKernelsAsThereAreQueues) {
  if (on_simt()) GTEST_SKIP() << "each stream has a thread";
  if (GetParam().split || GetParam().spread) GTEST_SKIP() << "has several streams or blocks";
  std::vector<RingRig::Options> all(27, options(1, 64));  // CUDA's own stream, and four of the device's
  {
    const RingRig::Together together(all);
    std::vector<RingRig*> rigs;
    for (const auto& rig : together.rigs()) rigs.push_back(rig.get());
    exchange(rigs, 1'000, 60, 80);
  }
  all.push_back(all[0]);
  try {
    const RingRig::Together too_many(all);
    FAIL() << "33 streams have begun";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("33 streams are wanted beside kernels that stay"), std::string::npos)
        << error.what();
  }
}

// Peers on threads of their own, with the kernel's whole width under way.
TEST_P(RingKernel, PeersOfTheirOwnThreads) {
  constexpr int kPairs = 2;
  RingRig rig(options(kPairs, 1024));
  const uint64_t frames = on_simt() ? 10'000 : 5'000'000;
  std::atomic<uint64_t> wrong{0};
  std::atomic<int> late{0};
  std::vector<std::thread> peers;
  for (int i = 0; i < kPairs; ++i)
    peers.emplace_back([&, i] {
      Checker checker(rig.end(i), 60, 64);
      test::Patience patience;
      while (!checker.done(frames) && !patience.is_over(checker.progress())) checker.visit(frames, 64);
      wrong += checker.wrong();
      late += !checker.done(frames);
    });
  for (std::thread& peer : peers) peer.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(late, 0);
}

// As WARP_BATCH of FromGPUPort says: what one block serves, and some of several. Rings go round many times.
TEST_P(RingKernel, EveryWarpBatch) {
  std::vector<int> all = {15, 42, 320};
  if (!GetParam().spread) all.resize(gpu::kMaxRingWorkers), std::iota(all.begin(), all.end(), 1);
  for (const int workers : all) {
    RingRig::Options options = this->options(1, 32);
    options.workers = workers;
    RingRig rig(options);
    const uint64_t frames = on_simt() ? 500 : 500'000;
    exchange({&rig}, frames, 1, 80);
    const auto counts = test::counts_of(rig, frames);
    EXPECT_EQ(counts.received, frames) << workers;
    EXPECT_EQ(counts.sent + counts.dropped, frames) << workers;
  }
}

// What comes before its tile goes out, and so does all of the pair beside it; what comes behind waits for that tile
// alone.
TEST_P(RingKernel, ASlowWorkerHoldsUpWhatComesBehindItsTile) {
  if (!on_simt()) GTEST_SKIP() << "no worker can be held";
  constexpr uint64_t kTiles = 4, kTile = gpu::kSlotPackets, kSize = 256;
  RingRig::Options options = this->options(2, kSize);
  if (!GetParam().spread) options.workers = kSlowWorkers;
  RingRig rig(options);
  PeerEnd& end = rig.end(0);
  Checker checker(end, 60, 80), beside(rig.end(1), 60, 80);
  const auto send = [](Checker& to, uint64_t upto, const auto& done) {
    test::Patience patience;
    do to.visit(upto, 200);
    while (!done() && !patience.is_over(to.progress()));
    EXPECT_TRUE(done());
  };
  for (uint64_t slow_tile = 0; slow_tile < kTiles; ++slow_tile) {
    rig.pause(), rig.resume();  // the next tile is the first worker's, if a scout takes no tile for a packet alone
    send(checker, end.sent() + 1, [&] { return checker.done(end.sent()); });  // they are all there
    const int next = static_cast<int>(slow_tile) + (GetParam().spread || GetParam().split ? 1 : 0);
    const uint64_t before = end.sent(), upto = before + kTiles * kTile;
    const auto only_those_before = [&] {  // nor is a buffer given back of others
      return end.got() + static_cast<uint64_t>(end.waiting()) == before + slow_tile * kTile &&
             end.room() == static_cast<int>(kSize - (kTiles - slow_tile) * kTile);
    };
    {
      const auto held = slow(GetParam().spread ? next : next % kSlowWorkers);
      send(checker, upto, only_those_before);
      const uint64_t others = rig.end(1).sent() + 500;
      send(beside, others, [&] { return beside.done(others); });
      EXPECT_TRUE(only_those_before()) << slow_tile;
    }
    send(checker, upto, [&] { return checker.done(upto); });
  }
  EXPECT_EQ(checker.wrong() + beside.wrong(), 0u);
}

// Bursts fill the ring while a worker is slow somewhere on its way, and the peer uses each buffer again that it is told
// of: no frame is written over before it is back.
TEST_P(RingKernel, BurstsDoNotOverwriteWhatASlowWorkerHas) {
  if (!on_simt()) GTEST_SKIP() << "no worker can be held";
  for (const uint32_t size : {64u, 512u}) {
    RingRig::Options options = this->options(1, size);
    if (!GetParam().spread) options.workers = kSlowWorkers;
    RingRig rig(options);
    Checker checker(rig.end(0), 1, 300);
    std::mt19937 random(1);
    uint64_t upto = 0;
    for (int turn = 0; turn < test::tries(5, 100); ++turn) {
      upto += 5 * uint64_t{size};
      test::Patience patience;
      const auto visit = [&] {
        checker.visit(upto, static_cast<int>(1 + random() % size));
        return patience.is_over(checker.progress());
      };
      for (uint64_t some = checker.progress() + random() % size; checker.progress() < some && !visit();) {
      }
      {
        const auto held = slow(static_cast<int>(random() % kSlowWorkers));
        for (int full = 0; full < 50 && !checker.done(upto) && !visit();) {
          full = rig.end(0).room() == 0 && rig.end(0).waiting() == 0 ? full + 1 : 0;
          std::this_thread::yield();
        }
      }
      while (!checker.done(upto) && !visit()) {
      }
      ASSERT_TRUE(checker.done(upto)) << "frames are lost";
    }
    EXPECT_EQ(checker.wrong(), 0u);
    const auto counts = test::counts_of(rig, upto);
    EXPECT_EQ(counts.sent + counts.dropped, upto);
  }
}

// Neither a pause nor the end, with packets on all rings, leaves a block behind.
TEST_P(RingKernel, NoBlockRunsBehindAStop) {
  if (!on_simt()) GTEST_SKIP() << "a GPU does not say";
  {
    RingRig rig(options(2, 128));
    exchange({&rig}, 200, 60, 80);
    EXPECT_GT(simt::running_blocks(), 0u);
    for (int pair = 0; pair < 2; ++pair) Checker(rig.end(pair), 60, 80).visit(400, 128);
    rig.pause();
    EXPECT_EQ(simt::running_blocks(), 0u);
    rig.resume();
    for (int pair = 0; pair < 2; ++pair) Checker(rig.end(pair), 60, 80).visit(600, 128);
  }
  EXPECT_EQ(simt::running_blocks(), 0u);
}

INSTANTIATE_TEST_SUITE_P(All, RingKernel, testing::ValuesIn(test::ring_cases()), test::name_of);

}  // namespace
}  // namespace heddle
