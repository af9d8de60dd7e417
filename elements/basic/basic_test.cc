// Strip, Unstrip, Counter, Tee, Print and Discard, on the CPU; tests/segment_test.cc has them in GPU segments.

#include <cstdio>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

const Backend& cpu() { return backends()[0]; }

Bytes from(const Bytes& bytes, size_t start) { return {bytes.begin() + static_cast<int>(start), bytes.end()}; }

TEST(Strip, RemovesBytesAndDropsShortPackets) {
  auto random = random_for("strip");
  const auto frames = random_frames(random, 100, 0, 30);
  for (size_t bytes : {0, 1, 14, 30, 31, 16384}) {
    const Result result =
        run(format("TestSource -> s :: Strip(%zu) -> sink :: TestSink;", bytes), cpu(), frames, {.batches = {7}});
    std::vector<Bytes> wanted;
    for (auto& frame : frames)
      if (frame.bytes.size() >= bytes) wanted.push_back(from(frame.bytes, bytes));
    EXPECT_TRUE(same(result.bytes(), wanted)) << bytes;
    EXPECT_EQ(result.drop("s.short"), frames.size() - wanted.size());
  }
}

TEST(Unstrip, TakesBackWhatStripRemoved) {
  auto random = random_for("unstrip");
  const auto frames = random_frames(random, 50, 14, 30);
  const Result result = run("TestSource -> Strip(14) -> Unstrip(10) -> sink :: TestSink;", cpu(), frames);
  std::vector<Bytes> wanted;
  for (auto& frame : frames) wanted.push_back(from(frame.bytes, 4));
  EXPECT_TRUE(same(result.bytes(), wanted));
}

TEST(Unstrip, NeedsRoom) {
  auto random = random_for("unstrip room");
  auto frames = random_frames(random, 6, 10, 10);
  const int headroom[] = {0, 1, 127, 128, 129, 15};
  for (size_t i = 0; i < frames.size(); ++i) frames[i].headroom = headroom[i];
  for (int bytes : {0, 1, 16, 128}) {
    const Result result = run(format("TestSource -> u :: Unstrip(%d) -> sink :: TestSink;", bytes), cpu(), frames);
    uint64_t without_room = 0;
    for (int room : headroom) without_room += room < bytes;
    EXPECT_EQ(result.drop("u.no_headroom"), without_room) << bytes;
    for (auto& packet : result.at("sink")) {
      EXPECT_EQ(packet.bytes.size(), static_cast<size_t>(10 + bytes));
      EXPECT_EQ(from(packet.bytes, static_cast<size_t>(bytes)), frames[static_cast<size_t>(packet.serial)].bytes);
    }
  }
}

TEST(Counter, CountsFromTheStartOfThePacket) {
  auto random = random_for("counter");
  const auto frames = random_frames(random, 77, 4, 40);
  uint64_t bytes = 0;
  for (auto& frame : frames) bytes += frame.bytes.size();
  const Result result =
      run("TestSource -> a :: Counter -> Strip(4) -> b :: Counter -> TestSink;", cpu(), frames, {.batches = {10}});
  EXPECT_EQ(result.statistics.at("a.count"), 77u);
  EXPECT_EQ(result.statistics.at("a.byte_count"), bytes);
  EXPECT_EQ(result.statistics.at("b.byte_count"), bytes - 4 * 77);
}

TEST(Tee, SendsEveryPacketToEveryOutput) {
  auto random = random_for("tee basic");
  auto frames = random_frames(random, 100, 0, 60);
  for (auto& frame : frames) frame.timestamp_ns = random(), frame.missing_bytes = random() % 100;
  const Result result = run(
      "TestSource(SETS paint) -> t :: Tee(3); t[0] -> a :: TestSink(READS paint); t[1] -> b :: TestSink(READS paint);"
      "t[2] -> Strip(0) -> Discard;",
      cpu(), frames, {.batches = {33, 2}});
  for (const char* sink : {"a", "b"}) {
    ASSERT_EQ(result.at(sink).size(), frames.size());
    EXPECT_TRUE(in_order(result.at(sink)));
    for (size_t i = 0; i < frames.size(); ++i) {
      const Received& packet = result.at(sink)[i];
      ASSERT_EQ(packet.bytes, frames[i].bytes);
      ASSERT_EQ(packet.timestamp_ns, frames[i].timestamp_ns);
      ASSERT_EQ(packet.missing_bytes, frames[i].missing_bytes);
    }
  }
}

// Clones of clones, and starts that differ between copies.
TEST(Tee, CopiesMayBeCopiedAndStrippedApart) {
  auto random = random_for("tee tee");
  const auto frames = random_frames(random, 60, 20, 40);
  const Result result =
      run("TestSource -> t :: Tee; t[0] -> Strip(5) -> u :: Tee; t[1] -> Strip(9) -> XOR(255) -> c :: TestSink;"
          "u[0] -> Strip(1) -> XOR(1) -> a :: TestSink; u[1] -> b :: TestSink;",
          cpu(), frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    Bytes a = from(frames[i].bytes, 6), c = from(frames[i].bytes, 9);
    for (auto& byte : a) byte ^= 1;
    for (auto& byte : c) byte ^= 255;
    ASSERT_EQ(result.at("a")[i].bytes, a);
    ASSERT_EQ(result.at("b")[i].bytes, from(frames[i].bytes, 5));
    ASSERT_EQ(result.at("c")[i].bytes, c);
  }
}

std::string printed(const std::string& arguments, const std::vector<Frame>& frames) {
  testing::internal::CaptureStderr();
  run("TestSource -> Print(" + arguments + ") -> TestSink;", cpu(), frames);
  return testing::internal::GetCapturedStderr();
}

TEST(Print, ShowsLengthsAndBytes) {
  const std::vector<Frame> frames = {{{0, 1, 2, 3, 0xfe}}, {{}}};
  EXPECT_EQ(printed("in", frames), "in:    5 | 00010203 fe\nin:    0 |\n");
  EXPECT_EQ(printed("in, 2", frames), "in:    5 | 0001\nin:    0 |\n");
  EXPECT_EQ(printed("in, CONTENTS false", frames), "in:    5\nin:    0\n");
  EXPECT_EQ(printed("in, ACTIVE false", frames), "");
}

TEST(Print, ShowsWholeLongPackets) {
  auto random = random_for("print");
  const Frame frame = random_frame(random, 9000);
  std::string wanted = "9000 |";
  for (size_t i = 0; i < 9000; ++i) wanted += format("%s%02x", i % 4 == 0 ? " " : "", frame.bytes[i]);
  EXPECT_EQ(printed("MAXLENGTH -1", {frame}), wanted + "\n");
}

}  // namespace
}  // namespace heddle::test
