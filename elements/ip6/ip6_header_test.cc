// CheckIP6Header, MarkIP6Header and DecIP6HLIM.

#include <arpa/inet.h>

#include "tests/support/access.h"

namespace heddle::test {
namespace {

constexpr auto kL3 = static_cast<int>(Column::l3), kL4 = static_cast<int>(Column::l4);

Frame valid(size_t payload = 20, const char* source = "2001:db8::1", const char* destination = "2001:db8::2") {
  Frame frame{Bytes(14 + 40 + payload, 0x77)};
  frame.bytes[14] = 0x60;
  put_u16(frame.bytes, 18, static_cast<unsigned>(payload));
  frame.bytes[21] = 64;
  EXPECT_EQ(inet_pton(AF_INET6, source, &frame.bytes[22]), 1);
  EXPECT_EQ(inet_pton(AF_INET6, destination, &frame.bytes[38]), 1);
  return frame;
}

TEST(CheckIP6Header, LetsValidHeadersPassAndCutsPadding) {
  std::vector<Frame> frames = {valid(), valid(0), valid(3)};
  frames[1].bytes.resize(60, 0);  // as Ethernet pads it
  const Result result =
      run("TestSource -> CheckIP6Header(OFFSET 14) -> sink :: TestSink(READS \"l3 l4\");", cpu(), frames);
  ASSERT_EQ(result.at("sink").size(), 3u);
  EXPECT_EQ(result.at("sink")[1].bytes.size(), 54u);
  for (const Received& packet : result.at("sink")) {
    EXPECT_EQ(packet.column[kL3], 14u);
    EXPECT_EQ(packet.column[kL4], 54u);
  }
}

TEST(CheckIP6Header, SaysWhatIsWrong) {
  std::vector<Frame> frames;
  for (size_t length = 0; length < 54; ++length) {
    frames.push_back(valid());
    frames.back().bytes.resize(length);
  }
  const size_t too_short = frames.size();
  for (unsigned version = 0; version < 16; ++version)
    if (version != 6) frames.push_back(valid()), frames.back().bytes[14] = static_cast<uint8_t>(version << 4);
  frames.push_back(valid(20));
  put_u16(frames.back().bytes, 18, 21);
  frames.push_back(valid(20));
  put_u16(frames.back().bytes, 18, 65535);
  frames.push_back(valid(20, "ff02::1"));
  frames.push_back(valid(20, "2001:db8::bad"));
  frames.push_back(valid(20, "::1", "::"));
  frames.push_back(valid(20, "::", "2001:db8::bad"));
  frames.push_back(valid(20, "::", "ff02::2"));  // right: a host without an address asks for a router
  const std::string check = "c :: CheckIP6Header(2001:db8::bad 2001:db8::bae, 14)";
  const Result result = run("TestSource -> " + check + " -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.drop("c.short"), too_short);
  EXPECT_EQ(result.drop("c.bad_version"), 15u);
  EXPECT_EQ(result.drop("c.bad_length"), 2u);
  EXPECT_EQ(result.drop("c.bad_source"), 2u);
  EXPECT_EQ(result.drop("c.bad_destination"), 2u);
  EXPECT_EQ(result.at("sink").size(), 1u);
  const Result both =
      run("TestSource -> " + check + " -> good :: TestSink; c[1] -> bad :: TestSink(READS \"l3 l4\");", cpu(), frames);
  ASSERT_EQ(both.at("bad").size(), frames.size() - 1);
  for (size_t i = 0; i < both.at("bad").size(); ++i) EXPECT_EQ(both.at("bad")[i].bytes, frames[i].bytes);
}

TEST(CheckIP6Header, TakesClicksArguments) {
  for (const char* arguments :
       {"", "14", "OFFSET 14", "::1", "::1 ::2, 14", "BADADDRS ::1, OFFSET 14", "BADADDRS ::1, 14"})
    EXPECT_EQ(mistakes(std::string("TestSource -> CheckIP6Header(") + arguments + ") -> TestSink;"), "") << arguments;
  for (const char* arguments : {"-1", "16385", "10.0.0.1", "14, ::1", "::1, 14, 15", "BADADDRS x", "14, 14"})
    EXPECT_NE(mistakes(std::string("TestSource -> CheckIP6Header(") + arguments + ") -> TestSink;"), "") << arguments;
}

TEST(CheckIP6Header, ReadsAndWritesWhatItDeclares) {
  const AccessOptions options{.outputs = 2, .shape = [](Frame& frame, auto& random) {
                                if (frame.bytes.size() < 54 || random() % 4 == 0) return;
                                frame.bytes[14] = 0x60;
                                put_u16(frame.bytes, 18, static_cast<unsigned>(frame.bytes.size() - 54));
                              }};
  EXPECT_EQ(access_violations("CheckIP6Header(OFFSET 14)", cpu(), options), std::vector<std::string>{});
}

TEST(MarkIP6Header, MarksWhatStaysInsideThePacket) {
  for (size_t length = 0; length < 90; ++length) {
    const Result result = run("TestSource -> m :: MarkIP6Header(14) -> sink :: TestSink(READS \"l3 l4\");", cpu(),
                              {Frame{Bytes(length, 0x33)}});
    if (length < 54) {
      ASSERT_EQ(result.drop("m.short"), 1u) << length;
      continue;
    }
    ASSERT_EQ(result.at("sink").size(), 1u) << length;
    EXPECT_EQ(result.at("sink")[0].column[kL3], 14u);
    EXPECT_EQ(result.at("sink")[0].column[kL4], 54u);
  }
}

TEST(DecIP6HLIM, CountsDown) {
  std::vector<Frame> frames(256, valid());
  for (unsigned limit = 0; limit < 256; ++limit) frames[limit].bytes[21] = static_cast<uint8_t>(limit);
  const Result dropped = run("TestSource -> MarkIP6Header(14) -> d :: DecIP6HLIM -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(dropped.drop("d.hop_limit_expired"), 2u);
  ASSERT_EQ(dropped.at("sink").size(), 254u);
  for (size_t i = 0; i < 254; ++i) {
    Bytes wanted = frames[i + 2].bytes;
    --wanted[21];
    EXPECT_EQ(dropped.at("sink")[i].bytes, wanted);
  }
  const Result both =
      run("TestSource -> MarkIP6Header(14) -> d :: DecIP6HLIM -> sink :: TestSink; d[1] -> old :: TestSink;", cpu(),
          frames);
  EXPECT_TRUE(same(both.bytes("old"), {frames[0].bytes, frames[1].bytes}));
  const Result off =
      run("TestSource -> MarkIP6Header(14) -> DecIP6HLIM(ACTIVE false) -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(off.at("sink").size(), 256u);
}

TEST(DecIP6HLIM, NeedsAHeader) {
  std::vector<Frame> frames(5, valid(0));
  const uint32_t marks[] = {static_cast<uint32_t>(-1), 15, 54, 0x80000000, 14};
  for (size_t i = 0; i < frames.size(); ++i) frames[i].column[kL3] = marks[i];
  const Result result = run("TestSource(SETS l3) -> d :: DecIP6HLIM -> sink :: TestSink;", cpu(), frames);
  EXPECT_EQ(result.drop("d.no_header"), 4u);
  EXPECT_EQ(result.at("sink").size(), 1u);
}

TEST(DecIP6HLIM, ReadsAndWritesWhatItDeclares) {
  EXPECT_EQ(access_violations("DecIP6HLIM", cpu(), {.outputs = 2}), std::vector<std::string>{});
}

}  // namespace
}  // namespace heddle::test
