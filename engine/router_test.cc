// Reading a chain into a Router: every mistake has its place and its remedy.

#include "engine/router.h"

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

TEST(Router, SortsNodesByTheWayOfPackets) {
  click::Diagnostics diagnostics;
  const Chain chain = read("d :: TestSink; c :: Counter; t :: Tee; c -> d; t[1] -> d; t[0] -> c; s :: TestSource -> t;",
                           {}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  const Router& router = chain.router;
  ASSERT_EQ(router.nodes.size(), 4u);
  for (size_t i = 0; i < router.nodes.size(); ++i)
    for (int target : router.nodes[i].targets) EXPECT_GT(target, static_cast<int>(i));
  const int tee = router.find("t"), sink = router.find("d"), counter = router.find("c");
  EXPECT_EQ(router.nodes[static_cast<size_t>(tee)].targets, (std::vector<int>{counter, sink}));
  EXPECT_EQ(router.nodes[static_cast<size_t>(sink)].predecessors.size(), 2u);
  EXPECT_EQ(router.nodes[static_cast<size_t>(tee)].element->outputs, 2);
  EXPECT_EQ(router.find("nobody"), -1);
}

TEST(Router, TwoWaysToOneElementAreOnePredecessor) {
  click::Diagnostics diagnostics;
  const Chain chain = read("TestSource -> t :: Tee; d :: TestSink; t[0] -> d; t[1] -> d;", {}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(chain.router.nodes[static_cast<size_t>(chain.router.find("d"))].predecessors.size(), 1u);
}

TEST(Router, NamesPortsThatAreNotConnected) {
  EXPECT_EQ(mistakes("s :: TestSource;"),
            "chain:1:1: TestSource 's': output port 0 is not connected; connect it, for example 's[0] -> Discard'\n");
  EXPECT_EQ(mistakes("TestSource -> TestSink;\n  m :: EtherMirror -> TestSink;"),
            "chain:2:3: EtherMirror 'm': input port 0 is not connected; connect it\n");
  EXPECT_EQ(mistakes("TestSource -> c :: Classifier(0/00, -); c[1] -> TestSink;"),
            "chain:1:15: Classifier 'c': output port 0 is not connected; connect it, for example 'c[0] -> Discard'\n");
}

TEST(Router, NamesPortsThatThereAreNot) {
  EXPECT_EQ(mistakes("TestSource -> m :: EtherMirror -> TestSink; m[1] -> TestSink;"),
            "chain:1:15: EtherMirror 'm': has no output port 1; it has port 0 only\n");
  EXPECT_EQ(mistakes("TestSource -> d :: TestSink -> Idle -> TestSink;"),
            "chain:1:15: TestSink 'd': has no output ports\n");
  EXPECT_EQ(mistakes("TestSource -> [2] k :: CheckIPHeader -> TestSink;"),
            "chain:1:19: CheckIPHeader 'k': has no input port 2; it has port 0 only\n");
  EXPECT_EQ(mistakes("TestSource -> k :: CheckIPHeader -> TestSink; k[1] -> TestSink; k[2] -> TestSink;"),
            "chain:1:15: CheckIPHeader 'k': has no output port 2; it has ports 0 to 1\n");
  EXPECT_TRUE(mistakes("TestSource -> t :: Tee; t[0] -> TestSink; t[256] -> TestSink;")
                  .starts_with("chain:1:50: an element has at most 256 ports, 0 to 255\n"));
}

TEST(Router, NamesOutputsThatAreConnectedTwice) {
  EXPECT_EQ(mistakes("s :: TestSource -> TestSink;\ns -> TestSink;"),
            "chain:2:3: output 0 of 's' is connected twice; use Tee to copy packets\n");
}

TEST(Router, NamesCycles) {
  EXPECT_EQ(mistakes("TestSource -> TestSink; a :: Counter -> b :: Strip(1) -> a;"),
            "chain:1:25: 'a' is on a cycle; packets would never leave it. Put a Queue and an Unqueue on it\n");
  EXPECT_EQ(mistakes("TestSource -> a :: Counter -> t :: Tee -> TestSink; t[1] -> a;"),
            "chain:1:15: 'a' is on a cycle; packets would never leave it. Put a Queue and an Unqueue on it\n");
}

TEST(Router, LoopsThatPacketsCanLeaveAreFine) {
  EXPECT_EQ(mistakes("TestSource -> k :: Classifier(0/00, -) -> TestSink; k[1] -> Strip(1) -> k;"), "");
  EXPECT_EQ(
      mistakes("TestSource -> s :: Strip(1) -> t :: Tee -> TestSink; t[1] -> k :: Classifier(0/00, -) -> TestSink; "
               "k[1] -> k2 :: Classifier(0/01, -) -> s; k2[1] -> k;"),
      "");
}

TEST(Router, CyclesThroughAQueueAreFine) {
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> u :: Unqueue -> c :: Classifier(0/00, -) -> q; c[1] -> TestSink;"),
            "");
}

TEST(Router, NamesPushAndPullThatMeet) {
  EXPECT_EQ(mistakes("TestSource -> t :: Tee -> u :: Unqueue -> TestSink;"),
            "chain:1:24: 't' push output 0 is connected to 'u' pull input 0; put a Queue between\n");
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> t :: Tee -> TestSink;"),
            "chain:1:26: 'q' pull output 0 is connected to 't' push input 0; put an Unqueue between\n");
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> a :: Counter -> t :: Tee -> TestSink;"),
            "chain:1:29: 'a' is pushed at output 0 and pulled at input 0; put an Unqueue before it or behind it\n");
}

TEST(Router, InputsPullFromOnePlace) {
  EXPECT_EQ(mistakes("TestSource -> t :: Tee -> q :: Queue -> u :: Unqueue -> TestSink; t[1] -> r :: Queue -> u;"),
            "chain:1:86: input 0 of 'u' pulls from two places; it can pull from one only\n");
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> a :: Unqueue -> TestSink; q -> b :: Unqueue -> TestSink;"), "");
  // Also through what keeps no packets, on one thread.
  const std::string two = " -> a :: Unqueue -> TestSink; n -> b :: Unqueue -> TestSink;";
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> n :: Counter" + two), "");
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> n :: Counter" + two + " StaticThreadSched(b 1);"),
            "chain:1:76: 'a' and 'b' pull through 'n', so one thread runs both; let StaticThreadSched put them on the "
            "same, or a Queue stand between\n");
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> n :: PullTee" + two + " n[1] -> TestSink;"), "");
  EXPECT_EQ(mistakes("TestSource -> q :: Queue -> n :: PullTee" + two + " n[1] -> TestSink; StaticThreadSched(b 1);"),
            "chain:1:76: 'a' and 'b' pull through 'n', so one thread runs both; let StaticThreadSched put them on the "
            "same, or a Queue stand between\n");
}

TEST(Router, SuggestsClassesAndKeywords) {
  EXPECT_EQ(mistakes("TestSource -> EthrMirror -> TestSink;"),
            "chain:1:15: unknown element class 'EthrMirror'; did you mean 'EtherMirror'?\n");
  EXPECT_EQ(mistakes("TestSource -> m :: EtherMirror(DEVIC gpu) -> TestSink;"),
            "chain:1:32: EtherMirror 'm': unknown keyword 'DEVIC'; did you mean 'DEVICE'?\n");
}

TEST(Router, NamesWrongArguments) {
  EXPECT_EQ(mistakes("TestSource -> s :: Strip -> TestSink;"),
            "chain:1:15: Strip 's': missing argument LENGTH; expected an integer from 0 to 16384\n");
  EXPECT_EQ(mistakes("TestSource -> s :: Strip(fourteen) -> TestSink;"),
            "chain:1:26: Strip 's': LENGTH: 'fourteen' is not an integer from 0 to 16384\n");
  EXPECT_EQ(mistakes("TestSource -> s :: Strip(1, 2) -> TestSink;"),
            "chain:1:29: Strip 's': '2' is one argument too many\n");
  EXPECT_EQ(mistakes("TestSource -> m :: EtherMirror(DEVICE fpga) -> TestSink;"),
            "chain:1:32: EtherMirror 'm': DEVICE: 'fpga' is not cpu, auto, gpu, gpu0, gpu1, ... or gpu15\n");
  // Only functions have a GPU side.
  EXPECT_EQ(mistakes("TestSource -> c :: Classifier(0/00, DEVICE gpu) -> TestSink;"),
            "chain:1:37: Classifier 'c': unknown keyword 'DEVICE'\n");
  EXPECT_EQ(mistakes("TestSource -> t :: Tee(3) -> TestSink;"),
            "chain:1:24: Tee 't': N: '3' is not the number of connected outputs, 1\n");
}

TEST(Router, CollectsAllMistakes) {
  EXPECT_EQ(mistakes("TestSource -> s :: Strip(-1) -> u :: Unstrip(129) -> x :: XOR(256) -> TestSink;"),
            "chain:1:26: Strip 's': LENGTH: '-1' is not an integer from 0 to 16384\n"
            "chain:1:46: Unstrip 'u': LENGTH: '129' is not an integer from 0 to 128\n"
            "chain:1:63: XOR 'x': KEY: '256' is not an integer from 0 to 255\n");
}

TEST(Router, NamesOnlyThePortThatThereIsNot) {
  EXPECT_EQ(mistakes("t :: TestSource; t[3] -> TestSink;"),
            "chain:1:1: TestSource 't': has no output port 3; it has port 0 only\n");
  EXPECT_EQ(mistakes("TestSource -> [2] s :: TestSink;"),
            "chain:1:19: TestSink 's': has no input port 2; it has port 0 only\n");
}

TEST(Router, WantsASource) {
  EXPECT_EQ(mistakes(""), "chain:1:1: the chain has no source of packets, such as FromDump or FromDPDKDevice\n");
}

TEST(Router, TakesPlacementFromArguments) {
  click::Diagnostics diagnostics;
  const Chain chain = read(
      "TestSource -> a :: EtherMirror(DEVICE gpu, BLOCKING false) -> b :: XOR(1, DEVICE cpu) -> c :: XOR -> TestSink;",
      {}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  auto node = [&](const char* name) -> const Node& {
    return chain.router.nodes[static_cast<size_t>(chain.router.find(name))];
  };
  EXPECT_EQ(node("a").device, kDefaultGpu);
  EXPECT_FALSE(node("a").blocking);
  EXPECT_EQ(node("b").device, kOnCpu);
  EXPECT_TRUE(node("b").blocking);
  EXPECT_EQ(node("c").device, std::nullopt);
}

}  // namespace
}  // namespace heddle::test
