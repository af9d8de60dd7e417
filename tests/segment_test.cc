// Several elements inside GPU segments: splits, drops, neutral elements, copies, several segments. The same chains run
// on the CPU, and both must agree with what is worked out by hand here.

#include <thread>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(SegmentTest);

Bytes mirrored_bytes(Bytes frame, size_t at = 0) {
  for (size_t i = 0; i < 6; ++i) std::swap(frame[at + i], frame[at + 6 + i]);
  return frame;
}
Bytes changed(Bytes frame, unsigned key, size_t at = 0) {
  for (size_t i = at; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(frame[i] ^ key);
  return frame;
}

// Frames to 10.x.0.1, x = 0..kinds-1 at random; kind() tells x.
std::vector<Frame> ip_frames(std::mt19937& random, size_t count, unsigned kinds) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i)
    frames.push_back(ip_frame(static_cast<uint32_t>(i), ip(10, random() % kinds, 0, 1), random() % 100));
  return frames;
}
unsigned kind(const Frame& frame) { return frame.bytes[31]; }

const char* const kRoutes = "10.0.0.0/16 0, 10.1.0.0/16 1, 10.2.0.0/16 2";

TEST_P(SegmentTest, BranchesLeadToDifferentSinks) {
  auto random = random_for("branches");
  const auto frames = ip_frames(random, 1100, 4);
  const Result result = run(
      format("TestSource -> CheckIPHeader(14) -> rt :: DirectIPLookup(%s); rt[0] -> m :: EtherMirror -> s0 :: TestSink;"
             "rt[1] -> x :: XOR(3) -> y :: EtherMirror -> s1 :: TestSink; rt[2] -> s2 :: TestSink;",
             kRoutes),
      GetParam(), frames, {.batches = {1, 31, 32, 33, 500}});
  std::vector<Bytes> wanted[4];
  for (auto& frame : frames)
    wanted[kind(frame)].push_back(kind(frame) == 0   ? mirrored_bytes(frame.bytes)
                                  : kind(frame) == 1 ? mirrored_bytes(changed(frame.bytes, 3))
                                                     : frame.bytes);
  for (int port = 0; port < 3; ++port) {
    const std::string sink = format("s%d", port);
    EXPECT_TRUE(same(result.bytes(sink), wanted[port])) << sink;
    EXPECT_TRUE(in_order(result.at(sink)));
  }
  EXPECT_EQ(result.drop("rt.no_route"), wanted[3].size());
  for (const char* element : {"rt", "m", "x", "y"})
    EXPECT_EQ(result.processor.at(element) == "cpu", !GetParam().on_gpu());
}

// All in the order of arrival again.
TEST_P(SegmentTest, BranchesRejoin) {
  auto random = random_for("rejoin");
  const auto frames = ip_frames(random, 700, 4);
  for (const char* join : {"sink :: TestSink", "XOR(8) -> sink :: TestSink"}) {
    const Result result =
        run(format("TestSource -> CheckIPHeader(14) -> rt :: DirectIPLookup(%s, 10.3.0.0/16 0);"
                   "join :: Counter -> %s; rt[0] -> EtherMirror -> join; rt[1] -> XOR(3) -> join; rt[2] -> join;",
                   kRoutes, join),
            GetParam(), frames, {.batches = {100, 33}});
    const unsigned key = join[0] == 'X' ? 8 : 0;
    ASSERT_EQ(result.at("sink").size(), frames.size());
    EXPECT_EQ(result.statistics.at("join.count"), frames.size());
    EXPECT_TRUE(in_order(result.at("sink")));
    for (auto& packet : result.at("sink")) {
      const Frame& frame = frames[static_cast<size_t>(packet.serial)];
      const unsigned way = kind(frame) % 3;
      const Bytes wanted = way == 0 ? mirrored_bytes(frame.bytes) : way == 1 ? changed(frame.bytes, 3) : frame.bytes;
      ASSERT_EQ(packet.bytes, changed(wanted, key));
    }
  }
}

TEST_P(SegmentTest, DropsInsideASegment) {
  auto random = random_for("drops");
  auto frames = random_frames(random, 600, 0, 40);
  const Result result =
      run("TestSource -> first :: XOR(1) -> s :: Strip(10) -> g :: GetIPAddress(4) -> u :: Strip(2) -> m :: EtherMirror"
          "-> c :: Counter -> rt :: DirectIPLookup(0.0.0.0/1 0) -> XOR(2) -> sink :: TestSink(READS dst);",
          GetParam(), frames, {.batches = {64, 7}});
  std::vector<Bytes> wanted;
  std::vector<uint32_t> addresses;
  uint64_t short_s = 0, short_g = 0, short_m = 0, no_route = 0, counted = 0, bytes = 0;
  for (auto& frame : frames) {
    Bytes left = changed(frame.bytes, 1);
    if (left.size() < 10)
      ++short_s;
    else if (left.size() < 18)
      ++short_g;
    else if (left.size() < 24)
      ++short_m;
    else {
      const uint32_t address = get_u32(left, 14);
      left = mirrored_bytes({left.begin() + 12, left.end()});
      ++counted, bytes += left.size();
      if (address >> 31) {
        ++no_route;
        continue;
      }
      wanted.push_back(changed(left, 2));
      addresses.push_back(address);
    }
  }
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_EQ(result.drop("s.short"), short_s);
  EXPECT_EQ(result.drop("g.short"), short_g);
  EXPECT_EQ(result.drop("m.short"), short_m);
  EXPECT_EQ(result.drop("rt.no_route"), no_route);
  EXPECT_EQ(result.statistics.at("c.count"), counted);
  EXPECT_EQ(result.statistics.at("c.byte_count"), bytes);
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_EQ(__builtin_bswap32(result.at("sink")[i].column[0]), addresses[i]);
  for (const char* element : {"first", "s", "g", "u", "m", "c", "rt"})
    EXPECT_EQ(result.processor.at(element) == "cpu", !GetParam().on_gpu()) << element;
}

TEST_P(SegmentTest, UnstripTakesBackInsideASegment) {
  auto random = random_for("unstrip");
  const auto frames = random_frames(random, 300, 0, 60);
  const Result result =
      run("TestSource -> XOR(1) -> s :: Strip(14) -> XOR(2) -> u :: Unstrip(9) -> XOR(4) -> Unstrip(5) -> XOR(8)"
          "-> sink :: TestSink;",
          GetParam(), frames);
  std::vector<Bytes> wanted;
  for (auto& frame : frames)
    if (frame.bytes.size() >= 14) wanted.push_back(changed(changed(changed(changed(frame.bytes, 1), 2, 14), 4, 5), 8));
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_EQ(result.processor.at("u") == "cpu", !GetParam().on_gpu());
}

// What has been taken off before the segment comes along, and what it has changed and taken off is there for who takes
// it back behind: none of these bytes are those of other packets.
TEST_P(SegmentTest, UnstripTakesBackWhatWasStrippedElsewhere) {
  auto random = random_for("unstrip before");
  std::vector<Frame> frames = random_frames(random, 300, 40, 120);
  for (size_t i = 0; i < frames.size(); ++i) frames[i].headroom = static_cast<int>(64 + i % 64);
  for (const char* chain :
       {"TestSource -> Strip(14) -> EtherMirror(DEVICE cpu) -> SetCRC32 -> Unstrip(14) -> XOR(3) -> sink :: TestSink;",
        "TestSource -> Strip(14) -> EtherMirror(DEVICE cpu) -> XOR(5) -> Unstrip(14) -> sink :: TestSink;",
        "TestSource -> Strip(20) -> EtherMirror(DEVICE cpu) -> XOR(5) -> Unstrip(8) -> EtherMirror -> Strip(4) -> sink "
        ":: TestSink;",
        "TestSource -> EtherEncap(0x0800, 1:2:3:4:5:6, 2:3:4:5:6:7) -> Strip(14) -> Unstrip(10) -> Strip(14) -> "
        "EtherMirror(DEVICE cpu) -> SetCRC32 -> Unstrip(14) -> XOR(3) -> sink :: TestSink;",
        "TestSource -> XOR(1) -> Strip(14) -> EtherMirror -> XOR(2, DEVICE cpu) -> Unstrip(14) -> sink :: TestSink;",
        "TestSource -> XOR(1) -> Strip(7) -> EtherMirror -> XOR(2, DEVICE cpu) -> XOR(4) -> Strip(3) -> Unstrip(10) -> "
        "XOR(8) -> sink :: TestSink;",
        "TestSource -> Strip(14) -> XOR(1, DEVICE cpu) -> EtherMirror -> Unstrip(14) -> EtherMirror -> Strip(18) -> "
        "XOR(2, DEVICE cpu) -> Unstrip(18) -> sink :: TestSink;",
        "TestSource -> Strip(14) -> EtherMirror(DEVICE cpu) -> GetIPAddress(4) -> rt :: DirectIPLookup(0.0.0.0/1 0, "
        "128.0.0.0/1 1); rt[0] -> join :: EtherMirror -> Unstrip(6) -> XOR(3) -> sink :: TestSink; rt[1] -> Strip(6) "
        "-> join;",
        "TestSource -> SetCRC32 -> Strip(20) -> SetCRC32 -> Strip(2) -> XOR(2, DEVICE cpu) -> Unstrip(22) -> sink :: "
        "TestSink;"}) {
    SCOPED_TRACE(chain);
    const Options options{.batches = {64, 33, 7}, .scratch = 32};  // EtherEncap
    const Result wanted = run(chain, backends()[0], frames, options);
    for (const Transport transport : {GetParam().transport, Transport::zerocopy, Transport::commlist}) {
      Backend backend = GetParam();
      if (backend.on_gpu() && transport != backend.transport)
        backend.transport = transport, backend.launch = LaunchMode::async;
      EXPECT_TRUE(same(run(chain, backend, frames, options).bytes(), wanted.bytes())) << name(transport);
    }
  }
}

TEST_P(SegmentTest, TwoSegmentsWithTheCpuBetween) {
  auto random = random_for("two segments");
  const auto frames = ip_frames(random, 900, 3);
  const Result result = run(
      format(
          "TestSource -> CheckIPHeader(14) -> rt :: DirectIPLookup(%s); rt[0] -> XOR(1) -> c :: Classifier(0/03, -);"
          "rt[1] -> c; rt[2] -> other :: TestSink; c[0] -> EtherMirror -> m :: EtherMirror -> XOR(4) -> s0 :: TestSink;"
          "c[1] -> XOR(16, DEVICE cpu) -> x :: XOR(64) -> s1 :: TestSink;",
          kRoutes),
      GetParam(), frames, {.batches = {250, 1}});
  std::vector<Bytes> wanted[3];
  for (auto& frame : frames) {
    if (kind(frame) == 0) wanted[0].push_back(changed(frame.bytes, 5));
    if (kind(frame) == 1) wanted[1].push_back(changed(frame.bytes, 80));
    if (kind(frame) == 2) wanted[2].push_back(frame.bytes);
  }
  EXPECT_TRUE(same(result.bytes("s0"), wanted[0]));
  EXPECT_TRUE(same(result.bytes("s1"), wanted[1]));
  EXPECT_TRUE(same(result.bytes("other"), wanted[2]));
  EXPECT_EQ(result.processor.at("c"), "cpu");
  EXPECT_EQ(result.processor.at("x") == "cpu", !GetParam().on_gpu());
}

// Columns that the GPU does not need wait on the host; those that it sets on some ways only keep their values on
// others.
TEST_P(SegmentTest, ColumnsSurviveASegment) {
  auto random = random_for("columns");
  auto frames = ip_frames(random, 400, 3);
  for (auto& frame : frames)
    for (auto& column : frame.column) column = random() & 0xffff;
  const Result result = run(
      format("TestSource(SETS \"paint l3 l4\") -> GetIPAddress(30) -> rt :: DirectIPLookup(10.0.0.0/16 192.0.2.1 0,"
             "10.1.0.0/16 0, 10.2.0.0/16 1); rt[0] -> Strip(4) -> XOR(1) -> s0 :: TestSink(READS \"dst paint l3 l4\");"
             "rt[1] -> GetIPAddress(26) -> EtherMirror -> s1 :: TestSink(READS \"dst paint l3 l4\");"),
      GetParam(), frames, {.batches = {45}});
  ASSERT_EQ(result.delivered, frames.size());
  const bool landed = GetParam().transport == Transport::landing;
  if (landed) {
    ASSERT_EQ(result.report.traffic.at(0).landed, frames.size());
  }
  for (auto& [sink, packets] : result.sinks)
    for (auto& packet : packets) {
      const Frame& frame = frames[static_cast<size_t>(packet.serial)];
      const uint32_t dst = kind(frame) == 0   ? ip(192, 0, 2, 1)
                           : kind(frame) == 1 ? ip(10, 1, 0, 1)
                                              : get_u32(frame.bytes, 26);
      ASSERT_EQ(sink, kind(frame) == 2 ? "s1" : "s0");
      const Bytes wanted =
          kind(frame) == 2 ? mirrored_bytes(frame.bytes) : changed({frame.bytes.begin() + 4, frame.bytes.end()}, 1);
      ASSERT_EQ(packet.bytes, wanted);
      ASSERT_EQ(__builtin_bswap32(packet.column[0]), dst);
      // Of a packet that has landed elsewhere the sink knows where it begins, not where its frame did before Strip.
      const uint64_t stripped = landed && sink == "s0" ? 4 : 0;
      ASSERT_EQ(packet.column[static_cast<int>(Column::paint)], frame.column[static_cast<int>(Column::paint)]);
      for (const Column which : {Column::l3, Column::l4})
        ASSERT_EQ(packet.column[static_cast<int>(which)] + stripped, frame.column[static_cast<int>(which)]);
    }
}

// Starts that differ by packet, before and inside a segment.
TEST_P(SegmentTest, StartsMayDifferByPacket) {
  auto random = random_for("starts");
  const auto frames = random_frames(random, 400, 30, 120);
  const Result result =
      run("TestSource(SETS \"l3 l4\") -> c :: Classifier(0/00%01, -); m :: EtherMirror -> GetIPAddress(12)"
          "-> rt :: DirectIPLookup(0.0.0.0/1 0, 0/0 1); c[0] -> Strip(6) -> m; c[1] -> m;"
          "x :: XOR(9) -> s :: TestSink(READS \"l3 l4\"); rt[0] -> Strip(3) -> x; rt[1] -> x;",
          GetParam(), frames, {.batches = {50}});
  ASSERT_EQ(result.delivered, frames.size());
  for (auto& packet : result.at("s")) {
    const Frame& frame = frames[static_cast<size_t>(packet.serial)];
    Bytes wanted = frame.bytes;
    if ((wanted[0] & 1) == 0) wanted.erase(wanted.begin(), wanted.begin() + 6);
    wanted = mirrored_bytes(wanted);
    if ((wanted[12] & 0x80) == 0) wanted.erase(wanted.begin(), wanted.begin() + 3);
    ASSERT_EQ(packet.bytes, changed(wanted, 9));
    for (const Column which : {Column::l3, Column::l4})
      ASSERT_EQ(packet.column[static_cast<int>(which)], frame.column[static_cast<int>(which)]);
  }
}

// Counters inside a segment count while packets flow.
TEST_P(SegmentTest, NodesInsideASegmentAreCountedLive) {
  auto random = random_for("live");
  const auto frames = random_frames(random, 100, 60, 60);
  Options options;
  options.endless = true;
  options.meanwhile = [](Engine& engine) {
    wait_while([&] { return std::stoull(engine.handlers().read("n.count")) < 1000; });
    wait_while([&] { return engine.packets(engine.router().find("x")) < 1000; });
    engine.handlers().write("n.reset", "");
    EXPECT_LT(std::stoull(engine.handlers().read("n.count")), engine.packets(engine.router().find("x")));
  };
  const Result result =
      run("TestSource -> EtherMirror -> n :: Counter -> x :: XOR(9) -> s :: TestSink;", GetParam(), frames, options);
  uint64_t x = 0;
  for (auto& element : result.report.elements)
    if (element.name == "x") {
      x = element.packets;
      EXPECT_EQ(element.bytes, 60 * element.packets);
    }
  EXPECT_EQ(x, result.received);
}

// Every byte that crosses the bus by a lane's doing is counted; a slot takes 256 bytes of words and brings 128 or 256
// back. Transport gather takes what functions want along, in pieces of 16; frames begin on a boundary of 64 here.
TEST_P(SegmentTest, BytesAcrossTheBusAreThoseOfThePlan) {
  if (!GetParam().on_gpu()) GTEST_SKIP() << "nothing crosses";
  if (GetParam().by_load) GTEST_SKIP() << "half of the batches do not cross";
  if (packs(GetParam().transport)) GTEST_SKIP() << "how much is packed together depends on the staging memory";
  auto random = random_for("bus");
  const auto frames = ip_frames(random, 320, 2);
  const auto moved = [&](const std::string& functions) {
    const Result result =
        run("TestSource(SETS \"dst l3 l4 paint\") -> " + functions + " -> s :: TestSink(READS \"dst l3\");", GetParam(),
            frames, {.batches = {32}});
    const auto& traffic = result.report.traffic;
    EXPECT_EQ(traffic.size(), 1u);
    return traffic.empty() ? std::pair<uint64_t, uint64_t>() : std::pair(traffic[0].to_gpu, traffic[0].from_gpu);
  };
  const bool gathers = heddle::gathers(GetParam().transport);
  const auto whole = [&](size_t more) {
    uint64_t sum = 0;
    for (auto& frame : frames) sum += (frame.bytes.size() + more + 15) / 16 * 16;
    return gathers ? sum : 0;
  };
  const bool lands = GetParam().transport == Transport::landing;
  const uint64_t addresses = lands ? whole(0) : gathers ? 320 * 16 : 0;
  EXPECT_EQ(moved("EtherMirror"), std::pair(10 * uint64_t{256} + addresses, 10 * uint64_t{128} + addresses));
  EXPECT_EQ(moved("EtherMirror -> SetCRC32"), std::pair(10 * uint64_t{256} + whole(4), 10 * uint64_t{256} + whole(4)));
  // dst goes and comes back beside the words if they carry the place of a packet that is read, else in them.
  EXPECT_EQ(moved("DirectIPLookup(0/0 0)"), std::pair(10 * uint64_t{256}, 10 * uint64_t{256}));
  EXPECT_EQ(moved("DirectIPLookup(0/0 0) -> XOR"),
            std::pair(10 * uint64_t{384} + whole(0), 10 * uint64_t{256} + whole(0)));
}

// What the CPU has not written since another segment gathered it is not gathered again.
TEST(SharedPackets, OnlyWhatTheCpuHasWrittenCrossesTheBusAgain) {
  auto random = random_for("shared packets");
  const auto frames = ip_frames(random, 320, 2);
  uint64_t whole = 0;
  for (auto& frame : frames) whole += (frame.bytes.size() + 15) / 16 * 16;
  const uint64_t words = 10 * 256;
  const auto second = [&](const std::string& between, bool share) {
    const std::string chain = "TestSource(SETS \"l3 l4\") -> XOR(0) -> " + between + " -> XOR(2) -> s :: TestSink;";
    const Result wanted = run(chain, {"cpu", "cpu", LaunchMode::persistent}, frames, {.batches = {32}});
    const Result got =
        run(chain, {"simt", "simt", LaunchMode::persistent, Transport::gather, share}, frames, {.batches = {32}});
    EXPECT_TRUE(same(got.bytes("s"), wanted.bytes("s"))) << between;
    EXPECT_EQ(got.report.traffic.size(), 2u) << between;
    return got.report.traffic.back().to_gpu - words;
  };
  const char* const rewrite = "EtherRewrite(00:00:00:00:00:01, 00:00:00:00:00:02)";
  EXPECT_EQ(second(rewrite, true), 320u * 16);  // the addresses
  EXPECT_EQ(second(rewrite, false), whole);
  EXPECT_EQ(second("AverageCounter", true), 0u);
  EXPECT_EQ(second("Queue -> Unqueue", true), 0u);
  // Where a field lies, whether the packet is still in its buffer: what is not known is gathered.
  EXPECT_EQ(second("CheckIPHeader(14) -> SetIPChecksum", true), whole);
  EXPECT_EQ(second("Truncate(4000)", true), whole);
}

// Nothing of a packet that a function has in GPU memory is there for the next one.
TEST(SharedPackets, IsolatedFunctionsGatherForThemselves) {
  auto random = random_for("isolated");
  const auto frames = ip_frames(random, 320, 2);
  uint64_t whole = 0;
  for (auto& frame : frames) whole += (frame.bytes.size() + 15) / 16 * 16;
  const uint64_t words = 10 * 256, results = 10 * 128;
  const char* const chain = "TestSource -> XOR(1) -> EtherMirror -> Counter -> XOR(2) -> XOR(4) -> s :: TestSink;";
  const Result wanted = run(chain, {"cpu", "cpu", LaunchMode::persistent}, frames, {.batches = {32}});
  Backend backend{"simt", "simt", LaunchMode::persistent, Transport::gather};
  const Result together = run(chain, backend, frames, {.batches = {32}});
  backend.isolate = true;
  const Result isolated = run(chain, backend, frames, {.batches = {32}});
  EXPECT_TRUE(same(together.bytes("s"), wanted.bytes("s")));
  EXPECT_TRUE(same(isolated.bytes("s"), wanted.bytes("s")));
  ASSERT_EQ(together.report.traffic.size(), 1u);
  EXPECT_EQ(together.report.traffic[0].to_gpu, words + whole);
  ASSERT_EQ(isolated.report.traffic.size(), 4u);
  for (const size_t whole_packets : {0u, 2u, 3u}) {
    EXPECT_EQ(isolated.report.traffic[whole_packets].to_gpu, words + whole);
    EXPECT_EQ(isolated.report.traffic[whole_packets].from_gpu, results + whole);
  }
  EXPECT_EQ(isolated.report.traffic[1].to_gpu, words + 320 * 16);  // the addresses
  EXPECT_EQ(isolated.report.traffic[1].from_gpu, results + 320 * 16);
}

// A segment's first element need not be the one that writes: copies must be made before the segment all the same.
TEST_P(SegmentTest, WritesToOneCopyLeaveTheOtherAlone) {
  auto random = random_for("tee");
  const auto frames = ip_frames(random, 500, 2);
  for (const char* writer :
       {"EtherMirror", "c :: Counter -> EtherMirror", "GetIPAddress(30) -> DirectIPLookup(0/0 0) -> EtherMirror",
        "XOR(0) -> c :: Counter -> EtherMirror"}) {
    for (int written : {0, 1}) {
      const Result result = run(format("TestSource -> t :: Tee; t[%d] -> %s -> w :: TestSink; t[%d] -> o :: TestSink;",
                                       written, writer, 1 - written),
                                GetParam(), frames, {.batches = {40}});
      std::vector<Bytes> original, mirror;
      for (auto& frame : frames) original.push_back(frame.bytes), mirror.push_back(mirrored_bytes(frame.bytes));
      EXPECT_TRUE(same(result.bytes("w"), mirror)) << writer << ", output " << written;
      EXPECT_TRUE(same(result.bytes("o"), original)) << writer << ", output " << written;
    }
  }
}

TEST_P(SegmentTest, AllCopiesMayBeWritten) {
  auto random = random_for("tee all");
  auto frames = random_frames(random, 300, 12, 90);
  frames.push_back(random_frame(random, 5000));
  const Result result =
      run("TestSource -> t :: Tee(3); t[0] -> XOR(1) -> a :: TestSink; t[1] -> XOR(2) -> b :: TestSink;"
          "t[2] -> EtherMirror -> c :: TestSink;",
          GetParam(), frames);
  std::vector<Bytes> a, b, c;
  for (auto& frame : frames)
    a.push_back(changed(frame.bytes, 1)), b.push_back(changed(frame.bytes, 2)),
        c.push_back(mirrored_bytes(frame.bytes));
  EXPECT_TRUE(same(result.bytes("a"), a));
  EXPECT_TRUE(same(result.bytes("b"), b));
  EXPECT_TRUE(same(result.bytes("c"), c));
}

// A slow consumer under bursts: of few packets most wait behind the GPU, and each buffer, slot, list, piece of staging
// memory or twin that is free is used again at once. What waits must stay as it is.
class Reuse : public OnBackend {
 protected:
  static Options slowly(unsigned packets, int threads) {
    return {.batches = {128, 0, 1, 50}, .batch_size = 128, .slots = 4, .packets = packets, .threads = threads};
  }
  static std::vector<Bytes> all_changed(const std::vector<Frame>& frames, unsigned key) {
    std::vector<Bytes> list;
    for (auto& frame : frames) list.push_back(changed(frame.bytes, key));
    return list;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Reuse, testing::ValuesIn(all_ways()), backend_name);

TEST_P(Reuse, WhatWaitsBehindTheGpuIsNotOverwritten) {
  auto random = random_for("slow consumer");
  // More wait than memory to land in has room for, and that is gone through twice.
  const auto frames = random_frames(random, 2000, 1000, 1400);
  const Result result = run("TestSource -> XOR(0x5a) -> q :: Queue(100000) -> Unqueue(BURST 1) -> sink :: TestSink;",
                            GetParam(), frames, slowly(1200, 1));
  EXPECT_TRUE(same(result.bytes(), all_changed(frames, 0x5a)));
  EXPECT_GT(result.statistics.at("q.highwater_length"), 600u);
}

// The second segment goes on with what the first has left in GPU memory, if there is any, while others go through that.
TEST_P(Reuse, WhatWaitsBetweenSegmentsIsNotOverwritten) {
  auto random = random_for("slow segment");
  const auto frames = random_frames(random, 300, 300, 1400);
  for (const int threads : {1, 2}) {
    const Result result = run(format("TestSource -> XOR(1) -> q :: Queue(100000) -> u :: Unqueue(BURST 1) -> XOR(2) -> "
                                     "sink :: TestSink; StaticThreadSched(u %d);",
                                     threads - 1),
                              GetParam(), frames, slowly(150, threads));
    EXPECT_TRUE(same(result.bytes(), all_changed(frames, 3))) << threads;
    if (threads == 1) {
      EXPECT_GT(result.statistics.at("q.highwater_length"), 50u);
    }
    ASSERT_EQ(result.report.traffic.size(), 2u);
    if (GetParam().transport == Transport::gather) {
      EXPECT_LE(result.report.traffic.back().to_gpu, 256 * frames.size()) << "a slot's words for each, at most";
    }
  }
}

}  // namespace
}  // namespace heddle::test
