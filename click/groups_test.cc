#include <gtest/gtest.h>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

// What Click's click(5) says under "Many-to-many connections" and "Element groups".

TEST(GroupsTest, ManyToManyExamplesOfTheManual) {
  const std::string start = "next :: Discard; c :: Classifier(00/01, 00/02, 00/03); ";
  const std::string expected = parsed(start +
                                      "p0 :: Paint(0); p1 :: Paint(1); p2 :: Paint(2); c [0] -> p0 -> next; "
                                      "c [1] -> p1 -> next; c [2] -> p2 -> next");
  const std::string paints = " => p0 :: Paint(0), p1 :: Paint(1), p2 :: Paint(2) -> next";
  for (const std::string from :
       {"c [0], c [1], c [2]", "c [0,1,2]", "c [0-2]", "c", "c []", "c [0-]", "c [0], c [1-]", "c [0,]"})
    EXPECT_EQ(parsed(start + from + paints), expected) << from;
}

TEST(GroupsTest, ArrowsTakeManyToOneAndOneToMany) {
  const std::string names = "a, b :: A; ", elements = "a :: A()\nb :: A()\n";
  for (const std::string arrow : {" -> ", " => "}) {
    EXPECT_EQ(parsed(names + "a [0,1]" + arrow + "[2] b"), elements + "a [0] -> [2] b\na [1] -> [2] b\n");
    EXPECT_EQ(parsed(names + "a [2]" + arrow + "[0,1] b"), elements + "a [2] -> [0] b\na [2] -> [1] b\n");
  }
  EXPECT_EQ(parsed(names + "a [0,1] => b"), elements + "a [0] -> [0] b\na [1] -> [1] b\n");
  EXPECT_EQ(parsed(names + "a [0,1] -> b"), elements + "a [0] -> [0] b\na [1] -> [0] b\n");
  EXPECT_EQ(parsed(names + "a => [2-3] b"), elements + "a [0] -> [2] b\na [1] -> [3] b\n");
  EXPECT_EQ(parsed(names + "a [4-] => [2-3] b"), elements + "a [4] -> [2] b\na [5] -> [3] b\n");
  EXPECT_EQ(parsed(names + "a [1,3-] -> b"), elements + "a [1] -> [0] b\na [3] -> [0] b\n");
}

TEST(GroupsTest, DetourOfTheManual) {
  EXPECT_EQ(parsed("y :: Discard; A -> c :: Classifier(00/01) => (\n"
                   "  input [0] -> output;\n"
                   "  input [1] -> Paint(1) -> output\n"
                   ") -> y"),
            "y :: Discard()\nA@2 :: A()\nc :: Classifier(00/01)\nPaint@7 :: Paint(1)\n"
            "A@2 [0] -> [0] c\nPaint@7 [0] -> [0] y\nc [0] -> [0] y\nc [1] -> [0] Paint@7\n");
}

TEST(GroupsTest, EquivalentGroupsOfTheManual) {
  const std::string expected = "x :: A()\ny :: B()\nx [0] -> [0] y\n";
  for (const std::string text : {"x -> y", "x -> ( input -> output ) -> y", "x -> ( [0] -> [0] ) -> y",
                                 "x -> (->) -> y", "x -> (=>) -> y", "x -> ( -> ( -> ) -> ( -> ) -> ) -> y"})
    EXPECT_EQ(parsed("x :: A; y :: B; " + text), expected) << text;
  EXPECT_EQ(parsed("x :: A; y :: B; x [0,1] => ( [0]->[0]; [1]->[1] ) => ( [0]->[0]; [1]->[1] ) -> y"),
            "x :: A()\ny :: B()\nx [0] -> [0] y\nx [1] -> [0] y\n");
}

TEST(GroupsTest, HaveImplicitPorts) {
  const std::string expected = "x :: A()\ny :: B()\nx [0] -> [0] y\nx [1] -> [0] y\n";
  for (const std::string text :
       {"x => ( [0]->[0]; [1]->[1] ) -> y", "x => [0,1] ( [0]->[0]; [1]->[1] ) [0,1] -> y", "x -> y; x [1] -> y",
        "x => ( [0,1] => [0,1] ) -> y", "x => ( [0], [1] -> output ) -> y", "x => ( input [0,1] -> ) -> y"})
    EXPECT_EQ(parsed("x :: A; y :: B; " + text), expected) << text;
  EXPECT_EQ(parsed("x :: A; y :: B; x => [1,0] ( [0]->[0]; [1]->[1] ) => [0-1] y"),
            "x :: A()\ny :: B()\nx [0] -> [1] y\nx [1] -> [0] y\n");
}

TEST(GroupsTest, MayHaveNames) {
  const std::string expected = "x :: A()\ny :: B()\nz :: B()\nx [0] -> [0] y\nx [1] -> [0] z\n";
  for (const std::string text :
       {"x => ( -> y ), ( -> z )", "g :: ( -> y ); h :: ( -> z ); x => g, h", "x -> g :: ( -> y ); x [1] -> ( -> z )",
        "g :: ( [0] -> y; [1] -> z ); x => g", "g :: ( [0] -> z; [1] -> y ); x => [1,0] g",
        "x => ( h :: ( -> z ); [0] -> y; [1] -> h )"})
    EXPECT_EQ(parsed("x :: A; y, z :: B; " + text), expected) << text;
  EXPECT_EQ(parsed("x :: A; y :: B; g :: ( input -> output; input [1] -> [1] output ); x => g [0,1] => y"),
            "x :: A()\ny :: B()\nx [0] -> [0] y\nx [1] -> [1] y\n");
  EXPECT_EQ(mistakes("x :: A; g :: ( -> B ); g :: ( -> B ); x -> g"),
            "t:1:24: element group 'g' is already declared at t:1:9\n");
  EXPECT_EQ(mistakes("x :: A; x :: ( -> B )"), "t:1:9: element 'x' is already declared at t:1:1\n");
  EXPECT_EQ(mistakes("x :: A; g :: ( -> B ); x -> g; g :: A"),
            "t:1:32: element group 'g' is already declared at t:1:9\n");
  EXPECT_EQ(mistakes("x :: A; x -> g; g :: ( -> B )"),
            "t:1:17: element group 'g' is used before, at t:1:14; expected its declaration first\n");
  EXPECT_EQ(mistakes("x :: A; B :: ( -> C )"),
            "t:1:9: 'B' is an element class; expected another name for the element group\n");
  EXPECT_EQ(mistakes("A -> ( input :: ( -> B ) )"), "t:1:8: 'input' cannot be declared; expected another name\n");
}

TEST(GroupsTest, AreNoScope) {
  EXPECT_EQ(parsed("e :: A; B -> ( -> e; c :: C -> ) -> d :: Discard; c [1] -> e"),
            "e :: A()\nB@2 :: B()\nc :: C()\nd :: Discard()\n"
            "B@2 [0] -> [0] e\nc [0] -> [0] d\nc [1] -> [0] e\n");
  EXPECT_EQ(parsed("( elementclass X A; define($v 1) ); X($v)"), "X@4 :: A(1)\n");
}

TEST(GroupsTest, WithinCompoundElementsHaveTheirOwnInputAndOutput) {
  EXPECT_EQ(parsed("elementclass F { input -> ( input -> A -> output ) -> output } B -> F -> C"),
            "B@1 :: B()\nF@2/A@4 :: A()\nC@3 :: C()\nB@1 [0] -> [0] F@2/A@4\nF@2/A@4 [0] -> [0] C@3\n");
  EXPECT_EQ(parsed("B -> ( -> { -> A -> } -> ) -> C"),
            "B@1 :: B()\n@5/A@1 :: A()\nC@6 :: C()\n@5/A@1 [0] -> [0] C@6\nB@1 [0] -> [0] @5/A@1\n");
}

TEST(GroupsTest, Mistakes) {
  // The first two are errors in click(5), too.
  EXPECT_EQ(mistakes("x :: A; x => [0] ( [0]->[0]; [1]->B ) -> C"),
            "t:1:18: input 1 of the element group is not connected; expected a connection of it outside the group\n");
  EXPECT_EQ(mistakes("x :: A; x => ( [0]->[0]; [2]->B ) -> C"),
            "t:1:14: 'input' has port 2 in use but not port 1; expected ports in sequence from 0\n");
  EXPECT_EQ(mistakes("A -> [1] ( -> ) -> C"),
            "t:1:10: input 0 of the element group is not connected; expected a connection of it outside the group\n"
            "t:1:10: the element group has no input 1; expected a connection of 'input' inside it\n");
  EXPECT_EQ(mistakes("A -> ( -> Discard ) -> C"),
            "t:1:6: the element group has no output 0; expected a connection of 'output' inside it\n");
  EXPECT_EQ(mistakes("A -> ( B -> input ) -> C"), "t:1:10: 'input' has no inputs; expected 'input ->'\n");
  EXPECT_EQ(mistakes("A -> ( -> B"), "t:1:6: unterminated '('; expected ')'\n");
  EXPECT_EQ(mistakes("{ A -> ( -> B }"), "t:1:8: unterminated '('; expected ')'\n");
  EXPECT_EQ(mistakes("A -> ( -> ; ) -> ( x ~ y ) -> B").substr(0, 33), "t:1:20: undeclared element 'x'; e");
  EXPECT_EQ(mistakes("x, y :: A; x [0-], y [1-] => C"),
            "t:1:27: expected only one of '[...-]' or '[]' in a connection\n");
  EXPECT_EQ(mistakes("x :: A; x [] -> [] x"), "t:1:14: expected only one of '[...-]' or '[]' in a connection\n");
  EXPECT_EQ(mistakes("x :: A; x [1,,] -> x"), "t:1:14: unexpected ','; expected a port number from 0 to 65535\n");
}

}  // namespace
}  // namespace heddle::click
