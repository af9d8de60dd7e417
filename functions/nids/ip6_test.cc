// IPv6 in the NIDS: addresses in rules, and chains on every backend against an oracle, with headers that lie.

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "functions/nids/flows.h"
#include "functions/nids/nids.h"
#include "functions/nids/packets_for_test.h"
#include "functions/nids/rule_file.h"
#include "functions/nids/thresholds.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using namespace nids;

HEDDLE_ON_EVERY_BACKEND(NidsIp6Test);

OracleAddresses random_addresses(std::mt19937& random) {
  OracleAddresses addresses;
  for (size_t count = random() % 4; count > 0; --count) {
    const bool is_ip6 = random() % 3 != 0;
    const int bits = is_ip6 ? 128 : 32;
    addresses.items.push_back({some_address(random, is_ip6),
                               random() % 2 == 0 ? bits - static_cast<int>(random() % 3) : bits / 2 + 1,
                               random() % 3 == 0});
  }
  return addresses;
}

/** A rule for either version, or one of them. */
OracleRule random_ip6_rule(std::mt19937& random, unsigned sid) {
  const char* const protocols[] = {"ip6", "ip4", "icmpv6", "icmpv4"};
  for (;;) {
    OracleRule rule = random_rule(random, sid);
    if (rule.fast_pattern().empty()) continue;
    if (random() % 3 == 0) rule.protocol = protocols[random() % 4];
    if (random() % 2 == 0) rule.sources = random_addresses(random);
    if (random() % 3 == 0) rule.destinations = random_addresses(random);
    // What nothing could match is an error.
    Variables variables;
    std::vector<std::string> errors;
    parse_rules("f", rule.text(), false, variables, errors);
    if (errors.empty()) return rule;
  }
}

std::vector<Frame> mixed_packets(std::mt19937& random, const std::vector<OracleRule>& rules, size_t count) {
  std::vector<Frame> frames;
  while (frames.size() < count) {
    std::string payload = random_bytes(random, random() % (random() % 8 == 0 ? 1500 : 120));
    if (payload.size() > 200 || random() % 2 == 0) std::ranges::fill(payload, 'x');
    for (size_t pieces = random() % 4; pieces > 0; --pieces) {
      const OracleRule& rule = rules[random() % rules.size()];
      const std::string& part = rule.contents[random() % rule.contents.size()].bytes;
      if (!part.empty() && part.size() < payload.size())
        payload.replace(random() % (payload.size() - part.size()), part.size(), part);
    }
    constexpr int kIp4Protocols[] = {6, 17, 1, 58, 47};
    Frame frame = random() % 4 != 0 ? ip6_packet(random, payload)
                                    : packet_with(kIp4Protocols[random() % 5], payload, random() % 4, random() % 4, 5);
    Bytes& bytes = frame.bytes;
    if (bytes[kL3] >> 4 == 4) {
      const std::string ends = some_address(random, false) + some_address(random, false);
      std::copy(ends.begin(), ends.end(), bytes.begin() + kL3 + 12);
    }
    if (random() % 6 == 0) bytes.resize(random() % bytes.size());
    if (random() % 10 == 0) frame.headroom = static_cast<int>(random() % 128);
    frame.timestamp_ns = (frames.size() + 1) * 1000;
    frames.push_back(std::move(frame));
  }
  return frames;
}

TEST_P(NidsIp6Test, FindsWhatTheOracleFinds) {
  auto random = random_for("nids ip6");
  const TextFile file("rules"), eve("eve");
  std::set<unsigned> alerting;
  size_t with_headers = 0;
  for (int round = 0; round < tries(30, 40); ++round) {
    std::vector<OracleRule> rules;
    while (rules.size() < 60) rules.push_back(random_ip6_rule(random, static_cast<unsigned>(rules.size()) + 1));
    file.write(rules);
    const auto frames = mixed_packets(random, rules, 600);
    std::vector<int64_t> clean, passed, blocked;
    std::vector<std::pair<size_t, unsigned>> alerts, got_alerts;
    uint64_t too_short = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
      const OraclePacket packet = oracle_packet(frames[i]);
      bool candidate = false, pass = false, block = false;
      std::vector<std::pair<size_t, unsigned>> its;
      for (const OracleRule& rule : rules) {
        candidate = candidate || oracle_candidate(rule, packet);
        if (!oracle_matches(rule, packet)) continue;
        pass = pass || rule.action == "pass";
        block = block || rule.action == "drop" || rule.action == "reject";
        its.emplace_back(i, rule.sid);
      }
      if (!packet.is_ip)
        ++too_short;
      else
        (!candidate ? clean : block && !pass ? blocked : passed).push_back(static_cast<int64_t>(i));
      if (packet.is_ip && !pass) alerts.insert(alerts.end(), its.begin(), its.end());
      if (packet.is_ip6() && frames[i].bytes[kL3 + 6] != packet.protocol) with_headers += its.size();
    }
    const std::string chain = "TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + file.path +
                              "); ids[0] -> clean :: TestSink; c[0] -> passed :: TestSink; c[1] -> blocked :: TestSink;"
                              "ids[1] -> c :: NIDSConfirm(ids, EVE " +
                              eve.path + ");";
    const Result result = run(chain, GetParam(), frames, {.batches = {0, 1, 31, 32, 33, 5, 200}});
    const auto serials = [&](const char* sink) {
      std::vector<int64_t> list;
      for (const Received& packet : result.at(sink)) list.push_back(packet.serial);
      return list;
    };
    EXPECT_EQ(serials("clean"), clean);
    EXPECT_EQ(serials("passed"), passed);
    EXPECT_EQ(serials("blocked"), blocked);
    EXPECT_EQ(result.drop("ids.short"), too_short);
    std::ifstream in(eve.path);
    for (std::string line; std::getline(in, line);) {
      const auto json = nlohmann::json::parse(line);
      const std::string when = json["timestamp"];
      got_alerts.emplace_back(std::stoul(when.substr(20, 6)) - 1, json["alert"]["signature_id"]);
      alerting.insert(got_alerts.back().second);
    }
    EXPECT_EQ(got_alerts, alerts);
  }
  EXPECT_GT(alerting.size(), 20u);
  EXPECT_GT(with_headers, 20u) << "alerts of packets with extension headers";
}

TEST_P(NidsIp6Test, TouchesOnlyWhatItDeclares) {
  const TextFile file("rules");
  OracleRule rule;
  rule.sid = 1, rule.protocol = "ip";
  rule.contents.push_back({.bytes = "A"});
  file.write({rule});
  AccessOptions options;
  options.outputs = 2;
  options.shape = [](Frame& frame, std::mt19937& random) {
    if (frame.bytes.size() < kL3 + kIp6) return;
    const Frame made = ip6_packet(random, "");
    const size_t bytes = std::min(made.bytes.size(), frame.bytes.size());
    std::copy(made.bytes.begin(), made.bytes.begin() + static_cast<long>(bytes), frame.bytes.begin());
    frame.column[static_cast<int>(Column::l4)] = kL3 + kIp6;
  };
  EXPECT_EQ(access_violations("NIDS(" + file.path + ")", GetParam(), options), std::vector<std::string>{});
}

// A chain of extension headers as long as a packet can be, with what a rule asks for behind it, and in pieces.
TEST_P(NidsIp6Test, FollowsHeadersToThePacketsEnd) {
  const TextFile file("rules"), eve("eve");
  OracleRule rule;
  rule.sid = 1, rule.protocol = "udp", rule.destination_ports.items = {{53, 53}};
  rule.contents.push_back({.bytes = "mark"});
  file.write({rule});
  std::vector<Frame> frames;
  for (const size_t headers : {0u, 1u, 180u, 8000u}) {
    Frame frame;
    frame.bytes.resize(kL3 + kIp6 + headers * 8 + 8);
    frame.bytes[kL3] = 0x60, frame.bytes[kL3 + 6] = headers > 0 ? 60 : 17;
    for (size_t k = 0; k < headers; ++k) frame.bytes[kL3 + kIp6 + k * 8] = k + 1 < headers ? 60 : 17;
    put_u16(frame.bytes, frame.bytes.size() - 6, 53);
    for (const char c : std::string("a mark")) frame.bytes.push_back(static_cast<uint8_t>(c));
    frame.column[static_cast<int>(Column::l3)] = kL3, frame.column[static_cast<int>(Column::l4)] = kL3 + kIp6;
    frames.push_back(frame);
    frame.bytes.pop_back();  // "mar"
    frames.push_back(frame);
  }
  const std::string chain = "TestSource(SETS \"l3 l4\") -> ids :: NIDS(" + file.path +
                            "); ids[0] -> clean :: TestSink; ids[1] -> candidates :: TestSink;";
  const Result result = run(chain, GetParam(), frames);
  EXPECT_EQ(result.at("candidates").size(), frames.size() / 2);
  for (const Received& packet : result.at("candidates")) EXPECT_EQ(packet.serial % 2, 0);
  EXPECT_EQ(result.at("clean").size(), frames.size() / 2);
}

Addresses addresses_of(const std::string& text, const Variables& variables = {}) {
  Addresses addresses;
  const auto refusal = parse_addresses(text, variables, addresses);
  EXPECT_FALSE(refusal) << refusal->why;
  return addresses;
}

TEST(NidsIp6Rules, AddressesOfBothVersions) {
  const Wide prefix = Wide{0x20010db8} << 96;
  const auto has6 = [&](const std::string& text, Wide address) { return addresses_of(text).contains(true, address); };
  const auto has4 = [&](const std::string& text, uint32_t address) {
    return addresses_of(text).contains(false, address);
  };
  EXPECT_TRUE(has6("any", 0) && has6("any", kLargestIp6) && has4("any", 0) && has4("any", kLargestIp4));
  EXPECT_TRUE(has6("::/0", kLargestIp6) && !has4("::/0", 1));
  EXPECT_TRUE(has4("0.0.0.0/0", 1) && !has6("0.0.0.0/0", 1));
  EXPECT_TRUE(has6("2001:DB8::", prefix) && !has6("2001:db8::", prefix + 1) && !has4("2001:db8::", 0));
  EXPECT_TRUE(has6("2001:db8::7/126", prefix + 4) && has6("2001:db8::7/126", prefix + 7));
  EXPECT_TRUE(!has6("2001:db8::7/126", prefix + 3) && !has6("2001:db8::7/126", prefix + 8));
  EXPECT_TRUE(has6("2001:db8::1 - 2001:db8::3", prefix + 3) && !has6("2001:db8::1-2001:db8::3", prefix + 4));
  EXPECT_TRUE(has6("::ffff:10.0.0.1", Wide{0xffff0a000001}) && !has4("::ffff:10.0.0.1", 0x0a000001));
  // What names one version only says nothing of the other.
  EXPECT_TRUE(has4("!10.0.0.0/8", 1) && !has6("!10.0.0.0/8", 1) && !has4("!10.0.0.0/8", 0x0a000001));
  EXPECT_TRUE(has6("!2001:db8::/32", 1) && !has6("!2001:db8::/32", prefix) && !has4("!2001:db8::/32", 1));
  const char* const both = "[10.0.0.0/8,!10.1.0.0/16,!2001:db8::/32]";
  EXPECT_TRUE(has4(both, 0x0a000001) && !has4(both, 0x0a010001) && !has4(both, 1));
  EXPECT_TRUE(has6(both, 1) && !has6(both, prefix));
  const Variables variables{{"HOME", "[192.0.2.0/24,2001:db8::/32]"}, {"OTHER", "!$HOME"}};
  EXPECT_TRUE(addresses_of("$OTHER", variables).contains(true, 1));
  EXPECT_FALSE(addresses_of("$OTHER", variables).contains(true, prefix));
  EXPECT_TRUE(addresses_of("[$OTHER,2001:db8::1]", variables).contains(true, prefix + 1));
  EXPECT_TRUE(addresses_of("![$HOME,!2001:db8::1]", variables).contains(true, prefix + 1));
}

TEST(NidsIp6Rules, MistakesInAddresses) {
  const auto why = [](const std::string& text) {
    Addresses addresses;
    const auto refusal = parse_addresses(text, {}, addresses);
    return refusal ? refusal->why : "";
  };
  EXPECT_EQ(why("2001:db8::g"), "'2001:db8::g' is not an IPv6 address, prefix, range (LOW-HIGH) or list of them");
  EXPECT_EQ(why("2001:db8::/129"), "'2001:db8::/129' is not an IPv6 address, prefix, range (LOW-HIGH) or list of them");
  EXPECT_EQ(why("::1-10.0.0.1"), "'::1-10.0.0.1' is not an IPv6 address, prefix, range (LOW-HIGH) or list of them");
  EXPECT_EQ(why("::2-::1"), "'::2-::1': the lower address is the larger one");
  EXPECT_EQ(why("[::1,!::/0]"), "'[::1,!::/0]' leaves nothing that could match");
  EXPECT_EQ(why("!any"), "'!any' leaves nothing that could match");
}

View view_of(bool is_ip6, Wide source, Wide destination, uint8_t number = 17) {
  View view{};
  view.protocol = protocol_of(number), view.number = number, view.is_ip6 = is_ip6;
  view.source = source, view.destination = destination;
  view.has_ports = names_ports(view.protocol);
  return view;
}

// Flows, thresholds and bits of IPv6 addresses that differ in one bit, or are those of IPv4, are apart.
TEST(NidsIp6Flows, AddressesAreToldApart) {
  Flows flows(1 << 14);
  const uint32_t mark = flows.number_of_bit("mark");
  const Wide server = Wide{1} << 100;
  for (int bit = 0; bit < 128; ++bit) {
    const View there = view_of(true, Wide{1} << bit, server + 1), back = view_of(true, server + 1, Wide{1} << bit);
    EXPECT_EQ(flows.see(there, 1000, true), kToServer);
    EXPECT_EQ(flows.see(back, 1000, true), kToClient | kEstablished);
    EXPECT_EQ(flows.see(there, 1000, true), kToServer | kEstablished);
    EXPECT_FALSE(Flows::Bits(flows, there, 1000).is_set(mark));
    Flows::Bits(flows, back, 1000).set(mark, true);
    EXPECT_TRUE(Flows::Bits(flows, there, 1000).is_set(mark));
  }
  EXPECT_EQ(flows.see(view_of(false, 1, 2), 1000, true), kToServer);
  EXPECT_EQ(flows.see(view_of(true, 1, 2), 1000, true), kToServer);
}

TEST(NidsIp6Flows, ThresholdsAreOfTheirAddresses) {
  Thresholds thresholds;
  Signature rule;
  rule.sid = 1;
  using Track = Threshold::Track;
  for (const Track track : {Track::source, Track::destination, Track::both}) {
    rule.threshold = {Threshold::Type::limit, track, 1, 60};
    ++rule.sid;
    for (int bit = 0; bit < 128; ++bit) {
      const Wide one = Wide{1} << bit, other = track == Track::both ? 5 : one;
      View view = view_of(true, one, other);
      EXPECT_EQ(thresholds.judge(rule, view, 1000), Thresholds::Verdict::alert) << bit;
      EXPECT_EQ(thresholds.judge(rule, view, 1000), Thresholds::Verdict::silent) << bit;
      std::swap(view.source, view.destination);
      EXPECT_EQ(thresholds.judge(rule, view, 1000), Thresholds::Verdict::silent) << bit;
    }
    EXPECT_EQ(thresholds.judge(rule, view_of(false, 1, track == Track::both ? 5 : 1), 1000),
              Thresholds::Verdict::alert);
  }
}

}  // namespace
}  // namespace heddle::test
