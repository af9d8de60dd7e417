#include <zlib.h>

#include <cstdlib>
#include <filesystem>

#include "functions/crc32/cpu.h"
#include "functions/crc32/tables.h"
#include "tests/support/access.h"
#include "tests/support/every_class.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(Crc32Test);
HEDDLE_TESTED_WITH_ALL(CheckCRC32, .outputs = 2, .refuses = {"1", "VARIANT crc", "DEVICE 7", "BLOCKING x"});
HEDDLE_TESTED_WITH_ALL(SetCRC32, .refuses = {"1", "VARIANT crc", "DEVICE 7", "BLOCKING x"});

// zlib's, least significant byte first.
Bytes with_zlib_crc(Bytes bytes) {
  const auto sum = static_cast<uint32_t>(::crc32(0, bytes.data(), static_cast<unsigned>(bytes.size())));
  for (int b = 0; b < 4; ++b) bytes.push_back(static_cast<uint8_t>(sum >> 8 * b));
  return bytes;
}

// One bit at a time: the remainder of a division by the generator, x^32 left out, most significant bit first.
Bytes with_click_crc(Bytes bytes) {
  uint32_t remainder = ~0u;
  for (const uint8_t byte : bytes)
    for (int bit = 7; bit >= 0; --bit) {
      const bool carry = (remainder >> 31) != (byte >> bit & 1u);
      remainder = remainder * 2 ^ (carry ? 0x04c11db7u : 0);
    }
  for (int b = 0; b < 4; ++b) bytes.push_back(static_cast<uint8_t>(remainder >> 8 * b));
  return bytes;
}

template <class Change>
std::vector<Bytes> each(const std::vector<Frame>& frames, const Change& change) {
  std::vector<Bytes> result;
  for (auto& frame : frames) result.push_back(change(frame.bytes));
  return result;
}

std::vector<Frame> frames_to_2100(std::mt19937& random) {
  std::vector<Frame> frames;
  for (size_t length = 0; length <= 2100; length += length < 300 || full() ? 1 : 7)
    frames.push_back(random_frame(random, length));
  for (const size_t length : {1500, 9000, 9001, 9007}) frames.push_back(random_frame(random, length));
  return frames;
}

TEST_P(Crc32Test, AppendsWhatZlibSays) {
  auto random = random_for("crc lengths");
  std::vector<Frame> frames = frames_to_2100(random);
  for (auto& frame : frames)
    if (frame.bytes.size() > 2040 && frame.bytes.size() <= 2048) frame.headroom = 100;  // room behind them
  Result result = run("TestSource -> SetCRC32 -> sink :: TestSink;", GetParam(), frames, {.batches = {100, 31, 1}});
  EXPECT_TRUE(same(result.bytes(), each(frames, with_zlib_crc)));
  result = run("TestSource -> SetCRC32(VARIANT click) -> sink :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), each(frames, with_click_crc)));
}

// Every place of the first and the last byte within a line.
TEST_P(Crc32Test, DoesFramesAtAnyAddress) {
  auto random = random_for("crc addresses");
  std::vector<Frame> frames;
  for (const size_t length : {0, 1, 3, 4, 5, 15, 16, 17, 127, 128, 129, 300, 1500})
    for (int headroom = 0; headroom < 128; headroom += 1 + static_cast<int>(random() % 5)) {
      frames.push_back(random_frame(random, length));
      frames.back().headroom = headroom;
    }
  EXPECT_TRUE(same(run("TestSource -> SetCRC32 -> sink :: TestSink;", GetParam(), frames).bytes(),
                   each(frames, with_zlib_crc)));
  EXPECT_TRUE(same(run("TestSource -> SetCRC32(VARIANT click) -> sink :: TestSink;", GetParam(), frames).bytes(),
                   each(frames, with_click_crc)));
}

// A sequence of functions that change the length, in one segment, and behind Strip.
TEST_P(Crc32Test, TakesOffWhatItPutOn) {
  auto random = random_for("crc there and back");
  const std::vector<Frame> frames = random_frames(random, 500, 0, 1600);
  const auto unchanged = each(frames, [](const Bytes& bytes) { return bytes; });
  Result result = run(
      "TestSource -> SetCRC32 -> SetCRC32(VARIANT click) -> XOR(1) -> XOR(1) -> CheckCRC32(VARIANT click) -> CheckCRC32"
      " -> sink :: TestSink;",
      GetParam(), frames, {.scratch = 8});
  EXPECT_TRUE(same(result.bytes(), unchanged));
  std::vector<Frame> longer = frames;
  for (auto& frame : longer) frame.bytes.insert(frame.bytes.begin(), {1, 2, 3});
  result =
      run("TestSource -> Strip(3) -> SetCRC32 -> CheckCRC32 -> sink :: TestSink;", GetParam(), longer, {.scratch = 4});
  EXPECT_TRUE(same(result.bytes(), unchanged));
}

TEST_P(Crc32Test, FindsEveryFlippedBit) {
  auto random = random_for("crc damage");
  std::vector<Frame> frames;
  std::vector<Bytes> good, bad;
  for (int i = 0; i < 400; ++i) {
    Frame frame = random_frame(random, random() % 200);
    const Bytes original = frame.bytes;
    frame.bytes = with_zlib_crc(frame.bytes);
    if (i % 3 == 0) {
      good.push_back(original);
    } else if (i % 3 == 1) {
      frame.bytes[random() % frame.bytes.size()] ^= static_cast<uint8_t>(1u << random() % 8);
      bad.push_back(frame.bytes);
    } else {
      frame.bytes.resize(random() % 4);
      bad.push_back(frame.bytes);
    }
    frames.push_back(frame);
  }
  Result result =
      run("TestSource -> c :: CheckCRC32; c[0] -> good :: TestSink; c[1] -> bad :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes("good"), good));
  EXPECT_TRUE(same(result.bytes("bad"), bad));
  result = run("TestSource -> c :: CheckCRC32 -> good :: TestSink;", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes("good"), good));
  EXPECT_EQ(result.drop("c.short"), 133u);
  EXPECT_EQ(result.drop("c.bad_crc"), 133u);
}

// Paths of different length changes that meet again: each packet keeps its own.
TEST_P(Crc32Test, KnowsEachPacketsLengthBehindAFork) {
  auto random = random_for("crc fork");
  std::vector<Frame> frames;
  std::vector<Bytes> wanted;
  for (int i = 0; i < 200; ++i) {
    const Frame frame = random_frame(random, 4 + random() % 200);
    wanted.push_back(frame.bytes);
    frames.push_back(frame);
    if (i % 2 == 0) frames.back().bytes = with_zlib_crc(frame.bytes);
    for (auto& byte : wanted.back()) byte ^= 7;
  }
  const Result result = run("TestSource -> c :: CheckCRC32; x :: XOR(7); c[0] -> x; c[1] -> x; x -> sink :: TestSink;",
                            GetParam(), frames);
  std::vector<Bytes> got(frames.size());
  for (auto& packet : result.at("sink")) got[static_cast<size_t>(packet.serial)] = packet.bytes;
  EXPECT_TRUE(same(got, wanted));
}

TEST_P(Crc32Test, DropsWhatHasNoRoom) {
  auto random = random_for("crc room");
  std::vector<Frame> frames;  // the longest fill the largest buffers
  for (size_t missing = 0; missing < 8; ++missing) frames.push_back(random_frame(random, kMaxPacketBytes - missing));
  const Result result = run("TestSource -> s :: SetCRC32 -> sink :: TestSink;", GetParam(), frames);
  EXPECT_EQ(result.drop("s.no_room"), 4u);
  frames.erase(frames.begin(), frames.begin() + 4);
  EXPECT_TRUE(same(result.bytes(), each(frames, with_zlib_crc)));
}

// Buffers have room for what a chain appends; a packet that lies too far back in its own goes on in another.
TEST_P(Crc32Test, MakesRoomWhereThereIsTooLittle) {
  auto random = random_for("crc room made");
  std::vector<Frame> frames;
  for (size_t i = 0; i < 100; ++i) {
    frames.push_back(random_frame(random, 60 + i));
    // The buffer: 128 bytes of headroom, 2048, and 8 for the two CRCs.
    if (i % 3 == 0) frames.back().headroom = static_cast<int>(128 + 2048 + 8 - frames.back().bytes.size() - i % 8);
    frames.back().column[static_cast<int>(Column::l3)] = 14;
  }
  const Result result =
      run("TestSource(SETS l3) -> s :: SetCRC32 -> t :: SetCRC32 -> sink :: TestSink(READS l3);", GetParam(), frames);
  EXPECT_TRUE(same(result.bytes(), each(frames, [](auto& frame) { return with_zlib_crc(with_zlib_crc(frame)); })));
  // On a GPU all room of the segment is made where packets enter; on the CPU for each element.
  const auto moved = [&](const char* name) {
    const auto found = result.statistics.find(std::string(name) + ".moved_for_room");
    return found == result.statistics.end() ? 0u : found->second;
  };
  EXPECT_EQ(moved("s"), GetParam().on_gpu() ? 34u : 18u);
  EXPECT_EQ(moved("t"), GetParam().on_gpu() ? 0u : 16u);
}

TEST_P(Crc32Test, TouchesOnlyWhatItDeclares) {
  EXPECT_EQ(access_violations("SetCRC32", GetParam(), {.tail = 4}), std::vector<std::string>{});
  const AccessOptions options{.outputs = 2, .tail = -4, .shape = [](Frame& frame, std::mt19937& random) {
                                if (random() % 2 == 0) frame.bytes = with_zlib_crc(frame.bytes);
                              }};
  EXPECT_EQ(access_violations("CheckCRC32", GetParam(), options), std::vector<std::string>{});
}

// The GPU's rule in slow motion: tables and constants.
TEST(Crc32Tables, MoveRemaindersOnAndBack) {
  const auto tables = std::make_unique<crc32::Tables>(crc32::make_tables(crc32::Variant::ieee, false));
  using crc32::multiplied;
  EXPECT_EQ(tables->low[0], crc32::kOne);
  EXPECT_EQ(tables->high[1], multiplied(tables->low[255], tables->low[1]));
  for (int n = 0; n < 128; ++n) EXPECT_EQ(multiplied(tables->back[n], tables->low[n + 112]), crc32::kOne) << n;
  const Bytes zeros(1000);
  EXPECT_EQ(~crc32::finished(0, 1000, *tables), ::crc32(0, zeros.data(), 1000));
}

// Frames as captured, with the CRC-32 that another program found.
TEST(Crc32, AgreesWithTheListOfACapture) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "HEDDLE_TEST_DATA is not set";
  const std::string path = std::string(data) + "/pcap/tcpdump_crc32.tsv.gz";
  gzFile list = gzopen(path.c_str(), "r");
  ASSERT_NE(list, nullptr) << path;
  std::vector<std::pair<unsigned, uint32_t>> wanted;
  char line[200];
  while (gzgets(list, line, sizeof line) != nullptr) {
    unsigned number, bytes, sum;
    ASSERT_EQ(std::sscanf(line, "%u %u %x", &number, &bytes, &sum), 3) << line;
    wanted.push_back({bytes, sum});
  }
  gzclose(list);
  const Result result = run(
      "FromDump(" + std::string(data) + "/pcap/tcpdump_eth.pcap) -> SetCRC32 -> sink :: TestSink;", backends()[0], {});
  ASSERT_EQ(result.at("sink").size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Bytes& bytes = result.at("sink")[i].bytes;
    ASSERT_EQ(bytes.size(), wanted[i].first + 4);
    EXPECT_EQ(__builtin_bswap32(get_u32(bytes, bytes.size() - 4)), wanted[i].second) << i;
  }
}

TEST(Crc32, RefusesUnknownVariants) {
  EXPECT_NE(mistakes("TestSource -> SetCRC32(VARIANT zlib) -> TestSink;").find("one of ieee, click"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::test
