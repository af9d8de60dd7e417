// How rules are written: letters in any case, what may stand once; which of one sid counts, and sizes.

#include <gtest/gtest.h>

#include "core/error.h"
#include "functions/nids/rules_for_test.h"

namespace heddle::nids {
namespace {

TEST(NidsRules, FastPatterns) {
  EXPECT_EQ(one(R"(content:"abc"; content:"abcd"; content:!"abcdef"; content:"wxyz";)").fast_pattern(), "abcd");
  EXPECT_EQ(one(R"(content:"abc"; fast_pattern:only; content:"abcd";)").fast_pattern(), "abc");
  EXPECT_EQ(one(R"(content:"abcdef"; fast_pattern:2,3;)").fast_pattern(), "cde");
  EXPECT_EQ(one(R"(content:!"abcdef";)").fast_pattern(), "");
}

TEST(NidsRules, Sizes) {
  const auto takes = [](const char* dsize, std::vector<uint32_t> in, std::vector<uint32_t> out) {
    const Signature rule = one(std::string("dsize:") + dsize + ";");
    for (const uint32_t size : in) EXPECT_TRUE(rule.sizes.contains(size)) << dsize << " " << size;
    for (const uint32_t size : out) EXPECT_FALSE(rule.sizes.contains(size)) << dsize << " " << size;
  };
  for (const char* not_seven : {"!7", "!=7"}) takes(not_seven, {0, 6, 8, 70000}, {7});
  takes("=7", {7}, {6, 8});
  takes("3-6", {4, 5}, {3, 6});
  takes("300", {300}, {299, 301});
  takes("<300", {0, 299}, {300});
  takes(">300", {301, 65535, 70000}, {300});
  takes("<=300", {0, 300}, {301});
  takes(">=300", {300, 70000}, {299});
  takes("300<>400", {301, 399}, {300, 400});
}

TEST(NidsRules, DistancesMayBeLong) {
  const Signature rule = one("content:\"a\"; content:\"b\"; distance:-1048576; within:1048576;");
  EXPECT_EQ(rule.contents[1].distance, -1048576);
  EXPECT_EQ(rule.contents[1].within, 1048576);
  for (const std::string place : {"distance:1048577", "distance:-1048577", "within:1048577", "offset:65536"})
    EXPECT_NE(refusal("sid:1; content:\"a\"; content:\"b\"; " + place + ";").find("is neither a number of bytes nor"),
              std::string::npos)
        << place;
}

TEST(NidsRules, WhatMayStandOnce) {
  for (const char* name :
       {"sid:2", "rev:2", "gid:1", "priority:2", "msg:\"a\"", "classtype:a", "dsize:2", "flow:established"})
    EXPECT_EQ(refusal(std::string(name) + "; " + name + "; " + (std::string_view(name) == "sid:2" ? "" : "sid:2;")),
              "f:1: sid 2: it has two of the option " + std::string(name).substr(0, std::string(name).find(':')));
  const std::string why = " (startswith is an offset of 0 and a depth)";
  for (const char* place : {"offset", "depth", "distance", "within"})
    EXPECT_EQ(refusal(format("content:\"a\"; %s:7; nocase; pcre:\"/b/\"; %s:9; sid:2;", place, place)),
              format("f:1: sid 2: a content has two of %s", place) + why);
  EXPECT_EQ(refusal("content:\"a\"; startswith; depth:7; sid:2;"), "f:1: sid 2: a content has two of depth" + why);
  EXPECT_EQ(one("content:\"a\"; depth:7; content:\"b\"; depth:9;").contents[1].depth, 9);
}

// In letters of any case, as Suricata takes them.
TEST(NidsRules, WordsMayBeInAnyCase) {
  const Signature rule =
      one(R"(CONTENT:"AbC"; Nocase; http_URI; urilen:5,RAW; FLOW:To_Server,ESTABLISHED; PRIORITY:0;)",
          "Drop TCP Any ANY -> !10.0.0.1 any");
  EXPECT_EQ(rule.action, Action::drop);
  EXPECT_EQ(rule.protocol, Protocol::tcp);
  EXPECT_EQ(rule.flow_has, kToServer | kEstablished);
  EXPECT_EQ(rule.priority, 0u);
  ASSERT_EQ(rule.parts.size(), 2u);
  EXPECT_EQ(rule.parts[0].contents[0].bytes, "AbC") << "but what is looked for";
  EXPECT_EQ(rule.parts[1].buffer, Buffer::raw_uri);
  EXPECT_EQ(one("", "alert TCP-pkt any any -> any any").streams, Signature::Streams::never);
}

TEST(NidsRules, HexadecimalDigitsMayStandApart) {
  EXPECT_EQ(one("content:\"|4 1| |4 2 43|\";").contents[0].bytes, "A BC");
  EXPECT_EQ(refusal("sid:1; content:\"|4 1 4|\";"), "f:1: sid 1: content '\"|4 1 4|\"' has half a byte before '|'");
}

TEST(NidsRules, WhatIsNotThereIsNoFastPattern) {
  const Signature rule = one("content:!\"absent\"; fast_pattern; content:\"abc\"; content:\"ab\";");
  EXPECT_EQ(rule.fast_pattern(), "abc");
  EXPECT_TRUE(rule.contents[0].negated);
  EXPECT_EQ(one("content:!\"absent\"; nocase; fast_pattern:1,2;").fast_pattern(), "");
  EXPECT_EQ(refusal("content:!\"absent\"; fast_pattern; content:\"a\"; fast_pattern; sid:1;"),
            "f:1: sid 1: it has two fast patterns");
}

TEST(NidsRules, OfOneSidTheHighestRevisionCounts) {
  const std::string rule = "alert ip any any -> any any (sid:";
  const Read result = read(rule + "1; rev:1;)\n" + rule + "2;)\n" + rule + "1; rev:3;)\n" + rule + "1; rev:2;)\n" +
                           rule + "2; rev:0;)\n" + rule + "1; rev:4;)\n" + rule + "2; rev:9; none;)\n");
  EXPECT_EQ(result.errors,
            (std::vector<std::string>{"f:4: sid 1: is that of line 3 already", "f:5: sid 2: is that of line 2 already",
                                      "f:7: sid 2: the option 'none' is not supported"}));
  ASSERT_EQ(result.set.rules.size(), 2u);
  EXPECT_EQ(result.set.rules[0].line, 2u);
  EXPECT_EQ(result.set.rules[1].line, 6u);
  EXPECT_EQ(result.set.rules[1].revision, 4u);
  ASSERT_EQ(result.set.outdated.size(), 2u);
  EXPECT_EQ(text_of(2, result.set.outdated[0]), "2 rules (line 1, sid 1; ...)");
}

TEST(NidsRules, TheSidsOfEachGidAreTheirOwn) {
  const std::string rule = "alert ip any any -> any any (";
  const std::string text = rule + "sid:1; rev:1;)\n" + rule + "sid:1; gid:5; rev:2;)\n" + rule + "gid:1; sid:1;)\n" +
                           rule + "gid:5; sid:1; rev:3;)\n" + rule + "gid:5; sid:1;)\n" + rule + "gid:0; sid:1;)\n" +
                           rule + "gid:5; sid:2; none;)\n" + rule + "gid:5; sid:3; flowbits:isset,b;)\n";
  const Read refused = read(text), skipped = read(text, true);
  const std::vector<std::string> twice = {"f:3: sid 1: is that of line 1 already",
                                          "f:5: gid 5, sid 1: is that of line 4 already"};
  const std::string unsupported = "f:7: gid 5, sid 2: the option 'none' is not supported";
  EXPECT_EQ(refused.errors, (std::vector<std::string>{twice[0], twice[1], unsupported}));
  EXPECT_EQ(skipped.errors, twice);
  EXPECT_EQ(texts(skipped.set), std::vector<std::string>{unsupported});
  EXPECT_EQ(summary_of(skipped.set.unsupported), "1: the option 'none' is not supported (line 7, gid 5, sid 2)\n");
  ASSERT_EQ(skipped.set.rules.size(), 4u);
  EXPECT_EQ(skipped.set.rules[0].name(), "sid 1");
  EXPECT_EQ(skipped.set.rules[1].line, 4u);
  EXPECT_EQ(skipped.set.rules[2].name(), "gid 0, sid 1");
  EXPECT_EQ(unset_bits(skipped.set.rules), "1 bit for which rules ask (b: line 8, gid 5, sid 3)");
  ASSERT_EQ(skipped.set.outdated.size(), 1u);
  EXPECT_EQ(text_of(1, skipped.set.outdated[0]), "1 rule (line 2, gid 5, sid 1)");
}

// Rules whose contents never fit into what dsize allows are none.
TEST(NidsRules, SizesLeaveRoomForContents) {
  const std::pair<const char*, int> cases[] = {
      {"content:\"abc\";", 3},
      {"content:\"abc\"; offset:2;", 5},
      {"content:\"abc\"; content:\"de\"; distance:2;", 7},
      {"content:\"abc\"; content:\"de\"; distance:-9; content:\"f\"; distance:0;", 3},
      {"content:\"ab\"; byte_test:1,>,5,0,relative; content:!\"xyz\"; content:\"c\"; distance:0;", 3},
      {"content:\"abcd\"; pcre:\"/x/\"; content:\"e\"; distance:2;", 4},
      {"byte_extract:1,0,n; content:\"ab\"; offset:n; content:\"c\"; distance:n;", 3},
      {"content:\"ab\"; byte_jump:1,0; content:\"c\"; distance:1;", 2},
  };
  for (const auto& [contents, least] : cases) {
    EXPECT_EQ(one(format("%s dsize:%d;", contents, least)).least_payload(), least) << contents;
    for (const std::string& size : {format("<%d", least), format("%d", least - 1), format("<=%d", least - 1)})
      EXPECT_EQ(refusal(format("sid:1; dsize:%s; %s", size.c_str(), contents)),
                format("f:1: sid 1: its contents want a payload of %d bytes at least, but dsize allows %d at most",
                       least, least - 1));
  }
  EXPECT_EQ(one("content:\"abc\"; dsize:!2; content:!\"d\";").contents.size(), 2u);
  EXPECT_EQ(one("content:!\"abc\"; dsize:2;").least_payload(), 0);
}

}  // namespace
}  // namespace heddle::nids
