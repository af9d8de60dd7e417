#include "functions/nids/rule_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "functions/nids/rules_for_test.h"

namespace heddle::nids {
namespace {

TEST(NidsRules, ReadWhatSnortAndSuricataWrite) {
  const Signature rule =
      one(R"(msg:"a \"page\"\; or two"; content:"GET |2f 41|x"; nocase; offset:4; depth:20; )"
          R"(content:!"ab\"c"; distance:-3; within:9; content:"|3b|\;"; fast_pattern; rev:7; classtype:web-activity; )"
          R"(reference:url,example.org/a; metadata:a b, c d; gid:5; priority:2;)",
          "drop tcp [10.0.0.0/8,!10.1.0.0/16] 80 <> !192.0.2.1 [1024:,!8000:8080]");
  EXPECT_EQ(rule.action, Action::drop);
  EXPECT_EQ(rule.protocol, Protocol::tcp);
  EXPECT_TRUE(rule.both_ways);
  EXPECT_EQ(rule.message, "a \"page\"; or two");
  EXPECT_EQ(rule.classtype, "web-activity");
  EXPECT_EQ(rule.category, "web-activity");
  EXPECT_EQ(rule.generator, 5u);
  EXPECT_EQ(rule.priority, 2u);
  EXPECT_EQ(rule.sid, 1u);
  EXPECT_EQ(rule.revision, 7u);
  ASSERT_EQ(rule.contents.size(), 3u);
  EXPECT_EQ(rule.contents[0].bytes, "GET /Ax");
  EXPECT_TRUE(rule.contents[0].nocase && !rule.contents[0].relative && !rule.contents[0].negated);
  EXPECT_EQ(rule.contents[0].offset, 4);
  EXPECT_EQ(rule.contents[0].depth, 20);
  EXPECT_EQ(rule.contents[1].bytes, "ab\"c");
  EXPECT_TRUE(rule.contents[1].negated && rule.contents[1].relative && !rule.contents[1].nocase);
  EXPECT_EQ(rule.contents[1].distance, -3);
  EXPECT_EQ(rule.contents[1].within, 9);
  EXPECT_EQ(rule.contents[2].bytes, ";;");
  EXPECT_EQ(rule.fast_pattern(), ";;");
  expect_in(rule.sources.ip4, {{0x0a000000, true},
                               {0x0a00ffff, true},
                               {0x0a010000, false},
                               {0x0a01ffff, false},
                               {0x0a020000, true},
                               {0x0b000000, false}});
  EXPECT_FALSE(rule.destinations.ip4.contains(0xc0000201));
  EXPECT_TRUE(rule.destinations.ip4.contains(0xc0000200) && rule.destinations.ip4.contains(0xc0000202));
  expect_in(rule.destination_ports, {{1023, false}, {1024, true}, {7999, true}, {8000, false}, {8081, true}});
  EXPECT_TRUE(rule.source_ports.contains(80) && !rule.source_ports.contains(81));
}

TEST(NidsRules, ReadRegularExpressions) {
  const Signature rule = one(R"(content:"ab"; pcre:"/a\"b\;c\/d/Ri"; nocase; pcre:!"/x\/y/sB";)");
  ASSERT_EQ(rule.contents.size(), 3u);
  EXPECT_TRUE(rule.contents[0].nocase) << "what stands behind a pcre is of the content before it";
  EXPECT_TRUE(rule.contents[1].regex && rule.contents[1].relative && !rule.contents[1].negated);
  EXPECT_TRUE(rule.contents[2].regex && !rule.contents[2].relative && rule.contents[2].negated);
  EXPECT_EQ(rule.fast_pattern(), "ab");
  RegexWorkspace workspace;
  const auto found = [&](const Regex& regex, std::string_view text, uint32_t from, Regex::Match& match) {
    return regex.find({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, from, false, match, workspace);
  };
  Regex::Match match;
  EXPECT_EQ(found(*rule.contents[1].regex, "..A\"B;c/d.", 0, match), Regex::Outcome::found);
  EXPECT_EQ(match.begin, 2u);
  EXPECT_EQ(match.end, 9u);
  EXPECT_EQ(found(*rule.contents[1].regex, "..A\"B;c/d.", 3, match), Regex::Outcome::none);
  EXPECT_EQ(found(Regex("a", "A"), "aaa", 0, match), Regex::Outcome::found);
  EXPECT_EQ(found(Regex("a", "A"), "aaa", 1, match), Regex::Outcome::none) << "only at the start";
  EXPECT_EQ(found(Regex("^$", ""), "", 0, match), Regex::Outcome::found);
  EXPECT_EQ(found(Regex("(a+)+[bc]", ""), std::string(60, 'a'), 0, match), Regex::Outcome::gave_up);
  EXPECT_EQ(one(R"(pcre:"/abc/";)").fast_pattern(), "");
}

TEST(NidsRules, VariablesAndLines) {
  const Read result = read(
      "# alert nothing\n\nipvar HOME [10.0.0.0/8]\nvar OTHER !$HOME\nportvar WEB [80, 8080]\r\n"
      "alert tcp $HOME $WEB -> $OTHER any \\\n  (content:\"a\"; \\\n sid:5;)\nalert ip any any -> $NONE any "
      "(sid:6;)\n");
  ASSERT_EQ(result.set.rules.size(), 1u);
  EXPECT_EQ(result.set.rules[0].line, 6u);
  EXPECT_TRUE(result.set.rules[0].source_ports.contains(8080));
  EXPECT_FALSE(result.set.rules[0].destinations.ip4.contains(0x0a000001));
  EXPECT_EQ(result.errors,
            std::vector<std::string>{"f:9: sid 6: the variable '$NONE' has no value; put 'var NONE VALUE' "
                                     "before the rule, or into VARIABLES"});
}

TEST(NidsRules, AddressesMayBeRanges) {
  const Signature rule = one("", "alert ip [10.0.0.9-10.0.1.2,!10.0.1.0 - 10.0.1.1] any -> any any");
  expect_in(rule.sources.ip4, {{0x0a000008, false},
                               {0x0a000009, true},
                               {0x0a0000ff, true},
                               {0x0a000100, false},
                               {0x0a000101, false},
                               {0x0a000102, true},
                               {0x0a000103, false}});
  EXPECT_EQ(refusal("sid:2;", "alert ip 10.0.0.2-10.0.0.1 any -> any any"),
            "f:1: sid 2: '10.0.0.2-10.0.0.1': the lower address is the larger one");
  EXPECT_EQ(refusal("sid:2;", "alert ip 10.0.0.2- any -> any any"),
            "f:1: sid 2: '10.0.0.2-' is not an IPv4 address, prefix, range (LOW-HIGH) or list of them");
}

TEST(NidsRules, ListsMayBeLong) {  // sorted for each address, they take minutes
  std::string list;
  for (uint32_t i = 0; i < 100'000; ++i) {  // odd ones of 10.0.0.0 to 10.3.13.63, in no order
    const uint32_t address = 2 * (i * 70'001ull % 100'000) + 1;
    list += format("%s10.%u.%u.%u", i == 0 ? "" : ",", address >> 16, address >> 8 & 255, address & 255);
  }
  const Read result = read("ipvar BAD [" + list + "]\nalert ip $BAD any -> [any,![" + list + "]] any (sid:1;)\n");
  EXPECT_EQ(result.errors, std::vector<std::string>{});
  ASSERT_EQ(result.set.rules.size(), 1u);
  const Ranges &sources = result.set.rules[0].sources.ip4, &destinations = result.set.rules[0].destinations.ip4;
  EXPECT_EQ(sources.all().size(), 100'000u);
  EXPECT_EQ(destinations.all().size(), 100'001u);
  expect_in(sources, {{0x0a000000, false}, {0x0a000001, true}, {0x0a030d3f, true}, {0x0a030d40, false}});
  expect_in(destinations, {{0x0a000000, true}, {0x0a000001, false}, {0x0a030d3f, false}, {0x0a030d41, true}});
  // What is named again and again is there once.
  EXPECT_EQ(one("", "alert ip [" + list + "," + list + "] any -> any any").sources.ip4, sources);
}

TEST(NidsRules, EachVariableIsReadOnce) {
  std::string text = "var V0 [10.0.0.0/8,192.0.2.1]\n";
  for (int i = 1; i < 7; ++i) {
    const std::string before = "$V" + std::to_string(i - 1);
    text += "var V" + std::to_string(i) + " [" + before;
    for (int k = 0; k < 40; ++k) text += "," + before;
    text += "]\n";
  }
  const Read result = read(text + "alert ip $V6 any -> !$V6 any (sid:1;)\n");  // 41^6 lists otherwise
  EXPECT_EQ(result.errors, std::vector<std::string>{});
  ASSERT_EQ(result.set.rules.size(), 1u);
  EXPECT_TRUE(result.set.rules[0].sources.ip4.contains(0xc0000201));
  EXPECT_FALSE(result.set.rules[0].destinations.ip4.contains(0xc0000201));
}

TEST(NidsRules, TcpPktIsForPacketsOnly) {
  const auto header = "alert tcp-pkt any any -> any any";
  EXPECT_EQ(one("content:\"a\";", header).streams, Signature::Streams::never);
  EXPECT_EQ(refusal("content:\"a\"; flow:only_stream; sid:2;", header),
            "f:1: sid 2: it is for tcp-pkt, but flow has 'only_stream'");
}

TEST(NidsRules, TcpStreamIsForConnectionsOnly) {
  const auto header = "alert tcp-stream any any -> any any";
  const Signature rule = one("content:\"a\";", header);
  EXPECT_EQ(rule.streams, Signature::Streams::only);
  EXPECT_EQ(rule.protocol, Protocol::tcp);
  EXPECT_TRUE(rule.reads_streams());
  EXPECT_EQ(one("content:\"a\"; flow:only_stream,to_server;", header).streams, Signature::Streams::only);
  EXPECT_EQ(refusal("content:\"a\"; flow:no_stream; sid:2;", header),
            "f:1: sid 2: it is for tcp-stream, but flow has 'no_stream'");
  EXPECT_EQ(refusal("dsize:7; sid:2;", header),
            "f:1: sid 2: it is for tcp-stream, but it looks for nothing in a TCP connection as a whole");
  EXPECT_EQ(refusal("content:\"a\"; flow:only_stream; sid:2;", "alert udp any any -> any any"),
            "f:1: sid 2: flow has 'only_stream', but it looks for nothing in a TCP connection as a whole");
}

TEST(NidsRules, ClasstypesMeanWhatTheirFileSays) {
  std::vector<std::string> errors;
  const Classification classes =
      parse_classification("c",
                           "# comment\n\nconfig classification: web-activity, access to a page, perhaps ,2\r\n"
                           "config classification: other,,9\n",
                           errors);
  EXPECT_EQ(errors, std::vector<std::string>{});
  std::vector<Signature> rules = {one("classtype:web-activity;"), one("classtype:web-activity; priority:1;"),
                                  one("classtype:none-such;"), one("")};
  classify(rules, classes);
  const std::tuple<const char*, uint32_t> wanted[] = {
      {"access to a page, perhaps", 2}, {"access to a page, perhaps", 1}, {"none-such", 0}, {"", 0}};
  for (size_t r = 0; r < rules.size(); ++r)
    EXPECT_EQ((std::tuple<std::string, uint32_t>(rules[r].category, rules[r].priority.value_or(0))), wanted[r]) << r;
  EXPECT_TRUE(parse_classification("c",
                                   "config classification: a,b\nconfig classification: a,b,0\nclassification: a,b,1\n"
                                   "config classification: ,b,1\nconfig classification: a,b,high\n",
                                   errors)
                  .empty());
  ASSERT_EQ(errors.size(), 5u);
  EXPECT_EQ(errors[1],
            "c:2: 'config classification: a,b,0' is not 'config classification: NAME,DESCRIPTION,PRIORITY' (1-255)");
}

TEST(NidsRules, CommentsEndWithTheirLines) {
  const Read result =
      read("# note \\\nalert ip any any -> any any (sid:1;)\n  #\\\nalert ip any any -> any any (sid:2;)");
  EXPECT_EQ(result.errors, std::vector<std::string>{});
  EXPECT_EQ(result.set.rules.size(), 2u);
}

TEST(NidsRules, WhatIsNotSupportedIsListed) {
  const std::string text =
      "alert tcp any any -> any any (content:\"a\"; filemagic:\"/a;b/\"; sid:1;)\n"
      "alert sip any any -> any any (content:\"a\"; sid:2;)\n"
      "alert sctp any any -> any any (content:\"a\"; sid:3;)\n"
      "alert ip any any -> any any (content:\"a\"; sid:4;)\n"
      "alert ip any any -> any any (flowbits:set,a|b; sid:5;)\n"
      "alert tcp any any -> any any (content:!\"a,\\\"b\", offset 0; sid:6;)\n"
      "log tcp any any -> any any (sid:7;)\n";
  const std::string protocols =
      "is not supported: ip, any, ipv4, ipv6, tcp, tcp-pkt, tcp-stream, udp, icmp, icmpv4, icmpv6, http, smtp, ftp, "
      "ssh, smb, tls and dns are";
  const std::vector<std::string> list = {"f:1: sid 1: the option 'filemagic' is not supported",
                                         "f:2: sid 2: protocol 'sip' " + protocols,
                                         "f:3: sid 3: protocol 'sctp' " + protocols,
                                         "f:5: sid 5: flowbits 'set,a|b' has several names, which only isset and "
                                         "isnotset may",
                                         "f:6: sid 6: content '\"a,\\\"b\", offset 0' has options behind a comma, "
                                         "as in Snort 3, which is not supported",
                                         "f:7: sid 7: the action 'log' is not supported: alert, pass, drop and reject "
                                         "are"};
  const Read refused = read(text), skipped = read(text, true);
  EXPECT_EQ(refused.errors, list);
  EXPECT_EQ(texts(refused.set), list);
  EXPECT_EQ(skipped.errors, std::vector<std::string>{});
  EXPECT_EQ(texts(skipped.set), list);
  ASSERT_EQ(skipped.set.rules.size(), 1u);
  EXPECT_EQ(skipped.set.rules[0].sid, 4u);
  for (const char* action :
       {"activate", "block", "dynamic", "react", "rewrite", "sdrop", "rejectboth", "rejectdst", "rejectsrc"})
    EXPECT_EQ(read(std::string(action) + " ip any any -> any any (sid:1;)", true).set.unsupported.size(), 1u) << action;
}

TEST(NidsRules, ASummaryHasWhatMostRulesAskFor) {
  std::string text;
  for (int i = 1; i <= 4; ++i)
    text += format("alert ip any any -> any any (flowbits:set,%d|a; sid:%d;)\n", i, i) +
            format("alert tcp any any -> any any (pcre:\"/%d/O\"; sid:%d;)\n", i, 10 + i);
  text += "alert tcp any any -> any any (pcre:\"/a/O\"; sid:15;)\nalert tcp any any -> any any (ipopts:rr;)\n";
  text += "alert ip any any -> any any (content:\"" + std::string(256, 'a') + "\"; sid:20;)\n";
  EXPECT_EQ(
      summary_of(read(text, true).set.unsupported),
      "5: the pcre options 'O' are not supported (line 2, sid 11; line 4, sid 12; line 6, sid 13; ...)\n"
      "4: flowbits that change several bits are not supported (line 1, sid 1; line 3, sid 2; line 5, sid 3; ...)\n"
      "1: contents of more than 255 bytes are not supported (line 11, sid 20)\n"
      "1: the option 'ipopts' is not supported (line 10)\n");
  text.clear();
  for (int i = 1; i <= 23; ++i) text += format("alert ip any any -> any any (x%02d; sid:%d;)\n", i, i);
  const std::string summary = summary_of(read(text, true).set.unsupported);
  EXPECT_EQ(std::ranges::count(summary, '\n'), 21);
  EXPECT_TRUE(summary.starts_with("1: the option 'x01' is not supported (line 1, sid 1)\n")) << summary;
  EXPECT_TRUE(summary.ends_with("... and 3 more\n")) << summary;
}

TEST(NidsRules, MistakesSayWhatIsWrong) {
  EXPECT_EQ(refusal("content:\"a\";"), "f:1: it has no sid");
  EXPECT_EQ(refusal("sid:1; content:\"a;"), "f:1: sid 1: the option 'content:\"a;' has no ';' at its end");
  EXPECT_EQ(refusal("sid:1; content:a;"), "f:1: sid 1: content 'a' is not in quotes");
  EXPECT_EQ(refusal("sid:1; content:\"\";"), "f:1: sid 1: content '\"\"' is empty");
  EXPECT_EQ(refusal("sid:1; content:\"|4|\";"), "f:1: sid 1: content '\"|4|\"' has half a byte before '|'");
  EXPECT_EQ(refusal("sid:1; content:\"|4\";"),
            "f:1: sid 1: content '\"|4\"' has no '|' at the end of its hexadecimal part");
  EXPECT_EQ(refusal("sid:1; content:\"|4x|\";"), "f:1: sid 1: content '\"|4x|\"' has 'x' among hexadecimal digits");
  EXPECT_EQ(refusal("sid:1; nocase;"), "f:1: sid 1: 'nocase' stands before any content");
  EXPECT_EQ(refusal("sid:1; content:\"abc\"; depth:2;"),
            "f:1: sid 1: content 'abc' is longer (3 bytes) than its depth or within");
  EXPECT_EQ(refusal("sid:1; pcre:\"/a(b/\";"),
            "f:1: sid 1: pcre '\"/a(b/\"' is wrong at byte 3: missing closing parenthesis");
  EXPECT_EQ(refusal("sid:1; pcre:\"/a/OiN\";"),
            "f:1: sid 1: pcre '\"/a/OiN\"' has the options 'ON', which are not supported");
  for (const std::string text : {"a", "\"a\"", "\"/a\"", "/a/", "\"/\"", "\"a/i\"", ""})
    EXPECT_EQ(refusal("sid:1; pcre:" + text + ";"), "f:1: sid 1: pcre '" + text + "' is not \"/REGEX/OPTIONS\"");
  EXPECT_EQ(refusal("sid:1; pcre:\"/a/\"; offset:2;"), "f:1: sid 1: 'offset' stands before any content");
  EXPECT_NE(refusal("sid:1; pcre:\"/(*UTF)a/\";").find("is wrong at byte"), std::string::npos);
  EXPECT_NE(refusal("sid:1; pcre:\"/" + std::string(10000, 'a') + "/\";").find("has more than 8192 bytes"),
            std::string::npos);
  EXPECT_EQ(refusal("sid:1; content:\"a\"; depth:2; within:3;"),
            "f:1: sid 1: content 'a' has offset or depth, and distance or within");
  for (const char* place : {"offset:1", "depth:1", "distance:1", "within:1", "startswith"})
    EXPECT_EQ(refusal(format("sid:1; content:!\"a\"; fast_pattern; %s;", place)),
              "f:1: sid 1: content 'a' is negated and asks for a place, so it cannot be the fast pattern");
  EXPECT_EQ(refusal("sid:1; dsize:5<>6;"), "f:1: sid 1: dsize '5<>6' leaves nothing between");
  EXPECT_EQ(refusal("sid:1; dsize:5-6;"), "f:1: sid 1: dsize '5-6' leaves nothing between");
  for (const std::string wrong : {"!3<>7", "!", "-1", "<>5", "==4", "!==4", "=", "=!4", "=4-6", ">=", ""})
    EXPECT_EQ(refusal("sid:1; dsize:" + wrong + ";"),
              "f:1: sid 1: dsize '" + wrong + "' is not a number, =N, !N, !=N, <N, >N, <=N, >=N, A<>B or A-B");
  EXPECT_EQ(refusal("sid:1; dsize:>100; dsize:<20;"), "f:1: sid 1: it has two of the option dsize");
  for (const char* head :
       {"alert tcp [] any -> any any", "alert tcp any any -> any [ ]", "alert tcp any any -> ![] any"})
    EXPECT_EQ(refusal("sid:1;", head), "f:1: sid 1: '[]' is a list of nothing; for anything, write any");
  EXPECT_EQ(refusal("sid:x;"), "f:1: sid 'x' is not a number");
  EXPECT_EQ(refusal("sid:1; gid:x;"), "f:1: sid 1: gid 'x' is not a number");
  for (const std::string wrong : {"high", "2147483648", "-1", ""})
    EXPECT_EQ(refusal("sid:1; priority:" + wrong + ";"),
              "f:1: sid 1: priority '" + wrong + "' is not a number, 0 to 2147483647");
  EXPECT_EQ(refusal("sid:1; content:\"a\"b\";"), "f:1: sid 1: the option 'content:\"a\"b\";' has no ';' at its end");
  EXPECT_EQ(refusal("sid:1;", "lag tcp any any -> any any"),
            "f:1: sid 1: 'lag' is not an action: alert, pass, drop or reject");
  EXPECT_EQ(refusal("sid:1;", "alert tcp any 70000 -> any any"),
            "f:1: sid 1: '70000' is not a port, 0 to 65535, or LOW:HIGH");
  EXPECT_EQ(refusal("sid:1;", "alert tcp any any -> 10.0.0.300 any"),
            "f:1: sid 1: '10.0.0.300' is not an IPv4 address, prefix, range (LOW-HIGH) or list of them");
  EXPECT_EQ(refusal("sid:1;", "alert tcp !any any -> any any"), "f:1: sid 1: '!any' leaves nothing that could match");
  EXPECT_EQ(refusal("sid:1;", "alert tcp any any => any any"),
            "f:1: sid 1: expected -> or <> between source and destination, not '=>'");
  EXPECT_EQ(read("alert").errors,
            std::vector<std::string>{"f:1: 'alert' is not a rule: expected ACTION PROTOCOL SOURCE "
                                     "PORTS -> DESTINATION PORTS (OPTIONS)"});
  EXPECT_EQ(read("alert ip any any -> any any (sid:1;)\nalert ip any any -> any any (sid:1;)").errors,
            std::vector<std::string>{"f:2: sid 1: is that of line 1 already"});
  EXPECT_EQ(
      read("var X $X\nalert ip $X any -> any any (sid:1;)").errors,
      std::vector<std::string>{"f:2: sid 1: lists or variables are nested more than 16 deep, or name themselves"});
  std::string many;
  for (int i = 0; i < 150; ++i) many += "x\n";
  const auto errors = read(many).errors;
  ASSERT_EQ(errors.size(), 101u);
  EXPECT_EQ(errors.back(), "f: ... and 50 more");
}

}  // namespace
}  // namespace heddle::nids
