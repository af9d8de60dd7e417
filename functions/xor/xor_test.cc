#include "tests/support/access.h"
#include "tests/support/every_class.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(XorTest);
HEDDLE_TESTED_WITH_ALL(XOR, .text = "XOR(3)", .refuses = {"-1", "256", "x", "1, 2", "DEVICE 7"});

std::vector<Bytes> changed_by_hand(const std::vector<Frame>& frames, unsigned key, size_t strip = 0) {
  std::vector<Bytes> result;
  for (auto& frame : frames) {
    if (frame.bytes.size() < strip) continue;
    Bytes bytes(frame.bytes.begin() + static_cast<int>(strip), frame.bytes.end());
    // One bit at a time.
    for (auto& byte : bytes)
      for (unsigned bit = 1; bit < 256; bit *= 2)
        if (key & bit) byte = byte & bit ? static_cast<uint8_t>(byte - bit) : static_cast<uint8_t>(byte + bit);
    result.push_back(bytes);
  }
  return result;
}

TEST_P(XorTest, ChangesEveryByteOfFramesOfAnyLength) {
  auto random = random_for("xor lengths");
  const auto frames = frames_of_all_lengths(random);
  Result result = run("TestSource -> x :: XOR(0xc3) -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), changed_by_hand(frames, 0xc3)));
  result = run("TestSource -> XOR -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), changed_by_hand(frames, 0x5a)));
}

TEST_P(XorTest, DoesBatchesOfAnySize) {
  auto random = random_for("xor batches");
  const auto frames = random_frames(random, 1024 + 33 + 32 + 31 + 1, 0, 100);
  for (const std::vector<int>& batches : {std::vector<int>{0, 1, 31, 32, 33, 1024}, {1, 0, 0, 33}, {1024}}) {
    const Result result = run("TestSource -> XOR(1) -> sink :: TestSink;", GetParam(), frames, {.batches = batches});
    EXPECT_TRUE(same(result.bytes(), changed_by_hand(frames, 1)));
    EXPECT_TRUE(in_order(result.at("sink")));
  }
}

// Every edge of the 16-byte pieces: first and last byte at every place of a piece.
TEST_P(XorTest, DoesFramesAtAnyAddress) {
  auto random = random_for("xor addresses");
  std::vector<Frame> frames;
  for (size_t length : {0, 1, 2, 15, 16, 17, 31, 32, 33, 100})
    for (int headroom = 96; headroom < 112; ++headroom) {
      frames.push_back(random_frame(random, length));
      frames.back().headroom = headroom;
    }
  Result result = run("TestSource -> XOR(255) -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), changed_by_hand(frames, 255)));
  result = run("TestSource -> s :: Strip(3) -> XOR(255) -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), changed_by_hand(frames, 255, 3)));
  EXPECT_EQ(result.drop("s.short"), 16u * 3);
}

// One long packet beside many short ones: pieces of all of them are dealt out to all threads.
TEST_P(XorTest, DoesMixturesOfLengths) {
  auto random = random_for("xor mixture");
  std::vector<Frame> frames;
  for (int i = 0; i < 200; ++i)
    frames.push_back(random_frame(random, i % 7 == 0 ? 1000 + random() % 1049 : random() % 3));
  const Result result = run("TestSource -> XOR(7) -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), changed_by_hand(frames, 7)));
}

TEST_P(XorTest, DoesItsPartBehindASplit) {
  auto random = random_for("xor split");
  const auto frames = random_frames(random, 400, 1, 60);
  std::vector<Frame> part[2];
  for (auto& frame : frames) part[frame.bytes[0] >> 7].push_back(frame);
  const Result result =
      run("TestSource -> c :: Classifier(0/00%80, 0/80%80); c[0] -> XOR(1) -> XOR(2) -> sink :: TestSink;"
          "c[1] -> XOR(4) -> high :: TestSink;",
          GetParam(), frames, {.batches = {97}});
  EXPECT_TRUE(same(result.bytes(), changed_by_hand(part[0], 3)));
  EXPECT_TRUE(same(result.bytes("high"), changed_by_hand(part[1], 4)));
}

TEST_P(XorTest, TouchesOnlyWhatItDeclares) {
  EXPECT_EQ(access_violations("XOR(0x81)", GetParam()), std::vector<std::string>{});
}

}  // namespace
}  // namespace heddle::test
