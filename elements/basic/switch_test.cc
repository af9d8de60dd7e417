// Elements that choose an output, and paint.

#include <map>

#include "tests/support/access.h"

namespace heddle::test {
namespace {

std::vector<Frame> some_frames(size_t count) {
  auto random = random_for("switches");
  return random_frames(random, count, 0, 40);
}

// The outputs that the frames left by, -1 for none; every output has a sink s0, s1, ...
std::vector<int> outputs_of(const Result& result, size_t frames) {
  std::vector<int> list(frames, -1);
  for (auto& [sink, packets] : result.sinks)
    for (auto& packet : packets) list[static_cast<size_t>(packet.serial)] = std::stoi(sink.substr(1));
  return list;
}
std::string sinks(int outputs) {
  std::string text;
  for (int k = 0; k < outputs; ++k) text += format(" it[%d] -> s%d :: TestSink;", k, k);
  return text;
}

TEST(Switch, SendsAllToOneOutput) {
  const auto frames = some_frames(100);
  for (const char* class_name : {"Switch", "StaticSwitch"})
    for (int output : {0, 1, 2}) {
      const Result result =
          run(format("TestSource -> it :: %s(%d);", class_name, output) + sinks(3), cpu(), frames, {.batches = {7}});
      EXPECT_EQ(outputs_of(result, frames.size()), std::vector<int>(frames.size(), output)) << class_name;
    }
}

TEST(Switch, DropsWithANegativeOutput) {
  const auto frames = some_frames(100);
  for (const char* chain : {"Switch(-1)", "StaticSwitch(-1)", "StaticSwitch(2)"}) {
    const Result result = run(format("TestSource -> it :: %s;", chain) + sinks(2), cpu(), frames);
    EXPECT_EQ(result.drop("it.switched_off"), frames.size()) << chain;
  }
  EXPECT_EQ(run("TestSource -> it :: Switch(-1);", cpu(), frames).drop("it.switched_off"), frames.size());
}

TEST(Switch, DefaultsToOutputZeroAndChecksIt) {
  const auto frames = some_frames(10);
  EXPECT_EQ(outputs_of(run("TestSource -> it :: Switch;" + sinks(2), cpu(), frames), 10), std::vector<int>(10, 0));
  EXPECT_NE(
      mistakes("TestSource -> it :: Switch(2);" + sinks(2)).find("OUTPUT: '2' is not below the number of outputs, 2"),
      std::string::npos);
}

TEST(Switch, CanBeTurned) {
  const auto frames = some_frames(10);
  run("TestSource -> it :: Switch(0); it[0] -> a :: Counter -> Discard; it[1] -> b :: Counter -> Discard;", cpu(),
      frames, {.endless = true, .meanwhile = [](Engine& engine) {
                 Broker& handlers = engine.handlers();
                 EXPECT_EQ(handlers.read("it.switch"), "0");
                 EXPECT_EQ(handlers.read("it.config"), "0");
                 handlers.write("it.switch", "1");
                 EXPECT_EQ(handlers.read("it.switch"), "1");
                 wait_for_more(handlers, "b.count");  // a write waits for batches under way
                 const std::string a = handlers.read("a.count");
                 wait_for_more(handlers, "b.count");
                 EXPECT_EQ(handlers.read("a.count"), a);
                 handlers.write("it.switch", "2");  // no such output
                 EXPECT_EQ(handlers.read("it.switch"), "-1");
                 wait_for_more(handlers, "it.drops");
                 const std::string b = handlers.read("b.count");
                 wait_for_more(handlers, "it.drops");
                 EXPECT_EQ(handlers.read("b.count"), b);
                 EXPECT_THROW(handlers.write("it.switch", "left"), Error);
               }});
}

TEST(RoundRobinSwitch, TakesTurnsPacketByPacket) {
  const auto frames = some_frames(100);
  for (int outputs : {1, 2, 3, 7}) {
    const Result result =
        run("TestSource -> it :: RoundRobinSwitch;" + sinks(outputs), cpu(), frames, {.batches = {1, 5, 16}});
    std::vector<int> wanted;
    for (size_t i = 0; i < frames.size(); ++i) wanted.push_back(static_cast<int>(i) % outputs);
    EXPECT_EQ(outputs_of(result, frames.size()), wanted) << outputs;
  }
}

TEST(HashSwitch, IsClicks) {
  const auto frames = some_frames(500);
  for (int outputs = 1; outputs <= 9; ++outputs)
    for (auto [offset, length] : {std::pair{0, 1}, {3, 8}, {20, 20}}) {
      const Result result =
          run(format("TestSource -> it :: HashSwitch(%d, %d);", offset, length) + sinks(outputs), cpu(), frames);
      std::vector<int> wanted;
      for (auto& frame : frames) {
        int sum = 0;
        const bool whole = static_cast<int>(frame.bytes.size()) >= offset + length;
        for (int at = offset; whole && at < offset + length; ++at) sum += frame.bytes[static_cast<size_t>(at)];
        const bool shortcut = outputs == 2 || outputs == 4 || outputs == 8;
        wanted.push_back(!whole ? 0 : shortcut ? (sum ^ (sum >> 4)) & (outputs - 1) : sum % outputs);
      }
      EXPECT_EQ(outputs_of(result, frames.size()), wanted) << outputs << " " << offset;
    }
}

TEST(HashSwitch, ReadsWhatItDeclares) {
  EXPECT_EQ(access_violations("HashSwitch(3, 8)", cpu(), {.outputs = 4}), std::vector<std::string>{});
}

TEST(HashSwitch, NeedsBytes) {
  EXPECT_NE(mistakes("TestSource -> it :: HashSwitch(3, 0);" + sinks(1)).find("LENGTH: '0' is not"), std::string::npos);
}

HEDDLE_ON_EVERY_BACKEND(PaintTest);

TEST_P(PaintTest, LastsThroughSegments) {
  const auto frames = some_frames(200);
  const Result result = run("TestSource -> XOR(1) -> Paint(7) -> Null -> XOR(1) -> sink :: TestSink(READS paint);",
                            GetParam(), frames, {.batches = {33}});
  ASSERT_EQ(result.at("sink").size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    ASSERT_EQ(result.at("sink")[i].bytes, frames[i].bytes);
    ASSERT_EQ(result.at("sink")[i].column[static_cast<int>(Column::paint)], 7u);
  }
}

TEST_P(PaintTest, ChangesItsColorOnTheCpuOnly) {
  run("TestSource -> XOR(1) -> p :: Paint(7) -> XOR(1) -> s :: PaintSwitch; s[0] -> a :: Counter -> Discard;"
      "s[1] -> b :: Counter -> Discard;",
      GetParam(), some_frames(10), {.endless = true, .meanwhile = [](Engine& engine) {
                                      Broker& handlers = engine.handlers();
                                      EXPECT_EQ(handlers.read("p.color"), "7");
                                      if (GetParam().on_gpu()) {
                                        EXPECT_THROW(handlers.write("p.color", "1"), Error);
                                        EXPECT_EQ(handlers.read("p.color"), "7");
                                        return;
                                      }
                                      handlers.write("p.color", "1");
                                      EXPECT_EQ(handlers.read("p.color"), "1");
                                      while (handlers.read("b.count") == "0") continue;
                                      EXPECT_EQ(handlers.read("a.count"), "0");
                                      EXPECT_THROW(handlers.write("p.color", "256"), Error);
                                    }});
}

TEST(PaintSwitch, SendsByColor) {
  auto frames = some_frames(300);
  std::vector<int> wanted;
  uint64_t without = 0;
  for (size_t i = 0; i < frames.size(); ++i) {
    const auto paint = static_cast<uint32_t>(i % 5 == 4 ? 255 : i % 5);
    frames[i].column[static_cast<int>(Column::paint)] = paint;
    wanted.push_back(paint < 3 ? static_cast<int>(paint) : -1);
    without += paint >= 3;
  }
  const Result result = run("TestSource(SETS paint) -> it :: PaintSwitch(PAINT);" + sinks(3), cpu(), frames);
  EXPECT_EQ(outputs_of(result, frames.size()), wanted);
  EXPECT_EQ(result.drop("it.no_output"), without);
}

TEST(PaintSwitch, TakesUnpaintedAsZero) {
  EXPECT_EQ(outputs_of(run("TestSource -> it :: PaintSwitch;" + sinks(2), cpu(), some_frames(9)), 9),
            std::vector<int>(9, 0));
}

TEST(Paint, KnowsOneAnnotation) {
  EXPECT_EQ(mistakes("TestSource -> Paint(1, 20) -> TestSink;"), "");
  EXPECT_NE(mistakes("TestSource -> Paint(1, 21) -> TestSink;").find("'21' is not PAINT"), std::string::npos);
  EXPECT_NE(mistakes("TestSource -> Paint(256) -> TestSink;").find("0 to 255"), std::string::npos);
  EXPECT_EQ(access_violations("Paint(3)", cpu()), std::vector<std::string>{});
  EXPECT_EQ(access_violations("CPUPaint", cpu()), std::vector<std::string>{});
}

TEST(CPUSwitch, SendsByThread) {
  const auto frames = some_frames(50);
  const Result result =
      run("TestSource(EVERY_THREAD true) -> CPUPaint -> it :: CPUSwitch; it[0] -> s0 :: TestSink(READS paint);"
          "it[1] -> s1 :: TestSink(READS paint);",
          cpu(), frames, {.batches = {3}, .threads = 3});
  EXPECT_EQ(result.at("s0").size(), 100u);  // threads 0 and 2
  EXPECT_EQ(result.at("s1").size(), 50u);
  std::map<uint32_t, int> by_thread;
  for (auto& packet : result.at("s0")) ++by_thread[packet.column[static_cast<int>(Column::paint)]];
  EXPECT_EQ(by_thread, (std::map<uint32_t, int>{{0, 50}, {2, 50}}));
  for (auto& packet : result.at("s1")) EXPECT_EQ(packet.column[static_cast<int>(Column::paint)], 1u);
}

}  // namespace
}  // namespace heddle::test
