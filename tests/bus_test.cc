// What crosses the bus, segment by segment, against a count of single bytes over random chains
// (tests/support/bus_oracle.h). Equal for packets that reach a sink; those that are dropped may have moved before, so
// that chains with drops have bounds.

#include <numeric>

#include "tests/support/bus_oracle.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

constexpr int kSlotPackets = 32;

struct BusCase {
  LaunchMode launch;
  Transport transport;
};
constexpr BusCase kCases[] = {
    {LaunchMode::persistent, Transport::direct}, {LaunchMode::persistent, Transport::gather},
    {LaunchMode::async, Transport::coalescent},  {LaunchMode::persistent, Transport::zerocopy},
    {LaunchMode::sync, Transport::gather},       {LaunchMode::async, Transport::commlist},
    {LaunchMode::persistent, Transport::landing}};

/** Frames and how they come. */
struct Traffic {
  std::vector<Frame> frames;
  std::vector<int> batches;
  Traffic(std::mt19937& random, bool short_ones) {
    const size_t count = 32 * (1 + random() % 5);
    for (size_t i = 0; i < count; ++i) {
      const size_t least = short_ones && random() % 4 == 0 ? 0 : 64;
      frames.push_back(random_frame(random, least + random() % (random() % 8 == 0 ? 1200 : 60)));
      if (random() % 3 == 0) frames.back().headroom = static_cast<int>(random() % 129);
      frames.back().column[static_cast<int>(Column::dst)] = random();
      frames.back().column[static_cast<int>(Column::paint)] = random() % 256;
    }
    const bool odd = random() % 4 == 0;
    for (int i = 0; i < 3; ++i) batches.push_back(static_cast<int>(odd ? 1 + random() % 70 : 32 * (1 + random() % 3)));
  }
  /** Slots that they fill where they enter the chain. */
  uint64_t slots() const {
    uint64_t sum = 0;
    size_t left = frames.size();
    for (size_t round = 0; left > 0; ++round) {
      const size_t batch = std::min<size_t>(left, static_cast<size_t>(batches[round % batches.size()]));
      sum += (batch + kSlotPackets - 1) / kSlotPackets, left -= batch;
    }
    return sum;
  }
};

/** What the oracle says of one segment, for packets that went where `result` has them. */
class Expected {
 public:
  Expected(const RandomChain& chain, const BusSegment& segment, Transport transport, const Traffic& traffic,
           const Result& result)
      : segment_(segment), transport_(transport) {
    std::vector<bool> arrived(traffic.frames.size(), false);
    for (auto& path : chain.paths()) {
      const auto entered = std::find(path.begin(), path.end(), segment.steps[0]);
      int behind = -1;  // the step behind the segment on this way
      for (const int step : path)
        if (segment.leaving.contains(step)) behind = step;
      for (auto& packet : result.at(chain.steps[static_cast<size_t>(path.back())].name)) {
        const auto serial = static_cast<size_t>(packet.serial);
        arrived[serial] = true;
        if (entered == path.end()) continue;
        ++packets_.least, ++packets_.most;
        add(traffic.frames[serial], true, behind);
      }
    }
    for (size_t i = 0; i < arrived.size(); ++i) {
      if (arrived[i]) continue;
      ++packets_.most;
      add(traffic.frames[i], false, -1);
    }
    // A batch from the source, or what is left of it, takes no more slots further on.
    const Bounds slots{(packets_.least + kSlotPackets - 1) / kSlotPackets, std::min(packets_.most, traffic.slots())};
    to_.least += slots.least * segment.slot_to_gpu(), to_.most += slots.most * segment.slot_to_gpu();
    from_.least += slots.least * segment.slot_from_gpu(), from_.most += slots.most * segment.slot_from_gpu();
  }

  bool exact() const { return to_.least == to_.most && from_.least == from_.most; }

  void compare(const Report::Traffic& traffic) const {
    within("to the GPU", traffic.to_gpu, to_);
    within("from the GPU", traffic.from_gpu, from_);
    within("declared to the GPU", traffic.declared_to_gpu, declared_to_);
    within("declared from the GPU", traffic.declared_from_gpu, declared_from_);
  }

 private:
  static void within(const char* what, uint64_t bytes, Bounds bounds) {
    EXPECT_GE(bytes, bounds.least) << what;
    EXPECT_LE(bytes, bounds.most) << what;
  }

  static void add(Bounds& bounds, uint64_t bytes, bool surely) {
    if (surely) bounds.least += bytes;
    bounds.most += bytes;
  }
  void add(const Frame& frame, bool surely, int behind) {
    const Bounds to = segment_.to_gpu(transport_, frame);
    to_.least += surely ? to.least : 0, to_.most += to.most;
    uint64_t back = 0;
    for (auto& [step, ends] : segment_.leaving)
      if (!surely || step == behind) back = std::max(back, segment_.from_gpu(transport_, frame, step));
    add(from_, back, surely);
    if (gathers(transport_) || copies_by_engine(transport_)) return;
    add(declared_to_, segment_.declared(segment_.in, frame), surely);
    add(declared_from_, segment_.declared(segment_.out, frame), surely);
  }

  const BusSegment& segment_;
  Transport transport_;
  Bounds packets_, to_, from_, declared_to_, declared_from_;
};

std::string names(const RandomChain& chain, std::vector<int> steps) {
  std::string text;
  std::sort(steps.begin(), steps.end());
  for (const int step : steps) text += " " + chain.steps[static_cast<size_t>(step)].name;
  return text;
}

/** Of an element's step; -1: the source. */
int number(const Element& element) { return element.name == "source" ? -1 : std::atoi(element.name.c_str() + 1); }

/** Runs chains and compares. */
class BusTest : public testing::Test {
 protected:
  void check(std::mt19937& random, const ChainOptions& options, const BusCase& how, Between between) {
    const RandomChain chain(random, options);
    const Traffic traffic(random, options.drops);
    Backend backend{"simt", "simt", how.launch, how.transport, between != Between::segments};
    backend.isolate = between == Between::isolated;
    SCOPED_TRACE(chain.text() + name(how.launch) + " " + name(how.transport));
    click::Diagnostics diagnostics;
    const Chain planned = read(chain.text(), backend.plan(), diagnostics);
    Options run_options;
    run_options.batches = traffic.batches;
    run_options.scratch = 64;
    const Result result = run(chain.text(), backend, traffic.frames, run_options);
    if (HasFailure()) return;
    check_packets(chain, traffic, run_options, result);
    std::vector<bool> on_gpu;
    for (const Step& step : chain.steps) on_gpu.push_back(result.processor.at(step.name) == "simt");
    const auto segments = bus_segments(chain, on_gpu, between);
    ASSERT_EQ(result.report.traffic.size(), segments.size());
    for (auto& traffic_of : result.report.traffic) {
      const Segment& plan = planned.plan.segments[static_cast<size_t>(traffic_of.segment)];
      std::vector<int> steps;
      for (const int node : plan.nodes)
        steps.push_back(number(*planned.router.nodes[static_cast<size_t>(node)].element));
      const BusSegment& segment = segments.at(steps[0]);
      ASSERT_EQ(names(chain, steps), names(chain, segment.steps));
      SCOPED_TRACE("segment of" + names(chain, steps));
      const Expected expected(chain, segment, how.transport, traffic, result);
      expected.compare(traffic_of);
      ++segments_, exact_ += expected.exact();
    }
  }
  /** Those of the CPU. */
  static void check_packets(const RandomChain& chain, const Traffic& traffic, const Options& options,
                            const Result& result) {
    const Result wanted = run(chain.text(), backends()[0], traffic.frames, options);
    ASSERT_EQ(result.sinks.size(), wanted.sinks.size());
    for (auto& [sink, packets] : wanted.sinks) EXPECT_TRUE(same(result.bytes(sink), wanted.bytes(sink))) << sink;
  }
  int segments_ = 0, exact_ = 0;
};

TEST_F(BusTest, BytesOfRandomChainsAreThoseThatMustMove) {
  auto random = random_for("bus");
  const int chains = tries(120, 5000);
  for (int i = 0; i < chains && !HasFailure(); ++i) {
    const ChainOptions options{.forks = i % 3 != 0, .drops = i % 4 == 3};
    check(random, options, kCases[static_cast<size_t>(i) % std::size(kCases)], Between::segments);
  }
  EXPECT_GT(segments_, chains / 2);
  EXPECT_GT(exact_, segments_ / 3);
}

// Functions that are isolated from each other: each has all that it wants moved there and back for itself.
TEST_F(BusTest, BytesOfIsolatedFunctionsMoveForEachOfThem) {
  auto random = random_for("bus isolated");
  const int chains = tries(80, 3000);
  for (int i = 0; i < chains && !HasFailure(); ++i) {
    const ChainOptions options{.forks = i % 3 != 0, .drops = i % 4 == 3, .whole = i % 2 == 0};
    check(random, options, kCases[static_cast<size_t>(i) % std::size(kCases)], Between::isolated);
  }
  EXPECT_GT(segments_, chains / 2);
  EXPECT_GT(exact_, segments_ / 3);
}

// Gaviss, Algorithm 1: what the GPU has of a packet moves there again only after the CPU has written it.
TEST_F(BusTest, FieldsOfPacketsOnTheGpuMoveOnceForEachWriteOfTheCpu) {
  auto random = random_for("residence");
  const int chains = tries(80, 3000);
  for (int i = 0; i < chains && !HasFailure(); ++i) {
    const ChainOptions options{.forks = i % 2 != 0, .drops = false, .whole = true};
    check(random, options, {LaunchMode::persistent, Transport::gather}, Between::shared);
  }
  EXPECT_GT(segments_, chains / 2);
  EXPECT_GT(exact_, segments_ / 3);
}

// The same of many more chains, by what the plan says that a packet takes.
class BusPlan : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Isolate, BusPlan, testing::Bool());

TEST_P(BusPlan, RandomChainsTakeWhatMustMove) {
  auto random = random_for("bus plan");
  int segments_seen = 0;
  const int chains = tries(1500, 20000);
  const bool isolate = GetParam();  // which leaves nothing to share
  const PlanOptions plan_options{
      .device = "simt", .transport = Transport::gather, .share = isolate, .isolate = isolate};
  const Between between = isolate ? Between::isolated : Between::segments;
  for (int i = 0; i < chains && !testing::Test::HasFailure(); ++i) {
    const RandomChain chain(random, {.forks = i % 3 != 0, .drops = i % 2 == 0});
    SCOPED_TRACE(chain.text());
    click::Diagnostics diagnostics;
    const Chain planned = read(chain.text(), plan_options, diagnostics);
    ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
    std::vector<bool> on_gpu(chain.steps.size());
    for (size_t node = 0; node < planned.plan.nodes.size(); ++node)
      if (const int step = number(*planned.router.nodes[node].element); step >= 0)
        on_gpu[static_cast<size_t>(step)] = planned.plan.nodes[node].processor.is_gpu();
    const auto segments = bus_segments(chain, on_gpu, between);
    for (const Segment& plan : planned.plan.segments) {
      if (!plan.processor.is_gpu()) continue;
      ++segments_seen;
      const BusSegment& segment =
          segments.at(number(*planned.router.nodes[static_cast<size_t>(plan.nodes[0])].element));
      EXPECT_EQ(uint64_t{kSlotPackets} * (8 + 4 * static_cast<uint64_t>(words(plan.columns_in))),
                segment.slot_to_gpu());
      EXPECT_EQ(
          uint64_t{kSlotPackets} * ((plan.wide_results ? 8 : 4) + 4 * static_cast<uint64_t>(words(plan.columns_out))),
          segment.slot_from_gpu());
      Frame frame = random_frame(random, 64 + random() % 1000);
      frame.headroom = static_cast<int>(64 + random() % 65);
      const auto start = static_cast<uintptr_t>(frame.headroom + segment.entry.head);
      const auto length =
          static_cast<uint32_t>(static_cast<int>(frame.bytes.size()) - segment.entry.head + segment.entry.tail);
      EXPECT_EQ(plan.copies.any() ? plan.copies.gathered(start, length).bytes() : 0,
                segment.to_gpu(Transport::gather, frame).most);
      if (::testing::Test::HasFailure()) ADD_FAILURE() << planned.plan.text(planned.router);
    }
  }
  EXPECT_GT(segments_seen, chains / 3);
}

}  // namespace
}  // namespace heddle::test
