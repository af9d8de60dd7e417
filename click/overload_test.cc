#include <gtest/gtest.h>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

// What Click's click(5) says under "Overloading".

const std::string kMyQueue =
    "elementclass MyQueue { input -> Queue -> Shaper(1000) -> output;\n"
    "|| $cap | input -> Queue($cap) -> Shaper(1000) -> output; }\n";

TEST(OverloadTest, TakesTheFirstDefinitionThatFits) {
  EXPECT_EQ(parsed(kMyQueue + "A -> MyQueue -> q :: MyQueue(5) -> B"),
            "A@1 :: A()\nMyQueue@2/Queue@1 :: Queue()\nMyQueue@2/Shaper@2 :: Shaper(1000)\n"
            "q/Queue@1 :: Queue(5)\nq/Shaper@2 :: Shaper(1000)\nB@4 :: B()\n"
            "A@1 [0] -> [0] MyQueue@2/Queue@1\nMyQueue@2/Queue@1 [0] -> [0] MyQueue@2/Shaper@2\n"
            "MyQueue@2/Shaper@2 [0] -> [0] q/Queue@1\nq/Queue@1 [0] -> [0] q/Shaper@2\nq/Shaper@2 [0] -> [0] B@4\n");
  EXPECT_EQ(parsed("x :: { $a, K $k | A($a, $k) || $a, __REST__ $r | B($r) || C }; "
                   "elementclass X { $a, K $k | A($a, $k) || $a, __REST__ $r | B($r) || C }; X(1, K 2); X(1, L 2); X",
                   {}),
            "x/C@1 :: C()\nX@2/A@1 :: A(1|2)\nX@3/B@1 :: B(L 2)\nX@4/C@1 :: C()\n");
}

TEST(OverloadTest, ChoosesByPorts) {
  const std::string f = "elementclass F { -> A -> || -> B -> ; [1] -> C -> [1] || -> Discard } ";
  EXPECT_EQ(parsed(f + "a :: A -> F -> Print"),
            "a :: A()\nF@2/A@1 :: A()\nPrint@3 :: Print()\nF@2/A@1 [0] -> [0] Print@3\na [0] -> [0] F@2/A@1\n");
  EXPECT_EQ(parsed(f + "a :: A -> F"), "a :: A()\nF@2/Discard@1 :: Discard()\na [0] -> [0] F@2/Discard@1\n");
  EXPECT_EQ(parsed(f + "a :: A => [0-1] F [0-1] => [0-1] p :: Print"),
            "a :: A()\nF@2/B@1 :: B()\nF@2/C@2 :: C()\np :: Print()\nF@2/B@1 [0] -> [0] p\nF@2/C@2 [0] -> [1] p\n"
            "a [0] -> [0] F@2/B@1\na [1] -> [0] F@2/C@2\n");
}

TEST(OverloadTest, ExtendsTheEarlierClass) {
  const std::string text =
      "elementclass Queue { $cap, $rate | input -> Queue($cap) -> Shaper($rate) -> output || ... }\n";
  EXPECT_EQ(
      parsed(text + "A -> Queue(1, 2) -> Queue(3) -> Queue -> B"),
      "A@1 :: A()\nQueue@2/Queue@1 :: Queue(1)\nQueue@2/Shaper@2 :: Shaper(2)\nQueue@3 :: Queue(3)\n"
      "Queue@4 :: Queue()\nB@5 :: B()\nA@1 [0] -> [0] Queue@2/Queue@1\nQueue@2/Queue@1 [0] -> [0] Queue@2/Shaper@2\n"
      "Queue@2/Shaper@2 [0] -> [0] Queue@3\nQueue@3 [0] -> [0] Queue@4\nQueue@4 [0] -> [0] B@5\n");
  EXPECT_EQ(parsed("elementclass T { $a | A($a) } elementclass T { $a, $b | B($a, $b) || ... } T(1); T(1, 2); "
                   "x :: { elementclass T { C || ... } T; T(1) }"),
            "T@1/A@1 :: A(1)\nT@2/B@1 :: B(1|2)\nx/T@1/C@1 :: C()\nx/T@2/A@1 :: A(1)\n");
}

TEST(OverloadTest, OnlyWhatStandsBeforeIsVisible) {
  EXPECT_EQ(mistakes("elementclass Test { $a | /* nothing */ }\ntest :: Test(1, 2);\n"
                     "elementclass Test { $a, $b | /* nothing */ || ... }"),
            "t:2:17: Test 'test': '2' is one argument too many; expected 1\n");
}

TEST(OverloadTest, EachDefinitionHasItsScope) {
  EXPECT_EQ(parsed("elementclass F { define($v 1) a :: A($v) || $x | define($v 2) a :: B($v, $x) } F; F(3)"),
            "F@1/a :: A(1)\nF@2/a :: B(2|3)\n");
}

TEST(OverloadTest, SynonymsKeepAllDefinitions) {
  EXPECT_EQ(parsed(kMyQueue + "elementclass Q MyQueue; A -> Q(7) -> B"),
            "A@1 :: A()\nQ@2/Queue@1 :: Queue(7)\nQ@2/Shaper@2 :: Shaper(1000)\nB@3 :: B()\n"
            "A@1 [0] -> [0] Q@2/Queue@1\nQ@2/Queue@1 [0] -> [0] Q@2/Shaper@2\nQ@2/Shaper@2 [0] -> [0] B@3\n");
}

TEST(OverloadTest, Mistakes) {
  EXPECT_EQ(mistakes("elementclass F { $a | A -> || K $k | -> B } C -> F(1)"),
            "t:1:50: F 'F@2': no definition takes 1 argument, 1 input and 0 outputs; expected ($a) with 0 inputs and 1 "
            "output, or (K $k) with 1 input and 0 outputs\n");
  EXPECT_EQ(mistakes("elementclass F { ... } F"),
            "t:1:18: unexpected '...'; expected an element or an element class\n");
  EXPECT_EQ(mistakes("elementclass F { A || ... } F"), "t:1:23: no element class 'F' to extend by '...'\n");
  EXPECT_EQ(mistakes("{ A || ... }"), "t:1:8: '...' extends nothing; expected it in an elementclass statement\n");
  EXPECT_EQ(mistakes("elementclass A { B || ... || C } D :: B"), "t:1:27: unexpected '||'; expected '}' after '...'\n");
  EXPECT_EQ(mistakes("elementclass F { A || ~ } F(1)"), "t:1:23: unexpected character '~'\n");
}

}  // namespace
}  // namespace heddle::click
