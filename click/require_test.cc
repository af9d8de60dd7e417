#include <gtest/gtest.h>

#include "click/parse_for_test.h"

namespace heddle::click {
namespace {

TEST(RequireTest, KnowsWhatHeddleHas) {
  for (const std::string name :
       {"fastclick", "userlevel", "dpdk", "package click", "package \"batch\"", "compact_config"})
    EXPECT_EQ(mistakes("require(" + name + ")"), "") << name;
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
