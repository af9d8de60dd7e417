// A GPU that is lost while packets are on it: on simt as its runtime plays it, on a GPU by a kernel that traps.

#include <dlfcn.h>

#include <thread>

#include "simt/loss.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

/** A kernel that traps, in the context of the first GPU. */
class Trap {
 public:
  Trap() : driver_(::dlopen("libcuda.so.1", RTLD_NOW)) {
    static constexpr char kPtx[] =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry trapping() { trap; ret; }\n";
    void *context = nullptr, *module = nullptr;
    call("cuInit", 0u);
    call("cuDevicePrimaryCtxRetain", &context, 0);
    call("cuCtxSetCurrent", context);
    call("cuModuleLoadData", &module, kPtx);
    call("cuModuleGetFunction", &kernel_, module, "trapping");
    call("cuStreamCreate", &stream_, 1u);  // beside all others
  }
  void spring() {
    call("cuLaunchKernel", kernel_, 1u, 1u, 1u, 1u, 1u, 1u, 0u, stream_, static_cast<void**>(nullptr),
         static_cast<void**>(nullptr));
  }

 private:
  template <class... Arguments>
  void call(const char* name, Arguments... arguments) {
    auto* function = reinterpret_cast<int (*)(Arguments...)>(::dlsym(driver_, name));
    if (function == nullptr || function(arguments...) != 0) throw Error(std::string(name) + " has failed");
  }
  void* driver_;
  void *kernel_ = nullptr, *stream_ = nullptr;
};

// What a child process does: it loses its first GPU for good. Each frame's bytes but the first are its number, and an
// XOR changes all of them.
constexpr size_t kFrames = 64, kFrameBytes = 60;
constexpr unsigned kKey = 0x5a;

struct Flow {
  std::atomic<uint64_t> delivered{0}, wrong{0};

  void see(const Received& packet) {
    const auto wanted = static_cast<uint8_t>(static_cast<unsigned>(packet.serial) ^ kKey);
    for (const uint8_t byte : packet.bytes) wrong += byte != wanted;
    ++delivered;
  }
  void wait_for(uint64_t more) const {
    wait_while([&, then = delivered.load()] { return delivered < then + more; });
  }
};

std::vector<Frame> numbered_frames() {
  std::vector<Frame> frames;
  for (size_t i = 0; i < kFrames; ++i) frames.push_back({Bytes(kFrameBytes, static_cast<uint8_t>(i))});
  return frames;
}

void lose(const Backend& backend, std::optional<Trap>& trap) {
  if (backend.real_gpu())
    trap->spring();
  else
    simt::lose_device(0);
}

/** `fail`: makes the GPU do so. */
void expect_that_the_cpu_goes_on(const Backend& backend, const std::string& chain,
                                 const std::function<void(Engine&)>& fail) {
  Flow flow;
  Options options;
  options.endless = true;
  options.batches = {32, 1, 0, 7};
  options.on_packet = [&](const std::string&, const Received& packet) { flow.see(packet); };
  options.meanwhile = [&](Engine& engine) {
    flow.wait_for(1000);
    fail(engine);
    wait_while([&] { return engine.report().traffic.at(0).on_cpu.value_or(0) < 1000; });
  };
  const Result result = run(chain, backend, numbered_frames(), options);
  EXPECT_EQ(flow.wrong, 0u);
  EXPECT_EQ(result.received, result.delivered + result.drop("x.gpu_failed"));
  ASSERT_EQ(result.report.traffic.size(), 1u);
  EXPECT_GE(result.report.traffic[0].on_cpu.value_or(0), 1000u);
  EXPECT_TRUE(result.report.problems.empty());
}

void expect_that_the_cpu_goes_on_without_it(const Backend& backend, const std::string& chain) {
  std::optional<Trap> trap;
  if (backend.real_gpu()) trap.emplace();
  expect_that_the_cpu_goes_on(backend, chain, [&](Engine&) { lose(backend, trap); });
}

// A new configuration wants the GPU again.
void expect_that_a_failed_reconfiguration_changes_nothing(const Backend& backend, const std::string& chain) {
  std::optional<Trap> trap;
  if (backend.real_gpu()) trap.emplace();
  expect_that_the_cpu_goes_on(backend, chain, [&](Engine& engine) {
    const auto again = [&] {
      click::Diagnostics none;
      Chain next = read(chain, backend.plan(), none);
      return Configuration{std::move(next.router), std::move(next.plan)};
    };
    lose(backend, trap);
    for (int i = 0; i < 2; ++i) {
      wait_for_more(engine.handlers(), "sink.count");
      EXPECT_THROW(engine.reconfigure(again), Error);
      EXPECT_TRUE(engine.running());
    }
  });
}

void expect_that_it_stops(const Backend& backend) {
  std::optional<Trap> trap;
  if (backend.real_gpu()) trap.emplace();
  click::Diagnostics diagnostics;
  Chain chain = read("InfiniteSource(LENGTH 60) -> x :: XOR(1) -> d :: Discard;", backend.plan(), diagnostics);
  ASSERT_TRUE(diagnostics.ok());
  RunOptions few;
  few.slots = 4, few.threads = backend.workers ? 2 : 1;
  Engine engine(std::move(chain.router), std::move(chain.plan), few);
  engine.start();
  wait_while([&] { return engine.packets(engine.router().find("d")) < 1000; });
  lose(backend, trap);
  engine.wait();  // it ends by itself
  const Report report = engine.report();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("the packets on it are lost"), std::string::npos) << report.problems[0];
  EXPECT_EQ(report.received, engine.packets(engine.router().find("d")) + report.dropped);
}

void expect_that_it_ends_without_the_gpu(const Backend& backend) {
  constexpr uint64_t kPackets = 1000, kInLists = 2 * gpu::kStreams * 32;
  click::Diagnostics diagnostics;
  Chain chain = read(format("InfiniteSource(LENGTH 60, LIMIT %d, BURST 32)"
                            "-> x :: XOR(1, MAX_BATCH 32, CAPACITY 2, BLOCKING false) -> d :: Discard;",
                            static_cast<int>(kPackets)),
                     backend.plan(), diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  RunOptions options;
  options.threads = backend.workers ? 2 : 1;
  Engine engine(std::move(chain.router), std::move(chain.plan), options);
  simt::lose_launches();
  engine.start();
  wait_while([&] { return engine.report().received < kPackets; });
  engine.stop();
  engine.wait();
  const Report report = engine.report();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("has neither taken nor given back a packet at 'x' for 10 s"), std::string::npos)
      << report.problems[0];
  EXPECT_EQ(report.received, report.dropped);
  if (backend.workers) return;  // what waits for the master has found room, too
  for (const auto& [reason, count] : report.elements[1].drops)
    EXPECT_EQ(count, reason == "gpu_failed" ? kInLists : kPackets - kInLists) << reason;
}

std::vector<Backend> with_masters() {
  std::vector<Backend> list;
  for (Backend backend : {Backend{"persistent", "simt", LaunchMode::persistent},
                          Backend{"async_coalescent", "simt", LaunchMode::async, Transport::coalescent}}) {
    backend.workers = true;
    list.push_back(backend);
  }
  return list;
}

class GpuLossDeath : public OnBackend {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};
INSTANTIATE_TEST_SUITE_P(All, GpuLossDeath, testing::ValuesIn(gpu_backends()), backend_name);
INSTANTIATE_TEST_SUITE_P(Workers, GpuLossDeath, testing::ValuesIn(with_masters()), backend_name);

class GpuStallsDeath : public GpuLossDeath {};
INSTANTIATE_TEST_SUITE_P(All, GpuStallsDeath,
                         testing::Values(Backend{"simt_async", "simt", LaunchMode::async},
                                         Backend{"simt_async_workers", "simt", LaunchMode::async, Transport::direct,
                                                 true, false, false, true}),
                         backend_name);

template <class Check>
[[noreturn]] void in_child(const Check& check) {
  check();
  const testing::TestResult& result = *testing::UnitTest::GetInstance()->current_test_info()->result();
  for (int i = 0; i < result.total_part_count(); ++i)
    std::fprintf(stderr, "in the child, line %d: %s\n", result.GetTestPartResult(i).line_number(),
                 result.GetTestPartResult(i).message());
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}

TEST_P(GpuLossDeath, TheCpuGoesOnIfItMay) {
  Backend backend = GetParam();
  EXPECT_EXIT(in_child([&] {
                expect_that_the_cpu_goes_on_without_it(backend,
                                                       "TestSource -> x :: XOR(0x5a, ON_GPU_ERROR cpu) -> TestSink;");
              }),
              testing::ExitedWithCode(0), "the CPU goes on from 'x'");
  backend.cpu_after_failure = true;
  EXPECT_EXIT(
      in_child([&] { expect_that_the_cpu_goes_on_without_it(backend, "TestSource -> x :: XOR(0x5a) -> TestSink;"); }),
      testing::ExitedWithCode(0), "the CPU goes on from 'x'");
}

TEST_P(GpuLossDeath, TheCpuGoesOnWhenAReconfigurationHasFailed) {
  EXPECT_EXIT(in_child([&] {
                expect_that_a_failed_reconfiguration_changes_nothing(
                    GetParam(), "TestSource -> x :: XOR(0x5a, ON_GPU_ERROR cpu) -> sink :: TestSink;");
              }),
              testing::ExitedWithCode(0), "the CPU goes on from 'x'");
}

TEST_P(GpuLossDeath, ElseTheEngineStopsAndAccountsForAll) {
  EXPECT_EXIT(in_child([&] { expect_that_it_stops(GetParam()); }), testing::ExitedWithCode(0), "");
}

// Kernels that have been launched never run: each of the lists holds two batches, and the others find no slot.
TEST_P(GpuStallsDeath, TheProgramEndsAllTheSame) {
  EXPECT_EXIT(in_child([&] { expect_that_it_ends_without_the_gpu(GetParam()); }), testing::ExitedWithCode(0), "");
}

// The device is well, and what has been launched before comes back.
class GpuRefusesDeath : public GpuLossDeath {};
INSTANTIATE_TEST_SUITE_P(
    All, GpuRefusesDeath,
    testing::Values(Backend{"simt_sync", "simt", LaunchMode::sync}, Backend{"simt_async", "simt", LaunchMode::async},
                    Backend{"simt_async_coalescent", "simt", LaunchMode::async, Transport::coalescent}),
    backend_name);
INSTANTIATE_TEST_SUITE_P(Workers, GpuRefusesDeath, testing::Values(with_masters().back()), backend_name);

TEST_P(GpuRefusesDeath, TheCpuGoesOnWhenLaunchesFail) {
  EXPECT_EXIT(in_child([&] {
                expect_that_the_cpu_goes_on(
                    GetParam(), "TestSource -> x :: XOR(0x5a, ON_GPU_ERROR cpu) -> sink :: TestSink;",
                    [](Engine& engine) {
                      simt::refuse_launches();
                      wait_while([&] { return engine.report().traffic[0].on_cpu.value_or(0) < 1000; });
                    });
              }),
              testing::ExitedWithCode(0), "the CPU goes on from 'x'");
}

void expect_that_half_a_batch_is_lost() {
  simt::refuse_launches(2);
  std::vector<Frame> frames;
  while (frames.size() < 3000) frames.push_back({Bytes(kFrameBytes, static_cast<uint8_t>(frames.size()))});
  Flow flow;
  Options options;
  options.batches = {5, 1024};
  options.on_packet = [&](const std::string&, const Received& packet) { flow.see(packet); };
  const Result result = run("TestSource -> x :: XOR(0x5a, ON_GPU_ERROR cpu) -> TestSink;",
                            {"simt_sync_coalescent", "simt", LaunchMode::sync, Transport::coalescent}, frames, options);
  EXPECT_EQ(flow.wrong, 0u);
  EXPECT_EQ(result.drop("x.gpu_failed"), 1024u);
  EXPECT_EQ(result.delivered, frames.size() - 1024);
}

// The slots of a batch begin anew behind the last one, and only the first of its two launches goes well: what that has
// done must not come back, for the copy behind it is missing.
TEST(GpuHalfLaunchDeath, NothingComesBackFromTheBatch) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(in_child(expect_that_half_a_batch_is_lost), testing::ExitedWithCode(0), "the CPU goes on from 'x'");
}

TEST(GpuMemory, ATableThatFindsNoRoomIsAnError) {
  click::Diagnostics diagnostics;
  Chain chain = read("InfiniteSource(LENGTH 60) -> GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0) -> Discard;",
                     {"simt", LaunchMode::sync}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  const simt::NoMemoryLeft almost(size_t{2} << 20);
  Engine engine(std::move(chain.router), std::move(chain.plan), {});
  try {
    engine.start();
    ADD_FAILURE() << "there is room";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("DirectIPLookup 'rt': its table of ")) << text;
    EXPECT_NE(text.find(" MB cannot be had on simt0: out of memory: "), std::string::npos) << text;
    EXPECT_NE(text.find(" MB more are wanted, and 2.1 of 8589.9 MB are free; use smaller tables"), std::string::npos)
        << text;
  }
}

std::string error_of_start(const std::string& chain, const PlanOptions& plan) {
  click::Diagnostics diagnostics;
  Chain made = read(chain, plan, diagnostics);
  if (!diagnostics.ok()) return diagnostics.text();
  try {
    Engine engine(std::move(made.router), std::move(made.plan), {});
    engine.start();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Twins of packets take as much as the packet memory, far more than anything else here.
TEST(GpuMemory, PacketsThatFindNoRoomAreAnErrorThatNamesTheRemedy) {
  const simt::NoMemoryLeft for_packets(size_t{2} << 20);
  for (const auto& [launch, transport] :
       {std::pair{LaunchMode::persistent, Transport::gather}, std::pair{LaunchMode::persistent, Transport::landing},
        std::pair{LaunchMode::async, Transport::coalescent}, std::pair{LaunchMode::async, Transport::commlist}}) {
    const std::string error =
        error_of_start("InfiniteSource(LENGTH 60) -> XOR(1) -> Discard;", {"simt", launch, transport});
    EXPECT_NE(error.find("simt0: no room for "), std::string::npos) << error;
    EXPECT_NE(error.find("MB of packets"), std::string::npos) << error;
    EXPECT_NE(error.find("out of memory"), std::string::npos) << error;
    EXPECT_NE(error.find("use --transport direct, or fewer packets (--packets)"), std::string::npos) << error;
  }
}

// Slots by CAPACITY are not those of --slots.
TEST(GpuSlots, ThatDoNotFitAreAnErrorThatNamesTheRemedy) {
  const std::string many =
      error_of_start("InfiniteSource -> m :: EtherMirror(MAX_BATCH 1024, CAPACITY 64) -> Discard;", {"simt"});
  EXPECT_NE(many.find("8192 slots of 1 warp"), std::string::npos) << many;
  EXPECT_NE(many.find("'m' wants CAPACITY 64 batches of MAX_BATCH packets in each of 4 lists (LISTS_PER_CORE)"),
            std::string::npos)
      << many;
  EXPECT_EQ(many.find("--slots"), std::string::npos) << many;
}

TEST(GpuBusy, IsAnErrorThatNamesTheRemedy) {
  const simt::DevicesUnavailable taken;
  const std::string error = error_of_start("InfiniteSource(LENGTH 60) -> XOR(1) -> Discard;", {"simt"});
  EXPECT_NE(error.find("simt0: CUDA-capable device(s) is/are busy or unavailable"), std::string::npos) << error;
  EXPECT_NE(error.find("another process has it for itself, or its compute mode lets none in"), std::string::npos)
      << error;
  EXPECT_NE(error.find("nvidia-smi -c DEFAULT"), std::string::npos) << error;
  EXPECT_NE(error.find("--device cpu"), std::string::npos) << error;
}

}  // namespace
}  // namespace heddle::test
