// MAX_BATCH, CAPACITY and LISTS_PER_CORE: how many slots a thread has, and how many it can have.

#include "gpu/slot_ring.h"
#include "simt/launches.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

/** The GPU segment of an EtherMirror with these keywords; the mistakes if it has some. */
std::optional<Segment> planned(const std::string& keywords, std::string& mistakes) {
  click::Diagnostics diagnostics;
  const Chain chain = read("Idle -> m :: EtherMirror(" + keywords + ") -> Discard;", {"simt"}, diagnostics);
  mistakes = diagnostics.text();
  if (!diagnostics.ok()) return std::nullopt;
  for (const Segment& segment : chain.plan.segments)
    if (segment.processor.is_gpu()) return segment;
  return std::nullopt;
}

int slots(const std::string& keywords) {
  std::string mistakes;
  const auto segment = planned(keywords, mistakes);
  EXPECT_TRUE(segment) << mistakes;
  return segment ? segment->slots(1024, 16) : 0;
}

TEST(Capacity, IsOfEachList) {
  EXPECT_EQ(slots("LAUNCH async"), 4 * 32);
  EXPECT_EQ(slots("LAUNCH async, MAX_BATCH 100"), 4 * 4);
  EXPECT_EQ(slots("LAUNCH async, CAPACITY 1"), 4 * 32);
  EXPECT_EQ(slots("LAUNCH async, CAPACITY 8"), 8 * 4 * 32);
  EXPECT_EQ(slots("LAUNCH graph, CAPACITY 8, LISTS_PER_CORE 3, MAX_BATCH 64"), 8 * 3 * 2);
  EXPECT_EQ(slots("LAUNCH persistent"), 16);
  EXPECT_EQ(slots("LAUNCH persistent, CAPACITY 2, MAX_BATCH 32"), 2 * 4);
  EXPECT_EQ(slots("LAUNCH sync, CAPACITY 8"), 32);  // one batch, which comes back before the next
}

TEST(Capacity, IsInThePlan) {
  PlanOptions options{"simt", LaunchMode::async};
  options.by_load = true;
  click::Diagnostics diagnostics;
  const Chain chain = read("Idle -> EtherMirror(MAX_BATCH 256, CAPACITY 2) -> Discard;", options, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  const std::string text = chain.plan.text(chain.router), json = chain.plan.json(chain.router);
  EXPECT_NE(
      text.find("batches     of at most 256 packets (MAX_BATCH), 2 (CAPACITY) in each of 4 lists (LISTS_PER_CORE): "
                "64 slots a thread"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("a source has given 32 or more at a time, 8 times in a row"), std::string::npos) << text;
  for (const char* entry : {"\"max_batch\": 256", "\"capacity\": 2", "\"lists\": 4", "\"slots\": 64"})
    EXPECT_NE(json.find(entry), std::string::npos) << entry;
}

TEST(Capacity, ThatWantsTooManySlotsIsAMistake) {
  const auto mistake = [](const std::string& keywords) {
    std::string mistakes;
    planned(keywords, mistakes);
    return mistakes;
  };
  const std::string many = mistake("LAUNCH async, MAX_BATCH 1024, CAPACITY 4096");
  EXPECT_NE(many.find("'m': CAPACITY 4096: a thread has at most 65536 slots of 32 packets"), std::string::npos) << many;
  EXPECT_NE(many.find("in each of 4 lists (LISTS_PER_CORE) want 524288; the largest CAPACITY is 512 here"),
            std::string::npos)
      << many;
  EXPECT_EQ(mistake("LAUNCH async, MAX_BATCH 1024, CAPACITY 512"), "");
  EXPECT_NE(mistake("LAUNCH async, MAX_BATCH 1024, CAPACITY 513"), "");
  EXPECT_NE(mistake("MAX_BATCH 65536, CAPACITY 4096, LISTS_PER_CORE 16").find("the largest CAPACITY is 2 here"),
            std::string::npos);
  EXPECT_NE(mistake("CAPACITY 4096, LISTS_PER_CORE 16, MAX_BATCH 33"), "");  // two slots a batch
  EXPECT_EQ(mistake("LAUNCH async, CAPACITY 4096, LISTS_PER_CORE 16"), "");  // right with --batch 32
}

TEST(Capacity, ThatWantsTooManySlotsWithThisBatchIsAnError) {
  const auto error = [](int batch) -> std::string {
    click::Diagnostics diagnostics;
    Chain chain = read("Idle -> m :: EtherMirror(LAUNCH async, CAPACITY 600) -> Discard;", {"simt"}, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
    RunOptions options;
    options.batch_size = batch;
    try {
      const Engine engine(std::move(chain.router), std::move(chain.plan), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error(512), "");
  EXPECT_NE(error(1024).find("'m': CAPACITY 600"), std::string::npos) << error(1024);
  EXPECT_NE(error(1024).find("the largest CAPACITY is 512 here"), std::string::npos) << error(1024);
}

// What is longer is several.
TEST(Lists, HaveAtMost1024Packets) {
  auto random = random_for("lists");
  const auto frames = random_frames(random, 4000, 60, 90);
  const simt::Launches before = simt::launches();
  const Result result = run("TestSource -> XOR(0) -> sink :: TestSink;",
                            {"simt_async_commlist", "simt", LaunchMode::async, Transport::commlist}, frames,
                            {.batches = {4000}, .batch_size = 4096, .packets = 16384});
  std::vector<Bytes> wanted;
  for (const Frame& frame : frames) wanted.push_back(frame.bytes);
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_EQ(simt::launches().single - before.single, 4u);
}

// As many as there can be: each slot comes back by its own number.
TEST(Capacity, OfAsManySlotsAsThereCanBe) {
  std::vector<gpu::Slot> memory(gpu::SlotRing::kMaxSlots);
  gpu::SlotRing ring({memory.data(), gpu::SlotRing::kMaxSlots, false}, nullptr);
  const uint64_t place = gpu::pack_word(0, 60, 0);
  for (int i = 0; i < gpu::SlotRing::kMaxSlots; ++i) ring.submit(ring.next_slot(), &place, 1);
  EXPECT_EQ(ring.next_slot(), -1);
  for (int i = 0; i < gpu::SlotRing::kMaxSlots; ++i) {
    ASSERT_EQ(ring.oldest(), i);
    for (uint32_t& word : memory[static_cast<size_t>(i)].result.narrow)
      word = gpu::stamp_of(memory[static_cast<size_t>(i)].word[0]) << 24;
    ASSERT_TRUE(ring.oldest_done());
    ring.release_oldest();
  }
  EXPECT_EQ(ring.in_flight(), 0);
}

}  // namespace
}  // namespace heddle::test
