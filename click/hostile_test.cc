#include <gtest/gtest.h>

#include <random>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

size_t count_lines(const std::string& text) { return static_cast<size_t>(std::count(text.begin(), text.end(), '\n')); }

TEST(HostileTest, DeepNestingIsAnError) {
  EXPECT_EQ(mistakes(repeated("{", 100000)), "t:1:65: compound elements nest more than 64 deep\n");
  EXPECT_EQ(mistakes(repeated("{ A; ", 64) + repeated("}", 64)), "");
  EXPECT_EQ(count_lines(mistakes("A(" + repeated("(", 100000))), 1u);
  EXPECT_EQ(mistakes("A" + repeated("(", 1000) + repeated(")", 1000)), "");
  EXPECT_EQ(count_lines(mistakes("A(" + repeated("${x-", 100000) + repeated("}", 100000) + ")")), 1u);

  EXPECT_EQ(mistakes(repeated("(", 100000)), "t:1:65: element groups nest more than 64 deep\n");
  EXPECT_EQ(mistakes(repeated("( A; ", 64) + repeated(")", 64)), "");
  EXPECT_EQ(count_lines(mistakes(repeated("({", 100000))), 1u);
  EXPECT_GE(count_lines(mistakes(repeated("({(", 10) + "[-")), 1u);

  std::string chain = "elementclass E0 A;\n";
  for (int i = 1; i < 20000; ++i)
    chain += "elementclass E" + std::to_string(i) + " { E" + std::to_string(i - 1) + " }\n";
  EXPECT_NE(mistakes(chain + "E19999").find("compound elements nest more than 64 deep"), std::string::npos);
  EXPECT_EQ(mistakes(chain + "E60"), "");

  std::string variables = "define($v0 1";
  for (int i = 1; i < 20000; ++i) variables += ", $v" + std::to_string(i) + " $v" + std::to_string(i - 1);
  EXPECT_NE(mistakes(variables + ") A($v19999)").find("more than 64 deep"), std::string::npos);
}

TEST(HostileTest, ExponentialExpansionIsAnError) {
  std::string elements = "elementclass E0 { A }\n", nothing = "elementclass E0 { }\n", wires;
  std::string words = "elementclass E0 { $x | A($x) }\n", values = "define($v0 0123456789";
  for (int i = 1; i <= 40; ++i) {
    const std::string outer = std::to_string(i), inner = std::to_string(i - 1);
    elements += "elementclass E" + outer + " { E" + inner + "; E" + inner + " }\n";
    nothing += "elementclass E" + outer + " { E" + inner + "; E" + inner + " }\n";
    words += "elementclass E" + outer + " { $x | E" + inner + "($x$x) }\n";
    values += ", $v" + outer + " $v" + inner + "$v" + inner;
  }
  EXPECT_NE(mistakes(elements + "E40").find("more than 100000 elements"), std::string::npos);
  EXPECT_NE(mistakes(nothing + "E40").find("more than 100000 elements"), std::string::npos);
  EXPECT_NE(mistakes(words + "E40(0123456789)").find("characters after substitution"), std::string::npos);
  EXPECT_NE(mistakes(values + ") A($v40)").find("characters after substitution"), std::string::npos);
}

TEST(HostileTest, ManyDefinitionsAreTriedOnlySoFar) {
  const std::string last = "elementclass E { $a | -> B || ... } ";
  const std::string text = repeated(last, 20000) + repeated("E(1) ", 200);
  EXPECT_NE(mistakes(text).find("no definition takes 1 argument, 0 inputs and 0 outputs"), std::string::npos);
  EXPECT_LT(mistakes(text).size(), 200000u);
  EXPECT_NE(mistakes("elementclass E { A " + repeated("|| A ", 20000) + "} E(1)").size(), 0u);
}

TEST(HostileTest, TooManyConnectionsAreAnError) {
  const std::string star = "elementclass S { x :: A; input -> x; " + repeated("input -> A; ", 2000) + "}; s :: S;";
  EXPECT_NE(mistakes(star + repeated("A -> s; ", 2000)).find("more than 1000000 connections"), std::string::npos);
  EXPECT_NE(
      mistakes("a, b :: A; " + repeated("a [0-65535] => [0-65535] b; ", 40)).find("more than 1000000 connections"),
      std::string::npos);
  std::string mesh = "w :: {";
  for (int i = 0; i < 1000; ++i) mesh += "[" + std::to_string(i) + "] -> [0-999];";
  EXPECT_NE(mistakes(mesh + "} A => w; w -> w").size(), 0u);
}

TEST(HostileTest, LongTextsAreBounded) {
  EXPECT_LT(mistakes(repeated("x", 1000000) + " -> A").size(), 500u);
  EXPECT_LT(mistakes(repeated("x", 1000000) + " :: A").size(), 500u);
  EXPECT_LE(count_lines(mistakes(repeated("~ ", 100000))), 100u);
  EXPECT_LE(count_lines(mistakes(repeated("foo -> bar -> A(;) ; ", 10000))), 101u);
  EXPECT_LE(count_lines(mistakes("A(" + repeated("]", 1000000) + ")")), 100u);
  EXPECT_LE(count_lines(mistakes("A(" + repeated("$x ", 300000) + ")")), 100u);
  EXPECT_LE(count_lines(mistakes("define(" + repeated("x, ", 300000) + ")")), 100u);
  std::string names;
  for (int i = 0; i < 20000; ++i) names += "name" + std::to_string(i) + " -> ";
  EXPECT_LE(count_lines(mistakes(names + "A")), 101u);
  EXPECT_NE(mistakes("elementclass E { a :: A('" + repeated("x", 500000) + "') }" + repeated("E; ", 1000)).size(), 0u);
  EXPECT_EQ(mistakes("#line 99999999999\nA").substr(0, 6), "t:1:1:");
  EXPECT_EQ(mistakes("#line 1000000000\n\n\n-> A").substr(0, 14), "t:1000000002:1");
}

TEST(HostileTest, NulBytesAreUnexpectedCharacters) {
  EXPECT_EQ(mistakes(std::string("A\0 -> B", 7)), "t:1:2: unexpected character '\\x00'\n");
  EXPECT_EQ(mistakes(std::string(1000, '\0')), "t:1:1: unexpected character '\\x00'\n");
  EXPECT_EQ(mistakes(std::string("A(\0)", 4)), "");
}

TEST(HostileTest, EveryPrefixOfAConfigurationEnds) {
  const std::string text =
      "#!x\n# 3 \"f\"\nrequire(x); define($v 1) elementclass F { $a, K $k | input => [0-1] A(\"\\x41$a\", '$', \\<00 "
      "11>, ${k-2}) [0] -> /* c */ output || A || ... }\na, b :: F(1, K $v); a [0] -> b, [1] b => Print(x) // end\n"
      "a [1-] => ( [0] -> x :: A; [1], [2] -> (->) -> [0-]) => [] B";
  for (size_t length = 0; length <= text.size(); ++length) {
    mistakes(text.substr(0, length));
    mistakes(text.substr(length));
  }
}

TEST(HostileTest, RandomTokensEnd) {
  const std::vector<std::string> tokens = {"a",
                                           "b",
                                           "c",
                                           "A",
                                           "B",
                                           "Counter",
                                           "Foo",
                                           "input",
                                           "output",
                                           "elementclass",
                                           "define",
                                           "require",
                                           "::",
                                           "->",
                                           "=>",
                                           ";",
                                           ";",
                                           ",",
                                           "(",
                                           ")",
                                           "[",
                                           "]",
                                           "{",
                                           "}",
                                           "{",
                                           "}",
                                           "|",
                                           "||",
                                           "...",
                                           "-",
                                           "$a",
                                           "$b",
                                           "${a-",
                                           "${b}",
                                           "K",
                                           "0",
                                           "1",
                                           "0-7",
                                           "'",
                                           "\"",
                                           "\\<",
                                           ">",
                                           "\\",
                                           "/*",
                                           "*/",
                                           "//",
                                           "\n",
                                           "\n#line 3\n",
                                           " ",
                                           "~",
                                           "__REST__",
                                           "( -> ",
                                           " -> )",
                                           "[]",
                                           "[0-]",
                                           "|| ...",
                                           "(1, $a)",
                                           "{ $a | ",
                                           "{ input -> output }",
                                           "define($a 1)",
                                           "define($b $a)",
                                           "elementclass a {",
                                           "a :: A",
                                           "b :: {"};
  const unsigned seed = 20000;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  int correct = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text;
    for (size_t n = random() % 60; n > 0; --n) text += tokens[random() % tokens.size()] + (random() % 2 ? " " : "");
    Diagnostics diagnostics;
    const Graph graph = parse(text, "t", options_for_test(), diagnostics);
    if (!diagnostics.ok()) continue;
    ++correct;
    for (const Connection& c : graph.connections) {
      ASSERT_LT(static_cast<size_t>(std::max(c.from, c.to)), graph.elements.size()) << text;
      ASSERT_GE(std::min({c.from, c.from_port, c.to, c.to_port}), 0) << text;
    }
    for (const ElementDeclaration& element : graph.elements) ASSERT_FALSE(element.class_name.empty()) << text;
  }
  EXPECT_GT(correct, 0);
}

TEST(HostileTest, RandomBytesEnd) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = random() % 80; n > 0; --n) text += static_cast<char>(random() % 256);
    mistakes(text);
  }
}

}  // namespace
}  // namespace heddle::click
