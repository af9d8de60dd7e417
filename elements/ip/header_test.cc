// MarkIPHeader, SetIPChecksum, DecIPTTL and GetIPAddress; all of elements/ip on packets that lie.

#include "tests/support/access.h"

namespace heddle::test {
namespace {

constexpr auto kL3 = static_cast<int>(Column::l3), kL4 = static_cast<int>(Column::l4);

Frame valid(size_t payload = 20) { return ip_frame(ip(192, 0, 2, 1), ip(10, 0, 0, 7), payload); }

TEST(MarkIPHeader, MarksWhatStaysInsideThePacket) {
  for (unsigned words = 0; words < 16; ++words) {
    const size_t least = 34, most = 89;  // the fixed part of a header is enough
    std::vector<Frame> frames;
    for (size_t length = 0; length <= most; ++length) {
      frames.push_back({Bytes(length, 0x33)});
      if (length > 14) frames.back().bytes[14] = static_cast<uint8_t>(0x60 | words);  // no version is wrong for it
    }
    const Result result =
        run("TestSource -> m :: MarkIPHeader(14) -> sink :: TestSink(READS \"l3 l4\");", cpu(), frames);
    EXPECT_EQ(result.drop("m.short"), least) << words;
    auto& marked = result.at("sink");
    ASSERT_EQ(marked.size(), most - least + 1) << words;
    for (size_t i = 0; i < marked.size(); ++i) {
      EXPECT_EQ(marked[i].bytes.size(), least + i);
      EXPECT_EQ(marked[i].column[kL3], 14u);
      EXPECT_EQ(marked[i].column[kL4], std::min<size_t>(14 + 4 * words, least + i));
    }
  }
}

TEST(MarkIPHeader, ReadsAndWritesWhatItDeclares) {
  EXPECT_EQ(access_violations("MarkIPHeader(14)", cpu()), std::vector<std::string>{});
}

TEST(SetIPChecksum, SetsIt) {
  auto random = random_for("set checksum");
  std::vector<Frame> frames;
  std::vector<Bytes> wanted;
  for (unsigned words = 5; words < 16; ++words)
    for (int i = 0; i < 50; ++i) {
      Frame frame = random_frame(random, 14 + 4 * words + random() % 5);
      frame.bytes[14] = static_cast<uint8_t>(0x40 | words);
      if (i % 2 != 0) std::fill(frame.bytes.begin() + 15, frame.bytes.end(), i % 4 == 1 ? 0xff : 0);
      frames.push_back(frame);
      set_ip_checksum(frame.bytes, 14);
      wanted.push_back(frame.bytes);
    }
  const Result result = run("TestSource -> MarkIPHeader(14) -> SetIPChecksum -> sink :: TestSink;", cpu(), frames);
  EXPECT_TRUE(same(result.bytes(), wanted));
}

TEST(SetIPChecksum, DropsBadHeaders) {
  Frame lies = valid(), before = valid(), behind = valid(), far = valid(), good = valid();
  for (Frame* frame : {&lies, &good}) frame->column[kL3] = 14;
  lies.bytes[14] = 0x44;
  before.column[kL3] = static_cast<uint32_t>(-4);
  behind.column[kL3] = 35;  // 19 bytes are left
  far.column[kL3] = 0x80000000;
  run("TestSource(SETS l3) -> s :: SetIPChecksum -> d :: Discard;", cpu(), {lies, good, before, behind, far},
      {.meanwhile = [](Engine& engine) {
        while (engine.handlers().read("d.count") != "1") continue;
        EXPECT_EQ(engine.handlers().read("s.drops"), "4");
      }});
}

TEST(SetIPChecksum, ReadsAndWritesWhatItDeclares) {
  const AccessOptions options{.shape = [](Frame& frame, auto&) {
    if (frame.bytes.size() > 14) frame.bytes[14] = 0x45;
  }};
  EXPECT_EQ(access_violations("SetIPChecksum", cpu(), options), std::vector<std::string>{});
}

// Every checksum that there is; after it, the header is as if the checksum had been computed anew.
TEST(DecIPTTL, KeepsTheChecksumRight) {
  std::vector<Frame> frames;
  std::vector<Bytes> wanted;
  for (unsigned id = 0; id < 0x10000; id += full() ? 1 : 3) {
    Frame frame = valid(0);
    put_u16(frame.bytes, 18, id);
    frame.bytes[22] = static_cast<uint8_t>(id % 253 + 2);
    set_ip_checksum(frame.bytes, 14);
    frames.push_back(frame);
    --frame.bytes[22];
    set_ip_checksum(frame.bytes, 14);
    wanted.push_back(frame.bytes);
  }
  const Result result = run("TestSource -> CheckIPHeader(14) -> DecIPTTL -> sink :: TestSink;", cpu(), frames);
  EXPECT_TRUE(same(result.bytes(), wanted));
}

std::vector<Frame> with_ttls(std::initializer_list<unsigned> ttls) {
  std::vector<Frame> frames;
  for (unsigned ttl : ttls) {
    frames.push_back(valid());
    frames.back().bytes[22] = static_cast<uint8_t>(ttl);
    set_ip_checksum(frames.back().bytes, 14);
  }
  return frames;
}

TEST(DecIPTTL, DropsTheExpiredOrSendsThemToOutputOne) {
  const auto frames = with_ttls({0, 1, 2, 255});
  EXPECT_EQ(run("TestSource -> CheckIPHeader(14) -> d :: DecIPTTL -> TestSink;", cpu(), frames).drop("d.ttl_expired"),
            2u);
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> d :: DecIPTTL -> a :: TestSink; d[1] -> b :: TestSink;", cpu(), frames);
  EXPECT_TRUE(same(result.bytes("b"), {frames[0].bytes, frames[1].bytes}));
  ASSERT_EQ(result.at("a").size(), 2u);
  EXPECT_EQ(result.at("a")[0].bytes[22], 1);
  EXPECT_EQ(result.at("a")[1].bytes[22], 254);
}

TEST(DecIPTTL, CanBeSwitchedOff) {
  const auto frames = with_ttls({0, 1, 2, 255});
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> DecIPTTL(ACTIVE false) -> sink :: TestSink;", cpu(), frames);
  for (size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(result.at("sink")[i].bytes, frames[i].bytes);
  run("TestSource -> CheckIPHeader(14) -> d :: DecIPTTL -> c :: Counter -> Discard;", cpu(), frames,
      {.endless = true, .meanwhile = [](Engine& engine) {
         Broker& handlers = engine.handlers();
         while (handlers.read("c.count") == "0") continue;
         EXPECT_NE(handlers.read("d.drops"), "0");
         EXPECT_EQ(handlers.read("d.active"), "true");
         handlers.write("d.active", "false");
         wait_for_more(handlers, "c.count");
         const std::string drops = handlers.read("d.drops");
         wait_for_more(handlers, "c.count");
         EXPECT_EQ(handlers.read("d.drops"), drops);
       }});
}

TEST(DecIPTTL, LeavesMulticastAloneIfTold) {
  std::vector<Frame> frames = with_ttls({1, 9, 9, 9});
  for (size_t i : {0u, 1u}) put_u32(frames[i].bytes, 30, ip(224 + 15 * static_cast<unsigned>(i), 0, 0, 5));
  put_u32(frames[2].bytes, 30, ip(240, 0, 0, 5));
  for (auto& frame : frames) set_ip_checksum(frame.bytes, 14);
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> DecIPTTL(MULTICAST false) -> sink :: TestSink;", cpu(), frames);
  ASSERT_EQ(result.at("sink").size(), 4u);
  EXPECT_EQ(result.at("sink")[0].bytes, frames[0].bytes);
  EXPECT_EQ(result.at("sink")[1].bytes, frames[1].bytes);
  EXPECT_EQ(result.at("sink")[2].bytes[22], 8);
  EXPECT_EQ(result.at("sink")[3].bytes[22], 8);
}

TEST(DecIPTTL, NeedsAHeader) {
  std::vector<Frame> frames(6, valid());
  const uint32_t marks[] = {static_cast<uint32_t>(-1), static_cast<uint32_t>(-20), 35, 54, 0x80000000, 34};
  for (size_t i = 0; i < frames.size(); ++i) frames[i].column[kL3] = marks[i];
  frames[5].bytes[42] = 7;  // the last one has 20 bytes
  const Result result = run("TestSource(SETS l3) -> d :: DecIPTTL -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.drop("d.no_header"), 5u);
  EXPECT_EQ(result.at("sink").size(), 1u);
  // What CheckIPHeader has refused has no header.
  frames[0].bytes.resize(20);
  EXPECT_EQ(
      run("TestSource -> k :: CheckIPHeader(14) -> Discard; k[1] -> d :: DecIPTTL -> TestSink;", cpu(), {frames[0]})
          .drop("d.no_header"),
      1u);
}

TEST(DecIPTTL, ReadsAndWritesWhatItDeclares) {
  EXPECT_EQ(access_violations("DecIPTTL", cpu(), {.outputs = 2}), std::vector<std::string>{});
  EXPECT_EQ(access_violations("DecIPTTL(MULTICAST false)", cpu(), {.outputs = 2}), std::vector<std::string>{});
}

TEST(DecIPTTL, LeavesOtherCopiesAlone) {
  const auto frames = with_ttls({2, 3, 64});
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> t :: Tee; t[1] -> DecIPTTL -> a :: TestSink; t[0] -> b :: TestSink;",
          cpu(), frames);
  for (size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(result.at("b")[i].bytes, frames[i].bytes);
    EXPECT_EQ(result.at("a")[i].bytes[22], frames[i].bytes[22] - 1);
  }
}

TEST(GetIPAddress, KnowsOneAnnotation) {
  EXPECT_EQ(mistakes("TestSource -> GetIPAddress(16, 0) -> TestSink;"), "");
  EXPECT_EQ(mistakes("TestSource -> GetIPAddress(16, ANNO DST_IP) -> TestSink;"), "");
  EXPECT_NE(mistakes("TestSource -> GetIPAddress(16, 4) -> TestSink;").find("ANNO: '4' is not DST_IP"),
            std::string::npos);
}

// Headers that lie about every length: nothing outside a packet changes (run() looks), nothing is lost, and sanitizers
// have nothing to say.
TEST(Hostile, ChainsSurvive) {
  auto random = random_for("hostile");
  std::vector<Frame> frames = frames_of_all_lengths(random);
  for (int i = 0; i < 3000; ++i) {
    Frame frame = ip_frame(random(), random(), random() % 60);
    if (i % 3 != 0) frame.bytes[14] = static_cast<uint8_t>((i % 5 == 0 ? random() : 0x40) | random() % 16);
    if (i % 4 == 0) put_u16(frame.bytes, 16, random() % 100);
    if (i % 7 == 0) put_u16(frame.bytes, 16, random());
    if (i % 6 == 0) put_u16(frame.bytes, 20, random());
    constexpr uint8_t kProtocols[] = {1, 6, 17, 50};
    frame.bytes[23] = kProtocols[random() % 4];
    for (size_t at = 34; at < frame.bytes.size(); ++at) frame.bytes[at] = static_cast<uint8_t>(random() % 13);
    if (i % 2 != 0) frame.bytes.resize(random() % (frame.bytes.size() + 1));
    if (frame.bytes.size() >= 14 + 60) set_ip_checksum(frame.bytes, 14);
    frame.headroom = i % 5 == 0 ? static_cast<int>(random() % 30) : -1;
    frames.push_back(frame);
  }
  testing::internal::CaptureStderr();
  for (const char* chain :
       {"MarkIPHeader(14) -> SetIPChecksum -> DecIPTTL(MULTICAST false)", "MarkIPHeader -> DecIPTTL",
        "CheckIPHeader(14, CHECKSUM false) -> DecIPTTL -> SetIPChecksum",
        "CheckIPHeader(14, INTERFACES 10.0.0.1/8, VERBOSE true, DETAILS true)",
        "MarkIPHeader(14) -> IPPrint(x, PAYLOAD HEX, MAXLENGTH -1, ETHER true, PAINT true, ID true)",
        "CheckIPHeader(14, CHECKSUM false) -> IPPrint(CONTENTS ASCII) -> Strip(34) -> IPPrint",
        "MarkIPHeader(14) -> Truncate(30) -> DecIPTTL -> SetIPChecksum -> IPPrint(PAYLOAD ASCII)",
        "EtherRewrite(1:2:3:4:5:6, 1:2:3:4:5:6)", "Strip(14) -> EtherEncap(1, 1:2:3:4:5:6, 1:2:3:4:5:6)",
        "Print(MAXLENGTH -1, CONTENTS ASCII, HEADROOM true)", "HashSwitch(30, 50)"})
    run(std::string("TestSource -> ") + chain + " -> TestSink;", cpu(), frames, {.batches = {64, 1, 0, 33}});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("truncated-"), std::string::npos);
}

}  // namespace
}  // namespace heddle::test
