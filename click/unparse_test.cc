#include "click/unparse.h"

#include <gtest/gtest.h>

#include <random>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

Graph graph_of(const std::string& text, const std::map<std::string, std::string>& variables = {}) {
  ParseOptions options = options_for_test();
  options.variables = variables;
  Diagnostics diagnostics;
  Graph graph = parse(text, "t", options, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << text << "\n" << diagnostics.text();
  return graph;
}

TEST(UnparseTest, PrintsAsClicksFlatconfigDoes) {
  EXPECT_EQ(unparse(graph_of("FromDevice(eth0, BURST 32) -> c :: Classifier(12/0800, -) -> { -> Counter -> } -> d :: "
                             "Discard; c [1] -> Print(\"a, b\") -> [1] d")),
            "FromDevice@1 :: FromDevice(eth0, BURST 32);\n"
            "c :: Classifier(12/0800, -);\n"
            "@3/Counter@1 :: Counter;\n"
            "d :: Discard;\n"
            "Print@5 :: Print(\"a, b\");\n"
            "\n"
            "FromDevice@1 -> c\n"
            "    -> @3/Counter@1\n"
            "    -> d;\n"
            "c [1] -> Print@5\n"
            "    -> [1] d;\n");
  EXPECT_EQ(unparse_connections(graph_of("a :: A; b, c :: B; a -> [1] b -> [2] c; a [1] -> b")),
            "a -> [1] b;\na [1] -> b\n    -> [2] c;\n");
  EXPECT_EQ(unparse({}), "");
  EXPECT_EQ(unparse(graph_of("a :: A")), "a :: A;\n\n");
}

TEST(UnparseTest, PrintsCycles) {
  EXPECT_EQ(unparse_connections(graph_of("a, b :: A; a -> b -> a")), "a -> b\n    -> a;\n");
  EXPECT_EQ(unparse_connections(graph_of("a :: A; a -> a")), "a -> a;\n");
  EXPECT_EQ(unparse_connections(graph_of("a, b :: A; c :: B; c -> a -> b -> a")), "c -> a\n    -> b\n    -> a;\n");
}

TEST(UnparseTest, QuotesWhatIsNoVariable) {
  EXPECT_EQ(unparse_declarations(graph_of("a :: A($$x, '$x', \"$$x \\$y\", $)", {{"x", "y"}})),
            "a :: A('$'y, '$x', \"\\$y \\$y\", $);\n");
  EXPECT_EQ(unparse_declarations(graph_of("a :: A($x)", {{"x", "${y}"}})), "a :: A('$'{y});\n");
}

TEST(UnparseTest, KeepsEmptyArguments) {
  EXPECT_EQ(unparse_declarations(graph_of("a :: A(1, , ); b :: B(, ); c :: C(, 2)")),
            "a :: A(1, , );\nb :: B(, );\nc :: C(, 2);\n");
}

/** parse(unparse(graph)) must be the graph again; what its text says about arguments is compared as unparse() writes
 *  them.
 */
void expect_round_trip(const Graph& graph) {
  const std::string text = unparse(graph);
  const Graph again = graph_of(text);
  ASSERT_EQ(again.elements.size(), graph.elements.size()) << text;
  for (size_t i = 0; i < graph.elements.size(); ++i) {
    ASSERT_EQ(again.elements[i].name, graph.elements[i].name) << text;
    ASSERT_EQ(again.elements[i].class_name, graph.elements[i].class_name) << text;
    ASSERT_EQ(again.elements[i].arguments.size(), graph.elements[i].arguments.size()) << text;
    ASSERT_EQ(unparse_arguments(again.elements[i]), unparse_arguments(graph.elements[i])) << text;
  }
  ASSERT_EQ(again.connections.size(), graph.connections.size()) << text;
  for (size_t i = 0; i < graph.connections.size(); ++i) {
    const Connection &a = again.connections[i], &b = graph.connections[i];
    ASSERT_EQ(std::tie(a.from, a.from_port, a.to, a.to_port), std::tie(b.from, b.from_port, b.to, b.to_port)) << text;
  }
}

TEST(UnparseTest, RandomGraphsComeBack) {
  const unsigned seed = 20001;
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  const std::vector<std::string> arguments = {"",  "1",      "\"a, b\"", "'$x'",    "\\<00 2c>", "$",    "$$x",
                                              "-", "KEY 3",  "(1, 2)",   "a \\ b",  "\"\\\"\"",  "'\\'", "\"$x\"",
                                              ";", "[1, 2]", "a/b//c\n", "/*x*/ 1", "${z-5}",    "$x",   "\\"};
  for (int i = 0; i < 300; ++i) {
    std::string text = "elementclass W { $a | input -> A($a) -> output; B -> [1] output }\n";
    const int elements = 1 + static_cast<int>(random() % 8);
    for (int k = 0; k < elements; ++k) {
      text += "e" + std::to_string(k) + " :: " + (random() % 4 == 0 ? "A" : "B") + "(";
      for (size_t n = random() % 4; n > 0; --n) text += arguments[random() % arguments.size()] + ", ";
      text += ");\n";
    }
    const auto element = [&] { return "e" + std::to_string(random() % static_cast<unsigned>(elements)); };
    const auto port = [&] { return random() % 2 ? "" : " [" + std::to_string(random() % 3) + "] "; };
    for (size_t n = random() % 12; n > 0; --n) {
      const std::string middle = random() % 3 == 0 ? "W(" + arguments[1 + random() % 9] + ") -> " : "";
      text += element() + port() + " -> " + middle + port() + element() + ";\n";
    }
    SCOPED_TRACE(text);
    expect_round_trip(graph_of(text, {{"x", "a$b"}}));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(UnparseTest, ScriptsKeepTheirVariables) {
  ParseOptions options = options_for_test();
  options.known_classes.push_back("Script");
  options.variables = {{"x", "5"}};
  Diagnostics diagnostics;
  const Graph graph = parse("s :: Script(set y $x, print $y \"$y ${z}\", end); x :: { $q | Script(print $q $r) } (1)",
                            "t", options, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  EXPECT_EQ(unparse(graph), "s :: Script(set y 5, print $y \"$y ${z}\", end);\nx/Script@1 :: Script(print 1 $r);\n\n");
}

}  // namespace
}  // namespace heddle::click
