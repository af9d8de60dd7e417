// Transports that pack packets into staging memory, of which there is little where packets are long.

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

std::vector<Backend> packing_ways() {
  std::vector<Backend> list = all_ways();
  std::erase_if(list, [](const Backend& way) { return !packs(way.transport); });
  return list;
}

class PackingTest : public OnBackend {
 protected:
  /** All of them come through an XOR, in order. */
  static void expect_all(const std::vector<Frame>& frames, const Options& options) {
    const Result result = run("TestSource -> XOR(255) -> sink :: TestSink;", GetParam(), frames, options);
    std::vector<Bytes> wanted;
    for (const Frame& frame : frames) {
      wanted.push_back(frame.bytes);
      for (uint8_t& byte : wanted.back()) byte = static_cast<uint8_t>(~byte);
    }
    EXPECT_TRUE(same(result.bytes(), wanted));
  }
};
INSTANTIATE_TEST_SUITE_P(All, PackingTest, testing::ValuesIn(packing_ways()), backend_name);

// 32 packets of a slot are 288,000 bytes or 2 MB, and the staging memory is 128 KiB or little more.
TEST_P(PackingTest, LongPacketsGoAFewAtATime) {
  auto random = random_for("long packets");
  for (const size_t bytes : {size_t{9000}, size_t{65000}}) {
    std::vector<Frame> frames;
    for (int i = 0; i < 35; ++i) frames.push_back(random_frame(random, bytes));
    for (const int slots : {1, 4}) {
      SCOPED_TRACE(format("%zu bytes, %d slots", bytes, slots));
      expect_all(frames, {.batches = {32}, .slots = slots});
    }
  }
}

TEST_P(PackingTest, LongAndShortPacketsTakeTurns) {
  auto random = random_for("packets of all lengths");
  std::vector<Frame> frames;
  for (int i = 0; i < 200; ++i) frames.push_back(random_frame(random, i % 9 == 4 ? 9000 + random() % 56000 : 60));
  expect_all(frames, {.batches = {100, 1, 32}, .slots = 2});
}

}  // namespace
}  // namespace heddle::test
