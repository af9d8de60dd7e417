#include <gtest/gtest.h>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

TEST(RequireTest, KnowsWhatHeddleHas) {
  for (const std::string name :
       {"fastclick", "userlevel", "dpdk", "package click", "package \"batch\"", "compact_config"})
    EXPECT_EQ(mistakes("require(" + name + ")"), "") << name;
}

TEST(RequireTest, ReadsLibrariesOnce) {
  ParseOptions options;
  options.known_classes = {"A", "B"};
  std::vector<std::string> asked;
  options.read_library = [&](const std::string& file, const std::string& from) -> std::optional<std::string> {
    asked.push_back(from + ":" + file);
    if (file == "one.click") return "elementclass One { input -> A -> output } require(library two.click)";
    if (file == "two.click") return "require(library one.click) elementclass Two { input -> B -> output } B -> A";
    if (file == "bad.click") return "A ->\n-> B";
    return std::nullopt;
  };
  Diagnostics diagnostics;
  const Graph graph = parse("require(library \"one.click\", library two.click) b :: B; A -> One -> Two -> b", "t",
                            options, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(graph.elements.size(), 6u);
  EXPECT_EQ(asked, (std::vector<std::string>{"t:one.click", "one.click:two.click"}));
  parse("require(library none.click, library bad.click); x :: { require(library two.click) A -> output } -> B", "t",
        options, diagnostics);
  EXPECT_NE(diagnostics.text().find("t:1:9: library 'none.click' cannot be read"), std::string::npos);
  EXPECT_NE(diagnostics.text().find("bad.click:2:1: "), std::string::npos);
  EXPECT_NE(diagnostics.text().find("stands in a compound element"), std::string::npos);
}

TEST(RequireTest, Mistakes) {
  const std::string known =
      "batch, click, dpdk, fastclick, flow, heddle, int64, linux, multithread, pcap, umultithread, userlevel";
  EXPECT_EQ(mistakes("require(linuxmodule)"), "t:1:9: unknown package 'linuxmodule'; expected one of " + known + "\n");
  EXPECT_EQ(mistakes("require(dpdk,\n fastclik)"), "t:2:2: unknown package 'fastclik'; did you mean 'fastclick'?\n");
  EXPECT_EQ(mistakes("require(package a b, x y)"),
            "t:1:9: unexpected 'package a b'; expected 'package NAME' or 'NAME'\n"
            "t:1:22: unexpected 'x y'; expected 'package NAME' or 'NAME'\n");
  EXPECT_EQ(mistakes("require(library x.click)"),
            "t:1:9: 'library x.click': libraries are not read; expected its text in this file\n");
  EXPECT_EQ(mistakes("require(mine) provide(mine)").substr(0, 36), "t:1:9: unknown package 'mine'; expec");
  EXPECT_EQ(mistakes("provide; A"), "t:1:8: unexpected ';'; expected '('\n");
}

}  // namespace
}  // namespace heddle::click
