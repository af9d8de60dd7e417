#include "tests/support/access.h"
#include "tests/support/every_class.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(EtherMirrorTest);
HEDDLE_TESTED_WITH_ALL(EtherMirror, .refuses = {"1", "DEVICE fpga", "BLOCKING perhaps"});

// Byte by byte, as IEEE 802.3 numbers them: not the words of the rule.
Bytes swapped(const Bytes& frame) {
  Bytes result = frame;
  for (size_t i = 0; i < 6; ++i) result[i] = frame[6 + i], result[6 + i] = frame[i];
  return result;
}

std::vector<Bytes> swapped_by_hand(const std::vector<Frame>& frames, size_t strip = 0) {
  std::vector<Bytes> result;
  for (auto& frame : frames)
    if (frame.bytes.size() >= strip + 12)
      result.push_back(swapped({frame.bytes.begin() + static_cast<int>(strip), frame.bytes.end()}));
  return result;
}

TEST_P(EtherMirrorTest, SwapsAddressesOfFramesOfAnyLength) {
  auto random = random_for("mirror lengths");
  const auto frames = frames_of_all_lengths(random);
  const Result result = run("TestSource -> m :: EtherMirror -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), swapped_by_hand(frames)));
  EXPECT_EQ(result.drop("m.short"), 12u);
  EXPECT_EQ(result.processor.at("m") == "cpu", !GetParam().on_gpu());
}

TEST_P(EtherMirrorTest, DoesBatchesOfAnySize) {
  auto random = random_for("mirror batches");
  const auto frames = random_frames(random, 1024 + 33 + 32 + 31 + 1, 12, 100);
  for (const std::vector<int>& batches : {std::vector<int>{0, 1, 31, 32, 33, 1024}, {1, 0, 0, 33}, {1024}}) {
    const Result result =
        run("TestSource -> EtherMirror -> sink :: TestSink;", GetParam(), frames, {.batches = batches});
    EXPECT_TRUE(same(result.bytes(), swapped_by_hand(frames)));
    EXPECT_TRUE(in_order(result.at("sink")));
  }
}

TEST_P(EtherMirrorTest, DoesNoPacketAtAll) {
  const Result result = run("TestSource -> EtherMirror -> sink :: TestSink;", GetParam(), {}, {.batches = {0}});
  EXPECT_EQ(result.received, 0u);
}

// Sixteen-byte vectors, words, half-words and bytes all have their own way on a GPU.
TEST_P(EtherMirrorTest, DoesFramesAtAnyAddress) {
  auto random = random_for("mirror addresses");
  std::vector<Frame> frames = random_frames(random, 160, 10, 40);
  for (size_t i = 0; i < frames.size(); ++i) frames[i].headroom = static_cast<int>(64 + i % 32);
  Result result = run("TestSource -> EtherMirror -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), swapped_by_hand(frames)));
  for (int strip : {1, 2, 7, 14}) {
    result = run(format("TestSource -> s :: Strip(%d) -> EtherMirror -> sink :: TestSink;", strip), GetParam(), frames);
    EXPECT_TRUE(same(result.bytes(), swapped_by_hand(frames, static_cast<size_t>(strip)))) << strip;
  }
}

TEST_P(EtherMirrorTest, DoesItsPartBehindASplit) {
  auto random = random_for("mirror split");
  std::vector<Frame> frames = random_frames(random, 500, 14, 80);
  std::vector<Frame> part[2];
  for (auto& frame : frames) {
    frame.bytes[12] = 8, frame.bytes[13] = random() % 3 == 0 ? 6 : 0;
    part[frame.bytes[13] == 6].push_back(frame);
  }
  const Result result =
      run("TestSource -> c :: Classifier(12/0800, -); c[0] -> EtherMirror -> sink :: TestSink;"
          "c[1] -> EtherMirror -> EtherMirror -> EtherMirror -> arp :: TestSink;",
          GetParam(), frames, {.batches = {33, 1, 200}});
  EXPECT_TRUE(same(result.bytes(), swapped_by_hand(part[0])));
  EXPECT_TRUE(same(result.bytes("arp"), swapped_by_hand(part[1])));
}

TEST_P(EtherMirrorTest, TouchesOnlyWhatItDeclares) {
  EXPECT_EQ(access_violations("EtherMirror", GetParam(), {.shortest = 10}), std::vector<std::string>{});
}

}  // namespace
}  // namespace heddle::test
