#include "functions/nids/rule_file.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"

namespace heddle::nids {
namespace {

struct Read {
  RuleSet set;
  std::vector<std::string> errors;
};

Read read(const std::string& text, bool skip = false) {
  Read result;
  Variables variables;
  result.set = parse_rules("f", text, skip, variables, result.errors);
  return result;
}

std::vector<std::string> texts(const RuleSet& set) {
  std::vector<std::string> list;
  for (const LeftOut& rule : set.unsupported) list.push_back(rule.text);
  return list;
}

Signature one(const std::string& options, const std::string& header = "alert tcp any any -> any any") {
  Read result = read(header + " (" + options + " sid:1;)");
  EXPECT_EQ(result.errors, std::vector<std::string>{});
  EXPECT_EQ(result.set.rules.size(), 1u);
  return result.set.rules.empty() ? Signature{} : result.set.rules[0];
}

std::string refusal(const std::string& options, const std::string& header = "alert tcp any any -> any any") {
  Read result = read(header + " (" + options + ")");
  EXPECT_EQ(result.set.rules.size(), 0u) << options;
  EXPECT_EQ(result.errors.size(), 1u) << options;
  return result.errors.empty() ? "" : result.errors[0];
}

void expect_in(const Ranges& set, std::initializer_list<std::pair<uint32_t, bool>> cases) {
  for (const auto& [value, is_in] : cases) EXPECT_EQ(set.contains(value), is_in) << value;
}

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
  takes("!7", {0, 6, 8, 70000}, {7});
  takes("3-6", {4, 5}, {3, 6});
  takes("300", {300}, {299, 301});
  takes("<300", {0, 299}, {300});
  takes(">300", {301, 65535, 70000}, {300});
  takes("<=300", {0, 300}, {301});
  takes(">=300", {300, 70000}, {299});
  takes("300<>400", {301, 399}, {300, 400});
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

TEST(NidsRules, WhatMayStandOnce) {
  for (const char* name :
       {"sid:2", "rev:2", "gid:2", "priority:2", "msg:\"a\"", "classtype:a", "dsize:2", "flow:established"})
    EXPECT_EQ(refusal(std::string(name) + "; " + name + "; " + (std::string_view(name) == "sid:2" ? "" : "sid:2;")),
              "f:1: sid 2: it has two of the option " + std::string(name).substr(0, std::string(name).find(':')));
  const std::string why = " (startswith is an offset of 0 and a depth)";
  for (const char* place : {"offset", "depth", "distance", "within"})
    EXPECT_EQ(refusal(format("content:\"a\"; %s:7; nocase; pcre:\"/b/\"; %s:9; sid:2;", place, place)),
              format("f:1: sid 2: a content has two of %s", place) + why);
  EXPECT_EQ(refusal("content:\"a\"; startswith; depth:7; sid:2;"), "f:1: sid 2: a content has two of depth" + why);
  EXPECT_EQ(one("content:\"a\"; depth:7; content:\"b\"; depth:9;").contents[1].depth, 9);
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
  for (const std::string wrong : {"!3<>7", "!", "-1", "<>5", "=4", ">=", ""})
    EXPECT_EQ(refusal("sid:1; dsize:" + wrong + ";"),
              "f:1: sid 1: dsize '" + wrong + "' is not a number, !N, <N, >N, <=N, >=N, A<>B or A-B");
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
