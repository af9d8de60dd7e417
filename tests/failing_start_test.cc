// What an element needs to start may be missing: memory, or descriptors. The engine then says so and leaves nothing
// behind, and one that runs already goes on as it was.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <typeindex>

#include "click/arguments.h"
#include "core/element.h"
#include "gpu/functions.h"
#include "tests/support/every_class.h"
#include "tests/support/failing.h"
#include "tests/support/harness.h"
#include "tests/support/lab.h"
#include "tests/support/sanitizer.h"

namespace heddle::test {
namespace {

/** What fails from the start of the first element on, until all is started. */
struct Fault {
  enum Kind { kNone, kAllocation, kDescriptor } kind = kNone;
  int number = 0;  ///< of the allocation, from 1; or how many descriptors can be opened
};
class TestFaults : public Element {
 public:
  static inline Fault fault;
  static inline uint64_t allocations = 0;  ///< that there have been

  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
  void start(const Environment&) override {
    if (fault.kind == Fault::kDescriptor)
      descriptors_.emplace(fault.number);
    else
      FailingAllocation::begin(static_cast<uint64_t>(fault.number));
  }
  static void end() {
    if (fault.kind != Fault::kDescriptor) allocations = FailingAllocation::end();
    descriptors_.reset();
  }

 private:
  static inline std::optional<FewDescriptors> descriptors_;
};
HEDDLE_ELEMENT(TestFaults);

/** How a chain comes to be started. */
enum class Start { on_cpu, on_simt, in_place_of_another };

/** Starts a chain, and ends it at once; returns what has failed. */
std::string start_with(const std::string& text, Start how, Fault fault) {
  static const std::vector<Frame> frames(8, Frame{Bytes(60)});
  const bool replaces = how == Start::in_place_of_another;
  const auto read_one = [&](const std::string& one) -> Configuration {
    click::Diagnostics diagnostics;
    Chain chain = read(one, {how == Start::on_simt ? "simt" : "cpu", LaunchMode::persistent}, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
    if (!diagnostics.ok()) throw Error(diagnostics.text());
    return {std::move(chain.router), std::move(chain.plan)};
  };
  // Elements without inputs are started in their order, and then the others.
  const std::string whole = "TestFaults;" + text;
  Lab lab;
  lab.frames = &frames;
  lab.options.on_packet = [](const std::string&, const Received&) {};
  Lab::current() = &lab;
  std::string problem;
  {
    RunOptions run;
    run.batch_size = 64, run.packets = 4096;
    Configuration first = read_one(replaces ? "InfiniteSource -> before :: Counter -> Discard;" : whole);
    Engine engine(std::move(first.router), std::move(first.plan), run);
    const auto start = [&] {
      TestFaults::fault = fault;
      try {
        replaces ? engine.reconfigure([&] { return read_one(whole); }) : engine.start();
      } catch (const std::exception& error) {
        problem = error.what();
      }
      TestFaults::end();
    };
    if (replaces) engine.start();
    start();
    if (replaces && !problem.empty()) wait_for_more(engine.handlers(), "before.count");
    if (replaces || problem.empty()) {
      engine.stop();
      engine.wait();
    }
  }
  // One that has been given up stops while packets of what runs are on their way.
  if (!replaces || problem.empty()) {
    EXPECT_EQ(lab.not_returned, 0) << "packets that never came back to their pool";
  }
  Lab::current() = nullptr;
  return problem;
}

/** A chain for each of classes_apart(), by name; of further names one is enough. */
struct Apart {
  const char* name;
  const char* chain;
  Start how = Start::on_cpu;
};
const std::vector<Apart>& sources_and_others() {
  static const std::vector<Apart> list = {
      {"ARPTable",
       "t :: ARPTable; TestSource -> MarkIPHeader(14) -> GetIPAddress(30)"
       " -> q :: ARPQuerier(10.0.0.9, 2:0:0:0:0:1, TABLE t) -> TestSink; Idle -> [1]q;"},
      {"AddressInfo", "AddressInfo(a 10.0.0.1 2:0:0:0:0:1); TestSource -> TestSink;"},
      {"AlignmentInfo", "AlignmentInfo(s 4 2); s :: TestSource -> TestSink;"},
      {"ClickyInfo", "ClickyInfo(STYLE s { }); TestSource -> TestSink;"},
      {"ControlSocket", "ControlSocket(unix, $out); TestSource -> TestSink;"},
      {"DPDKInfo", "DPDKInfo(NB_MBUF 1000); TestSource -> TestSink;"},
      {"DriverManager", "DriverManager(wait, stop); TestSource -> TestSink;"},
      {"FastTCPFlows", "FastTCPFlows(0, 10, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.1.0.1, 4, 4) -> Discard;"},
      {"FastUDPFlows", "FastUDPFlows(0, 10, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.1.0.1, 4, -1) -> Discard;"},
      {"FastUDPSource",
       "FastUDPSource(0, 10, 60, 2:0:0:0:0:1, 10.0.0.1, 1234, 2:0:0:0:0:2, 10.1.0.1, 1234) -> Discard;"},
      {"FastUDPSourceIP6",
       "FastUDPSourceIP6(0, 10, 64, 2:0:0:0:0:1, 2001:db8::1, 1234, 2:0:0:0:0:2, 2001:db8:1::1, 1234) -> Discard;"},
      {"FromDPDKDevice", "FromDPDKDevice(net_null0) -> Discard;"},
      {"FromDevice", "FromDevice(lo) -> Discard;"},
      {"FromDump", "FromDump($capture) -> Discard;"},
      {"FromGPUPort", "FromGPUPort(p, SOCKET $out, ROLE server) -> EtherMirror -> ToGPUPort(p);", Start::on_simt},
      {"FromHost", "FromHost(hdstart0, 10.99.0.1/24) -> Discard;"},
      {"FromIPSummaryDump", "FromIPSummaryDump($summary) -> Discard;"},
      {"FromTcpdump", "FromTcpdump($summary) -> Discard;"},
      {"ICMPPingSource", "ICMPPingSource(10.0.0.1, 10.0.0.2) -> Discard;"},
      {"IPRewriterPatterns", "IPRewriterPatterns(p 1.0.0.1 1024-65535 - -); TestSource -> TestSink;"},
      {"RoundRobinIPMapper",
       "m :: RoundRobinIPMapper(- - 1.0.0.1 - 0 0); TestSource -> MarkIPHeader(14) -> IPRewriter(m) -> TestSink;"},
      {"InfiniteSource", "InfiniteSource(LIMIT 10) -> Discard;"},
      {"KernelIP6Neighbours",
       "KernelIP6Neighbours(q, lo); q :: IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1); TestSource -> CheckIP6Header(14)"
       " -> LookupIP6Route(::/0 0) -> q -> TestSink; Idle -> [1]q;"},
      {"KernelIP6Routes",
       "KernelIP6Routes(rt, lo 0); TestSource -> CheckIP6Header(14) -> rt :: LookupIP6Route(::/0 0) -> TestSink;"},
      {"KernelNeighbours",
       "KernelNeighbours(q, lo); q :: ARPQuerier(10.0.0.9, 2:0:0:0:0:1); TestSource -> MarkIPHeader(14)"
       " -> GetIPAddress(30) -> q -> TestSink; Idle -> [1]q;"},
      {"KernelRoutes",
       "KernelRoutes(rt, lo 0); TestSource -> GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0) -> TestSink;"},
      {"KernelTap", "KernelTap(10.99.0.1/24) -> Discard;"},
      {"KernelTun", "KernelTun(10.99.0.1/24) -> Discard;"},
      {"McastSocket", "McastSocket(239.1.2.3, 9000) -> Discard;"},
      {"Message", "Message(starts); TestSource -> TestSink;"},
      {"MultiReplayUnqueue", "TestSource -> Queue -> MultiReplayUnqueue(STOP 1) -> TestSink;"},
      {"PeekHandlers", "PeekHandlers(0, c.count, quit); TestSource -> c :: Counter -> TestSink;"},
      {"PokeHandlers", "PokeHandlers(0, c.reset, quit); TestSource -> c :: Counter -> TestSink;"},
      {"PortInfo", "PortInfo(a 80/tcp); TestSource -> TestSink;"},
      {"RIPSend", "RIPSend(18.26.4.24, 18.26.4.255, 10.0.0.0/8, 10) -> Discard;"},
      {"RandomSeed", "RandomSeed(7); TestSource -> RandomSample(0.5) -> TestSink;"},
      {"RandomSource", "RandomSource(64, LIMIT 2) -> Discard;"},
      {"RatedSource", "RatedSource(LIMIT 2) -> Discard;"},
      {"ReplayUnqueue", "TestSource -> Queue -> ReplayUnqueue(STOP 1) -> TestSink;"},
      {"ScheduleInfo", "ScheduleInfo(s 2); s :: TestSource -> TestSink;"},
      {"Script", "Script(set x $(add 1 2), wait 1us, end); TestSource -> TestSink;"},
      {"Socket", "Socket(UDP, 127.0.0.1, 0) -> Discard;"},
      {"SourceIPHashMapper",
       "m :: SourceIPHashMapper(100 7, - - 10.0.0.1 - 0 0 1); TestSource -> MarkIPHeader(14) -> IPRewriter(m)"
       " -> TestSink;"},
      {"StaticThreadSched", "s :: TestSource -> TestSink; StaticThreadSched(s 0);"},
      {"TCPIPSend", "TCPIPSend -> Discard; TestSource -> TestSink;"},
      {"TimedSource", "TimedSource(1us, LIMIT 2) -> Discard;"},
      {"ToDevice", "TestSource -> ToDevice(lo);"},
      {"ToGPUPort", "FromGPUPort(p) -> EtherMirror -> ToGPUPort(p, SOCKET $out);", Start::on_simt},
      {"ToHost", "InfiniteSource(LIMIT 4) -> ToHost(hdstart1);"},
      {"ToHostSniffers", "InfiniteSource(LIMIT 4) -> ToHostSniffers(hdstart2);"},
      {"ToDumpOfAFile", "TestSource -> ToDump($out);"},
      {"ToIPSummaryDumpOfAFile", "TestSource -> MarkIPHeader(14) -> ToIPSummaryDump($out);"},
  };
  return list;
}

/** Each of its allocations and descriptors fails once; a start that fails leaves nothing open. */
void expect_failures(const std::string& chain, Start how) {
  if (const std::string problem = start_with(chain, how, {}); !problem.empty()) GTEST_SKIP() << "not here: " << problem;
  const auto all = static_cast<int>(TestFaults::allocations);
  const int descriptors = open_descriptors();
  // The first ones, which are those of elements, and some of the others.
  const int first = tries(6, all), step = std::max(1, all / 6);
  int failures = 0;
  for (int number = 1; number <= all; number += number < first ? 1 : step) {
    const std::string problem = start_with(chain, how, {Fault::kAllocation, number});
    failures += problem.empty() ? 0 : 1;
    ASSERT_EQ(open_descriptors(), descriptors) << "allocation " << number << " of " << all << ": " << problem;
  }
  EXPECT_TRUE(failures > 0 || kSanitized);
  // UndefinedBehaviorSanitizer wants descriptors when it looks at objects.
  std::string problem = kSanitized ? "" : "none yet";
  for (int number = 0; !problem.empty() && number < 50; ++number) {
    problem = start_with(chain, how, {Fault::kDescriptor, number});
    ASSERT_EQ(open_descriptors(), descriptors) << "descriptor " << number << ": " << problem;
  }
  EXPECT_EQ(problem, "");
  EXPECT_EQ(start_with(chain, how, {}), "");
}

using ClassAndStart = std::pair<ClassInChain, Start>;
class EveryStart : public testing::TestWithParam<ClassAndStart> {};

std::vector<ClassAndStart> starts() {
  std::vector<ClassAndStart> list;
  for (const ClassInChain& it : classes_in_chains()) {
    list.emplace_back(it, Start::on_cpu);
    if (gpu::function_id(it.name) >= 0) list.emplace_back(it, Start::on_simt);
    list.emplace_back(it, Start::in_place_of_another);
  }
  return list;
}
std::string start_name(const testing::TestParamInfo<ClassAndStart>& info) {
  const char* const how[] = {"", "_on_simt", "_in_place_of_another"};
  return std::string(info.param.first.name) + how[static_cast<int>(info.param.second)];
}
INSTANTIATE_TEST_SUITE_P(All, EveryStart, testing::ValuesIn(starts()), start_name);

TEST_P(EveryStart, SucceedsOrSaysWhyNot) {
  const FilesOfElements files;
  expect_failures(files.definitions() + GetParam().first.chain(), GetParam().second);
}

class EverySource : public testing::TestWithParam<Apart> {};
INSTANTIATE_TEST_SUITE_P(All, EverySource, testing::ValuesIn(sources_and_others()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EverySource, StartsOrSaysWhyNot) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "every_source";
  std::ofstream(path + ".summary") << "!data ip_src ip_dst\n10.0.0.1 10.0.0.2\n";
  std::ofstream(path + ".capture") << std::string("\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\1\0\0\0", 24);
  std::string names;
  for (const char* name : {"out", "summary", "capture"}) names += format("$%s %s.%s, ", name, path.c_str(), name);
  expect_failures("define(" + names.substr(0, names.size() - 2) + "); " + GetParam().chain, GetParam().how);
  for (const char* end : {".out", ".summary", ".capture"}) std::filesystem::remove(path + end);
}

TEST(EverySourceClass, IsHere) {
  const auto type_of = [](const std::string& name) -> std::optional<std::type_index> {
    const Catalog::Entry* const entry = Catalog::instance().find(name);
    if (entry == nullptr) return std::nullopt;
    const std::unique_ptr<Element> made = entry->make();
    const Element& element = *made;
    return std::type_index(typeid(element));
  };
  std::set<std::type_index> here;
  for (const Apart& one : sources_and_others())
    if (const auto type = type_of(one.name)) here.insert(*type);
  for (const std::string& name : classes_apart())
    EXPECT_TRUE(here.contains(type_of(name).value())) << name << " wants a chain in sources_and_others()";
}

}  // namespace
}  // namespace heddle::test
