// Two GPUs in one chain, and the second one alone: simt's everywhere, real ones where the machine has two.

#include "gpu/device.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

class TwoGpus : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (std::string reason; GetParam().real_gpu() && gpu::devices(reason).size() < 2)
      GTEST_SKIP() << "this machine has one GPU";
  }
};
INSTANTIATE_TEST_SUITE_P(All, TwoGpus, testing::ValuesIn(gpu_backends()), backend_name);

TEST_P(TwoGpus, PacketsGoFromOneToTheOtherInOrder) {
  auto random = random_for("two gpus");
  const auto frames = random_frames(random, 700, 14, 300);
  const Result result =
      run("TestSource(EVERY_THREAD true) -> a :: XOR(0x11, DEVICE gpu0) -> b :: XOR(0x22, DEVICE gpu1)"
          "-> c :: XOR(0x44, DEVICE gpu0) -> sink :: TestSink;",
          GetParam(), frames, {.batches = {100, 1, 33}, .threads = 2});
  EXPECT_EQ(result.processor.at("b"), GetParam().device + "1");
  EXPECT_NE(result.processor.at("a"), result.processor.at("b"));
  ASSERT_EQ(result.delivered, 2 * frames.size());
  for (auto& packet : result.at("sink")) {
    Bytes wanted = frames[static_cast<size_t>(packet.serial)].bytes;
    for (auto& byte : wanted) byte ^= 0x77;
    ASSERT_EQ(packet.bytes, wanted);
  }
}

TEST_P(TwoGpus, WaysOnDifferentOnesMeetInOrder) {
  auto random = random_for("two gpus, two ways");
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(ip_frame(1, random(), 20));
  const Result result =
      run("TestSource -> GetIPAddress(30) -> rt :: DirectIPLookup(0/1 0, 128/1 1, DEVICE cpu); n :: Null -> sink :: "
          "TestSink;"
          "rt[0] -> EtherMirror(DEVICE gpu0) -> n; rt[1] -> EtherMirror(DEVICE gpu1) -> n;",
          GetParam(), frames, {.batches = {200, 1, 33}});
  EXPECT_EQ(result.delivered, frames.size());
  EXPECT_TRUE(in_order(result.at("sink")));
}

TEST_P(TwoGpus, TheSecondAloneServesSeveralThreads) {
  Backend second = GetParam();
  second.device += "1";
  auto random = random_for("second gpu");
  const auto frames = random_frames(random, 300, 14, 300);
  const Result result = run("TestSource(EVERY_THREAD true) -> m :: SetCRC32 -> CheckCRC32 -> sink :: TestSink;", second,
                            frames, {.batches = {50}, .threads = 4, .scratch = 4});
  EXPECT_EQ(result.processor.at("m"), second.device);
  EXPECT_EQ(result.delivered, 4 * frames.size());
}

// When the handlers return, no packet has an old answer any more, from whichever GPU: each change retires a gateway,
// for whose readers the engine waits.
TEST_P(TwoGpus, TablesChangeOnBoth) {
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 256; ++i) frames.push_back(ip_frame(1, ip(10, 0, 0, i), 20));
  Options options{.batches = {64, 33}, .endless = true};
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [](Engine& engine) {
    Broker& handlers = engine.handlers();
    wait_for_more(handlers, "old.count");
    handlers.write("first.set", "10.0.0.0/24 10.0.0.2 1");
    wait_for_more(handlers, "between.count");
    const std::string old = handlers.read("old.count");
    handlers.write("second.set", "10.0.0.0/24 10.0.0.4 1");
    wait_for_more(handlers, "new.count");
    const std::string between = handlers.read("between.count");
    wait_for_more(handlers, "new.count");
    EXPECT_EQ(handlers.read("old.count"), old);
    EXPECT_EQ(handlers.read("between.count"), between);
  };
  run("TestSource -> GetIPAddress(30) -> first :: DirectIPLookup(10.0.0.0/24 10.0.0.1 0, DEVICE gpu0);"
      "first[0] -> old :: Counter -> sink :: TestSink;"
      "first[1] -> second :: DirectIPLookup(10.0.0.0/24 10.0.0.3 0, DEVICE gpu1);"
      "second[0] -> between :: Counter -> sink; second[1] -> new :: Counter -> sink;",
      GetParam(), frames, options);
}

}  // namespace
}  // namespace heddle::test
