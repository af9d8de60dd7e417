// The elements in chains, on every backend; their table is tested in table_test.cc, their rule files in rule_file_test.cc.

#include "functions/classifier/classifier.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "functions/classifier/oracle_for_test.h"
#include "measure/generate/filter_set.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using namespace classifier;

HEDDLE_ON_EVERY_BACKEND(ClassifierTest);

constexpr size_t kL3 = 14;

std::string rule_text(const Rule& rule) {
  const auto prefix = [&](Field f) {
    const uint32_t low = rule.low[f], length = 32 - static_cast<uint32_t>(std::bit_width(low ^ rule.high[f]));
    return format("%u.%u.%u.%u/%u", low >> 24, low >> 16 & 255, low >> 8 & 255, low & 255, length);
  };
  const bool any_protocol = rule.low[kProtocol] != rule.high[kProtocol];
  return format("@%s %s %u : %u %u : %u 0x%02x/0x%s %s", prefix(kSource).c_str(), prefix(kDestination).c_str(),
                rule.low[kSourcePort], rule.high[kSourcePort], rule.low[kDestinationPort], rule.high[kDestinationPort],
                any_protocol ? 0 : rule.low[kProtocol], any_protocol ? "00" : "FF",
                rule.next < kDrop ? std::to_string(rule.next).c_str() : "deny");
}

/** A file with these rules that is gone with the object. */
struct RuleFile {
  explicit RuleFile(const std::string& name)
      : path(testing::TempDir() + std::to_string(getpid()) + "heddle_" + name + ".rules") {}
  ~RuleFile() { std::remove(path.c_str()); }
  void write(const std::vector<Rule>& rules) const {
    std::ofstream out(path);
    for (const Rule& rule : rules) out << rule_text(rule) << "\n";
  }
  std::string path;
};

Frame packet_of(const Key& key, size_t payload = 8, unsigned options = 0) {
  Frame frame = ip_frame(key[kSource], key[kDestination], payload + options);
  frame.bytes[kL3] = static_cast<uint8_t>(0x45 + options / 4);
  frame.bytes[kL3 + 9] = static_cast<uint8_t>(key[kProtocol]);
  set_ip_checksum(frame.bytes, kL3);
  const size_t l4 = kL3 + 20 + options;
  if (payload >= 2) put_u16(frame.bytes, l4, key[kSourcePort]);
  if (payload >= 4) put_u16(frame.bytes, l4 + 2, key[kDestinationPort]);
  frame.column[static_cast<int>(Column::l3)] = kL3;
  frame.column[static_cast<int>(Column::l4)] = l4;
  return frame;
}

// What a packet should be looked up with, from its bytes; false if it is too short. Shares no code with the element.
bool expected_key(const Frame& frame, Key& key) {
  const size_t l3 = frame.column[static_cast<int>(Column::l3)], l4 = frame.column[static_cast<int>(Column::l4)];
  const Bytes& bytes = frame.bytes;
  if (l3 + 20 > bytes.size()) return false;
  key = {get_u32(bytes, l3 + 12), get_u32(bytes, l3 + 16), 0, 0, bytes[l3 + 9]};
  const bool first = (bytes[l3 + 6] & 31) == 0 && bytes[l3 + 7] == 0;
  for (const uint32_t protocol : {6u, 17u, 33u, 132u, 136u})
    if (first && key[kProtocol] == protocol) {
      if (l4 + 4 > bytes.size()) return false;
      key[kSourcePort] = bytes[l4] * 256u + bytes[l4 + 1];
      key[kDestinationPort] = bytes[l4 + 2] * 256u + bytes[l4 + 3];
    }
  return true;
}

const char* const kSinks =
    "c[0] -> s0 :: TestSink(READS rule); c[1] -> s1 :: TestSink(READS rule); c[2] -> s2 :: TestSink(READS rule);";

void expect_classified(const Result& result, const std::vector<Frame>& frames, const std::vector<Rule>& rules) {
  std::vector<std::pair<Bytes, uint32_t>> wanted[3];
  uint64_t too_short = 0, no_match = 0, denied = 0;
  for (const Frame& frame : frames) {
    Key key;
    if (!expected_key(frame, key)) {
      ++too_short;
      continue;
    }
    const uint32_t rule = first_match(rules, key);
    if (rule == kNoRule)
      ++no_match;
    else if (rules[rule].next >= kDrop)
      ++denied;
    else
      wanted[rules[rule].next].emplace_back(frame.bytes, rule);
  }
  EXPECT_EQ(result.drop("c.short"), too_short);
  EXPECT_EQ(result.drop("c.no_match"), no_match);
  EXPECT_EQ(result.drop("c.denied"), denied);
  for (int port = 0; port < 3; ++port) {
    const auto& got = result.at(format("s%d", port));
    ASSERT_EQ(got.size(), wanted[port].size()) << "output " << port;
    EXPECT_TRUE(in_order(got));
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].bytes, wanted[port][i].first) << "output " << port << " packet " << i;
      ASSERT_EQ(got[i].column[static_cast<int>(Column::rule)], wanted[port][i].second) << "packet " << i;
    }
  }
}

std::vector<Rule> rules_for(std::mt19937& random, size_t count) {
  auto rules = random_rules(random, count);
  for (Rule& rule : rules)
    if (random() % 8 == 0) rule.next = kDrop | 2;
  return rules;
}

std::vector<Frame> packets_for(std::mt19937& random, const std::vector<Rule>& rules, size_t count) {
  std::vector<Frame> frames;
  for (const Key& key : keys_near(random, rules, count)) {
    frames.push_back(packet_of(key, random() % 5 == 0 ? random() % 8 : 8, random() % 6 == 0 ? random() % 11 * 4 : 0));
    Bytes& bytes = frames.back().bytes;
    if (random() % 8 == 0) put_u16(bytes, kL3 + 6, static_cast<unsigned>(random()));  // fragments of all kinds
    if (random() % 16 == 0) bytes.resize(random() % bytes.size());
  }
  return frames;
}

std::vector<std::string> engines_on(const Backend& backend) {
  if (backend.on_gpu()) return {"auto"};
  return {"auto", "bitvector", "acl", "tuple"};
}

TEST_P(ClassifierTest, TakesTheFirstRuleThatMatches) {
  auto random = random_for("classifier");
  const RuleFile file("classifier");
  for (const size_t count : {1u, 40u, 600u, 9000u}) {
    const auto rules = rules_for(random, count);
    file.write(rules);
    const auto frames = packets_for(random, rules, 700);
    for (const std::string& engine : engines_on(GetParam())) {
      if (engine == "acl" && count > 600) continue;  // prefixes of any length: takes too long to build
      const std::string chain = "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                                ", FORMAT classbench, ENGINE " + engine + "); " + kSinks;
      for (const std::vector<int>& batches : {std::vector<int>{1024}, {0, 1, 31, 32, 33, 1024}})
        expect_classified(run(chain, GetParam(), frames, {.batches = batches}), frames, rules);
    }
  }
}

// Bits of all dimensions' aggregates that no vector confirms, over more words than a thread group looks at in one go.
TEST_P(ClassifierTest, GoesOnBehindFalseCandidates) {
  std::vector<Rule> rules(40000);
  for (uint32_t i = 0; i + 1 < rules.size(); ++i) {
    rules[i].low = rules[i].high = {i % 2, 1 - i % 2, 7, 8, 6};
    rules[i].low[kSourcePort] = 0, rules[i].high[kSourcePort] = 65535;
  }
  rules.back().low = rules.back().high = {0, 0, 7, 8, 6};
  rules.back().next = 2;
  const RuleFile file("false_candidates");
  file.write(rules);
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 40; ++i) frames.push_back(packet_of({i & 1, i >> 1 & 1, 7, i % 7 == 0 ? 9u : 8u, 6}));
  const std::string chain =
      "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path + "); " + kSinks;
  expect_classified(run(chain, GetParam(), frames), frames, rules);
}

TEST_P(ClassifierTest, KnowsGeneratedFilters) {
  auto random = random_for("classifier filters");
  const RuleFile file("filters");
  for (const char* like : {"acl", "fw"}) {
    const auto filters = bench::generate_filters(bench::parameters_like(like), {.count = 1000, .seed = seed()});
    std::ofstream(file.path) << bench::to_text(filters);
    std::vector<std::string> errors;
    const Actions usual{.read = [](std::string_view) { return std::nullopt; }, .expected = "", .usual = 1};
    const auto rules = read_rule_file(file.path, usual, errors);
    ASSERT_EQ(rules.size(), filters.size());
    const auto frames = packets_for(random, rules, 500);
    const std::string chain =
        "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path + ", ACTION 1); " + kSinks;
    expect_classified(run(chain, GetParam(), frames), frames, rules);
  }
}

// A rule number for the elements behind it, which CheckIPHeader's annotations and inline rules are enough for; two
// classifiers in one segment.
TEST_P(ClassifierTest, StandsBehindCheckIPHeader) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 300; ++i) frames.push_back(packet_of({ip(10, 0, 0, i & 255), ip(10, 1, 0, 0), 5, i, 17}));
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> b :: BitVectorClassifier(@10.0.0.0/25 0/0 0 : 65535 0 : 65535 0x00/0x00)"
          "-> c :: Firewall(@0/0 10.1.0.0/16 5 : 5 0 : 9 0x11/0xFF deny, @0/0 0/0 0 : 65535 20 : 29 0x11/0xFF allow,"
          " DEFAULT deny); c[0] -> s0 :: TestSink(READS rule); c[1] -> s1 :: TestSink(READS rule);",
          GetParam(), frames);
  EXPECT_EQ(result.drop("b.no_match"), 128u);
  ASSERT_EQ(result.at("s0").size(), 10u);
  EXPECT_EQ(result.at("s0")[0].column[static_cast<int>(Column::rule)], 1u);
  ASSERT_EQ(result.at("s1").size(), 172u - 10u);
  EXPECT_EQ(result.at("s1")[0].column[static_cast<int>(Column::rule)], 0u);
  EXPECT_EQ(result.at("s1").back().column[static_cast<int>(Column::rule)], kNoRule);
}

TEST_P(ClassifierTest, FirewallDropsWhatItDenies) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 100; ++i) frames.push_back(packet_of({1, 2, 3, i % 4, 6}));
  frames[0].bytes.resize(33);
  frames[1].bytes.resize(37);
  const char* const chain =
      "TestSource(SETS \"l3 l4\") -> c :: Firewall(@0/0 0/0 0 : 65535 2 : 2 0x06/0xFF deny,"
      "@0/0 0/0 0 : 65535 1 : 3 0x06/0xFF, ACTION allow, DEFAULT deny) -> sink :: TestSink;";
  const Result result = run(chain, GetParam(), frames);
  EXPECT_EQ(result.at("sink").size(), 49u);
  EXPECT_EQ(result.drop("c.short"), 2u);
  EXPECT_EQ(result.drop("c.denied"), 49u);
}

TEST_P(ClassifierTest, TouchesOnlyWhatItDeclares) {
  AccessOptions options;
  options.outputs = 2;
  options.shape = [](Frame& frame, std::mt19937& random) {
    if (frame.bytes.size() < 38 || random() % 4 == 0) return;
    const unsigned protocols[] = {6, 17, 1};
    frame.bytes[23] = static_cast<uint8_t>(protocols[random() % 3]);
    put_u16(frame.bytes, 20, random() % 3 == 0 ? 7 : 0);
    put_u32(frame.bytes, 26, ip(10, 0, 0, random() % 2));
    put_u16(frame.bytes, 36, random() % 3);
  };
  for (const std::string element :
       {"BitVectorClassifier(@10.0.0.0/32 0/0 0 : 65535 1 : 1 0x06/0xFF 1, @10.0.0.0/31 0/0 0 : 65535 0 : 1 0x00/0x00)",
        "Firewall(@10.0.0.0/32 0/0 0 : 65535 1 : 1 0x06/0xFF deny, DEFAULT allow)"})
    EXPECT_EQ(access_violations(element, GetParam(), options), std::vector<std::string>{});
}

// Waits until `more` packets have come to an output.
void wait_for(const std::atomic<uint64_t>& at, uint64_t more) {
  const uint64_t start = at;
  while (at - start < more) std::this_thread::yield();
}

// Packets are all classified by the old rules or all by the new ones, and none is lost.
TEST_P(ClassifierTest, ReplacesItsRulesUnderTraffic) {
  const RuleFile file("replaced");
  Rule first, second;
  first.next = 1;
  first.high[kSourcePort] = 6;
  second.next = 2;
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 64; ++i) frames.push_back(packet_of({i, 2, 7, 4, 6}));
  for (const std::string& engine : engines_on(GetParam())) {
    file.write({first, second});
    std::atomic<uint64_t> at[3] = {}, wrong{0};
    Options options;
    options.endless = true;
    options.on_packet = [&](const std::string& sink, const Received& packet) {
      const size_t port = static_cast<size_t>(sink[1] - '0');
      ++at[port];
      // Rule 0 leads to output 1, rule 1 to output 2.
      if (port == 0 || packet.column[static_cast<int>(Column::rule)] != port - 1) ++wrong;
    };
    options.meanwhile = [&](Engine& running) {
      for (int change = 0; change < 4; ++change) {
        wait_for(at[change % 2 == 0 ? 2 : 1], 64);
        Rule wider = first;
        wider.high[kSourcePort] = 7;
        file.write(change % 2 == 0 ? std::vector{wider} : std::vector{first, second});
        running.handlers().write("c.reload", "");
      }
      std::ofstream(file.path) << "no rule\n";
      EXPECT_THROW(running.handlers().write("c.reload", ""), Error);
      wait_for(at[2], 64);
    };
    const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                                  ", ENGINE " + engine + "); " + kSinks,
                              GetParam(), frames, options);
    EXPECT_EQ(wrong, 0u);
    EXPECT_EQ(result.dropped, 0u);
  }
}

// In each state of the set every network has one rule, of the state's output and with a number of its own, and all rules
// change at once, under load. A packet that finds none, or another's number, has seen half a set.
TEST_P(ClassifierTest, NoPacketSeesHalfASet) {
  constexpr uint32_t kNets = 24, kStates = 3;
  const auto rule_of = [](uint32_t state, uint32_t net) {
    const uint32_t length = 16 + (state * 5 + net) % 9;  // rules of a network lie in different hash tables
    return format("@10.%u.0.0/%u 0/0 0 : 65535 0 : 65535 0x00/0x00 %u", net, length, state);
  };
  const auto number_of = [](uint32_t state, uint32_t net) {
    constexpr uint32_t kFactors[kStates] = {1, 7, 11};
    return 10 * (net * kFactors[state] % kNets) + state;
  };
  std::vector<Frame> frames;
  for (uint32_t net = 0; net < kNets; ++net) frames.push_back(packet_of({ip(10, net, 0, 0), 2, 7, 4, 6}));
  std::string rules;
  for (uint32_t net = 0; net < kNets; ++net) rules += rule_of(0, net) + ", ";
  for (const std::string& engine : engines_on(GetParam())) {
    std::atomic<uint64_t> wrong{0}, seen{0}, of_state[kStates] = {};
    Options options{.batches = {64, 1, 200, 33}};
    options.endless = true;
    options.on_packet = [&](const std::string& sink, const Received& packet) {
      const auto state = static_cast<uint32_t>(sink[1] - '0');
      if (packet.column[static_cast<int>(Column::rule)] != number_of(state, packet.bytes[kL3 + 13])) ++wrong;
      ++of_state[state], ++seen;
    };
    options.meanwhile = [&](Engine& running) {
      for (uint32_t change = 0; change < (engine == "tuple" ? 600u : 6u); ++change) {
        const uint32_t before = change % kStates, after = (change + 1) % kStates;
        std::string commands;
        for (uint32_t net = 0; net < kNets; ++net)
          commands +=
              format("remove %u\nadd %u ", number_of(before, net), number_of(after, net)) + rule_of(after, net) + "\n";
        running.handlers().write("c.ctrl", commands);
        if (change % 8 < 3) wait_for(of_state[after], 50);
      }
      EXPECT_EQ(running.handlers().read("c.count"), std::to_string(kNets));
    };
    const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rules + "STEP 10, ENGINE " +
                                  engine + "); " + kSinks,
                              GetParam(), frames, options);
    EXPECT_EQ(wrong, 0u) << engine << ", of " << seen << " packets";
    EXPECT_EQ(result.dropped, 0u) << engine << ", of " << seen << " packets";
  }
}

TEST(Firewall, NamesWhatIsWrong) {
  const auto of = [](const std::string& arguments) {
    return mistakes("TestSource(SETS \"l3 l4\") -> c :: Firewall(" + arguments + ") -> TestSink;");
  };
  const std::string all = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00";
  EXPECT_EQ(of(all + " allow, DEFAULT deny"), "");
  EXPECT_NE(of(all + " allow").find("missing DEFAULT"), std::string::npos);
  EXPECT_NE(of(all + ", DEFAULT deny").find("it has no action (allow and deny)"), std::string::npos);
  EXPECT_NE(of(all + " 0, DEFAULT deny").find("'0' is not an action; there are allow and deny"), std::string::npos);
  EXPECT_NE(of("DEFAULT perhaps").find("DEFAULT: 'perhaps' is not an action; there are allow and deny"),
            std::string::npos);
  EXPECT_NE(of("RULES /nonexistent, DEFAULT deny").find("cannot read the rule file '/nonexistent'"), std::string::npos);
  const RuleFile file("wrong");
  std::ofstream(file.path) << all << " allow\nx\n" << all << "\n@0/0 0/0 9 : 8 0 : 65535 0x00/0x00 deny\n";
  const std::string text = of("RULES " + file.path + ", DEFAULT deny");
  for (const char* what : {":2: 'x' is not a rule", ":3: '@0/0", ":4: '@0/0"})
    EXPECT_NE(text.find(file.path + what), std::string::npos) << text;
}

TEST(BitVectorClassifier, RefusesASetThatIsTooLarge) {
  auto random = random_for("large classifier");
  const RuleFile file("large");
  file.write(random_rules(random, 3000));
  const std::string text =
      mistakes("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
               ", ENGINE bitvector, MEMORY 1); c[0] -> TestSink; c[1] -> TestSink; c[2] -> TestSink;");
  EXPECT_NE(text.find("3000 rules need bit vectors of "), std::string::npos) << text;
  EXPECT_NE(text.find(" MB, and MEMORY allows 1 MB"), std::string::npos) << text;
}

TEST(BitVectorClassifier, SaysWhichEngineAndWhy) {
  const std::string rule = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00",
                    head = "TestSource(SETS \"l3 l4\") -> c :: Firewall(";
  const auto tail = [](const std::string& engine) { return " allow, DEFAULT deny" + engine + ") -> TestSink;"; };
  EXPECT_NE(plan_text(head + rule + tail(", ENGINE tuple")).find("chosen: engine tuple: ENGINE says so"),
            std::string::npos);
  EXPECT_NE(plan_text(head + rule + tail("")).find("chosen: engine bitvector: 1 rules, no more than"),
            std::string::npos);
  EXPECT_NE(plan_text(head + rule + tail(""), "simt").find("chosen: engine bitvector: the only one that a GPU has"),
            std::string::npos);
  EXPECT_EQ(mistakes(head + rule + tail(", ENGINE acl, DEVICE cpu"), "simt"), "");
  for (const char* engine : {"tuple", "acl"})
    EXPECT_NE(mistakes(head + rule + tail(format(", ENGINE %s", engine)), "simt")
                  .find(format(
                      "Firewall 'c': ENGINE %s runs on a CPU only; give it DEVICE cpu, or ENGINE bitvector for a GPU",
                      engine)),
              std::string::npos);
  auto random = random_for("many rules");
  const RuleFile file("many");
  file.write(random_rules(random, 9000));
  const std::string many = "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                           "); c[0] -> TestSink; c[1] -> TestSink; c[2] -> TestSink;";
  EXPECT_NE(plan_text(many).find("chosen: engine tuple: 9000 rules, more than"), std::string::npos);
  EXPECT_NE(plan_text(many, "simt").find("chosen: engine bitvector"), std::string::npos);
  const std::string little = "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                             ", MEMORY 2); c[0] -> TestSink; c[1] -> TestSink; c[2] -> TestSink;";
  EXPECT_EQ(mistakes(little), "");
  const std::string refused = mistakes(little, "simt");
  EXPECT_NE(refused.find("BitVectorClassifier 'c': 9000 rules need bit vectors of "), std::string::npos) << refused;
  EXPECT_NE(refused.find("MEMORY allows 2 MB; with DEVICE cpu they can have ENGINE tuple"), std::string::npos)
      << refused;
}

TEST(BitVectorClassifier, ChangesAllOrNothingAndCountsHits) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 90; ++i) frames.push_back(packet_of({1, 2, 3, i % 3, 6}));
  const auto rule = [](int low, int high) { return format("@0/0 0/0 0 : 65535 %d : %d 0x06/0xFF", low, high); };
  for (const std::string engine : {"bitvector", "acl", "tuple"}) {
    Options options;
    options.endless = true;
    options.meanwhile = [&](Engine& running) {
      auto& handlers = running.handlers();
      const auto fails = [&](const std::string& name, const std::string& value, const std::string& why) {
        try {
          handlers.write("c." + name, value);
          ADD_FAILURE() << name << " " << value << " did not fail";
        } catch (const Error& error) {
          EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
        }
      };
      const auto lookup = [&](int port) { return handlers.read("c.lookup", format("1.2.3.4 5.6.7.8 9 %d 6", port)); };
      EXPECT_EQ(lookup(1), "10 1");
      handlers.write("c.add", "5 " + rule(1, 1) + " 2");
      EXPECT_EQ(lookup(1), "5 2");
      EXPECT_EQ(lookup(0), "0 0");
      handlers.write("c.replace", "5 " + rule(2, 2) + " deny");
      EXPECT_EQ(lookup(1), "10 1");
      EXPECT_EQ(lookup(2), "5 deny");
      fails("add", "5 " + rule(1, 1), "there is a rule 5");
      fails("replace", "6 " + rule(1, 1), "there is no rule 6");
      fails("remove", "6", "there is no rule 6");
      fails("add", "7 no rule", "'no rule' is not a rule: expected @SOURCE");
      fails("add", rule(1, 1), "'@0/0'");
      fails("ctrl", "remove 5\nremove 5\n", "there is no rule 5");
      fails("ctrl", "remove 5\nfly 5\n", "bad command 'fly'");
      EXPECT_EQ(lookup(2), "5 deny");
      EXPECT_EQ(handlers.read("c.count"), "3");
      handlers.write("c.ctrl", "# a comment\nremove 5\n\n add 11 " + rule(0, 65535) + " 2\n");
      EXPECT_EQ(lookup(2), "10 1");
      EXPECT_EQ(handlers.read("c.count"), "3");
      while (std::stoull(handlers.read("c.hits", "10")) < 1000) std::this_thread::yield();
      EXPECT_EQ(handlers.read("c.hits", "11"), "0");
      EXPECT_EQ(handlers.read("c.hits").find("0 "), 0u);
      handlers.write("c.replace", "10 " + rule(9, 9) + " 1");
      EXPECT_EQ(handlers.read("c.hits", "10"), "0") << "another rule";
      while (handlers.read("c.hits", "11") == "0") std::this_thread::yield();
      EXPECT_THROW(handlers.read("c.hits", "12"), Error);
    };
    options.on_packet = [](const std::string&, const Received&) {};
    run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rule(0, 0) + " 0, " + rule(1, 65535) +
            " 1, STEP 10, ENGINE " + engine + "); " + kSinks,
        {"cpu", "cpu", LaunchMode::persistent}, frames, options);
  }
}

TEST(BitVectorClassifier, AnswersItsHandlers) {
  click::Diagnostics diagnostics;
  const Chain chain = read(
      "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(@10.0.0.0/8 0/0 0 : 65535 80 : 80 0x06/0xFF 1,"
      "@10.0.0.0/8 0/0 0 : 65535 0 : 1023 0x06/0xFF deny); c[0] -> TestSink; c[1] -> TestSink;",
      {}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  Handlers handlers;
  chain.router.nodes[static_cast<size_t>(chain.router.find("c"))].element->handlers(handlers);
  const auto lookup = [&](const std::string& key) { return handlers.find("lookup")->read(key); };
  EXPECT_EQ(lookup("10.1.2.3 192.0.2.1 5000 80 6"), "0 1");
  EXPECT_EQ(lookup("10.1.2.3 192.0.2.1 5000 81 6"), "1 deny");
  EXPECT_EQ(lookup("11.1.2.3 192.0.2.1 5000 80 6"), "-1 deny");
  for (const char* key : {"", "10.1.2.3 192.0.2.1 5000 80", "10.1.2.3 192.0.2.1 5000 80 6 7", "10.1.2.3 x 1 1 1",
                          "10.1.2.3 192.0.2.1 65536 80 6", "10.1.2.3 192.0.2.1 1 80 256"})
    EXPECT_THROW(lookup(key), Error) << key;
  EXPECT_EQ(handlers.find("rules")->read(""), "2");
  EXPECT_EQ(handlers.find("reload"), nullptr);
}

}  // namespace
}  // namespace heddle::test
