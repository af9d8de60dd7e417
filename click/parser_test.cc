#include "click/parser.h"

#include <gtest/gtest.h>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

TEST(ParserTest, ReadsDeclarationsAndConnections) {
  EXPECT_EQ(parsed("in :: FromDevice(eth0, BURST 32);\n"
                   "c, d :: Counter;  // two of them\n"
                   "out :: ToDevice(eth1)\n"
                   "in -> c /* the first */ -> d -> out;"),
            "in :: FromDevice(eth0|BURST 32)\nc :: Counter()\nd :: Counter()\nout :: ToDevice(eth1)\n"
            "c [0] -> [0] d\nd [0] -> [0] out\nin [0] -> [0] c\n");
}

TEST(ParserTest, ReadsPorts) {
  EXPECT_EQ(parsed("a :: A; b :: B; a [1] -> [0] b [2] -> [3] a"),
            "a :: A()\nb :: B()\na [1] -> [0] b\nb [2] -> [3] a\n");
}

TEST(ParserTest, DeclaresWithinConnections) {
  EXPECT_EQ(parsed("a :: A(1) -> b :: B -> a; b [1] -> Discard"),
            "a :: A(1)\nb :: B()\nDiscard@3 :: Discard()\n"
            "a [0] -> [0] b\nb [0] -> [0] a\nb [1] -> [0] Discard@3\n");
}

TEST(ParserTest, NumbersElementsWithoutNamesByTheirPlace) {
  EXPECT_EQ(parsed("A -> b :: B -> A(x)"), "A@1 :: A()\nb :: B()\nA@3 :: A(x)\nA@1 [0] -> [0] b\nb [0] -> [0] A@3\n");
  EXPECT_EQ(parsed("A -> A@1 :: B; Print(1);"), "A@2 :: A()\nA@1 :: B()\nPrint@3 :: Print(1)\nA@2 [0] -> [0] A@1\n");
}

TEST(ParserTest, SemicolonsAreOptional) {
  EXPECT_EQ(parsed("a :: A b :: B a -> b b -> a"), "a :: A()\nb :: B()\na [0] -> [0] b\nb [0] -> [0] a\n");
}

TEST(ParserTest, NamesMayBeUsedBeforeTheirDeclaration) {
  EXPECT_EQ(parsed("a -> x; a :: A(1); x :: B"), "a :: A(1)\nx :: B()\na [0] -> [0] x\n");
}

TEST(ParserTest, ConnectsManyToOneAndOneToMany) {
  const std::string names = "a, b, c :: A; ", elements = "a :: A()\nb :: A()\nc :: A()\n";
  EXPECT_EQ(parsed(names + "a, b [1] -> [2] c"), elements + "a [0] -> [2] c\nb [1] -> [2] c\n");
  EXPECT_EQ(parsed(names + "a -> b, [1] c"), elements + "a [0] -> [0] b\na [0] -> [1] c\n");
  EXPECT_EQ(parsed(names + "a [0, 2-3] -> b"), elements + "a [0] -> [0] b\na [2] -> [0] b\na [3] -> [0] b\n");
  EXPECT_EQ(parsed("a :: A; a, b :: B -> c :: C"), "a :: A()\nb :: B()\nc :: C()\na [0] -> [0] c\nb [0] -> [0] c\n");
}

TEST(ParserTest, ConnectsInPairs) {
  const std::string expected =
      "c :: Classifier(1|2|-)\nPaint@2 :: Paint(0)\nPaint@3 :: Paint(1)\nPaint@4 :: Paint(2)\nd :: Discard()\n"
      "Paint@2 [0] -> [0] d\nPaint@3 [0] -> [0] d\nPaint@4 [0] -> [0] d\n"
      "c [0] -> [0] Paint@2\nc [1] -> [0] Paint@3\nc [2] -> [0] Paint@4\n";
  for (const std::string from : {"c", "c [0-2]", "c [0, 1, 2]", "c [0], c [1], c [2]"})
    EXPECT_EQ(parsed("c :: Classifier(1, 2, -); " + from + " => Paint(0), Paint(1), Paint(2) -> d :: Discard"),
              expected);
  EXPECT_EQ(parsed("a :: A; b :: B; a [1,2] => [2,1] b"), "a :: A()\nb :: B()\na [1] -> [2] b\na [2] -> [1] b\n");
  EXPECT_EQ(parsed("a :: A; b :: B; a => b"), "a :: A()\nb :: B()\na [0] -> [0] b\n");
}

TEST(ParserTest, RepeatedConnectionsCountOnce) {
  EXPECT_EQ(parsed("a :: A; a -> a; a -> a"), "a :: A()\na [0] -> [0] a\n");
}

TEST(ParserTest, AcceptsRequireAndProvide) {
  EXPECT_EQ(parsed("require(package fastclick, \"dpdk\", compact_config, ); require() a :: A"), "a :: A()\n");
  EXPECT_EQ(parsed("provide(mine) require(mine) a :: A"), "a :: A()\n");
}

TEST(ParserTest, SplitsArguments) {
  EXPECT_EQ(parsed("A( 12/0800 , 23/06 , - )"), "A@1 :: A(12/0800|23/06|-)\n");
  EXPECT_EQ(parsed("A(f(1, 2), [3, 4], {5, 6}, 7)"), "A@1 :: A(f(1, 2)|[3, 4]|{5, 6}|7)\n");
  EXPECT_EQ(parsed(R"(A("a, b) \" //", 'c, "', \< 2c 29 >, d))"),
            "A@1 :: A(\"a, b) \\\" //\"|'c, \"'|\\< 2c 29 >|d)\n");
  EXPECT_EQ(parsed("A(\\<00 // it's >, not\n 01>, 2)"), "A@1 :: A(\\<00 // it's >, not\n 01>|2)\n");
  EXPECT_EQ(parsed("A(1, // one )\n 2 /* two, */ 3)"), "A@1 :: A(1|2   3)\n");
  EXPECT_EQ(parsed("A(1, , 2, )"), "A@1 :: A(1||2)\n");
  EXPECT_EQ(parsed("A() -> B( /* nothing */ )"), "A@1 :: A()\nB@2 :: B()\nA@1 [0] -> [0] B@2\n");
  EXPECT_EQ(parsed("A(x\\)"), "A@1 :: A(x\\)\n");
}

TEST(ParserTest, GivesThePlacesOfElementsArgumentsAndConnections) {
  Diagnostics diagnostics;
  const Graph graph = parse("#!/usr/bin/heddle\na :: A(1,\n  'x') -> B\n# 40 \"other\"\na -> A\n#line 7 \"\"\nB", "t",
                            options_for_test(), diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(graph.elements[0].where.text(), "t:2:1");
  EXPECT_EQ(graph.elements[0].arguments[0].where.text(), "t:2:8");
  EXPECT_EQ(graph.elements[0].arguments[1].where.text(), "t:3:3");
  EXPECT_EQ(graph.elements[1].where.text(), "t:3:11");
  EXPECT_EQ(graph.connections[0].where.text(), "t:3:8");
  EXPECT_EQ(graph.elements[2].where.text(), "other:40:6");
  EXPECT_EQ(graph.elements[3].where.text(), "t:7:1") << "an empty file name means the file itself";
  EXPECT_EQ(graph.find("A@3"), 2);
  EXPECT_EQ(graph.find("A"), -1);
}

TEST(ParserTest, TakesLinesOfTheCPreprocessor) {
  Diagnostics diagnostics;
  const Graph graph =
      parse("# 0 \"a\"\n# 1 \"a\"\nA\n# 1 \"dir/b 1\" 1 3\nB ->\n# 3 \"a\" 2\nC", "t", options_for_test(), diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(graph.elements[0].where.text(), "a:1:1");
  EXPECT_EQ(graph.elements[1].where.text(), "dir/b 1:1:1");
  EXPECT_EQ(graph.elements[2].where.text(), "a:3:1");
  EXPECT_EQ(mistakes("# 3 \"a\" 5\n"), "t:1:1: unknown '#' line; expected '#line NUMBER \"FILE\"'\n");
}

TEST(ParserTest, SubstitutesVariables) {
  EXPECT_EQ(parsed("define($x 1, $y a b); A($x, ${x}2, $y, x$x-$x, ${z-7}, ${x-7}, ${z-${y}}, $)"),
            "A@1 :: A(1|12|a b|x1-1|7|1|a b|$)\n");
  EXPECT_EQ(parsed("A($x); define($x 2)"), "A@1 :: A(2)\n");
  EXPECT_EQ(parsed("define($x $y$y, $y 3) A($x)"), "A@1 :: A(33)\n");
  EXPECT_EQ(parsed("define($x) A(<$x>)"), "A@1 :: A(<>)\n");
}

TEST(ParserTest, SubstitutesWithinDoubleQuotesOnly) {
  EXPECT_EQ(parsed(R"(define($x "q\"r"); A($x, "-$x-", '$x', "\$x", \<24>))"),
            "A@1 :: A(\"q\\\"r\"|\"-q\\\"r-\"|'$x'|\"\\$x\"|\\<24>)\n");
}

TEST(ParserTest, CommandLineOverridesDefine) {
  EXPECT_EQ(parsed("define($x 1, $y $x) A($x, $y)", {{"x", "5"}}), "A@1 :: A(5|5)\n");
  EXPECT_EQ(parsed("A($x)", {{"x", "1, 2"}}), "A@1 :: A(1|2)\n");
  EXPECT_EQ(parsed("A($x)", {{"x", ""}}), "A@1 :: A()\n");
  EXPECT_EQ(parsed("a :: { define($x 1) A($x) }", {{"x", "5"}}), "a/A@1 :: A(1)\n") << "overrides global ones only";
}

}  // namespace
}  // namespace heddle::click
