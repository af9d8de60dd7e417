// The elements in chains, on every backend; engines are tested in engine_test.cc, changes in change_test.cc.

#include "functions/classifier/classifier.h"

#include <set>
#include <sstream>

#include "core/text_file.h"
#include "functions/classifier/classbench_for_test.h"
#include "functions/classifier/frames_for_test.h"
#include "functions/classifier/oracle_for_test.h"
#include "measure/generate/filter_set.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"
#include "tests/support/sanitizer.h"

namespace heddle::test {
namespace {

using namespace classifier;

HEDDLE_ON_EVERY_BACKEND(ClassifierTest);

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

TEST_P(ClassifierTest, TakesTheFirstRuleThatMatches) {
  auto random = random_for("classifier");
  const RuleFile file("classifier");
  for (const size_t count : {1u, 40u, 600u, 9000u}) {
    const auto rules = rules_for(random, count);
    file.write(rules);
    const auto frames = packets_for(random, rules, 700);
    for (const std::string& engine : engines_on(GetParam())) {
      // Trees are slow to build of any prefixes; auto tries them, too, on each backend in the same way.
      if ((engine == "acl" || engine == "hypersplit" || (engine == "auto" && GetParam().device != "cpu")) &&
          count > 600)
        continue;
      const std::string chain = "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                                ", ENGINE " + engine + "); " + kSinks;
      expect_classified(run(chain, GetParam(), frames, {.batches = {0, 1, 31, 32, 33, 1024}}), frames, rules);
    }
  }
}

// Ranges of every field, so that a dimension has several blocks of limits of 8, 16 and 32 bits, and levels of them.
TEST_P(ClassifierTest, FindsRangesByEverySearch) {
  auto random = random_for("classifier searches");
  const RuleFile file("searches");
  std::vector<Rule> rules(3000);
  for (Rule& rule : rules) {
    rule = random_rules(random, 1)[0];
    rule.next = static_cast<uint16_t>(random() % 3);
    for (const Field f : {kSourcePort, kDestinationPort, kProtocol}) {
      rule.low[f] = static_cast<uint32_t>(random()) & kLargest[f];
      rule.high[f] = rule.low[f] + static_cast<uint32_t>(random()) % (kLargest[f] - rule.low[f] + 1);
    }
  }
  file.write(rules);
  const auto frames = packets_for(random, rules, 700);
  for (const std::string search : {"packed", "plain", "binary"}) {
    const std::string chain = "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                              ", ENGINE bitvector, SEARCH " + search + "); " + kSinks;
    expect_classified(run(chain, GetParam(), frames), frames, rules);
  }
}

// Bits of all dimensions' aggregates that no vector confirms. A thread group of a GPU looks at 32,768 rules in one go;
// packets hit the last of these, the next one, and the last of all.
TEST_P(ClassifierTest, GoesOnBehindFalseCandidates) {
  constexpr uint32_t kInOneGo = 32'768;
  std::vector<Rule> rules(40'000);
  for (uint32_t i = 0; i < rules.size(); ++i) {
    rules[i].low = rules[i].high = {i % 2, 1 - i % 2, 7, 8, 6};
    rules[i].low[kSourcePort] = 0, rules[i].high[kSourcePort] = 65535;
  }
  const std::vector<uint32_t> hit{kInOneGo - 1, kInOneGo, static_cast<uint32_t>(rules.size()) - 1};
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < hit.size(); ++i) {
    rules[hit[i]].low = rules[hit[i]].high = {0, 0, 7 + i, 8, 6};
    rules[hit[i]].next = 2;
  }
  for (uint32_t i = 0; i < 120; ++i)
    frames.push_back(packet_of({i & 1, i >> 1 & 1, 7 + (i >> 2) % 3, i % 7 == 0 ? 9u : 8u, 6}));
  const RuleFile file("false_candidates");
  file.write(rules);
  for (const char* engine : {"auto", "bitvector"}) {
    SCOPED_TRACE(engine);
    const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                                  ", ENGINE " + engine + "); " + kSinks,
                              GetParam(), frames);
    expect_classified(result, frames, rules);
    std::set<uint32_t> found;
    for (const Received& packet : result.at("s2")) found.insert(packet.column[static_cast<int>(Column::rule)]);
    EXPECT_EQ(found, std::set<uint32_t>(hit.begin(), hit.end()));
  }
}

TEST_P(ClassifierTest, KnowsGeneratedFilters) {
  auto random = random_for("classifier filters");
  const RuleFile file("filters");
  for (const char* like : {"acl", "fw", "ipc"}) {
    const auto filters = bench::generate_filters(bench::parameters_like(like), {.count = 1000, .seed = seed()});
    std::ofstream(file.path) << bench::to_text(filters);
    std::vector<std::string> errors;
    const Actions usual{.read = [](std::string_view) { return std::nullopt; }, .expected = "", .usual = 1};
    const auto rules = parse_rules("filters", read_text_file(file.path, "rule file"), usual, errors);
    ASSERT_EQ(rules.size(), filters.size());
    const auto frames = packets_for(random, rules, 500);
    for (const std::string& engine : engines_on(GetParam()))
      expect_classified(run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                                ", ACTION 1, ENGINE " + engine + "); " + kSinks,
                            GetParam(), frames),
                        frames, rules);
  }
}

// The backends of a device take the sets in turn.
TEST_P(ClassifierTest, KnowsClassBenchSets) {
  if (!GetParam().on_gpu()) GTEST_SKIP() << "engine_test.cc has them all";
  const auto files = classbench_files();
  if (files.empty()) GTEST_SKIP() << "no filter sets in $HEDDLE_TEST_DATA";
  auto random = random_for("classifier classbench");
  std::vector<Backend> alike;  // on the same device
  for (const Backend& backend : backends())
    if (backend.device == GetParam().device) alike.push_back(backend);
  const auto mine = std::ranges::find(alike, GetParam().name, &Backend::name) - alike.begin();
  for (auto at = static_cast<size_t>(mine); at < files.size(); at += alike.size()) {
    const ClassBenchSet set(files[at]);
    auto frames = packets_for(random, set.rules, 500);
    for (size_t k = 0; k < set.keys.size(); k += 1 + set.keys.size() / 500) frames.push_back(packet_of(set.keys[k]));
    for (const std::string engine : {"bitvector", "hypersplit", "tuple"}) {
      SCOPED_TRACE(engine + " " + files[at]);
      expect_classified(run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + files[at] + ", ENGINE " +
                                engine + "); " + kSinks,
                            GetParam(), frames),
                        frames, set.rules);
    }
  }
}

// A backend of each device; engine_test.cc has the CPU. Bit vectors of so many need more than a GPU has.
TEST(BitVectorClassifier, KnowsHalfAMillionFiltersOnAGpu) {
  constexpr size_t kFilters = kSanitized ? 20'000 : 500'000;
  auto random = random_for("classifier half a million");
  const RuleFile file("half_a_million");
  const auto filters = bench::generate_filters(bench::parameters_like("acl"), {.count = kFilters, .seed = seed()});
  const std::string text = bench::to_text(filters);
  std::ofstream(file.path) << text;
  std::vector<std::string> errors;
  const Actions usual{.read = [](std::string_view) { return std::nullopt; }, .expected = "", .usual = 1};
  const auto rules = parse_rules("filters", text, usual, errors);
  ASSERT_EQ(rules.size(), kFilters);
  const auto frames = packets_for(random, rules, 200);
  for (const Backend& backend : gpu_backends())
    for (const std::string engine : {"tuple", "hypersplit"}) {
      if (backend.launch != LaunchMode::persistent || backend.transport != Transport::direct) continue;
      SCOPED_TRACE(backend.name + " " + engine);
      expect_classified(run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                                ", ACTION 1, ENGINE " + engine + "); " + kSinks,
                            backend, frames),
                        frames, rules);
    }
}

TEST_P(ClassifierTest, TakesTheFirstOfRulesThatOverlapCompletely) {
  auto random = random_for("classifier overlap");
  const RuleFile file("overlap");
  auto nested = nested_rules(600);
  for (Rule& rule : nested) rule.low[kProtocol] = rule.high[kProtocol] = 17;
  for (const auto& rules : {std::vector<Rule>(700, random_rules(random, 1)[0]), nested}) {
    file.write(rules);
    const auto frames = packets_for(random, rules, 500);
    for (const std::string& engine : engines_on(GetParam()))
      expect_classified(run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path + ", ENGINE " +
                                engine + "); " + kSinks,
                            GetParam(), frames),
                        frames, rules);
  }
}

// Ports of packets that have none are 0. Also before other rules, so that the ends are the first and the last of many
// limits.
TEST_P(ClassifierTest, KnowsTheLowestAndTheHighestValueOfEveryField) {
  auto random = random_for("classifier ends");
  const RuleFile file("ends");
  auto rules = rules_at_the_ends();
  std::vector<Key> keys;
  for (size_t i = 0; i < size_t{1} << kFields; ++i) keys.push_back(rules[i].low);
  for (const uint32_t protocol : {6u, 17u})
    for (size_t i = 0; i < size_t{1} << kProtocol; ++i) {
      keys.push_back(keys[i]);
      keys.back()[kProtocol] = protocol;
      Rule corner{.low = keys.back(), .high = keys.back(), .next = static_cast<uint16_t>(i % 3)};
      rules.insert(rules.begin(), corner);
    }
  std::vector<Frame> frames;
  for (const Key& corner : keys) {
    frames.push_back(packet_of(corner));
    for (size_t f = 0; f < kFields; ++f) {
      Key beside = corner;
      beside[f] = corner[f] == 0 ? 1 : corner[f] == kLargest[f] ? kLargest[f] - 1 : corner[f];
      frames.push_back(packet_of(beside));
    }
  }
  std::vector<std::string> searches = engines_on(GetParam());
  for (const char* search : {"plain", "binary"}) searches.push_back(std::string("bitvector, SEARCH ") + search);
  for (const size_t others : {0u, 500u}) {
    for (const Rule& rule : random_rules(random, others)) rules.push_back(rule);
    file.write(rules);
    for (const std::string& search : searches) {
      SCOPED_TRACE(search);
      const Result result = run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                                    ", ENGINE " + search + "); " + kSinks,
                                GetParam(), frames);
      expect_classified(result, frames, rules);
      std::set<uint32_t> hit;
      for (const char* sink : {"s0", "s1", "s2"})
        for (const auto& packet : result.at(sink)) hit.insert(packet.column[static_cast<int>(Column::rule)]);
      for (uint32_t corner = 0; corner < 2u << kProtocol; ++corner) EXPECT_TRUE(hit.contains(corner)) << corner;
    }
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
  EXPECT_EQ(of(all + " allow, DEFAULT deny, ENGINE bitvector, SEARCH binary"), "");
  EXPECT_NE(
      of(all + " allow, DEFAULT deny, ENGINE tuple, SEARCH binary").find("SEARCH: 'binary' is not ENGINE bitvector"),
      std::string::npos);
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
  EXPECT_NE(text.find("; ENGINE hypersplit: 3000 rules need a tree of more than 1 MB, by what has been built about "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("; ENGINE tuple would need "), std::string::npos) << text;
}

TEST(BitVectorClassifier, TakesWhatKeepsUpWithTheChangesThatAreExpected) {
  auto random = random_for("expected changes");
  const RuleFile file("changes");
  file.write(random_rules(random, 3000));
  const auto chain = [&](const char* more) {
    return "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path + ", CHANGES 100000" + more +
           "); c[0] -> TestSink; c[1] -> TestSink; c[2] -> TestSink;";
  };
  for (const char* device : {"cpu", "simt"}) {
    const std::string text = plan_text(chain(""), device);
    EXPECT_NE(text.find("chosen: engine tuple: 3000 rules"), std::string::npos) << text;
    EXPECT_NE(text.find("; for 100000 changes a second, 0.005 ms"), std::string::npos) << text;
  }
  const std::string text = mistakes(chain(", DEVICE gpu"), "simt");
  EXPECT_NE(text.find("and for 100000 changes a second that may be 0.0 ms"), std::string::npos) << text;
}

TEST(BitVectorClassifier, SaysWhichEngineAndWhy) {
  const std::string rule = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00",
                    head = "TestSource(SETS \"l3 l4\") -> c :: Firewall(";
  const auto tail = [](const std::string& engine) { return " allow, DEFAULT deny" + engine + ") -> TestSink;"; };
  EXPECT_NE(plan_text(head + rule + tail(", ENGINE tuple")).find("chosen: engine tuple: ENGINE says so"),
            std::string::npos);
  EXPECT_NE(plan_text(head + rule + tail("")).find(": 1 rules, tried with synthetic keys: bitvector "),
            std::string::npos);
  EXPECT_NE(
      plan_text(head + rule + tail(""), "simt").find("chosen: engine hypersplit: 1 rules take 0.0 MB, and a change "),
      std::string::npos);
  EXPECT_EQ(mistakes(head + rule + tail(", ENGINE acl, DEVICE cpu"), "simt"), "");
  EXPECT_NE(mistakes(head + rule + tail(", ENGINE acl"), "simt")
                .find("Firewall 'c': ENGINE acl runs on a CPU only; give it DEVICE cpu, or another ENGINE for a GPU"),
            std::string::npos);
  EXPECT_NE(plan_text(head + rule + tail(", ENGINE tuple"), "simt").find("chosen: engine tuple: ENGINE says so"),
            std::string::npos);
  std::string fields;
  for (uint32_t byte = 0; byte < 28; ++byte) fields += format(" frame[%u/1]", byte);
  EXPECT_NE(mistakes(head + rule + tail(", ENGINE tuple, FIELDS \"" + fields + "\""), "simt")
                .find("the rules ask for 28 fields beside the 5-tuple, and ENGINE tuple takes 27 on a GPU"),
            std::string::npos);
  auto random = random_for("many rules");
  const RuleFile file("many");
  file.write(random_rules(random, 3000));
  const std::string many = "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                           "); c[0] -> TestSink; c[1] -> TestSink; c[2] -> TestSink;";
  EXPECT_NE(plan_text(many).find(": 3000 rules, tried with synthetic keys: bitvector "), std::string::npos);
  const std::string of_many = plan_text(many, "simt");
  const bool slow = of_many.find(" s to be built") != std::string::npos;  // the tree, on a busy machine
  EXPECT_EQ(of_many.find("chosen: engine hypersplit") == std::string::npos, slow) << of_many;
  const std::string little = "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path +
                             ", MEMORY 2); c[0] -> TestSink; c[1] -> TestSink; c[2] -> TestSink;";
  EXPECT_EQ(mistakes(little), "");
  const std::string chosen = plan_text(little);
  EXPECT_NE(chosen.find("chosen: engine tuple: 3000 rules, tried with synthetic keys: tuple "), std::string::npos);
  EXPECT_NE(chosen.find("; no bitvector: 3000 rules need bit vectors of "), std::string::npos) << chosen;
  EXPECT_NE(chosen.find("; no hypersplit: 3000 rules need a tree of more than 2 MB, by what has been built about "),
            std::string::npos)
      << chosen;
  const std::string on_gpu = plan_text(little, "simt");
  EXPECT_NE(on_gpu.find("chosen: engine tuple: 3000 rules need bit vectors of "), std::string::npos) << on_gpu;
  EXPECT_NE(on_gpu.find("MEMORY allows 2 MB; 3000 rules take "), std::string::npos) << on_gpu;
  EXPECT_EQ(on_gpu.find("not on a GPU"), std::string::npos) << on_gpu;
  // --device leaves what no GPU takes to the CPU; DEVICE does not.
  const auto with = [&](const char* more) { return std::string(little).insert(little.find(", MEMORY"), more); };
  const std::string left = plan_text(with(", CHANGES 100000"), "simt");
  EXPECT_NE(left.find("chosen: engine tuple: "), std::string::npos) << left;
  EXPECT_NE(left.find("; not on a GPU: 3000 rules need bit vectors of "), std::string::npos) << left;
  testing::internal::CaptureStderr();
  run(with(", CHANGES 100000"), gpu_backends()[0], {});
  EXPECT_NE(testing::internal::GetCapturedStderr().find("c: on the CPU, not on a GPU: 3000 rules"), std::string::npos);
  const std::string refused = mistakes(with(", CHANGES 100000, DEVICE gpu"), "simt");
  EXPECT_NE(refused.find("BitVectorClassifier 'c': 3000 rules need bit vectors of "), std::string::npos) << refused;
  EXPECT_NE(refused.find("; tuple takes "), std::string::npos) << refused;
  EXPECT_NE(refused.find("; with DEVICE cpu they can have ENGINE tuple"), std::string::npos) << refused;
}

// Access lists, of which a tree takes less memory than bit vectors.
TEST_P(ClassifierTest, TakesATreeForSetsThatBitVectorsAreTooLargeFor) {
  if (!GetParam().on_gpu()) GTEST_SKIP() << "a CPU has ENGINE tuple";
  auto random = random_for("classifier tree");
  const RuleFile file("tree");
  const auto filters = bench::generate_filters(bench::parameters_like("acl"), {.count = 4000, .seed = seed()});
  std::ofstream(file.path) << bench::to_text(filters);
  std::vector<std::string> errors;
  const Actions usual{.read = [](std::string_view) { return std::nullopt; }, .expected = "", .usual = 1};
  const auto rules = parse_rules("tree", read_text_file(file.path, "rule file"), usual, errors);
  const auto frames = packets_for(random, rules, 500);
  const std::string chain =
      "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path + ", ACTION 1, MEMORY 2); " + kSinks;
  EXPECT_NE(plan_text(chain, "simt").find("chosen: engine hypersplit: 4000 rules take "), std::string::npos);
  expect_classified(run(chain, GetParam(), frames), frames, rules);
}

TEST(BitVectorClassifier, ReloadNamesEveryMistakeAsTheStartDoes) {
  const RuleFile file("reloaded");
  file.write({Rule{}});
  const std::string chain_text =
      "TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(RULES " + file.path + ", FIELDS vlan); c -> TestSink;";
  click::Diagnostics diagnostics;
  const Chain chain = read(chain_text, {}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  Handlers handlers;
  chain.router.nodes[static_cast<size_t>(chain.router.find("c"))].element->handlers(handlers);
  const auto lines_of_reload = [&] {
    std::vector<std::string> lines;
    try {
      handlers.find("reload")->write("");
    } catch (const Error& error) {
      const std::string text = error.what(), end = "; the rules stay as they are";
      EXPECT_TRUE(text.ends_with(end)) << text;
      std::istringstream words(text.substr(0, text.size() - std::min(text.size(), end.size())));
      for (std::string line; std::getline(words, line);) lines.push_back(line);
    }
    EXPECT_EQ(handlers.find("count")->read(""), "1");
    return lines;
  };
  const std::string any = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00";
  std::ofstream(file.path) << any << "\nx\n" << any << " 9\n@0/0 0/0 9 : 8 0 : 65535 0x00/0x00\n";
  const auto lines = lines_of_reload();
  const std::string at_start = mistakes(chain_text);
  ASSERT_EQ(lines.size(), 3u);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i].find(file.path + format(":%zu: ", i + 2)), 0u) << lines[i];
    EXPECT_NE(at_start.find(lines[i]), std::string::npos) << lines[i] << " not in " << at_start;
  }
  std::ofstream(file.path) << any << " paint=1\n" << any << " vlan=1\n" << any << " flags=2/2\n";
  const auto asking = lines_of_reload();
  ASSERT_EQ(asking.size(), 2u);
  EXPECT_EQ(asking[0].find(file.path + ":1: it asks for paint, at which none of the rules looked at the start"), 0u)
      << asking[0];
  EXPECT_EQ(asking[1].find(file.path + ":3: it asks for flags, "), 0u) << asking[1];
  std::ofstream(file.path) << any << "\n" << any << " vlan=1\n";
  handlers.find("reload")->write("");
  EXPECT_EQ(handlers.find("count")->read(""), "2");
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
