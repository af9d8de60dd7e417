// The proof of declarations (tests/support/access.h) must be able to refute one: elements that lie about theirs.

#include "tests/support/access.h"

#include <gtest/gtest-spi.h>

#include <cstdlib>

#include "click/arguments.h"
#include "core/element.h"

namespace heddle::test {
namespace {

// Declares to read byte 0 and to write byte 1 and the column dst; what else it does says its argument.
class TestLiar : public Element {
 public:
  void configure(click::Arguments& arguments) override { arguments.required("LIE", lie_); }
  Access access(Processor) const override {
    return {.reads = {{Base::head, 0, 2}}, .writes = {{Base::head, 1, 2}}, .column_writes = columns(Column::dst)};
  }
  const char* ports() const override { return "1/2"; }
  std::span<const char* const> drop_reasons() const override {
    static constexpr const char* kReasons[] = {"lie"};
    return kReasons;
  }
  void run_cpu(Batch& batch) override {
    for (int i = 0; i < batch.size(); ++i) {
      uint8_t* frame = batch.frame(i);
      const uint32_t last = batch.length(i) - 1;
      frame[1] = static_cast<uint8_t>(frame[0] + 1);
      batch.column(Column::dst)[i] = frame[0];
      batch.next()[i] = frame[0] & 1;
      if (lie_ == "write") frame[5] ^= 1;
      if (lie_ == "write_end") frame[last] ^= 1;
      if (lie_ == "write_outside") frame[last + 1] ^= 1;
      if (lie_ == "write_column") batch.column(Column::paint)[i] ^= 1;
      if (lie_ == "read") frame[1] = frame[7];
      if (lie_ == "read_column") batch.column(Column::dst)[i] = batch.column(Column::paint)[i];
      if (lie_ == "read_port") batch.next()[i] = frame[last] & 1;
      if (lie_ == "read_drop" && frame[9] % 2 == 0) batch.drop(i, 0);
      if (lie_ == "write_before") frame[-1] ^= 1;
      if (lie_ == "shorten") batch.packet(i)->data_len = static_cast<uint16_t>(last);
    }
    if (lie_ == "lose") batch.resize(batch.size() - 1);
  }

 private:
  std::string lie_;
};
HEDDLE_ELEMENT(TestLiar);

std::vector<std::string> violations(const std::string& lie) {
  return access_violations("TestLiar(" + lie + ")", backends()[0], {.shortest = 20, .outputs = 2});
}

TEST(AccessProof, BelievesATrueDeclaration) { EXPECT_EQ(violations("none"), std::vector<std::string>{}); }

TEST(AccessProof, FindsWrites) {
  EXPECT_EQ(violations("write"), std::vector<std::string>{"byte 5 has changed and is not among its writes"});
  EXPECT_GT(violations("write_end").size(), 1u);
  EXPECT_EQ(violations("write_column"),
            std::vector<std::string>{"column paint has changed and is not among its writes"});
  EXPECT_EQ(violations("shorten"), std::vector<std::string>{"its length has changed"});
}

TEST(AccessProof, FindsReads) {
  EXPECT_EQ(violations("read"),
            std::vector<std::string>{"what it writes to byte 1 depends on bytes not among its reads"});
  EXPECT_EQ(violations("read_column"),
            std::vector<std::string>{"what it writes to column dst depends on bytes not among its reads"});
  EXPECT_EQ(violations("read_port"), std::vector<std::string>{"its output depends on bytes not among its reads"});
  EXPECT_EQ(violations("read_drop"),
            std::vector<std::string>{"whether it is dropped depends on bytes not among its reads"});
}

// run() itself must see what it promises to see.
void run_liar(const std::string& lie) {
  auto random = random_for("liar");
  run("TestSource -> l :: TestLiar(" + lie + "); l[0] -> a :: TestSink; l[1] -> b :: TestSink;", backends()[0],
      random_frames(random, 10, 20, 30));
}

TEST(Harness, SeesWritesOutsideFrames) {
  EXPECT_NONFATAL_FAILURE(run_liar("write_outside"), "of the frame has changed");
  EXPECT_NONFATAL_FAILURE(run_liar("write_before"), "byte -1 of the frame has changed");
}

TEST(Harness, SeesLostPackets) {
  testing::TestPartResultArray failures;
  {
    testing::ScopedFakeTestPartResultReporter catching(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &failures);
    run_liar("lose");
  }
  std::string text;
  for (int i = 0; i < failures.size(); ++i) text += failures.GetTestPartResult(i).message();
  EXPECT_NE(text.find("packets that never came back to their pool"), std::string::npos) << text;
  EXPECT_NE(text.find("arrived + dropped_before"), std::string::npos) << text;
}

TEST(Harness, SeesMistakesInChains) {
  EXPECT_NONFATAL_FAILURE(run("TestSource -> Nothing -> TestSink;", backends()[0], {}), "unknown element class");
}

TEST(Harness, HasAGpuIfOneIsRequired) {
  const char* required = std::getenv("HEDDLE_REQUIRE_GPU");
  if (required == nullptr || *required != '1') GTEST_SKIP() << "HEDDLE_REQUIRE_GPU is not 1";
  std::string reason;
  EXPECT_FALSE(gpu::devices(reason).empty()) << reason;
  const auto backends = gpu_backends();
  const auto on_simt = std::ranges::count_if(backends, [](const Backend& b) { return b.device.starts_with("simt"); });
  EXPECT_EQ(static_cast<ptrdiff_t>(backends.size()), 2 * on_simt);  // each on the GPU as well
}

}  // namespace
}  // namespace heddle::test
