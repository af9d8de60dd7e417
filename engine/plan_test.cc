// The passes of the plan: placement, segments, columns, what moves.

#include "engine/plan.h"

#include <nlohmann/json.hpp>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

struct Planned {
  explicit Planned(const std::string& text, const std::string& device = "simt")
      : Planned(text, PlanOptions{.device = device}) {}
  Planned(const std::string& text, const PlanOptions& options) {
    click::Diagnostics diagnostics;
    chain = read(text, options, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  }
  const NodePlan& node(const std::string& name) const {
    return chain.plan.nodes.at(static_cast<size_t>(chain.router.find(name)));
  }
  /** The elements on the GPU by segment: "a b | c". */
  std::string gpu_segments() const {
    std::string text;
    for (auto& segment : chain.plan.segments) {
      if (!segment.processor.is_gpu()) continue;
      if (!text.empty()) text += " |";
      for (int i : segment.nodes)
        text += (text.empty() ? "" : " ") + chain.router.nodes[static_cast<size_t>(i)].element->name;
    }
    return text;
  }
  /** What moves to and from the only GPU segment: "in / out". */
  std::string moves() const {
    for (auto& segment : chain.plan.segments)
      if (segment.processor.is_gpu())
        return chain.plan.atoms.text(segment.in) + " / " + chain.plan.atoms.text(segment.out);
    return {};
  }
  Chain chain;
};

TEST(Plan, DeviceDecidesWhereFunctionsRun) {
  const std::string chain = "TestSource -> k :: Classifier(-) -> m :: EtherMirror -> x :: XOR -> TestSink;";
  EXPECT_EQ(Planned(chain, "cpu").gpu_segments(), "");
  EXPECT_FALSE(Planned(chain, "cpu").chain.plan.uses_gpu());
  EXPECT_EQ(Planned(chain, "gpu").gpu_segments(), "m x");
  EXPECT_EQ(Planned(chain, "simt").gpu_segments(), "m x");
  EXPECT_TRUE(Planned(chain).chain.plan.uses_gpu());
}

TEST(Plan, TheKeywordDeviceWins) {
  EXPECT_EQ(
      Planned("TestSource -> a :: XOR(1, DEVICE cpu) -> b :: XOR -> c :: XOR(DEVICE gpu) -> TestSink;").gpu_segments(),
      "b c");
  const Planned one("TestSource -> a :: XOR(1, DEVICE gpu) -> b :: XOR -> TestSink;", "cpu");
  EXPECT_EQ(one.gpu_segments(), "a");
}

TEST(Plan, NeutralElementsBetweenFunctionsStayInTheSegment) {
  EXPECT_EQ(Planned("TestSource -> a :: Counter -> m :: EtherMirror -> b :: Counter -> s :: Strip(14)"
                    "-> g :: GetIPAddress(16) -> u :: Unstrip(14) -> x :: XOR -> c :: Counter -> TestSink;")
                .gpu_segments(),
            "m b s g u x");
}

// Reading the address there spares the CPU from touching the packet.
TEST(Plan, GetIPAddressGoesWithTheFunctionBehindIt) {
  const Planned planned(
      "TestSource -> s :: Strip(14) -> g :: GetIPAddress(16) -> rt :: DirectIPLookup(0/0 0) -> TestSink;");
  EXPECT_EQ(planned.gpu_segments(), "g rt");
  EXPECT_EQ(planned.node("g").head, 14);
  EXPECT_EQ(planned.moves(), "frame[30,34) / ");
}

// What lies before the frame as received is known to the CPU alone.
TEST(Plan, UnstripBeyondTheFrameStaysOnTheCpu) {
  EXPECT_EQ(Planned("TestSource -> m :: EtherMirror -> u :: Unstrip(4) -> x :: XOR -> TestSink;").gpu_segments(),
            "m | x");
  EXPECT_EQ(
      Planned("TestSource -> Strip(4) -> m :: EtherMirror -> u :: Unstrip(4) -> x :: XOR -> TestSink;").gpu_segments(),
      "m u x");
}

TEST(Plan, OtherElementsCutSegments) {
  EXPECT_EQ(Planned("TestSource -> a :: XOR -> Classifier(-) -> b :: XOR -> TestSink;").gpu_segments(), "a | b");
}

TEST(Plan, BranchesAreOneSegmentAndMayRejoinIt) {
  EXPECT_EQ(
      Planned("TestSource -> GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0, 10.0.0.0/8 1); rt[0] -> m :: EtherMirror"
              "-> x :: XOR -> TestSink; rt[1] -> x;")
          .gpu_segments(),
      "GetIPAddress@2 rt m x");
}

// A segment has one entrance.
TEST(Plan, ASecondWayInBeginsASegment) {
  const Planned planned(
      "TestSource -> c :: Classifier(0/00, -); c[0] -> m :: EtherMirror -> x :: XOR -> TestSink; c[1] -> x;");
  EXPECT_EQ(planned.gpu_segments(), "m | x");
}

TEST(Plan, IsolatedFunctionsAreSegmentsOfTheirOwn) {
  const auto segments = [](const std::string& chain, bool isolate) {
    return Planned("TestSource -> " + chain, PlanOptions{.device = "simt", .isolate = isolate}).gpu_segments();
  };
  const std::string straight = "a :: XOR -> m :: EtherMirror -> b :: XOR -> TestSink;";
  EXPECT_EQ(segments(straight, false), "a m b");
  EXPECT_EQ(segments(straight, true), "a | m | b");
  // Each reads the address that it wants itself; other neutral elements behind a function are the CPU's.
  EXPECT_EQ(
      segments(
          "Strip(14) -> g :: GetIPAddress(16) -> rt :: DirectIPLookup(0/0 0) -> c :: Counter"
          "-> h :: GetIPAddress(12) -> lookup :: DirectIPLookup(0/0 0) -> u :: Unstrip(14) -> x :: XOR -> TestSink;",
          true),
      "g rt | h lookup | x");
  // Where ways part and meet again, too; on the CPU nothing changes.
  EXPECT_EQ(segments("GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0, 10.0.0.0/8 1); rt[0] -> p :: Paint(1) -> m ::"
                     "EtherMirror -> c :: Counter -> x :: XOR -> TestSink; rt[1] -> q :: Paint(2) -> c;",
                     true),
            "GetIPAddress@2 rt | m | x");
  EXPECT_EQ(Planned("TestSource -> XOR -> EtherMirror -> TestSink;", PlanOptions{.device = "cpu", .isolate = true})
                .chain.plan.segments.size(),
            1u);
}

// Each has what it wants moved there, and what it has written moved back, whoever is the next.
TEST(Plan, IsolatedFunctionsTransferForThemselves) {
  const Planned planned("TestSource -> XOR -> EtherMirror -> XOR -> TestSink;",
                        PlanOptions{.device = "simt", .isolate = true});
  std::string moved;
  for (auto& segment : planned.chain.plan.segments)
    if (segment.processor.is_gpu())
      moved += planned.chain.plan.atoms.text(segment.in) + " / " + planned.chain.plan.atoms.text(segment.out) + "; ";
  EXPECT_EQ(moved, "frame[0,end) / frame[0,end); frame[0,12) / frame[0,12); frame[0,end) / frame[0,end); ");
  const Planned gathered("TestSource -> XOR -> XOR -> TestSink;",
                         PlanOptions{.device = "simt", .transport = Transport::gather, .isolate = true});
  for (auto& segment : gathered.chain.plan.segments) EXPECT_FALSE(segment.copies.kept);
  EXPECT_NE(planned.chain.plan.text(planned.chain.router).find("isolated  each function on a GPU is a segment"),
            std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(planned.chain.plan.json(planned.chain.router))["isolate"], true);
}

// Each but the first one behind the check, which has the headers that it has found.
TEST(Plan, IsolatedFunctionsParseHeadersForThemselves) {
  const auto parsed = [](const std::string& chain, bool isolate = true) {
    const Planned planned("TestSource -> " + chain, PlanOptions{.device = "simt", .isolate = isolate});
    const auto& [router, plan] = std::tie(planned.chain.router, planned.chain.plan);
    std::string text;
    for (size_t i = 0; i < plan.nodes.size(); ++i) {
      if (plan.nodes[i].parser < 0) continue;
      text += (text.empty() ? "" : ", ") + router.nodes[i].element->name + " by " +
              router.nodes[static_cast<size_t>(plan.nodes[i].parser)].element->name;
      EXPECT_NE(plan.nodes[i].live & columns(Column::l3), 0u);
      EXPECT_NE(plan.text(router).find("headers are parsed again first, as by "), std::string::npos);
    }
    return text;
  };
  const std::string three =
      "ip :: CheckIPHeader(14) -> a :: EtherMirror -> DecIPTTL -> m :: EtherMirror -> b :: EtherMirror -> TestSink;";
  EXPECT_EQ(parsed(three, false), "");
  EXPECT_EQ(parsed(three), "m by ip, b by ip");
  // What a segment begins with is entered first; a check of its own is enough; without one nothing is known.
  EXPECT_EQ(parsed("ip :: CheckIPHeader(14) -> EtherMirror -> g :: GetIPAddress(30) -> DirectIPLookup(0/0 0) -> "
                   "TestSink;"),
            "g by ip");
  EXPECT_EQ(parsed("CheckIPHeader(14) -> EtherMirror -> CheckIPHeader(14) -> EtherMirror -> TestSink;"), "");
  EXPECT_EQ(parsed("EtherMirror -> EtherMirror -> TestSink;"), "");
  // Several that meet: by one check, or by several; and packets that have failed it.
  EXPECT_EQ(parsed("ip :: CheckIPHeader(14) -> EtherMirror -> s :: RoundRobinSwitch; s[0] -> m :: EtherMirror -> "
                   "TestSink; s[1] -> Paint(1) -> m;"),
            "m by ip");
  EXPECT_EQ(parsed("s :: RoundRobinSwitch; s[0] -> CheckIPHeader(14) -> a :: EtherMirror -> m :: EtherMirror -> "
                   "TestSink; s[1] -> CheckIPHeader(14) -> a;"),
            "");
  EXPECT_EQ(parsed("ip :: CheckIPHeader(14) -> a :: EtherMirror -> m :: EtherMirror -> TestSink; ip[1] -> a;"), "");
  // Where the header lies now is no matter. What a GPU has written of it is, and what has been written of what counts.
  EXPECT_EQ(parsed("ip :: CheckIPHeader(14) -> EtherMirror -> Strip(14) -> b :: Classifier(0/45, -); b[0] -> e :: "
                   "EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> m :: EtherMirror -> TestSink; b[1] -> e;"),
            "m by ip");
  EXPECT_EQ(parsed("CheckIPHeader(14) -> XOR -> EtherMirror -> TestSink;"), "");
  EXPECT_EQ(parsed("CheckIPHeader(14) -> EtherMirror -> StoreData(30, \\<01>) -> EtherMirror -> TestSink;"), "");
  EXPECT_EQ(parsed("ip :: CheckIPHeader(14) -> EtherMirror -> StoreData(0, \\<01>) -> m :: EtherMirror -> TestSink;"),
            "m by ip");
}

TEST(Plan, NoFunctionIsIsolatedBetweenGpuPorts) {
  click::Diagnostics diagnostics;
  read("FromGPUPort(a, SOCKET /nowhere/a) -> XOR -> ToGPUPort(a);", {.device = "simt", .isolate = true}, diagnostics);
  EXPECT_NE(diagnostics.text().find("FromGPUPort 'FromGPUPort@1': with --isolate each function on a GPU gets its "
                                    "packets from the CPU"),
            std::string::npos)
      << diagnostics.text();
}

TEST(Plan, ColumnsMustHaveBeenSet) {
  EXPECT_EQ(
      mistakes("TestSource -> rt :: DirectIPLookup(0/0 0) -> TestSink;"),
      "chain:1:15: DirectIPLookup 'rt': reads the dst annotation, which nothing before it sets on every way here; "
      "put CheckIPHeader(14) or GetIPAddress before it\n");
  EXPECT_EQ(mistakes("TestSource -> d :: TestSink(READS l4);"),
            "chain:1:15: TestSink 'd': reads the l4 annotation, which nothing before it sets on every way here; put "
            "CheckIPHeader(14) before it\n");
  // On one way only is not enough.
  EXPECT_NE(mistakes("TestSource -> c :: Classifier(0/00, -); rt :: DirectIPLookup(0/0 0) -> TestSink;"
                     "c[0] -> GetIPAddress(30) -> rt; c[1] -> rt;")
                .find("DirectIPLookup 'rt': reads the dst annotation"),
            std::string::npos);
  EXPECT_EQ(mistakes("TestSource -> c :: Classifier(0/00, -); rt :: DirectIPLookup(0/0 0) -> TestSink;"
                     "c[0] -> GetIPAddress(30) -> rt; c[1] -> CheckIPHeader(14) -> rt;"),
            "");
}

// Where starts differ, nobody knows which bytes of the frame a field is: any may be read and written.
TEST(Plan, FieldsCountFromTheStartWhereThatDiffers) {
  const Planned planned(
      "TestSource -> c :: Classifier(0/00, -); d :: EtherMirror -> TestSink; c[0] -> Strip(14) -> d; c[1] -> d;");
  EXPECT_TRUE(planned.node("d").head_varies);
  EXPECT_EQ(planned.moves(), "frame[0,1) packet[0,end) / frame[0,1) packet[0,end)");
  const Planned agreed(
      "TestSource -> c :: Classifier(0/00, -); d :: EtherMirror -> TestSink; c[0] -> Strip(14) -> Unstrip(4) -> d;"
      "c[1] -> Strip(10) -> d;");
  EXPECT_FALSE(agreed.node("d").head_varies);
  EXPECT_EQ(agreed.moves(), "frame[10,22) / frame[10,22)");
}

// The exit tells by how much the start has moved, unless ways inside the segment differ.
TEST(Plan, ResultsAreWideWhereTheExitDoesNotTellWhatMoved) {
  const auto wide = [](const std::string& functions) {
    const Planned planned("TestSource -> " + functions + " -> TestSink;");
    for (auto& segment : planned.chain.plan.segments)
      if (segment.processor.is_gpu()) return segment.wide_results;
    return false;
  };
  EXPECT_FALSE(wide("EtherMirror"));
  EXPECT_FALSE(wide("EtherMirror -> Strip(4) -> XOR"));
  EXPECT_TRUE(wide("SetCRC32"));
  EXPECT_TRUE(wide("EtherMirror -> CheckCRC32"));
  EXPECT_TRUE(wide(
      "GetIPAddress(30) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0/0 1); rt[0] -> Strip(4) -> x :: XOR; rt[1] -> x; x"));
}

// Ways out come first, in the order of nodes and their outputs, and then drops, by reason; each with the bytes by which
// the start has moved by then.
TEST(Plan, ExitsAreNumberedByNodeAndOutput) {
  const Planned planned(
      "TestSource -> get :: GetIPAddress(30) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0/0 1);"
      "rt[0] -> st :: Strip(14) -> x :: XOR -> a :: Counter -> TestSink; rt[1] -> b :: Counter -> TestSink;");
  const auto& segments = planned.chain.plan.segments;
  const auto segment = std::ranges::find_if(segments, [](auto& one) { return one.processor.is_gpu(); });
  ASSERT_NE(segment, segments.end());
  const auto name = [&](int node) { return planned.chain.router.nodes[static_cast<size_t>(node)].element->name; };
  std::string ways, drops;
  for (size_t i = 0; i < segment->exits.size(); ++i) {
    const LaneExit& exit = segment->exits[i];
    const std::string head = format("%+d ", exit.head);
    if (exit.target >= 0)
      ways += name(exit.node) + ">" + name(exit.target) + head;
    else
      drops += name(exit.node) + ":" + std::to_string(exit.reason) + head;
    EXPECT_EQ(exit.target >= 0, i < static_cast<size_t>(segment->drop_exits_from));
  }
  EXPECT_EQ(ways, "rt>b+0 x>a+14 ");
  EXPECT_EQ(drops, "get:0+0 rt:0+0 st:0+0 ");
  // Each output and reason of a node names its exit, or the node behind it.
  const auto at = [&](const std::string& wanted) {
    const auto node = std::ranges::find(segment->nodes, planned.chain.router.find(wanted));
    return static_cast<size_t>(node - segment->nodes.begin());
  };
  EXPECT_EQ(segment->targets.at(at("rt")).outputs.at(0), at("st"));
  EXPECT_EQ(segment->targets.at(at("rt")).outputs.at(1), gpu::kExit + 0);
  EXPECT_EQ(segment->targets.at(at("x")).outputs.at(0), gpu::kExit + 1);
  EXPECT_EQ(segment->targets.at(at("rt")).drops.at(0), gpu::kExit + 3);
  EXPECT_EQ(segment->targets.at(at("st")).drops.at(0), gpu::kExit + 4);
}

TEST(Plan, FunctionsRunOnGpusByNumber) {
  const Planned planned("TestSource -> a :: XOR(1, DEVICE gpu1) -> b :: XOR(2, DEVICE gpu2) -> c :: XOR -> TestSink;",
                        "simt2");
  EXPECT_EQ(planned.gpu_segments(), "a | b c");
  EXPECT_EQ(planned.chain.plan.name_of(planned.node("a").processor), "simt1");
  EXPECT_EQ(planned.chain.plan.name_of(planned.node("c").processor), "simt2");
  // Packets go from one GPU to the other by way of the host: what the first has written, it must bring back.
  EXPECT_EQ(planned.moves(), "frame[0,end) / frame[0,end)");
}

TEST(Plan, RoomIsFoundForAllThatAChainAppends) {
  const Planned planned("TestSource -> a :: SetCRC32 -> b :: SetCRC32 -> c :: SetCRC32(DEVICE cpu) -> TestSink;");
  EXPECT_EQ(planned.chain.plan.appends, 12);
  EXPECT_EQ(planned.node("a").appends, 8);  // of the segment
  EXPECT_EQ(planned.node("b").appends, 0);
  EXPECT_EQ(planned.node("c").appends, 4);
}

TEST(Plan, TooManyFieldsAreAMistakeIfAGpuTakesPart) {
  std::string patterns;
  for (int i = 0; i < 40; ++i) patterns += format("%s%d/00", i > 0 ? " " : "", 3 * i);
  const std::string chain = "TestSource -> Classifier(" + patterns + ") -> EtherMirror -> TestSink;";
  const std::string message = mistakes(chain, "simt");
  EXPECT_TRUE(message.starts_with("chain:1:1: ") && message.ends_with("use fewer Classifier offsets\n")) << message;
  EXPECT_EQ(mistakes(chain), "");
}

TEST(Plan, NothingIsPulledThroughAGpu) {
  const std::string chain = "TestSource -> Queue -> EtherMirror -> Unqueue -> TestSink;";
  EXPECT_EQ(mistakes(chain), "");
  EXPECT_EQ(
      mistakes(chain, "simt"),
      "chain:1:24: EtherMirror 'EtherMirror@3': packets are pulled through it, and a GPU only takes what is pushed; "
      "put an Unqueue before it, or give it DEVICE cpu\n");
}

TEST(Plan, LiveColumnsAreThoseThatSomebodyReads) {
  const Planned planned(
      "TestSource -> k :: CheckIPHeader(14) -> a :: Counter -> rt :: DirectIPLookup(0/0 0)"
      "-> b :: Counter -> d :: TestSink(READS \"l4 dst\");");
  EXPECT_EQ(planned.node("k").live, 0);
  EXPECT_EQ(planned.node("k").live_behind, columns(Column::dst, Column::l4));
  EXPECT_EQ(planned.node("a").live, columns(Column::dst, Column::l4));
  EXPECT_EQ(planned.node("d").live, columns(Column::dst, Column::l4));
  EXPECT_EQ(planned.node("d").live_behind, 0);
  // Paint is zero from the start, as in Click.
  EXPECT_EQ(planned.node("d").columns, columns(Column::dst, Column::l3, Column::l4) | kClearedColumns);
}

// Behind the element that sets the column, if something else runs before the look-up, and nowhere else.
TEST(Plan, LookUpsAreAskedForAsSoonAsTheirColumnIsSet) {
  const auto asks = [](const std::string& between, const std::string& device = "cpu") {
    const Planned planned(
        "TestSource -> k :: CheckIPHeader(14) -> " + between + " -> rt :: DirectIPLookup(0/0 0) -> TestSink;", device);
    const int asked_for = planned.node("k").prefetch_for;
    EXPECT_TRUE(asked_for == -1 || asked_for == planned.chain.router.find("rt"));
    for (size_t i = 0; i < planned.chain.plan.nodes.size(); ++i)
      if (static_cast<int>(i) != planned.chain.router.find("k")) {
        EXPECT_EQ(planned.chain.plan.nodes[i].prefetch_for, -1);
      }
    return asked_for != -1;
  };
  EXPECT_TRUE(asks("DecIPTTL"));
  EXPECT_TRUE(asks("DecIPTTL -> Counter"));
  EXPECT_TRUE(asks("ttl :: DecIPTTL; ttl[1] -> Discard; ttl"));        // expired packets leave by the second output
  EXPECT_FALSE(asks("c :: Classifier(0/02, -); c -> Discard; c[1]"));  // not the usual way
  EXPECT_FALSE(asks("n :: Null; TestSource -> CheckIPHeader(14) -> n; n -> DecIPTTL"));  // nor the only one
  EXPECT_FALSE(asks("Queue -> Unqueue"));
  EXPECT_FALSE(asks("DecIPTTL", "simt"));
  EXPECT_EQ(Planned("TestSource -> k :: CheckIPHeader(14) -> rt :: DirectIPLookup(0/0 0) -> TestSink;", "cpu")
                .node("k")
                .prefetch_for,
            -1);
  EXPECT_EQ(
      Planned("TestSource -> k :: CheckIPHeader(14) -> GetIPAddress(16) -> DirectIPLookup(0/0 0) -> TestSink;", "cpu")
          .node("k")
          .prefetch_for,
      -1);
}

// The bytes that each packet costs on the link, each way.
TEST(Plan, MovesOnlyTheFieldsThatAreNeeded) {
  EXPECT_EQ(Planned("TestSource -> EtherMirror -> TestSink;").moves(), "frame[0,12) / frame[0,12)");
  EXPECT_EQ(Planned("TestSource -> EtherMirror -> Discard;").moves(), "frame[0,12) / ");
  EXPECT_EQ(Planned("TestSource -> XOR -> TestSink;").moves(), "frame[0,end) / frame[0,end)");
  EXPECT_EQ(Planned("TestSource -> CheckIPHeader(14) -> DirectIPLookup(0/0 0) -> TestSink;").moves(), "dst / ");
  EXPECT_EQ(Planned("TestSource -> CheckIPHeader(14) -> DirectIPLookup(0/0 0) -> TestSink(READS dst);").moves(),
            "dst / dst");
  EXPECT_EQ(Planned("TestSource -> Strip(14) -> EtherMirror -> TestSink;").moves(), "frame[14,26) / frame[14,26)");
}

TEST(Plan, TheDemoChainMovesSixteenBytesThereAndTwelveBack) {
  const Planned demo(
      "TestSource -> CheckIPHeader(14) -> rt :: DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/0 1);"
      "rt[0] -> EtherMirror -> TestSink; rt[1] -> EtherMirror -> TestSink;");
  EXPECT_EQ(demo.moves(), "frame[0,12) dst / frame[0,12)");
  const std::string text = demo.chain.plan.text(demo.chain.router);
  EXPECT_NE(text.find("segment 1 on simt (transport direct, launch persistent, 1 warp a tile)"), std::string::npos)
      << text;
  EXPECT_NE(text.find("to the gpu  16 B: frame[0,12) dst"), std::string::npos) << text;
  EXPECT_NE(text.find("back        12 B: frame[0,12)"), std::string::npos) << text;
  EXPECT_NE(text.find("slots       32-bit results, columns in dst"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(demo.chain.plan.json(demo.chain.router));
  EXPECT_EQ(json["segments"][1]["to_gpu"]["bytes"], 16);
  EXPECT_EQ(json["segments"][1]["to_cpu"]["bytes"], 12);
  EXPECT_EQ(json["segments"][1]["launch"], "persistent");
  EXPECT_EQ(json["segments"][0]["processor"], "cpu");
}

// Copies are made where packets enter a segment: inside, nobody can.
TEST(Plan, SharedPacketsAreCopiedBeforeTheSegmentThatWritesThem) {
  const Planned planned(
      "TestSource -> t :: Tee; t[0] -> GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0)"
      "-> m :: EtherMirror -> TestSink; t[1] -> k :: Classifier(-) -> x :: XOR(DEVICE cpu)"
      "-> y :: XOR(DEVICE cpu) -> TestSink;");
  EXPECT_EQ(planned.gpu_segments(), "GetIPAddress@3 rt m");
  EXPECT_TRUE(planned.node("GetIPAddress@3").copy_first);
  EXPECT_FALSE(planned.node("k").copy_first);
  EXPECT_TRUE(planned.node("x").copy_first);
  EXPECT_FALSE(planned.node("y").copy_first);  // has been copied
}

}  // namespace
}  // namespace heddle::test
