// Options that ask for fields, bytes in their places, flows, bits, and how often there is a match.

#include <gtest/gtest.h>

#include "core/error.h"
#include "functions/nids/rules_for_test.h"

namespace heddle::nids {
namespace {

TEST(NidsRules, ReadThresholds) {
  using Type = Threshold::Type;
  using Track = Threshold::Track;
  const std::tuple<const char*, Type, Track, uint32_t, uint32_t> cases[] = {
      {"threshold: type limit, track by_src, count 1, seconds 60;", Type::limit, Track::source, 1, 60},
      {"threshold:type threshold,track by_dst,count 10,seconds 1;", Type::threshold, Track::destination, 10, 1},
      {"threshold: track by_both, seconds 7, count 4294967295, type both;", Type::both, Track::both, UINT32_MAX, 7},
      {"detection_filter: track by_rule, count 15, seconds 2;", Type::filter, Track::rule, 15, 2},
  };
  for (const auto& [text, type, track, count, seconds] : cases) {
    const Threshold threshold = one(text).threshold;
    EXPECT_EQ(threshold.type, type) << text;
    EXPECT_EQ(threshold.track, track) << text;
    EXPECT_EQ(threshold.count, count) << text;
    EXPECT_EQ(threshold.seconds, seconds) << text;
  }
  EXPECT_EQ(one("").threshold.type, Type::none);
  EXPECT_NE(
      refusal("threshold: type limit, track by_src, count 1; sid:2;").find("needs type, track, count and seconds"),
      std::string::npos);
  EXPECT_NE(refusal("detection_filter: count 1, seconds 2; sid:2;").find("needs track, count and seconds"),
            std::string::npos);
  for (const char* part : {"count 0", "seconds 0", "track by_flow", "type backoff", "count x", "colour red", ""}) {
    const std::string problem = std::string("threshold has '") + part + "', which is not supported";
    EXPECT_EQ(refusal("threshold: " + std::string(part) + ", track by_src; sid:2;"), "f:1: sid 2: " + problem);
  }
  const std::string whole = "threshold: type limit, track by_src, count 1, seconds 1";
  for (const char* part : {"type both", "type limit", "track by_dst", "count 7", "count 1", "seconds 2"}) {
    const std::string word(part, std::string_view(part).find(' '));
    EXPECT_EQ(refusal(whole + ", " + part + "; sid:2;"), "f:1: sid 2: threshold has two of '" + word + "'");
  }
  EXPECT_EQ(refusal("detection_filter: track by_src, count 1, count 1, seconds 1; sid:2;"),
            "f:1: sid 2: detection_filter has two of 'count'");
  EXPECT_NE(refusal("detection_filter: type limit, track by_src, count 1, seconds 1; sid:2;").find("'type limit'"),
            std::string::npos);
  EXPECT_NE(refusal("detection_filter: track by_src, count 1, seconds 1; threshold: type limit, track by_src, count 1, "
                    "seconds 1; sid:2;")
                .find("two of threshold and detection_filter"),
            std::string::npos);
}

TEST(NidsRules, ReadFields) {
  const auto takes = [](const char* option, Field field, std::vector<uint32_t> in, std::vector<uint32_t> out) {
    const Signature rule = one(std::string(option) + ";");
    ASSERT_EQ(rule.fields.size(), 1u) << option;
    EXPECT_EQ(rule.fields[0].field, field) << option;
    for (const uint32_t value : in) EXPECT_TRUE(rule.fields[0].values.contains(value)) << option << " " << value;
    for (const uint32_t value : out) EXPECT_FALSE(rule.fields[0].values.contains(value)) << option << " " << value;
  };
  takes("ttl:64", Field::ttl, {64}, {63, 65});
  takes("ttl:!64", Field::ttl, {0, 63, 65, 255}, {64, 256});
  takes("ttl:1<>4", Field::ttl, {2, 3}, {1, 4});
  takes("ttl: 1 - 4", Field::ttl, {2, 3}, {1, 4});
  takes("tos:x18", Field::tos, {24}, {18});
  takes("id:<=3", Field::id, {0, 3}, {4});
  takes("id:=3", Field::id, {3}, {2, 4});
  takes("ttl:!=3", Field::ttl, {2, 4}, {3});
  takes("id:0x10", Field::id, {16}, {10});
  takes("fragoffset:>0", Field::fragment_offset, {1, 8191}, {0});
  takes("ip_proto:!PIM", Field::ip_protocol, {0, 102, 104}, {103});
  takes("ip_proto:88", Field::ip_protocol, {88}, {87, 89});
  takes("sameip", Field::same_addresses, {1}, {0});
  takes("tcp.seq:4294967295", Field::sequence, {UINT32_MAX}, {0});
  takes("ack:>=4294967295", Field::acknowledgement, {UINT32_MAX}, {0});
  takes("window:<1", Field::window, {0}, {1});
  takes("itype:3", Field::icmp_type, {3}, {4});
  takes("icode:>4", Field::icmp_code, {5, 255}, {4});
  takes("icmp_id:7", Field::icmp_id, {7}, {8});
  takes("icmp_seq:65535", Field::icmp_sequence, {65535}, {0});
  takes("fragbits:M", Field::fragment_bits, {1}, {0, 3});
  takes("fragbits: !MD", Field::fragment_bits, {0, 1, 2, 4}, {3, 7});
  takes("fragbits:D+", Field::fragment_bits, {2, 3, 6}, {0, 1, 5});
  takes("fragbits:*MR", Field::fragment_bits, {1, 4, 7}, {0, 2});
  takes("flags:S", Field::tcp_flags, {2}, {0, 18, 66});
  takes("flags:S,12", Field::tcp_flags, {2, 66, 130, 194}, {18});
  takes("flags:S,CE", Field::tcp_flags, {2, 66, 130, 194}, {18});
  takes("tcp.flags:SA+", Field::tcp_flags, {18, 19, 255}, {2, 16});
  takes("flags: *FSR , U", Field::tcp_flags, {1, 2, 4, 36}, {0, 32, 8});
  takes("flags:!SA", Field::tcp_flags, {0, 2, 16}, {18, 255});
  takes("flags:0", Field::tcp_flags, {0}, {1});
  takes("flags:!0", Field::tcp_flags, {1, 255}, {0});
  EXPECT_EQ(one("ip_proto:!6; ip_proto:!17;").fields.size(), 2u);
  EXPECT_TRUE(one("content:\"a\"; ip_proto:6;").reads_streams());
  EXPECT_FALSE(one("content:\"a\"; flags:A;").reads_streams()) << "only packets have headers";
  EXPECT_TRUE(one("noalert;").silent);
  EXPECT_EQ(one("content:\"a\"; rawbytes; target:src_ip;").contents.size(), 1u);
}

TEST(NidsRules, FieldsThatAreWrong) {
  const std::string form = ", !N, <N, >N, <=N, >=N, A<>B or A-B";
  const std::pair<const char*, std::string> cases[] = {
      {"ttl:256", "ttl '256' is not a number, 0 to 255" + form},
      {"ttl:", "ttl '' is not a number, 0 to 255" + form},
      {"ttl:==1", "ttl '==1' is not a number, 0 to 255" + form},
      {"ttl:=!1", "ttl '=!1' is not a number, 0 to 255" + form},
      {"ttl:!", "ttl '!' is not a number, 0 to 255" + form},
      {"ttl:1<>x", "ttl '1<>x' is not a number, 0 to 255" + form},
      {"id:-1", "id '-1' is not a number, 0 to 65535" + form},
      {"id:\"1\"", "id '\"1\"' is not a number, 0 to 65535" + form},
      {"seq:4294967296", "seq '4294967296' is not a number, 0 to 4294967295" + form},
      {"ip_proto:none", "ip_proto 'none' is not a number, 0 to 255" + form},
      {"itype:tcp", "itype 'tcp' is not a number, 0 to 255" + form},
      {"ttl:3<>4", "ttl '3<>4' leaves nothing between"},
      {"ttl:4-3", "ttl '4-3' leaves nothing between"},
      {"icode:<0", "icode '<0' matches nothing"},
      {"window:>65535", "window '>65535' matches nothing"},
      {"sameip:1", "sameip has no value"},
      {"noalert:1", "noalert has no value"},
      {"target:me", "target 'me' is neither src_ip nor dest_ip"},
  };
  for (const auto& [option, why] : cases)
    EXPECT_EQ(refusal("sid:2; " + std::string(option) + ";"), "f:1: sid 2: " + why);
  for (const std::string flags : {"", "X", "s", "+!S", "SA,", "S,0", "S,A,P", "S0", "++S", "!"})
    EXPECT_EQ(refusal("sid:2; flags:" + flags + ";"),
              "f:1: sid 2: flags '" + flags +
                  "' is not letters of FSRPAUEC12, or 0, with at most one of + * ! and "
                  "perhaps a comma and letters that do not matter");
  EXPECT_EQ(refusal("sid:2; flags:S,S;"), "f:1: sid 2: flags 'S,S' matches nothing");
  EXPECT_EQ(refusal("sid:2; flags:*0;"), "f:1: sid 2: flags '*0' matches nothing");
  for (const std::string bits : {"", "X", "0", "M,D", "+!M"})
    EXPECT_EQ(refusal("sid:2; fragbits:" + bits + ";"),
              "f:1: sid 2: fragbits '" + bits + "' is not letters of MDR, with at most one of + * !");
}

TEST(NidsRules, ReadProbes) {
  using Kind = Probe::Kind;
  const auto probe = [](const std::string& text) {
    const Signature rule = one("content:\"a\"; byte_extract:1,0,x; byte_extract:1,1,y.2; " + text + ";");
    EXPECT_EQ(rule.contents.size(), 4u) << text;
    return rule.contents.back();
  };
  Content content = probe("isdataat: !30 , relative , rawbytes");
  ASSERT_TRUE(content.probe);
  EXPECT_TRUE(content.probe->kind == Kind::data_at && content.probe->negated && content.relative);
  EXPECT_EQ(content.probe->offset.number, 30);
  content = probe("isdataat:x");
  EXPECT_TRUE(content.probe->offset.variable == 0 && !content.probe->negated && !content.relative);
  content = probe("byte_test:4,!>=,0xffffffffffffffff,-3,relative,little,bitmask 0xFF00");
  EXPECT_TRUE(content.probe->kind == Kind::test && content.probe->negated && content.relative && content.probe->little);
  EXPECT_EQ(content.probe->compare, Probe::Compare::at_least);
  EXPECT_EQ(static_cast<uint64_t>(content.probe->value.number), UINT64_MAX);
  EXPECT_EQ(content.probe->bytes.number, 4);
  EXPECT_EQ(content.probe->offset.number, -3);
  EXPECT_EQ(content.probe->mask, 0xff00u);
  content = probe("byte_test: x, ! , y.2 , x");
  EXPECT_TRUE(content.probe->negated && content.probe->compare == Probe::Compare::equal);
  EXPECT_TRUE(content.probe->bytes.variable == 0 && content.probe->value.variable == 1);
  EXPECT_EQ(content.probe->offset.variable, 0);
  EXPECT_EQ(probe("byte_test:1,=,010,0").probe->value.number, 8);
  content = probe("byte_test:23,^,1,0,string,oct");
  EXPECT_TRUE(content.probe->text && content.probe->base == 8);
  EXPECT_EQ(content.probe->compare, Probe::Compare::differs);
  content = probe("byte_jump:0,0,from_end,post_offset -8");
  EXPECT_TRUE(content.probe->kind == Kind::jump && content.probe->from == Probe::From::end);
  EXPECT_EQ(content.probe->post_offset, -8);
  content = probe("byte_jump:2,1,relative,multiplier 4,align,from_beginning,big");
  EXPECT_TRUE(content.probe->multiplier == 4 && content.probe->align == 4 && content.relative);
  EXPECT_EQ(content.probe->from, Probe::From::beginning);
  content = probe("byte_extract:20,2,z,string,dec,multiplier 2,align 2");
  EXPECT_TRUE(content.probe->kind == Kind::extract && content.probe->variable == 2 && content.probe->align == 2);
  const Signature rule =
      one("byte_extract:1,0,n; content:\"a\"; offset:n; depth:n; content:\"bc\"; distance:n; within:n; "
          "isdataat:1,relative; nocase;");
  EXPECT_EQ(rule.fast_pattern(), "bc");
  EXPECT_TRUE(rule.contents[1].offset_variable == 0 && rule.contents[1].depth_variable == 0);
  EXPECT_TRUE(rule.contents[2].distance_variable == 0 && rule.contents[2].within_variable == 0);
  EXPECT_TRUE(rule.contents[2].relative && rule.contents[2].nocase && rule.reads_streams());
  EXPECT_EQ(one("byte_test:1,=,0,0;").fast_pattern(), "");
  EXPECT_FALSE(one("content:\"a\"; isdataat:!1,relative;").reads_streams());
  EXPECT_FALSE(one("content:\"a\"; byte_jump:1,0,from_end;").reads_streams());
}

TEST(NidsRules, ProbesThatAreWrong) {
  const std::pair<std::string, const char*> cases[] = {
      {"isdataat:", "has '', which is not a number of bytes, 0 to 65535"},
      {"isdataat:-1", "has '-1', which is not a number of bytes, 0 to 65535"},
      {"isdataat:65536", "has '65536', which is not a number of bytes, 0 to 65535"},
      {"isdataat:5,rel", "has 'rel', not relative or rawbytes"},
      {"isdataat:n", "has 'n', which no byte_extract before it has read"},
      {"byte_test:1,>,5", "is not BYTES, OPERATOR, VALUE, OFFSET and options"},
      {"byte_test:9,>,5,0", "has '9', which is not a number of bytes, 0 to 8"},
      {"byte_test:24,>,5,0,string,dec", "has '24', which is not a number of bytes, 0 to 23"},
      {"byte_jump:0,5,string", "has '0', which is not a number of bytes, 1 to 23"},
      {"byte_test:1,==,5,0", "has '==', which is none of = < > <= >= & ^, or one of them behind !"},
      {"byte_test:1,,5,0", "has '', which is none of = < > <= >= & ^, or one of them behind !"},
      {"byte_test:1,=,-5,0", "has '-5' for a value"},
      {"byte_test:1,=,18446744073709551616,0", "has '18446744073709551616' for a value"},
      {"byte_test:1,=,n,0", "has 'n', which no byte_extract before it has read"},
      {"byte_test:1,=,5,65536", "has '65536', which is not an offset, -65535 to 65535"},
      {"byte_test:1,=,5,0,hex", "has a base of numbers, but not 'string'"},
      {"byte_test:1,=,5,0,string,hex,dec", "has 'dec', which is wrong there"},
      {"byte_test:1,=,5,0,string,big", "has an order of bytes, but numbers in 'string'"},
      {"byte_test:1,=,5,0,little,big", "has 'big', which is wrong there"},
      {"byte_test:1,=,5,0,relative,relative", "has two of 'relative'"},
      {"byte_test:1,=,5,0,bitmask 0", "has 'bitmask 0', which is wrong there"},
      {"byte_test:1,=,5,0,dce", "has 'dce', which is not supported"},
      {"byte_test:1,=,5,0,align", "has 'align', which is not supported"},
      {"byte_jump:1", "is not BYTES, OFFSET and options"},
      {"byte_jump:1,0,multiplier 0", "has 'multiplier 0', which is wrong there"},
      {"byte_jump:1,0,align 4", "has 'align 4', which is wrong there"},
      {"byte_jump:1,0,from_end,from_beginning", "has 'from_beginning', which is wrong there"},
      {"byte_jump:1,0,post_offset x", "has 'post_offset x', which is wrong there"},
      {"byte_jump:1,0,bitmask 0x3", "has 'bitmask', which is not supported"},
      {"byte_extract:1,0", "is not BYTES, OFFSET, NAME and options"},
      {"byte_extract:1,0,1n", "has '1n', which is no name"},
      {"byte_extract:1,0,n,align 3", "has 'align 3', which is wrong there"},
      {"byte_extract:15,0,n,string,hex", "has '15', which is not a number of bytes, 1 to 14"},
      {"byte_extract:1,0,n,slice", "has 'slice', which is not supported"},
  };
  for (const auto& [option, why] : cases) {
    const size_t colon = option.find(':');
    EXPECT_EQ(refusal("sid:2; " + option + ";"),
              "f:1: sid 2: " + option.substr(0, colon) + " '" + option.substr(colon + 1) + "' " + why);
  }
  EXPECT_EQ(refusal("sid:2; byte_extract:1,0,n; byte_extract:1,1,n;"),
            "f:1: sid 2: byte_extract '1,1,n' reads the variable 'n', which another has read");
  EXPECT_EQ(refusal("sid:2; byte_extract:1,0,n; byte_extract:1,n,m;"),
            "f:1: sid 2: byte_extract '1,n,m' has a variable for the offset");
  EXPECT_EQ(
      refusal("sid:2; content:\"a\"; distance:n;"),
      "f:1: sid 2: distance 'n' is neither a number of bytes nor a variable that a byte_extract before it has read");
  EXPECT_EQ(refusal("sid:2; byte_extract:1,0,n; content:\"a\"; offset:n; within:3;"),
            "f:1: sid 2: content 'a' has offset or depth, and distance or within");
  std::string many;
  for (int n = 0; n <= 8; ++n) many += format("byte_extract:1,0,n%d; ", n);
  EXPECT_EQ(refusal("sid:2; " + many), "f:1: sid 2: it has more than 8 variables");
}

TEST(NidsRules, ReadFlows) {
  using Streams = Signature::Streams;
  const std::tuple<const char*, int, int, Streams> cases[] = {
      {"to_server", kToServer, 0, Streams::too},
      {"from_client", kToServer, 0, Streams::too},
      {"to_client", kToClient, 0, Streams::too},
      {"from_server", kToClient, 0, Streams::too},
      {"established", kEstablished, 0, Streams::too},
      {"not_established", 0, kEstablished, Streams::too},
      {"stateless", 0, 0, Streams::too},
      {"no_stream", 0, 0, Streams::never},
      {"only_stream", 0, 0, Streams::only},
      {"established,to_server", kEstablished | kToServer, 0, Streams::too},
      {" from_server , established ", kEstablished | kToClient, 0, Streams::too},
      {"not_established,no_stream,to_client", kToClient, kEstablished, Streams::never},
      {"to_server,stateless,only_stream", kToServer, 0, Streams::only},
  };
  for (const auto& [text, has, lacks, streams] : cases) {
    const Signature rule = one(std::string("content:\"a\"; flow:") + text + ";");
    EXPECT_EQ(rule.flow_has, has) << text;
    EXPECT_EQ(rule.flow_lacks, lacks) << text;
    EXPECT_EQ(rule.streams, streams) << text;
    EXPECT_EQ(rule.reads_streams(), streams != Streams::never) << text;
  }
  const auto asks = [](const char* flow, const char* protocol) {
    const Signature rule =
        one(std::string("flow:") + flow + ";", std::string("alert ") + protocol + " any any -> any any");
    std::string all;
    for (const auto& [of, letter] : {std::pair{Protocol::tcp, 't'}, {Protocol::udp, 'u'}, {Protocol::icmp, 'i'}})
      if (rule.asks_all(of)) all += letter;
    return (rule.asks_flow() ? "flow " : "") + all;
  };
  EXPECT_EQ(asks("established,to_server", "tcp"), "flow ");
  EXPECT_EQ(asks("not_established", "tcp"), "flow ");
  EXPECT_EQ(asks("to_server", "tcp"), "flow t");
  EXPECT_EQ(asks("not_established,to_client", "tcp"), "flow t");
  EXPECT_EQ(asks("established", "udp"), "flow u");
  EXPECT_EQ(asks("established", "ip"), "flow ui");
  EXPECT_EQ(asks("to_client", "ip"), "flow tui");
  EXPECT_EQ(asks("stateless,no_stream", "ip"), "");
}

TEST(NidsRules, ReadBits) {
  using Kind = BitOption::Kind;
  using Of = BitOption::Of;
  using Names = std::vector<std::string>;
  const std::tuple<const char*, Kind, Of, Names, uint32_t> cases[] = {
      {"flowbits:set,a.b", Kind::set, Of::flow, {"a.b"}, 30},
      {"flowbits: unset, a ", Kind::unset, Of::flow, {"a"}, 30},
      {"flowbits:toggle,a", Kind::toggle, Of::flow, {"a"}, 30},
      {"flowbits:isset,a|b | c", Kind::is_set, Of::flow, {"a", "b", "c"}, 30},
      {"flowbits:isnotset,a", Kind::is_not_set, Of::flow, {"a"}, 30},
      {"xbits:set,a,track ip_src", Kind::set, Of::source, {"a"}, 30},
      {"xbits:isset, a|b, track ip_dst, expire 10", Kind::is_set, Of::destination, {"a|b"}, 10},
      {"xbits:toggle,a,track ip_pair,expire 4294967295", Kind::toggle, Of::pair, {"a"}, UINT32_MAX},
  };
  for (const auto& [text, kind, of, names, seconds] : cases) {
    const Signature rule = one(std::string(text) + ";");
    ASSERT_EQ(rule.bits.size(), 1u) << text;
    EXPECT_EQ(rule.bits[0].kind, kind) << text;
    EXPECT_EQ(rule.bits[0].of, of) << text;
    EXPECT_EQ(rule.bits[0].names, names) << text;
    EXPECT_EQ(rule.bits[0].seconds, seconds) << text;
    EXPECT_EQ(rule.asks_flow(), of == Of::flow) << text;
    EXPECT_FALSE(rule.asks_all(Protocol::tcp)) << "SYNs are enough";
  }
  EXPECT_TRUE(one("flowbits:noalert;").silent);
  EXPECT_FALSE(one("flowbits:noalert;").asks_flow());
  EXPECT_TRUE(one("flowbits:set,a;", "alert udp any any -> any any").asks_all(Protocol::udp));
  EXPECT_EQ(one("flowbits:isset,a; flowbits:set,b; xbits:set,a,track ip_src;").bits.size(), 3u);
}

TEST(NidsRules, BitsThatAreWrong) {
  const std::string flow = " is not noalert, or one of set, unset, toggle, isset and isnotset, NAME";
  const std::string address =
      " is not one of set, unset, toggle, isset and isnotset, NAME, track ip_src, ip_dst or ip_pair, and perhaps "
      "expire SECONDS";
  const std::pair<std::string, std::string> cases[] = {
      {"flowbits:", flow},
      {"flowbits:Set,a", flow},
      {"flowbits:a", flow},
      {"flowbits:set", " has no name"},
      {"flowbits:isset,|", " has no name"},
      {"flowbits:isset,a b", " has 'a b', which is no name"},
      {"flowbits:isset,c|a b", " has 'a b', which is no name"},
      {"flowbits:unset,a|b", " has several names, which only isset and isnotset may"},
      {"flowbits:set,a,group", " is Snort's, which is not supported"},
      {"flowbits:reset", " is Snort's, which is not supported"},
      {"xbits:set,,track ip_src", " has no name"},
      {"xbits:noalert", address},
      {"xbits:set,a", address},
      {"xbits:clear,a,track ip_src", address},
      {"xbits:set,a,track ip_both", address},
      {"xbits:set,a,ip_src", address},
      {"xbits:set,a,track ip_src,expire 0", address},
      {"xbits:set,a,track ip_src,expire 4294967296", address},
      {"xbits:set,a,track ip_src,expire 1,2", address},
      {"xbits:set,a,track ip_src,for 1", address},
  };
  for (const auto& [option, why] : cases) {
    const size_t colon = option.find(':');
    EXPECT_EQ(refusal("sid:2; " + option + ";"),
              "f:1: sid 2: " + option.substr(0, colon) + " '" + option.substr(colon + 1) + "'" + why);
  }
}

TEST(NidsRules, BitsThatNoRuleSets) {
  const auto unset = [](const std::string& text) { return unset_bits(read(text).set.rules); };
  const std::string head = "alert ip any any -> any any (";
  EXPECT_EQ(unset(head + "flowbits:set,a; sid:1;)\n" + head + "flowbits:isset,a; flowbits:isnotset,b; sid:2;)\n"), "");
  EXPECT_EQ(unset(head + "flowbits:unset,a; sid:1;)\n" + head + "flowbits:isset,a; sid:2;)\n"),
            "1 bit for which rules ask (a: line 2, sid 2)");
  EXPECT_EQ(unset(head + "xbits:toggle,a,track ip_dst; sid:1;)\n" + head +
                  "xbits:isset,a,track ip_src; xbits:isset,a,track ip_pair; flowbits:isset,a|b|c; sid:2;)\n"),
            "4 bits for which rules ask (a: line 2, sid 2; a: line 2, sid 2; b: line 2, sid 2; ...)");
}

TEST(NidsRules, FlowsThatContradictThemselves) {
  const std::pair<const char*, const char*> cases[] = {
      {"to_server,to_client", "flow has 'to_server' and 'to_client'; only one of them can be there"},
      {"to_server, from_client", "flow has 'to_server' and 'from_client'; only one of them can be there"},
      {"established,to_server,not_established",
       "flow has 'established' and 'not_established'; only one of them can be there"},
      {"stateless,established", "flow has 'stateless' and 'established'; only one of them can be there"},
      {"established,established", "flow has 'established' and 'established'; only one of them can be there"},
      {"only_stream,no_stream", "flow has 'only_stream' and 'no_stream'; only one of them can be there"},
      {"only_frag", "flow has 'only_frag', which is not supported"},
      {"established,", "flow has '', which is not supported"},
      {"", "flow has '', which is not supported"},
      {"to_server; flow:established", "it has two of the option flow"},
      {"only_stream", "flow has 'only_stream', but it looks for nothing in a TCP connection as a whole"},
      {"only_stream; content:\"a\"; dsize:1",
       "flow has 'only_stream', but it looks for nothing in a TCP connection as a whole"},
  };
  for (const auto& [text, why] : cases) {
    const Read result = read(std::string("# flows\nalert tcp any any -> any any (flow:") + text + "; sid:7;)\n");
    EXPECT_EQ(result.errors, std::vector<std::string>{std::string("f:2: sid 7: ") + why});
  }
}

}  // namespace
}  // namespace heddle::nids
