// EtherEncap and EtherRewrite.

#include <thread>

#include "tests/support/access.h"

namespace heddle::test {
namespace {

const char* const kAddresses = "2:0:0:0:0:a, 02-00-00-00-00-0B";
const Bytes kHeader = {2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 0x86, 0xdd};

Bytes encapsulated(const Bytes& bytes) {
  Bytes result = kHeader;
  result.insert(result.end(), bytes.begin(), bytes.end());
  return result;
}

TEST(EtherEncap, PutsTheHeaderWhereOneWasStripped) {
  auto random = random_for("encap");
  const auto frames = random_frames(random, 100, 14, 80);
  const Result result =
      run(format("TestSource -> Strip(14) -> EtherEncap(0x86dd, %s) -> sink :: TestSink;", kAddresses), cpu(), frames,
          {.batches = {9}});
  std::vector<Bytes> wanted;
  for (auto& frame : frames) wanted.push_back(encapsulated({frame.bytes.begin() + 14, frame.bytes.end()}));
  EXPECT_TRUE(same(result.bytes(), wanted));
}

// The copies get bytes of their own, with the room before them. The other copies keep theirs.
TEST(EtherEncap, PutsItIntoTheRoomBeforePackets) {
  auto random = random_for("encap room");
  std::vector<Frame> frames = frames_of_all_lengths(random);
  frames.push_back(random_frame(random, kMaxPacketBytes - 14));
  const size_t fit = frames.size();
  frames.push_back(random_frame(random, kMaxPacketBytes - 13));
  const Result result =
      run(format("TestSource -> t :: Tee; t[1] -> e :: EtherEncap(0x86dd, %s) -> a :: TestSink; t[0] -> b :: TestSink;",
                 kAddresses),
          cpu(), frames);
  ASSERT_EQ(result.at("a").size(), fit);
  EXPECT_EQ(result.drop("e.too_long"), 1u);
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(result.at("b")[i].bytes, frames[i].bytes);
    if (i < fit) {
      ASSERT_EQ(result.at("a")[i].bytes, encapsulated(frames[i].bytes));
    }
  }
}

TEST(EtherEncap, NeedsRoom) {
  auto random = random_for("encap no room");
  auto frames = random_frames(random, 5, 10, 10);
  const int headroom[] = {0, 13, 14, 15, 128};
  for (size_t i = 0; i < frames.size(); ++i) frames[i].headroom = headroom[i];
  const Result result =
      run(format("TestSource -> t :: Tee; t[1] -> e :: EtherEncap(0x86dd, %s) -> a :: TestSink; t[0] -> Discard;",
                 kAddresses),
          cpu(), frames);
  EXPECT_EQ(result.drop("e.no_headroom"), 2u);
  ASSERT_EQ(result.at("a").size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(result.at("a")[i].bytes, encapsulated(frames[i + 2].bytes));
}

// Bytes that move to a GPU and back are the right ones, though the start has moved.
HEDDLE_ON_EVERY_BACKEND(EncapTest);
TEST_P(EncapTest, StandsBetweenSegments) {
  auto random = random_for("encap gpu");
  const auto frames = random_frames(random, 100, 30, 80);
  const Result result = run(
      format(
          "TestSource -> XOR(5) -> Strip(14) -> XOR(5) -> EtherEncap(0x86dd, %s) -> XOR(9) -> XOR(9) -> EtherMirror ->"
          "sink :: TestSink;",
          kAddresses),
      GetParam(), frames);
  std::vector<Bytes> wanted;
  for (auto& frame : frames) {
    wanted.push_back(encapsulated({frame.bytes.begin() + 14, frame.bytes.end()}));
    for (size_t i = 0; i < 6; ++i) std::swap(wanted.back()[i], wanted.back()[i + 6]);
  }
  EXPECT_TRUE(same(result.bytes(), wanted));
}

TEST(EtherRewrite, WritesAddresses) {
  auto random = random_for("rewrite");
  const auto frames = random_frames(random, 100, 0, 80);
  const Result result =
      run(format("TestSource -> r :: EtherRewrite(%s) -> sink :: TestSink;", kAddresses), cpu(), frames);
  std::vector<Bytes> wanted;
  for (auto& frame : frames) {
    if (frame.bytes.size() < 12) continue;
    wanted.push_back(frame.bytes);
    std::copy_n(kHeader.begin(), 12, wanted.back().begin());
  }
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_EQ(result.drop("r.short"), frames.size() - wanted.size());
  EXPECT_EQ(access_violations(format("EtherRewrite(%s)", kAddresses), cpu()), std::vector<std::string>{});
}

TEST(EtherRewrite, LeavesOtherCopiesAlone) {
  auto random = random_for("rewrite copies");
  const auto frames = random_frames(random, 50, 12, 80);
  const Result result =
      run(format("TestSource -> t :: Tee; t[1] -> EtherRewrite(%s) -> Discard; t[0] -> b :: TestSink;", kAddresses),
          cpu(), frames);
  for (size_t i = 0; i < frames.size(); ++i) ASSERT_EQ(result.at("b")[i].bytes, frames[i].bytes);
}

// Readers see one address or the other, never half of each.
TEST(EtherRewrite, ChangesAddressesAtOnce) {
  const std::vector<Frame> frames(10, Frame{Bytes(60)});
  std::atomic<uint64_t> torn{0}, changed{0};
  run("TestSource -> r :: EtherRewrite(0:0:0:0:0:0, ff:ff:ff:ff:ff:ff) -> TestSink;", cpu(), frames,
      {.batches = {1},
       .endless = true,
       .on_packet =
           [&](const std::string&, const Received& packet) {
             for (size_t i = 1; i < 6; ++i) torn += packet.bytes[i] != packet.bytes[0];
             changed += packet.bytes[0] == 0;
           },
       .meanwhile =
           [&](Engine& engine) {
             for (int i = 0; i < 500; ++i)
               engine.handlers().write("r.dst", i % 2 == 0 ? "0:0:0:0:0:0" : "ff-ff-ff-ff-ff-ff");
             engine.handlers().write("r.dst", "0:0:0:0:0:0");
             wait_while([&] { return changed == 0; });
           }});
  EXPECT_EQ(torn, 0u);
}

TEST(EtherEncap, HasHandlers) {
  for (const char* chain : {"EtherEncap(2048, 2:0:0:0:0:a, 2:0:0:0:0:b)", "EtherRewrite(2:0:0:0:0:a, 2:0:0:0:0:b)"})
    run(format("TestSource -> e :: %s -> Discard;", chain), cpu(), {}, {.meanwhile = [&](Engine& engine) {
          Broker& handlers = engine.handlers();
          EXPECT_EQ(handlers.read("e.src"), "02-00-00-00-00-0A");
          EXPECT_EQ(handlers.read("e.dst"), "02-00-00-00-00-0B");
          handlers.write("e.src", "1:2:3:4:5:6");
          handlers.write("e.dst", "ff:2:3:4:5:6");
          EXPECT_EQ(handlers.read("e.src"), "01-02-03-04-05-06");
          EXPECT_EQ(handlers.read("e.dst"), "FF-02-03-04-05-06");
          EXPECT_THROW(handlers.write("e.dst", "1:2:3:4:5"), Error);
          if (std::string(chain).starts_with("EtherRewrite")) return;
          EXPECT_EQ(handlers.read("e.ethertype"), "2048");
          handlers.write("e.ethertype", "0x86dd");
          EXPECT_EQ(handlers.read("e.etht"), "34525");
        }});
}

TEST(EtherEncap, NeedsAddresses) {
  EXPECT_NE(mistakes("TestSource -> EtherEncap(0x800, 1:2:3:4:5) -> TestSink;").find("SRC: '1:2:3:4:5' is not"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::test
