// Where ways meet: which joins restore the order, and where it ends.

#include "engine/joins.h"

#include <nlohmann/json.hpp>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

/** "j m; ends at q: why; numbered a b": the joins that restore the order, those where it ends, and who carries
 *  numbers. */
std::string joins(const std::string& text, const std::string& device = "cpu", bool numbered = false) {
  click::Diagnostics diagnostics;
  const Chain chain = read(text, {device, LaunchMode::persistent}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  std::string found, ends;
  const auto name = [&](int node) { return chain.router.nodes[static_cast<size_t>(node)].element->name; };
  for (const Join& join : chain.plan.joins.list) {
    if (join.ordered) found += (found.empty() ? "" : " ") + name(join.node);
    if (!join.ends.empty()) ends += "; ends at " + name(join.node) + ": " + join.ends;
  }
  if (numbered)
    for (size_t i = 0; i < chain.router.nodes.size(); ++i)
      if (chain.plan.joins.numbered[i]) ends += " " + name(static_cast<int>(i));
  return found + ends;
}

TEST(Joins, ChainsWithoutOneHaveNone) {
  EXPECT_EQ(joins("s :: TestSource -> a :: Null -> d :: TestSink;", "cpu", true), "");
  EXPECT_EQ(joins("TestSource -> c :: Classifier(0/00, -); c -> TestSink; c[1] -> TestSink;", "cpu", true), "");
  // Ways that part and meet at once are no ways.
  EXPECT_EQ(joins("TestSource -> c :: Classifier(0/00, -); c -> n :: Null -> TestSink; c[1] -> n;"), "");
  // Packets of two sources have no order among them.
  EXPECT_EQ(joins("TestSource -> n :: Null; TestSource -> XOR -> n -> TestSink;", "simt", true), "");
}

TEST(Joins, WaysThatPartedMeet) {
  EXPECT_EQ(joins("s :: TestSource -> b :: Null -> c :: Classifier(0/00, -) -> x :: Null -> j :: Null -> d :: TestSink;"
                  "c[1] -> j;",
                  "cpu", true),
            "j b c x j");
  EXPECT_EQ(joins("TestSource -> c :: Classifier(0/00, -) -> Null -> j :: Null -> TestSink; c[1] -> Null -> j;"), "j");
  EXPECT_EQ(joins("TestSource -> t :: Tee -> j :: Null -> TestSink; t[1] -> j;"), "j");
  EXPECT_EQ(joins("TestSource -> c :: Classifier(0/00, -) -> Null -> q :: Queue -> TestSink; c[1] -> q;"), "q");
}

TEST(Joins, JoinsWithinJoins) {
  EXPECT_EQ(joins("TestSource -> a :: Classifier(0/00, -) -> b :: Classifier(1/00, -) -> x :: Null -> i :: Null ->"
                  "o :: Null -> TestSink; b[1] -> i; a[1] -> o;"),
            "i o");
}

TEST(Joins, AreSoughtInTheLongestChains) {
  std::vector<JoinNode> nodes(100'000);
  for (size_t i = 0; i + 1 < nodes.size(); ++i) nodes[i].targets = {static_cast<int>(i + 1)};
  nodes[0].entrance = true;
  EXPECT_TRUE(find_joins(nodes).list.empty());
}

// A tile keeps the order, and so do the exits of one segment.
TEST(Joins, ASegmentIsOneNode) {
  const std::string chain =
      "TestSource -> GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0, 10.0.0.0/8 1) -> x :: XOR -> j :: XOR(1) ->"
      "TestSink; rt[1] -> j;";
  EXPECT_EQ(joins(chain), "j");
  EXPECT_EQ(joins(chain, "simt"), "");
  const std::string behind =
      "TestSource -> GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0, 10.0.0.0/8 1) -> x :: XOR -> j :: TestSink;"
      "rt[1] -> j;";
  EXPECT_EQ(joins(behind), "j");
  EXPECT_EQ(joins(behind, "simt"), "");
}

TEST(Joins, KnowsTheSegmentsThatPacketsMayStillComeFrom) {
  click::Diagnostics diagnostics;
  const Chain chain = read(
      "TestSource -> before :: XOR -> c :: Classifier(0/00, 0/01, -) -> a :: XOR -> j :: Null -> d :: XOR -> TestSink;"
      "c[1] -> j; c[2] -> e :: XOR -> TestSink;",
      {"simt", LaunchMode::persistent}, diagnostics);
  ASSERT_EQ(chain.plan.joins.list.size(), 1u);
  std::vector<int> wanted;
  for (const char* name : {"before", "a"})
    wanted.push_back(chain.plan.nodes[static_cast<size_t>(chain.router.find(name))].segment);
  EXPECT_EQ(chain.plan.joins.list[0].segments, wanted);
}

// Numbers must rise on every way to a join: where packets of another source come by a GPU before, they wait as well.
TEST(Joins, SourcesMeetBeforeAJoin) {
  const std::string behind = " m -> c :: Classifier(0/00, -) -> Null -> j :: Null -> TestSink; c[1] -> j;";
  EXPECT_EQ(joins("TestSource -> XOR -> m :: Null; TestSource -> m;" + behind), "j");
  EXPECT_EQ(joins("TestSource -> XOR -> m :: Null; TestSource -> m;" + behind, "simt"), "m j");
}

TEST(Joins, OrderEndsAtBuffers) {
  EXPECT_EQ(
      joins("TestSource -> c :: Classifier(0/00, -) -> q :: Queue -> Unqueue -> j :: Null -> TestSink; c[1] -> j;"),
      "; ends at j: packets wait in 'q' on one of the ways");
  EXPECT_EQ(joins("TestSource -> c :: Classifier(0/00, -) -> p :: Pipeliner -> XOR -> j :: Null -> TestSink;"
                  "c[1] -> j;"),
            "; ends at j: packets wait in 'p' on one of the ways");
  // Of three ways two keep it.
  EXPECT_EQ(joins("TestSource -> c :: Classifier(0/00, 0/01, -) -> q :: Queue -> Unqueue -> j :: Null -> TestSink;"
                  "c[1] -> j; c[2] -> Null -> j;"),
            "j; ends at j: packets wait in 'q' on one of the ways");
  // Behind the buffer there is one way only.
  EXPECT_EQ(joins("TestSource -> q :: Queue -> Unqueue -> c :: Classifier(0/00, -) -> XOR(1) -> q; c[1] -> TestSink;"),
            "");
}

TEST(Joins, OrderEndsAtElementsThatKeepPackets) {
  const std::vector<JoinNode> nodes = {{{1}, -1, true, false, false, "source"},
                                       {{2, 3}, -1, false, false, false, "split"},
                                       {{3}, -1, false, false, true, "keeper"},
                                       {{4}, -1, false, false, false, "join"},
                                       {{}, -1, false, false, false, "sink"}};
  const Joins found = find_joins(nodes);
  ASSERT_EQ(found.list.size(), 1u);
  EXPECT_EQ(found.list[0].node, 3);
  EXPECT_TRUE(found.list[0].ordered);
  EXPECT_EQ(found.list[0].ways.size(), 3u);
  EXPECT_EQ(found.list[0].ends, "'keeper' may keep packets back on one of the ways");
}

TEST(Joins, ThePlanNamesThem) {
  const std::string chain =
      "TestSource -> c :: Classifier(0/00, 0/01, -) -> q :: Queue -> Unqueue -> j :: Null -> TestSink; c[1] -> j;"
      "c[2] -> Null -> j;";
  EXPECT_NE(plan_text(chain).find("order   packets that meet at 'j' go on in their order of arrival\n"
                                  "order   ends at 'j': packets wait in 'q' on one of the ways\n"),
            std::string::npos)
      << plan_text(chain);
  click::Diagnostics diagnostics;
  const Chain planned = read(chain, {}, diagnostics);
  const auto json = nlohmann::json::parse(planned.plan.json(planned.router));
  EXPECT_EQ(json["joins"][0]["element"], "j");
  EXPECT_EQ(json["joins"][0]["restores_order"], true);
  EXPECT_EQ(json["joins"][0]["order_ends"], "packets wait in 'q' on one of the ways");
}

}  // namespace
}  // namespace heddle::test
