#include <gtest/gtest.h>

#include <string>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

struct Mistake {
  const char* text;
  std::string errors;
};

void expect_errors(std::initializer_list<Mistake> cases) {
  for (const auto& [text, errors] : cases) EXPECT_EQ(mistakes(text), errors) << text;
}

TEST(ErrorsTest, SuggestTheNearestName) {
  expect_errors({
      {"in :: FromDevice;\n\n  in -> a :: Cuonter",
       "t:3:14: unknown element class 'Cuonter'; did you mean 'Counter'?\n"},
      {"cOUNTER(1) -> A", "t:1:1: unknown element class 'cOUNTER'; did you mean 'Counter'?\n"},
      {"Discrad -> A", "t:1:1: unknown element class 'Discrad'; did you mean 'Discard'?\n"},
      {"elementclass MyQueue A; MyQeue -> A", "t:1:25: unknown element class 'MyQeue'; did you mean 'MyQueue'?\n"},
      {"Xyzzy -> A",
       "t:1:1: unknown element class 'Xyzzy'; expected a known class or an elementclass statement before\n"},
      {"Xyzzy -> A;\nA -> Xyzzy; b :: Cuonter -> Xyzzy(1)",
       "t:1:1: unknown element class 'Xyzzy'; expected a known class or an elementclass statement before (also at "
       "2:29, "
       "2:6)\n"
       "t:2:18: unknown element class 'Cuonter'; did you mean 'Counter'?\n"},
      {"A -> chekc; check :: B", "t:1:6: undeclared element 'chekc'; did you mean 'check'?\n"},
      {"A -> chekc", "t:1:6: undeclared element 'chekc'; expected a declaration of it\n"},
  });
}

TEST(ErrorsTest, Names) {
  expect_errors({
      {"a :: A;\na :: B", "t:2:1: element 'a' is already declared at t:1:1\n"},
      {"a, b, a :: A", "t:1:7: element 'a' is already declared at t:1:1\n"},
      {"a/b :: A; a :: { b :: B }", "t:1:18: element 'a/b' is already declared at t:1:1\n"},
      {"1 :: A", "t:1:1: element name '1' has a part of digits only; expected a letter in it\n"},
      {"Counter :: A", "t:1:1: 'Counter' is an element class; expected another name for the element\n"},
      {"define :: A", "t:1:8: unexpected '::'; expected '('\n"},
      {"A -> define",
       "t:1:6: unexpected 'define'; expected an element or an element class\n"
       "t:1:12: unexpected end of the configuration; expected '('\n"},
      {"input -> A", "t:1:1: 'input' has a meaning only within a compound element or group; expected an element\n"},
  });
}

TEST(ErrorsTest, Statements) {
  expect_errors({
      {"A ->", "t:1:5: unexpected end of the configuration; expected an element or an element class\n"},
      {"-> A", "t:1:1: unexpected '->'; expected an element or an element class\n"},
      {"a :: ; a -> A", "t:1:6: unexpected ';'; expected an element class\n"},
      {"A -> $x", "t:1:6: unexpected '$x'; expected an element or an element class\n"},
      {"A } B", "t:1:3: unexpected '}'; expected a statement\n"},
      {"A ~ B", "t:1:3: unexpected character '~'\n"},
      {"A\xc2\xa0-> B", "t:1:2: unexpected character U+00A0, a no-break space\n"},
      {"A \xe2\x86\x92 B", "t:1:3: unexpected character '\xe2\x86\x92' (U+2192)\n"},
      {"A \xf0\x9f\x98\x80", "t:1:3: unexpected character '\xf0\x9f\x98\x80' (U+1F600)\n"},
      {"A \xe2\x86", "t:1:3: unexpected character '\\xe2', which is no UTF-8\n"},
      {"A \xff B", "t:1:3: unexpected character '\\xff', which is no UTF-8\n"},
      {"require; A", "t:1:8: unexpected ';'; expected '('\n"},
      {"elementclass { A }", "t:1:14: unexpected '{'; expected the name of the element class\n"},
      {"elementclass X -> A", "t:1:16: unexpected '->'; expected '{' or the name of an element class\n"},
      {"# include", "t:1:1: unknown '#' line; expected '#line NUMBER \"FILE\"'\n"},
      {"A || B", "t:1:3: unexpected '||'; expected a statement\n"},
      {"A -> B )", "t:1:8: unexpected ')'; expected an element or an element class\n"},
  });
}

TEST(ErrorsTest, AreAllReported) {
  EXPECT_EQ(mistakes("a :: Cuonter;\nb :: ;\n-> c; d :: A(\"$x\") -> [y] d; elementclass 5; elementclass E { ] } "
                     "define(q 1)\nf -> a"),
            "t:1:6: unknown element class 'Cuonter'; did you mean 'Counter'?\n"
            "t:2:6: unexpected ';'; expected an element class\n"
            "t:3:1: unexpected '->'; expected an element or an element class\n"
            "t:3:14: A 'd': variable '$x' is not defined; expected a define() of it\n"
            "t:3:24: unexpected 'y'; expected a port number from 0 to 65535\n"
            "t:3:44: unexpected ';'; expected '{' or the name of an element class\n"
            "t:3:63: unexpected ']'; expected an element or an element class\n"
            "t:3:74: unexpected 'q 1'; expected '$NAME VALUE'\n"
            "t:4:1: undeclared element 'f'; expected a declaration of it\n");
}

TEST(ErrorsTest, Ports) {
  expect_errors({
      {"A [x] -> B", "t:1:4: unexpected 'x'; expected a port number from 0 to 65535\n"},
      {"A [65536] -> B", "t:1:4: unexpected '65536'; expected a port number from 0 to 65535\n"},
      {"A [0 -> B", "t:1:3: unterminated '['; expected ']' before '->'\n"},
      {"A [2-1] -> B", "t:1:7: ports from 2 down to 1; expected the lower one first\n"},
      {"a :: A [x] -> B; a -> B", "t:1:9: unexpected 'x'; expected a port number from 0 to 65535\n"},
      {"[0] A -> B", "t:1:5: an input port that nothing is connected to; expected '->' before it\n"},
      {"A -> B [1]", "t:1:11: unexpected end of the configuration; expected '->' or '=>' after an output port\n"},
      {"a, b :: A; a [0-2] => [0, 1] b",
       "t:1:20: '=>' connects 3 outputs to 2 inputs; expected as many of one as of the other\n"},
      {"a, b :: A; a [0,1] -> [0,1] b",
       "t:1:20: '->' connects 2 outputs to 2 inputs; expected one of either, or '=>' to connect them in pairs\n"},
  });
}

TEST(ErrorsTest, UnterminatedTextIsReportedWhereItBegins) {
  expect_errors({
      {"A\n -> B(1, C(2)", "t:2:6: unterminated '('; expected ')'\n"},
      {"A([1, 2); B", "t:1:3: unterminated '['; expected ']'\n"},
      {"A(1])", "t:1:4: ']' closes nothing; expected ')' or ','\n"},
      {"A(1, \"abc) -> B", "t:1:6: unterminated string; expected '\"'\n"},
      {"A(1, \"abc\\", "t:1:6: unterminated string; expected '\"'\n"},
      {"A('abc) -> B", "t:1:3: unterminated string; expected '''\n"},
      {"A(\\<00); B", "t:1:3: unterminated data string; expected '>'\n"},
      {"A(1 /* x", "t:1:5: unterminated comment; expected '*/'\n"},
      {"A // x\n/* y", "t:2:1: unterminated comment; expected '*/'\n"},
      {"/*/", "t:1:1: unterminated comment; expected '*/'\n"},
      {"c :: { A -> {\n B", "t:1:6: unterminated '{'; expected '}'\nt:1:13: unterminated '{'; expected '}'\n"},
  });
}

TEST(ErrorsTest, CompoundElements) {
  expect_errors({
      {"elementclass R { input -> R -> output } A",
       "t:1:27: element class 'R' is used in its own definition; expected another class\n"},
      {"elementclass R { elementclass S { R } S } A",
       "t:1:35: element class 'R' is used in its own definition; expected another class\n"},
      {"c :: { input -> A -> output }; c [1] -> A; A -> [2] c",
       "t:1:38: compound element 'c' has no output 1; expected a connection of 'output' inside it\n"
       "t:1:46: compound element 'c' has no input 2; expected a connection of 'input' inside it\n"},
      {"x :: { c :: { A }; A -> c }",
       "t:1:22: compound element 'x/c' has no input 0; expected a connection of 'input' inside it\n"},
      {"{ output -> A }", "t:1:10: 'output' has no outputs; expected '-> output'\n"},
      {"{ A -> input }", "t:1:5: 'input' has no inputs; expected 'input ->'\n"},
      {"{ input :: A }", "t:1:3: 'input' cannot be declared; expected another name\n"},
      {"elementclass F { $a, K $k | A($a, $k) } F(1); F(1, 2, K 3); F(K 2)",
       "t:1:41: F 'F@1': missing argument 'K $k'\n"
       "t:1:52: F 'F@2': '2' is one argument too many; expected 2\n"
       "t:1:61: F 'F@3': missing argument '$a'\n"},
      {"{ $a, $a | A }(1)", "t:1:7: variable '$a' is already defined at t:1:3\n"},
      {"{ $a | define($a 1) A }(1)", "t:1:15: variable '$a' is already defined at t:1:3\n"},
      {"{ k $a | A }", "t:1:3: unexpected 'k'; expected a keyword in capitals\n"},
      {"{ __REST__ $a, $b | A }", "t:1:16: expected '|' after the __REST__ parameter\n"},
      {"{ K $a, $b | A }", "t:1:9: parameter '$b' after a keyword; expected it before all keywords\n"},
      {"{ K $a, K $b | A }", "t:1:9: keyword 'K' is given twice; expected another one\n"},
      {"{ input [1] -> A }", "t:1:1: 'input' has port 1 in use but not port 0; expected ports in sequence from 0\n"},
      {"x :: { -> A -> [0, 2] output }",
       "t:1:6: 'output' has port 2 in use but not port 1; expected ports in sequence from 0\n"},
      {"{ $a A }", "t:1:6: unexpected 'A'; expected '|' after the parameters of a compound element\n"},
  });
}

TEST(ErrorsTest, Variables) {
  const std::string kForms = "expected ${NAME}, ${NAME-default} or, of a variable that is defined, ${NAME[NUMBER]}\n";
  expect_errors({
      {"define($rate 1); x :: A(2, $rat)", "t:1:28: A 'x': variable '$rat' is not defined; did you mean '$rate'?\n"},
      {"define($a $b, $b $a) A($a)", "t:1:24: A 'A@1': variable '$a' is defined in terms of itself\n"},
      {"define($a 1); define($a 2)", "t:1:22: variable '$a' is already defined at t:1:8\n"},
      {"A(${a b})", "t:1:3: A 'A@1': malformed variable '${a b}'; " + kForms},
      {"A(${})", "t:1:3: A 'A@1': malformed variable '${}'; " + kForms},
      {"A(${a[0]})", "t:1:3: A 'A@1': malformed variable '${a[0]}'; " + kForms},
      {"define($a 1) A(${a[x]})", "t:1:16: A 'A@1': malformed variable '${a[x]}'; " + kForms},
      {"define($a 1) A(${a[99999999999]})", "t:1:16: A 'A@1': malformed variable '${a[99999999999]}'; " + kForms},
      {"define($a 1) A(${a[0})", "t:1:16: A 'A@1': malformed variable '${a[0}'; " + kForms +
                                     "t:1:17: unterminated '{'; expected '}'\n"
                                     "t:1:19: unterminated '['; expected ']'\n"
                                     "t:1:21: '}' closes nothing; expected ']' or ','\n"},
      {"x :: { A($v) }", "t:1:10: A 'x/A@1': variable '$v' is not defined; expected a define() of it\n"},
      {"{ define($v 1) } A($v)", "t:1:20: A 'A@2': variable '$v' is not defined; expected a define() of it\n"},
  });
  EXPECT_EQ(parsed("A($x)", {{"x", "'"}}), "t:1:3: A 'A@1': after substitution: unterminated string; expected '''\n");
  EXPECT_EQ(parsed("A($x)", {{"x", ")"}}), "t:1:3: A 'A@1': after substitution: ')' closes nothing\n");
}

TEST(ErrorsTest, TextIsSortedAndWithoutRepetitions) {
  Diagnostics diagnostics;
  EXPECT_TRUE(diagnostics.ok());
  diagnostics.error({"f", 10, 1}, "late");
  diagnostics.error({"f", 9, 20}, "b");
  diagnostics.error({"f", 9, 3}, "a");
  diagnostics.error({"f", 10, 1}, "late");
  EXPECT_FALSE(diagnostics.ok());
  EXPECT_EQ(diagnostics.errors().size(), 4u);
  EXPECT_EQ(diagnostics.text(), "f:9:3: a\nf:9:20: b\nf:10:1: late\n");
}

TEST(ErrorsTest, WhatIsSaidOfAPlaceKeepsItsOrder) {
  Diagnostics diagnostics;
  for (const char* message : {"x:2: b", "x:10: a", "x: ... and 3 more", "x:10: a"})
    diagnostics.error({"f", 2, 1}, message);
  diagnostics.error({"f", 1, 1}, "first");
  EXPECT_EQ(diagnostics.text(), "f:1:1: first\nf:2:1: x:2: b\nf:2:1: x:10: a\nf:2:1: x: ... and 3 more\n");
}

TEST(ErrorsTest, ThePlaceOfTheHundredthIsToldOfToItsEnd) {
  Diagnostics diagnostics;
  diagnostics.error({"f", 1, 1}, "another");
  for (int i = 1; i <= 100; ++i) diagnostics.error({"f", 2, 1}, "x:" + std::to_string(i) + ": wrong");
  diagnostics.error({"f", 2, 1}, "x: ... and 50 more");
  diagnostics.error({"f", 3, 1}, "later");
  EXPECT_TRUE(diagnostics.full());
  EXPECT_EQ(diagnostics.errors().size(), 102u);
  EXPECT_TRUE(diagnostics.text().ends_with("f:2:1: x:100: wrong\nf:2:1: x: ... and 50 more\n"));
  Diagnostics of_one_place;
  for (int i = 0; i < 5000; ++i) of_one_place.error({"f", 1, 1}, std::to_string(i));
  EXPECT_EQ(of_one_place.errors().size(), 1000u);
}

TEST(ErrorsTest, Nearest) {
  const std::vector<std::string> known = {"Queue", "Counter", "CheckIPHeader", "ab"};
  EXPECT_EQ(nearest("Cuonter", known), "Counter");
  EXPECT_EQ(nearest("queue", known), "Queue");
  EXPECT_EQ(nearest("CheckIpHeadr", known), "CheckIPHeader");
  EXPECT_EQ(nearest("Q", known), "");
  EXPECT_EQ(nearest("Banana", known), "");
  EXPECT_EQ(nearest("", known), "");
  EXPECT_EQ(in_quotes(std::string_view("a\0\n", 3)), "'a\\x00\\x0a'");
}

TEST(ErrorsTest, KeysAreNotQuoted) {
  const std::string key(32, 'a'), nines(40, '9'), text(100, 'z');
  EXPECT_EQ(in_quotes("0x" + key), "'0x...'");
  EXPECT_EQ(in_quotes("enc 0x" + key + "F0 96 "), "'enc 0x... 96 '");
  EXPECT_EQ(in_quotes("0x" + key.substr(1) + "-0x" + nines + "-"), "'0x" + key.substr(1) + "-0x...-'");
  EXPECT_EQ(in_quotes(nines), "'" + nines + "'") << "a number";
  EXPECT_EQ(in_quotes("0x"), "'0x'");
  EXPECT_EQ(in_quotes(text), "'" + text.substr(0, 80) + "...'");
  EXPECT_EQ(in_quotes(text.substr(0, 80)), "'" + text.substr(0, 80) + "'");
  EXPECT_EQ(in_quotes(""), "''");
}

}  // namespace
}  // namespace heddle::click
