// Strip, Unstrip, Truncate, counters, Tee, Print and Discard, on the CPU; tests/segment_test.cc has them in GPU
// segments.

#include <cmath>
#include <cstdio>

#include "elements/basic/rate.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

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
  run("TestSource(SETS \"dst paint\") -> Print(" + arguments + ") -> TestSink;", cpu(), frames);
  return testing::internal::GetCapturedStderr();
}

TEST(Print, ShowsLengthsAndBytes) {
  const std::vector<Frame> frames = {{{0, 1, 2, 3, 0xfe}}, {{}}};
  EXPECT_EQ(printed("in", frames), "in:    5 | 00010203 fe\nin:    0\n");
  EXPECT_EQ(printed("in, 2", frames), "in:    5 | 0001\nin:    0\n");
  EXPECT_EQ(printed("", frames), "   5 | 00010203 fe\n   0\n");
  for (const char* none : {"in, 0", "in, CONTENTS false", "in, CONTENTS none", "in, CONTENTS NONE"})
    EXPECT_EQ(printed(none, frames), "in:    5\nin:    0\n") << none;
  EXPECT_EQ(printed("in, ACTIVE false", frames), "");
  EXPECT_EQ(printed("in, NBYTES 1", frames), "in:    5 | 00\nin:    0\n");
}

TEST(Print, ShowsText) {
  Frame frame;
  for (const char c : std::string("hello, world\x7f\n~")) frame.bytes.push_back(static_cast<uint8_t>(c));
  EXPECT_EQ(printed("CONTENTS ASCII", {frame}), "  15 |  hello, w orld..~\n");
}

TEST(Print, ShowsWhatBelongsToPackets) {
  Frame frame{{7, 8}};
  frame.timestamp_ns = 1414141414000001000;
  frame.column[static_cast<int>(Column::dst)] = 0x0100000a;
  frame.column[static_cast<int>(Column::paint)] = 200;
  EXPECT_EQ(printed("a, TIMESTAMP true", {frame}), "a: 1414141414.000001:    2 | 0708\n");
  frame.timestamp_ns += 9;
  EXPECT_EQ(printed("TIMESTAMP true", {frame}), "1414141414.000001009:    2 | 0708\n");
  EXPECT_EQ(printed("CPU true", {frame}), "(0):    2 | 0708\n");
  EXPECT_EQ(printed("HEADROOM true", {frame}), "   2 (h128 t2046) | 0708\n");
  EXPECT_EQ(printed("PRINTANNO true", {frame}),
            "   2 | 0a000001" + std::string(32, '0') + "c8" + std::string(54, '0') + " | 0708\n");
}

TEST(Print, ShowsWholeLongPackets) {
  auto random = random_for("print");
  const Frame frame = random_frame(random, 9000);
  std::string wanted = "9000 |";
  for (size_t i = 0; i < 9000; ++i) wanted += format("%s%02x", i % 4 == 0 ? " " : "", frame.bytes[i]);
  EXPECT_EQ(printed("MAXLENGTH -1", {frame}), wanted + "\n");
}

TEST(Truncate, CutsAndSaysHowMuch) {
  auto random = random_for("truncate");
  auto frames = frames_of_all_lengths(random);
  for (auto& frame : frames) frame.missing_bytes = random() % 100;
  for (size_t bytes : {0, 1, 40, 1500, 65535}) {
    for (const char* noted : {"", ", EXTRA_LENGTH false", ", EXTRA_ANNO true"}) {
      const Result result =
          run(format("TestSource -> Truncate(%zu%s) -> sink :: TestSink;", bytes, noted), cpu(), frames);
      ASSERT_EQ(result.at("sink").size(), frames.size());
      for (size_t i = 0; i < frames.size(); ++i) {
        const Bytes& whole = frames[i].bytes;
        const size_t left = std::min(whole.size(), bytes);
        const Received& packet = result.at("sink")[i];
        ASSERT_EQ(packet.bytes, Bytes(whole.begin(), whole.begin() + static_cast<int>(left)));
        const size_t cut = std::string(noted).ends_with("false") ? 0 : whole.size() - left;
        ASSERT_EQ(packet.missing_bytes, frames[i].missing_bytes + cut);
      }
    }
  }
}

// Copies that share bytes have lengths of their own.
TEST(Truncate, LeavesOtherCopiesAlone) {
  auto random = random_for("truncate copies");
  const auto frames = random_frames(random, 50, 10, 90);
  const Result result =
      run("TestSource -> t :: Tee; t[0] -> Truncate(9) -> a :: TestSink; t[1] -> b :: TestSink;", cpu(), frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(result.at("a")[i].bytes.size(), 9u);
    ASSERT_EQ(result.at("b")[i].bytes, frames[i].bytes);
  }
}

TEST(Null, LetsPacketsPass) {
  auto random = random_for("null");
  const auto frames = random_frames(random, 50, 0, 90);
  const Result result = run("TestSource -> Null -> sink :: TestSink;", cpu(), frames);
  for (size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(result.at("sink")[i].bytes, frames[i].bytes);
}

// Waits until a handler says so.
void await(Engine& engine, const std::string& handler, const std::string& value) {
  wait_while([&] { return engine.handlers().read(handler) != value; });
}

TEST(Counter, HasHandlers) {
  const std::vector<Frame> frames(100, Frame{Bytes(50)});
  run("TestSource -> c :: Counter -> d :: Discard;", cpu(), frames, {.meanwhile = [](Engine& engine) {
        Broker& handlers = engine.handlers();
        await(engine, "c.count", "100");  // elements' own counts are published last
        EXPECT_EQ(handlers.read("d.count"), "100");
        EXPECT_EQ(handlers.read("c.byte_count"), "5000");
        handlers.write("c.reset", "");
        EXPECT_EQ(handlers.read("c.count"), "0");
        EXPECT_EQ(handlers.read("c.byte_count"), "0");
        EXPECT_EQ(handlers.read("d.byte_count"), "5000");
        handlers.write("d.reset_counts", "");
        EXPECT_EQ(handlers.read("d.count"), "0");
        EXPECT_EQ(handlers.read("d.byte_count"), "0");
      }});
}

TEST(Counter, CountsOnAfterReset) {
  const std::vector<Frame> frames(10, Frame{Bytes(50)});
  run("TestSource -> c :: Counter -> d :: Counter -> Discard;", cpu(), frames,
      {.endless = true, .meanwhile = [](Engine& engine) {
         Broker& handlers = engine.handlers();
         const auto number = [&](const char* name) { return std::stod(handlers.read(name)); };
         wait_while([&] { return number("c.count") < 100000; });
         handlers.write("c.reset_counts", "");
         wait_while([&] { return number("c.count") == 0; });
         const double c = number("c.count"), d = number("d.count");
         EXPECT_GT(d, c);
         // Rates fall while the packet thread has no processor, also between two that are read.
         wait_while([&] { return number("c.rate") <= 1000; });
         wait_while([&] { return std::abs(number("c.bit_rate") / number("c.byte_rate") - 8) > 4; });
       }});
}

TEST(Rate, FollowsAConstantRateAndForgets) {
  Rate rate;
  uint64_t now_ms = 1000000;
  for (int i = 0; i < 200; ++i) rate.add(500, ++now_ms);
  EXPECT_NEAR(rate.per_second(now_ms + 1), 500e3, 500e3 * 1e-4);
  EXPECT_NEAR(rate.per_second(now_ms + 12), 500e3 * std::pow(15.0 / 16, 11), 1e3);
  EXPECT_LT(rate.per_second(now_ms + 1000), 1);
  rate.add(16, now_ms + 5000);
  EXPECT_NEAR(rate.per_second(now_ms + 5001), 1000, 1);
}

TEST(AverageCounter, MeasuresFromTheFirstPacketToTheLast) {
  const std::vector<Frame> frames(10, Frame{Bytes(50)});
  run("TestSource -> s :: Switch -> c :: AverageCounter -> Discard; s[1] -> others :: Counter -> Discard;", cpu(),
      frames, {.endless = true, .meanwhile = [](Engine& engine) {
                 Broker& handlers = engine.handlers();
                 const auto number = [&](const char* name) { return std::stod(handlers.read(name)); };
                 wait_while([&] { return number("c.time") < 0.02 || number("c.count") == 0; });
                 handlers.write("s.switch", "1");  // what is read next belongs together
                 wait_for_more(handlers, "others.count");
                 const double rate = number("c.rate");
                 EXPECT_NEAR(rate * number("c.time") / number("c.count"), 1, 0.01);
                 EXPECT_NEAR(number("c.byte_rate") / rate, 50, 0.5);
                 handlers.write("c.reset", "");
                 EXPECT_EQ(number("c.count"), 0);
                 EXPECT_EQ(number("c.time"), 0.001);  // the least
               }});
}

TEST(AverageCounter, CountsBitsOnTheWire) {
  const std::vector<Frame> frames(10, Frame{Bytes(50)});
  for (const char* fcs : {"true", "false"})
    run(format("TestSource -> c :: AverageCounter(0, %s) -> d :: Discard;", fcs), cpu(), frames,
        {.meanwhile = [&](Engine& engine) {
          await(engine, "d.count", "10");
          EXPECT_EQ(engine.handlers().read("c.count"), "10");
          EXPECT_EQ(engine.handlers().read("c.byte_count"), "500");
          EXPECT_EQ(engine.handlers().read("c.bit_count"), "4000");
          EXPECT_EQ(engine.handlers().read("c.link_count"), *fcs == 't' ? "5920" : "5600");
        }});
}

TEST(AverageCounter, IgnoresTheBeginning) {
  const std::vector<Frame> frames(10, Frame{Bytes(50)});
  const Result result = run("TestSource -> c :: AverageCounter(IGNORE 1000) -> Discard;", cpu(), frames);
  EXPECT_EQ(result.statistics.at("c.count"), 0u);
}

TEST(AverageCounter, CountsBetweenIgnoreAndMax) {
  const std::vector<Frame> frames(10, Frame{Bytes(50)});
  double time = 0;  // less than 0.9 if the thread had no processor at either end: then once more
  const auto look = [&](Engine& engine) {
    const auto number = [&](const char* name) { return std::stod(engine.handlers().read(name)); };
    wait_while([&] { return number("d.time") < 1.1; });
    time = number("c.time");
    EXPECT_GT(number("c.count"), 0);
    const std::string count = engine.handlers().read("c.count");
    wait_for_more(engine.handlers(), "others.count");
    EXPECT_EQ(engine.handlers().read("c.count"), count);
  };
  for (int trial = 0; trial < 20 && time < 0.8; ++trial)
    run("TestSource -> c :: AverageCounter(IGNORE 0.1, MAX 1) -> d :: AverageCounter -> others :: Counter -> Discard;",
        cpu(), frames, {.batches = {1}, .endless = true, .meanwhile = look});
  EXPECT_NEAR(time, 0.9, 0.1);
}

TEST(Discard, PullsWhenActive) {
  const std::vector<Frame> frames(100, Frame{Bytes(50)});
  run("TestSource -> q :: Queue -> d :: Discard(ACTIVE false, BURST 7);", cpu(), frames,
      {.meanwhile = [](Engine& engine) {
        await(engine, "q.length", "100");
        EXPECT_EQ(engine.handlers().read("d.count"), "0");
      }});
  run("TestSource -> q :: Queue -> d :: Discard(BURST 7);", cpu(), frames,
      {.meanwhile = [](Engine& engine) { await(engine, "d.count", "100"); }});
}

}  // namespace
}  // namespace heddle::test
