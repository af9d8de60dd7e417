// The elements in chains, on every backend, against an oracle; rule files are tested in rule_*_test.cc.

#include "functions/nids/nids.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "functions/nids/packets_for_test.h"
#include "functions/nids/rule_file.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using namespace nids;

HEDDLE_ON_EVERY_BACKEND(NidsTest);

/** Payloads of any length with pieces of the rules' contents in them, headers of all kinds, some broken. */
std::vector<Frame> packets_for(std::mt19937& random, const std::vector<OracleRule>& rules, size_t count) {
  constexpr int kProtocols[] = {6, 6, 6, 17, 17, 1, 47};
  std::vector<Frame> frames;
  while (frames.size() < count) {
    // Long ones have few places where a content can be: the oracle tries all ways.
    const bool is_long = random() % 8 == 0;
    std::string payload = random_bytes(random, is_long ? random() % 3000 : random() % 120);
    if (is_long || random() % 2 == 0)
      for (char& c : payload) c = 'x';
    for (size_t pieces = random() % 4; pieces > 0; --pieces) {
      const OracleRule& rule = rules[random() % rules.size()];
      const std::string& part = rule.contents[random() % rule.contents.size()].bytes;
      if (!part.empty() && part.size() < payload.size())
        payload.replace(random() % (payload.size() - part.size()), part.size(), part);
    }
    frames.push_back(packet_with(kProtocols[random() % 7], payload, random() % 4, random() % 4, 5 + random() % 4));
    Bytes& bytes = frames.back().bytes;
    if (random() % 10 == 0) put_u16(bytes, kL3 + 6, static_cast<unsigned>(random()));
    bytes[kL3 + 1] = static_cast<uint8_t>(random() % 3), bytes[kL3 + 8] = static_cast<uint8_t>(random() % 4);
    bytes[kL3 + 5] = static_cast<uint8_t>(random() % 3);
    for (size_t at = kL3 + 20; random() % 2 == 0 && at < std::min(bytes.size(), kL3 + 36); ++at)  // ports, data offset
      if (at >= kL3 + 24 && at != kL3 + 32) bytes[at] = static_cast<uint8_t>(random() % 3);
    if (random() % 10 == 0 && bytes.size() > 46) bytes[46] = static_cast<uint8_t>(random());
    if (bytes[kL3 + 9] == 17 && random() % 2 == 0) put_u16(bytes, kL3 + 24, udp_length(random, payload.size()));
    if (random() % 10 == 0) bytes.resize(random() % bytes.size());
    if (random() % 10 == 0) frames.back().headroom = static_cast<int>(random() % 128);
    frames.back().timestamp_ns = frames.size() * 1000;
  }
  return frames;
}

/** What comes out of a chain: by packet, in order. */
struct Outcome {
  std::vector<int64_t> clean, passed, blocked;
  std::vector<std::pair<size_t, unsigned>> alerts;  // packet, sid
  uint64_t too_short = 0;
};

Outcome expected(const std::vector<Frame>& frames, const std::vector<OracleRule>& rules) {
  Outcome outcome;
  for (size_t i = 0; i < frames.size(); ++i) {
    const OraclePacket packet = oracle_packet(frames[i]);
    bool candidate = false, pass = false, block = false;
    std::vector<std::pair<size_t, unsigned>> alerts;
    for (const OracleRule& rule : rules) {
      candidate = candidate || oracle_candidate(rule, packet);
      if (!oracle_matches(rule, packet)) continue;
      pass = pass || rule.action == "pass";
      block = block || rule.action == "drop" || rule.action == "reject";
      alerts.emplace_back(i, rule.sid);
    }
    if (!packet.is_ip) {
      ++outcome.too_short;
    } else if (!candidate) {
      EXPECT_TRUE(alerts.empty()) << "the oracle contradicts itself";
      outcome.clean.push_back(static_cast<int64_t>(i));
    } else {
      (block && !pass ? outcome.blocked : outcome.passed).push_back(static_cast<int64_t>(i));
      if (!pass) outcome.alerts.insert(outcome.alerts.end(), alerts.begin(), alerts.end());
    }
  }
  return outcome;
}

const char* const kSinks = "; ids[0] -> clean :: TestSink; c[0] -> passed :: TestSink; c[1] -> blocked :: TestSink; ";

std::string chain(const TextFile& rules, const TextFile& eve) {
  return "TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + rules.path + ")" + kSinks +
         "ids[1] -> c :: NIDSConfirm(ids, EVE " + eve.path + ");";
}

Outcome outcome_of(const Result& result, const TextFile& eve) {
  Outcome outcome;
  for (const auto& [sink, list] :
       {std::pair{"clean", &outcome.clean}, {"passed", &outcome.passed}, {"blocked", &outcome.blocked}})
    for (const Received& packet : result.at(sink)) list->push_back(packet.serial);
  outcome.too_short = result.drop("ids.short");
  std::ifstream in(eve.path);
  for (std::string line; std::getline(in, line);) {
    const auto json = nlohmann::json::parse(line);
    const std::string when = json["timestamp"];
    const unsigned sid = json["alert"]["signature_id"];
    EXPECT_EQ(json["alert"]["signature"], "rule " + std::to_string(sid));
    EXPECT_EQ(when.substr(0, 20), "1970-01-01T00:00:00.");
    outcome.alerts.emplace_back(std::stoul(when.substr(20, 6)) - 1, sid);
  }
  return outcome;
}

TEST_P(NidsTest, FindsWhatTheOracleFinds) {
  auto random = random_for("nids");
  const TextFile file("rules"), eve("eve");
  for (const size_t count : {1u, 5u, 100u}) {
    std::vector<OracleRule> rules;
    while (rules.size() < count) {
      rules.push_back(random_rule(random, static_cast<unsigned>(rules.size()) + 1));
      if (count < 40 && rules.back().fast_pattern().empty()) rules.pop_back();
    }
    file.write(rules);
    const auto frames = packets_for(random, rules, 400);
    const Outcome wanted = expected(frames, rules);
    for (const std::vector<int>& batches : {std::vector<int>{1024}, {0, 1, 31, 32, 33, 5}}) {
      const Result result = run(chain(file, eve), GetParam(), frames, {.batches = batches});
      const Outcome got = outcome_of(result, eve);
      EXPECT_EQ(got.clean, wanted.clean) << count << " rules";
      EXPECT_EQ(got.passed, wanted.passed) << count << " rules";
      EXPECT_EQ(got.blocked, wanted.blocked) << count << " rules";
      EXPECT_EQ(got.alerts, wanted.alerts) << count << " rules";
      EXPECT_EQ(got.too_short, wanted.too_short);
      EXPECT_EQ(result.statistics.at("c.alerts"), wanted.alerts.size());
    }
  }
}

// Options that look at bytes in a place, alone and one behind the other, where contents are short and often there.
TEST_P(NidsTest, LooksAtBytesAsTheOracleDoes) {
  auto random = random_for("nids probes");
  const TextFile file("rules"), eve("eve");
  std::map<std::string, std::set<unsigned>> alerting;  // by option
  for (int round = 0; round < 3; ++round) {
    std::vector<OracleRule> rules(60);
    for (OracleRule& rule : rules) {
      rule.sid = static_cast<unsigned>(&rule - rules.data()) + 1, rule.protocol = "udp";
      rule.contents.push_back({.bytes = random() % 2 == 0 ? "ab" : "a"});
      int variables = 0;
      for (size_t probes = 1 + random() % 3; probes > 0; --probes)
        rule.contents.push_back(random_probe(random, variables));
      if (random() % 2 == 0) {
        rule.contents.push_back({.bytes = "b", .nocase = true, .relative = random() % 2 == 0});
        if (variables > 0 && rule.contents.back().relative)
          rule.contents.back().distance_variable = static_cast<int>(random() % static_cast<unsigned>(variables));
        else if (variables > 0)
          rule.contents.back().offset_variable = static_cast<int>(random() % static_cast<unsigned>(variables));
        if (rule.contents.back().relative && variables > 0) rule.contents.back().within_variable = 0;
      }
    }
    file.write(rules);
    std::vector<Frame> frames;
    for (size_t i = 0; i < 400; ++i) {
      std::string payload = random_bytes(random, random() % 60);
      for (char& c : payload)
        if (random() % 4 == 0) c = "012 7\0\1\2\3a"[random() % 10];
      frames.push_back(packet_with(17, payload));
      frames.back().timestamp_ns = (i + 1) * 1000;
    }
    const Outcome wanted = expected(frames, rules), got = outcome_of(run(chain(file, eve), GetParam(), frames), eve);
    EXPECT_EQ(got.alerts, wanted.alerts);
    for (const auto& [packet, sid] : wanted.alerts)
      for (const OracleContent& content : rules[sid - 1].contents) alerting[content.probe.option].insert(sid);
  }
  for (const char* option : {"isdataat", "byte_test", "byte_jump", "byte_extract"})
    EXPECT_GT(alerting[option].size(), 12u) << option;
}

// Without output 1 all packets go on, and the same alerts come of them, by what a GPU tells the host.
TEST_P(NidsTest, MonitorsAsTheOracleFinds) {
  auto random = random_for("nids monitor");
  const TextFile file("rules"), eve("eve");
  std::vector<OracleRule> rules;
  while (rules.size() < 80) {
    rules.push_back(random_rule(random, static_cast<unsigned>(rules.size()) + 1));
    if (rules.back().action != "pass") rules.back().action = "alert";
    if (rules.back().fast_pattern().empty()) rules.pop_back();
  }
  file.write(rules);
  const auto frames = packets_for(random, rules, 1000);
  const Outcome wanted = expected(frames, rules);
  std::map<unsigned, size_t> wanted_counts, counts;
  for (const auto& [packet, sid] : wanted.alerts) ++wanted_counts[sid];
  const std::string chain =
      "TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + file.path + ", EVE " + eve.path + ") -> out :: TestSink;";
  const Result result = run(chain, GetParam(), frames, {.batches = {0, 1, 31, 32, 33, 5, 200}});
  EXPECT_EQ(result.at("out").size(), wanted.clean.size() + wanted.passed.size());
  for (const Received& packet : result.at("out"))
    EXPECT_EQ(packet.bytes, frames[static_cast<size_t>(packet.serial)].bytes);
  std::ifstream in(eve.path);
  for (std::string line; std::getline(in, line);)
    ++counts[nlohmann::json::parse(line)["alert"]["signature_id"].get<unsigned>()];
  EXPECT_EQ(counts, wanted_counts);
  EXPECT_GT(counts.size(), 5u);
  EXPECT_EQ(result.statistics.at("ids.alerts"), wanted.alerts.size());
  EXPECT_EQ(result.statistics.at("ids.events_lost"), 0u);
}

// A pattern at every place of packets of many lengths, so across every border between what threads and lines have; with
// all packets of a tile in use, and few, which gives each several threads.
TEST_P(NidsTest, FindsPatternsAtEveryPlace) {
  const std::string pattern = "0123456789abcdefghijklmnopqrstuv";  // the longest that is not shortened
  const TextFile file("rules"), eve("eve");
  OracleRule rule;
  rule.sid = 1, rule.protocol = "udp";
  rule.contents.push_back({.bytes = "wxyz"});
  OracleRule longest = rule;
  longest.sid = 2, longest.contents[0].bytes = "zyxwvutsrqponmlkjihgfedcba" + std::string("wvutsr");
  file.write({rule, longest});
  std::vector<Frame> frames;
  for (const size_t length : {4u, 40u, 200u, 400u, 700u, 1500u})
    for (size_t at = 0; at + 4 <= length; at += length > 300 && !full() ? 3 : 1)
      for (const OracleRule& which : {rule, longest}) {
        std::string payload(length, '.');
        const std::string& bytes = which.contents[0].bytes;
        if (at + bytes.size() > length) continue;
        frames.push_back(packet_with(17, payload.replace(at, bytes.size(), bytes)));
        frames.back().headroom = static_cast<int>(at % 64);
        // The same with one byte that is wrong.
        payload[at + at % bytes.size()] = '!';
        frames.push_back(packet_with(17, payload));
      }
  for (const std::vector<int>& batches : {std::vector<int>{1024}, {3, 1, 2}}) {
    const Result result = run(chain(file, eve), GetParam(), frames, {.batches = batches});
    ASSERT_EQ(result.at("passed").size(), frames.size() / 2);
    for (size_t i = 0; i < frames.size() / 2; ++i)
      ASSERT_EQ(result.at("passed")[i].serial, static_cast<int64_t>(2 * i));
  }
}

TEST_P(NidsTest, TouchesOnlyWhatItDeclares) {
  const TextFile file("rules");
  OracleRule rule;
  rule.sid = 1, rule.protocol = "ip";
  rule.contents.push_back({.bytes = "A"});
  OracleRule icmp;
  icmp.sid = 2, icmp.protocol = "icmp";
  file.write({rule, icmp});
  AccessOptions options;
  options.outputs = 2;
  options.shape = [](Frame& frame, std::mt19937& random) {
    if (frame.bytes.size() < 38) return;
    constexpr uint8_t kProtocols[] = {6, 17, 1, 47};
    frame.bytes[23] = kProtocols[random() % 4];
    put_u16(frame.bytes, 20, random() % 3 == 0 ? 7 : 0);
  };
  EXPECT_EQ(access_violations("NIDS(" + file.path + ")", GetParam(), options), std::vector<std::string>{});
  options.outputs = 1;
  EXPECT_EQ(access_violations("NIDS(" + file.path + ")", GetParam(), options), std::vector<std::string>{});
}

// Packets are judged by the old rules or by the new ones, and none is lost.
TEST_P(NidsTest, ReplacesItsRulesUnderTraffic) {
  const TextFile file("replaced"), eve("eve");
  OracleRule a, b;
  a.sid = 1, b.sid = 2;
  a.contents.push_back({.bytes = "first"}), b.contents.push_back({.bytes = "second"});
  file.write({a});
  std::vector<Frame> frames;
  for (int i = 0; i < 64; ++i) frames.push_back(packet_with(6, "xxxxx first but not secund"));
  std::atomic<uint64_t> clean{0}, candidates{0};
  Options options;
  options.endless = true;
  options.on_packet = [&](const std::string& sink, const Received&) { ++(sink == "clean" ? clean : candidates); };
  options.meanwhile = [&](Engine& engine) {
    const auto wait_for = [&](const std::atomic<uint64_t>& count) {
      const uint64_t start = count;
      wait_while([&] { return count - start < 64; });
    };
    for (int change = 0; change < 6; ++change) {
      wait_for(change % 2 == 0 ? candidates : clean);
      file.write({change % 2 == 0 ? b : a});
      engine.handlers().write("ids.reload", "");
    }
    std::ofstream(file.path) << "no rule\n";
    EXPECT_THROW(engine.handlers().write("ids.reload", ""), Error);
    wait_for(candidates);
    EXPECT_EQ(engine.handlers().read("ids.rules"), "1");
    const std::string counts = engine.handlers().read("ids.counts");
    EXPECT_TRUE(counts.starts_with("1 ") && counts.ends_with("\n2 0\n")) << counts;
  };
  const Result result =
      run("TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + file.path + ")" + kSinks + "ids[1] -> c :: NIDSConfirm(ids);",
          GetParam(), frames, options);
  EXPECT_EQ(result.dropped, 0u);
}

// So many rules that patterns must be shortened: what is found may be more, never less, and alerts stay the same.
TEST_P(NidsTest, ShortensPatternsOfManyRules) {
  if (!GetParam().on_gpu() || GetParam().by_load) GTEST_SKIP() << "Hyperscan takes half a minute for so many patterns";
  auto random = random_for("many patterns");
  const TextFile file("many"), eve("eve");
  std::vector<OracleRule> rules(2600);
  for (size_t r = 0; r < rules.size(); ++r) {
    rules[r].sid = static_cast<unsigned>(r) + 1;
    std::string bytes;
    for (int b = 0; b < 28; ++b) bytes += static_cast<char>('a' + random() % 26);
    rules[r].contents.push_back({.bytes = bytes});
  }
  file.write(rules);
  std::vector<Frame> frames;
  for (size_t i = 0; i < 300; ++i) {
    std::string payload = rules[random() % rules.size()].contents[0].bytes;
    if (i % 3 == 0) payload[random() % payload.size()] = '!';
    frames.push_back(packet_with(6, "some bytes before " + payload));
    frames.back().timestamp_ns = (i + 1) * 1000;
  }
  const Result result = run(chain(file, eve), GetParam(), frames);
  EXPECT_EQ(outcome_of(result, eve).alerts.size(), 200u);
  EXPECT_GE(result.at("passed").size(), 200u);
}

// A rule that asks for a bit comes before the one that sets it, which is asked first; rules without a content ask, too.
TEST_P(NidsTest, RemembersBitsOfFlowsAndAddresses) {
  const TextFile file("bits"), eve("eve");
  const std::pair<const char*, const char*> rules[] = {
      {"alert", "content:\"two\"; flowbits:isset,one|other;"},
      {"alert",
       "content:\"one\"; flowbits:set,one; flowbits:noalert; threshold:type both, track by_src, count 9, "
       "seconds 9;"},
      {"alert", "flowbits:isset,one; flowbits:isnotset,end;"},
      {"alert", "content:\"end\"; flowbits:toggle,end;"},
      {"pass", "content:\"pass\"; flowbits:unset,one;"},
      {"alert", "content:\"host\"; xbits:set,bad,track ip_src,expire 60;"},
      {"alert", "content:\"from\"; xbits:isset,bad,track ip_dst;"},
  };
  std::ofstream out(file.path);
  for (unsigned sid = 1; const auto& [action, options] : rules) {
    out << format("%s udp any any -> any any (msg:\"rule %u\"; %s sid:%u;)\n", action, sid, options, sid);
    ++sid;
  }
  out.close();
  const std::pair<const char*, std::vector<unsigned>> packets[] = {
      {"two", {}},     {"one", {3}}, {"two", {1, 3}}, {"none", {3}},       {"end", {4}},     {"two", {1}},
      {"end", {3, 4}}, {"pass", {}}, {"two", {}},     {"two one", {1, 3}}, {"host", {3, 6}}, {"from", {3}}};
  std::vector<Frame> frames;
  std::vector<std::pair<size_t, unsigned>> wanted;
  for (const auto& [text, sids] : packets) {
    for (const unsigned sid : sids) wanted.emplace_back(frames.size(), sid);
    frames.push_back(packet_with(17, text));
    frames.back().timestamp_ns = frames.size() * 1000;
  }
  // To the address with the bit, and in another flow.
  Frame back = packet_with(17, "from one");
  for (size_t k = 0; k < 4; ++k) std::swap(back.bytes[kL3 + 12 + k], back.bytes[kL3 + 16 + k]);
  set_ip_checksum(back.bytes, kL3);
  back.timestamp_ns = (frames.size() + 1) * 1000;
  wanted.insert(wanted.end(), {{frames.size(), 3}, {frames.size(), 7}});
  frames.push_back(back);
  const Outcome got = outcome_of(run(chain(file, eve), GetParam(), frames), eve);
  EXPECT_EQ(got.alerts, wanted);
}

TEST(Nids, BitsHaveTheirNamesWhereFlowsChangeHands) {
  const auto rules = [](const char* text) {
    Variables variables;
    std::vector<std::string> errors;
    RuleSet set = parse_rules("f", text, false, variables, errors);
    EXPECT_EQ(errors, std::vector<std::string>{});
    return set;
  };
  RuleTable old, now;
  old.load(rules("alert ip any any -> any any (flowbits:set,x; flowbits:set,y; sid:1;)"));
  now.load(rules("alert ip any any -> any any (flowbits:isset,y; flowbits:isset,z; sid:1;)"));
  EXPECT_EQ(now.now().rules[0].bits[0].numbers, std::vector<uint32_t>{0});
  now.swap_flows(old);
  EXPECT_EQ(now.now().rules[0].bits[0].numbers, std::vector<uint32_t>{1});
  EXPECT_EQ(now.now().rules[0].bits[1].numbers, std::vector<uint32_t>{2});
  now.swap_flows(old);
  EXPECT_EQ(old.now().rules[0].bits[1].numbers, std::vector<uint32_t>{1});
}

TEST(Nids, DropsAndPasses) {
  const TextFile file("actions"), eve("eve");
  std::ofstream(file.path) << "drop udp any any -> any any (content:\"evil\"; sid:1;)\n"
                              "reject udp any any -> any any (content:\"bad\"; sid:2;)\n"
                              "pass udp any any -> any any (content:\"but good\"; sid:3;)\n";
  std::vector<Frame> frames;
  for (const char* text : {"fine", "evil", "bad", "evil and bad", "evil but good"})
    frames.push_back(packet_with(17, text));
  const Result result = run("TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + file.path +
                                "); ids[0] -> sink :: TestSink; ids[1] -> c :: NIDSConfirm(ids) -> rest :: TestSink;",
                            backends()[0], frames);
  EXPECT_EQ(result.at("sink").size(), 1u);
  ASSERT_EQ(result.at("rest").size(), 1u);
  EXPECT_EQ(result.at("rest")[0].serial, 4);
  EXPECT_EQ(result.drop("c.drop"), 2u);
  EXPECT_EQ(result.drop("c.reject"), 1u);
  EXPECT_EQ(result.statistics.at("c.alerts"), 4u);
}

TEST(Nids, NamesWhatIsWrong) {
  const TextFile file("wrong"), variables("variables");
  const auto of = [&](const std::string& more) {
    return mistakes("TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + file.path + more +
                    "); ids[0] -> TestSink; ids[1] -> NIDSConfirm(ids) -> TestSink;");
  };
  std::ofstream(file.path)
      << "alert ip $X any -> any any (sid:1;)\nalert tcp any any -> any any (tls.version; sid:2;)\n";
  EXPECT_NE(of("").find(file.path + ":1: sid 1: the variable '$X' has no value"), std::string::npos) << of("");
  EXPECT_NE(of("").find(file.path + ":2: sid 2: the option 'tls.version' is not supported"), std::string::npos);
  EXPECT_NE(of("").find("--skip-unsupported of run and check, leaves out what is not supported: 1 of its rules"),
            std::string::npos);
  std::ofstream(file.path) << "# one\nalert tcp any any -> any any (content:\"a\"; flow:only_stream; sid:1;)\n";
  EXPECT_NE(of("").find(file.path + ":2: sid 1: it is for TCP connections as a whole (tcp-stream, only_stream): give "
                                    "the NIDS STREAM true"),
            std::string::npos)
      << of("");
  EXPECT_EQ(of(", SKIP_UNSUPPORTED true"), "");
  std::ofstream(file.path) << "alert ip $X any -> any any (sid:1;)\n";
  std::ofstream(variables.path) << "var X 10.0.0.0/8\n";
  EXPECT_EQ(of(", SKIP_UNSUPPORTED true, VARIABLES " + variables.path), "");
  EXPECT_NE(of(", VARIABLES /nonexistent").find("cannot read the file of variables '/nonexistent'"), std::string::npos);
  std::ofstream(file.path) << "";
  EXPECT_EQ(of(""), "");
  const auto of_monitor = [&](const std::string& more) {
    return mistakes("TestSource(SETS \"l3 l4\") -> NIDS(" + file.path + more + ") -> TestSink;");
  };
  EXPECT_EQ(of_monitor(""), "");
  EXPECT_NE(of_monitor(", STREAM true").find("STREAM: connections are followed by a NIDSConfirm"), std::string::npos);
  EXPECT_NE(of(", EVE /tmp/x").find("EVE: alerts come from the NIDSConfirm behind output 1"), std::string::npos);
  std::ofstream(file.path) << "alert ip any any -> any any (sid:1;)\nreject ip any any -> any any (sid:2;)\n"
                              "drop ip any any -> any any (sid:3;)\n";
  EXPECT_NE(of_monitor("").find(file.path + ":2: sid 2: reject (and 1 other rules that do so) stops packets"),
            std::string::npos)
      << of_monitor("");
  EXPECT_NE(mistakes("TestSource(SETS \"l3 l4\") -> NIDSConfirm(nobody) -> TestSink;").find("'nobody' is not a NIDS"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::test
