#include <gtest/gtest.h>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

TEST(CompoundTest, ExpandsNamedClasses) {
  EXPECT_EQ(parsed("elementclass MyQueue { input -> q :: Queue(10) -> Shaper(1000) -> output }\n"
                   "m :: MyQueue; A -> m -> B; C -> MyQueue -> B"),
            "m/q :: Queue(10)\nm/Shaper@2 :: Shaper(1000)\nA@2 :: A()\nB@3 :: B()\nC@4 :: C()\n"
            "MyQueue@5/q :: Queue(10)\nMyQueue@5/Shaper@2 :: Shaper(1000)\nB@6 :: B()\n"
            "A@2 [0] -> [0] m/q\nC@4 [0] -> [0] MyQueue@5/q\nMyQueue@5/Shaper@2 [0] -> [0] B@6\n"
            "MyQueue@5/q [0] -> [0] MyQueue@5/Shaper@2\nm/Shaper@2 [0] -> [0] B@3\nm/q [0] -> [0] m/Shaper@2\n");
}

TEST(CompoundTest, ExpandsClassesWithoutAName) {
  EXPECT_EQ(parsed("A -> { input -> B -> output } -> C"),
            "A@1 :: A()\n@2/B@1 :: B()\nC@3 :: C()\n@2/B@1 [0] -> [0] C@3\nA@1 [0] -> [0] @2/B@1\n");
  EXPECT_EQ(parsed("x :: { $v | A($v) } (1)"), "x/A@1 :: A(1)\n");
}

TEST(CompoundTest, KeepsPortsApart) {
  EXPECT_EQ(parsed("c :: { input -> x :: A -> output; input [1] -> y :: B -> [1] output }\n"
                   "a :: A -> c -> b :: B; a [1] -> [1] c [1] -> d :: C"),
            "c/x :: A()\nc/y :: B()\na :: A()\nb :: B()\nd :: C()\n"
            "a [0] -> [0] c/x\na [1] -> [0] c/y\nc/x [0] -> [0] b\nc/y [0] -> [0] d\n");
}

TEST(CompoundTest, UnusedPortsVanish) {
  EXPECT_EQ(parsed("c :: { input -> A -> output; B -> [1] output } -> C"),
            "c/A@1 :: A()\nc/B@2 :: B()\nC@2 :: C()\nc/A@1 [0] -> [0] C@2\n");
}

TEST(CompoundTest, ConnectionsThroughPortsMultiply) {
  EXPECT_EQ(
      parsed("c :: { input -> x :: A; input -> y :: A; x, y -> output }; a, b :: B; p, q :: C; a, b -> c -> p, q"),
      "c/x :: A()\nc/y :: A()\na :: B()\nb :: B()\np :: C()\nq :: C()\n"
      "a [0] -> [0] c/x\na [0] -> [0] c/y\nb [0] -> [0] c/x\nb [0] -> [0] c/y\n"
      "c/x [0] -> [0] p\nc/x [0] -> [0] q\nc/y [0] -> [0] p\nc/y [0] -> [0] q\n");
}

TEST(CompoundTest, PassesThroughWithoutElements) {
  EXPECT_EQ(parsed("elementclass Wire { input -> output; input [1] -> [1] output }\n"
                   "a :: A; b :: B; a => Wire => Wire => b; a [1] -> [1] w :: Wire [1] -> [1] b"),
            "a :: A()\nb :: B()\na [0] -> [0] b\na [1] -> [1] b\n");
  EXPECT_EQ(parsed("x :: { -> A -> }; y :: { [1] -> [1]; -> }; B -> x -> C"),
            "x/A@1 :: A()\nB@3 :: B()\nC@4 :: C()\nB@3 [0] -> [0] x/A@1\nx/A@1 [0] -> [0] C@4\n");
}

TEST(CompoundTest, LoopsOfPortsEnd) {
  EXPECT_EQ(parsed("w :: { input -> output }; w -> w; A -> w; w -> B"), "A@2 :: A()\nB@3 :: B()\nA@2 [0] -> [0] B@3\n");
}

TEST(CompoundTest, Nests) {
  EXPECT_EQ(parsed("elementclass Outer { elementclass Inner { input -> x :: A -> output }\n"
                   "  input -> i :: Inner -> { input -> B -> output } -> output }\n"
                   "o :: Outer; C -> o -> Discard"),
            "o/i/x :: A()\no/@2/B@1 :: B()\nC@2 :: C()\nDiscard@3 :: Discard()\n"
            "C@2 [0] -> [0] o/i/x\no/@2/B@1 [0] -> [0] Discard@3\no/i/x [0] -> [0] o/@2/B@1\n");
}

TEST(CompoundTest, ClassesAreScopedAndKeepTheirMeaning) {
  EXPECT_EQ(parsed("elementclass Queue { input -> Queue(5) -> Counter -> output } q :: Queue"),
            "q/Queue@1 :: Queue(5)\nq/Counter@2 :: Counter()\nq/Queue@1 [0] -> [0] q/Counter@2\n");
  EXPECT_EQ(parsed("elementclass X A; x :: X; elementclass X B; y :: X; z :: { elementclass X C; X } X"),
            "x :: A()\ny :: B()\nz/X@1 :: C()\nX@4 :: B()\n");
  EXPECT_EQ(mistakes("{ elementclass Loc A; } Loc"),
            "t:1:25: unknown element class 'Loc'; expected a known class or an elementclass statement before\n");
}

TEST(CompoundTest, TakesParameters) {
  EXPECT_EQ(
      parsed("elementclass F { $a, COUNT $count, __REST__ $rest | A($a, $count, $rest) } F(1, 2, COUNT 3, FOO 4)"),
      "F@1/A@1 :: A(1|3|2|FOO 4)\n");
  EXPECT_EQ(parsed("elementclass F { $a, __REST__ $rest | A($rest) } F(1)"), "F@1/A@1 :: A()\n");
  EXPECT_EQ(parsed("elementclass F { $a | A($a) } F(CAPACITY 5); F(\"x, y\")"),
            "F@1/A@1 :: A(CAPACITY 5)\nF@2/A@1 :: A(\"x, y\")\n");
  EXPECT_EQ(parsed("elementclass F { | A(1) } F"), "F@1/A@1 :: A(1)\n");
}

TEST(CompoundTest, WordsOfParameters) {
  EXPECT_EQ(parsed("elementclass F { $a | A($a, ${a[0]}, ${a[2]}, \"${a[3]}\", ${a[1]-x}) } F(P \"q r\" S)"),
            "F@1/A@1 :: A(P \"q r\" S|P|S|\"\"|\"q r\")\n");
  EXPECT_EQ(parsed("elementclass F { $a, $n | A(${a[$n]}, ${a[ ${n} ]}) } define($n 0) F(D E G, 2)"),
            "F@1/A@1 :: A(G|G)\n");
  // As arguments of another class, in whose body the word is a value of its own.
  EXPECT_EQ(parsed("elementclass F { $a, $n | A(${a[$n]}) }\n"
                   "elementclass G { $a | F(${a[1]} ${a[0]}, ${a[2]}) } G(H I 1); G(H I 0)"),
            "G@1/F@1/A@1 :: A(H)\nG@2/F@1/A@1 :: A(I)\n");
  EXPECT_EQ(parsed("A(${b-x}, \"${b-y z}\")"), "A@1 :: A(x|\"y z\")\n");
}

TEST(CompoundTest, VariablesAreScopedLexically) {
  // Arguments belong to the scope in which they are written, parameters shadow, other variables come from the place of
  // the class and not from the place of its use.
  EXPECT_EQ(parsed("define($a 1, $b 2)\n"
                   "elementclass F { $a | A($a, $b) }\n"
                   "elementclass G { define($b 7) F($b); A($a) }\n"
                   "G; A($a)"),
            "G@1/F@1/A@1 :: A(7|2)\nG@1/A@2 :: A(1)\nA@2 :: A(1)\n");
  EXPECT_EQ(parsed("elementclass F { $a | elementclass G { $b | A($a, $b) } G(${a}x) } F(1); F(2)"),
            "F@1/G@1/A@1 :: A(1|1x)\nF@2/G@1/A@1 :: A(2|2x)\n");
  EXPECT_EQ(parsed("elementclass F { $a | elementclass G { $a | A($a) } G($a$a) } F(1)"), "F@1/G@1/A@1 :: A(11)\n");
}

}  // namespace
}  // namespace heddle::click
