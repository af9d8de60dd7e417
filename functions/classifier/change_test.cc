// Rules that change while packets flow.

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>
#include <utility>

#include "functions/classifier/classifier.h"
#include "functions/classifier/frames_for_test.h"
#include "functions/classifier/oracle_for_test.h"
#include "tests/support/lab.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(ClassifierChangeTest);

// Waits until `more` packets have come to an output.
void wait_for(const std::atomic<uint64_t>& at, uint64_t more) {
  const uint64_t start = at;
  wait_while([&] { return at - start < more; });
}

// Packets are all classified by the old rules or all by the new ones, and none is lost.
TEST_P(ClassifierChangeTest, ReplacesItsRulesUnderTraffic) {
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

// In each state of the set every network has one rule, of the state's output and with a number of its own, and all
// rules change at once, under load. A packet that finds none, or another's number, has seen half a set.
TEST_P(ClassifierChangeTest, NoPacketSeesHalfASet) {
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
    Options options{.batches = {static_cast<int>(kNets)}};
    uint32_t state_of_batch = 0;
    options.endless = true;
    options.on_packet = [&](const std::string& sink, const Received& packet) {
      const auto state = static_cast<uint32_t>(sink[1] - '0');
      if (packet.column[static_cast<int>(Column::rule)] != number_of(state, packet.bytes[kL3 + 13])) ++wrong;
      // A CPU looks up a batch by one set: packets of a batch come one after the other, whatever their outputs.
      if (seen % kNets == 0) state_of_batch = state;
      if (!GetParam().on_gpu() && state != state_of_batch) ++wrong;
      ++of_state[state], ++seen;
    };
    options.meanwhile = [&](Engine& running) {
      const bool on_gpu = GetParam().on_gpu();
      const uint32_t changes = engine == "tuple" ? (on_gpu ? 300 : 3000) : engine == "acl" ? 6 : on_gpu ? 48 : 300;
      for (uint32_t change = 0; change < changes; ++change) {
        const uint32_t before = change % kStates, after = (change + 1) % kStates;
        std::string commands;
        for (uint32_t net = 0; net < kNets; ++net)
          commands +=
              format("remove %u\nadd %u ", number_of(before, net), number_of(after, net)) + rule_of(after, net) + "\n";
        running.handlers().write("c.ctrl", commands);
        if (change % 16 < 3) wait_for(of_state[after], 50);
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

// Changes of one rule each, many at a time; packets that enter after them against a search of all rules. Which these
// are the frames tell: there are many more than packets under way, which leave by rare outputs long after others.
TEST_P(ClassifierChangeTest, FindsTheFirstOfChangedRules) {
  constexpr uint32_t kStep = 10, kKeys = 64, kFrames = 256 * kKeys;
  auto random = random_for("changed rules");
  const auto pool = random_rules(random, 300);
  auto keys = keys_near(random, pool, kKeys);
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < kFrames; ++i) frames.push_back(packet_of(keys[i % kKeys]));
  for (Key& key : keys)
    if (!has_ports(key[kProtocol] << 24)) key[kSourcePort] = key[kDestinationPort] = 0;
  for (const std::string& engine : engines_on(GetParam())) {
    std::map<uint32_t, Rule> rules;
    std::string text;
    for (uint32_t i = 0; i < 60; ++i) rules[kStep * i] = pool[i], text += rule_text(pool[i]) + ", ";
    std::pair<uint32_t, uint32_t> expected[kKeys];  // number and output by packet
    std::atomic<bool> settled{false};               // packets that have entered since are to be as expected
    std::atomic<uint64_t> since{0}, seen{0}, checked{0}, wrong{0};
    Options options;
    options.endless = true, options.batches = {64};
    ASSERT_LT(2 * options.packets, kFrames);
    options.on_packet = [&](const std::string& sink, const Received& packet) {
      const std::pair<uint32_t, uint32_t> got{packet.column[static_cast<int>(Column::rule)], sink[1] - '0'};
      const auto frame = static_cast<uint64_t>(packet.serial);
      if (settled && (frame - since) % kFrames < kFrames / 2) {
        if (got != expected[frame % kKeys]) ++wrong;
        ++checked;
      }
      ++seen;
    };
    options.meanwhile = [&](Engine& running) {
      for (int round = 0; round < 3; ++round) {
        for (int change = engine == "acl" ? 2 : 25; change > 0; --change) {
          const auto number = static_cast<uint32_t>(random() % (kStep * 60));
          if (const auto at = rules.lower_bound(number); random() % 2 == 0 && at != rules.end()) {
            running.handlers().write("c.remove", std::to_string(at->first));
            rules.erase(at);
          } else {
            const Rule& rule = pool[random() % pool.size()];
            running.handlers().write(rules.contains(number) ? "c.replace" : "c.add",
                                     std::to_string(number) + " " + rule_text(rule));
            rules[number] = rule;
          }
        }
        for (size_t k = 0; k < keys.size(); ++k) {
          const auto hit =
              std::ranges::find_if(rules, [&](const auto& rule) { return first_match({rule.second}, keys[k]) == 0; });
          expected[k] = hit == rules.end() ? std::pair{kNoRule, 0u} : std::pair{hit->first, uint32_t{hit->second.next}};
        }
        since = Lab::current()->given.load();
        settled = true;
        wait_for(checked, 200);
        settled = false;
        wait_for(seen, 1);  // that nobody is looking at what was expected
      }
    };
    run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + text + "STEP 10, DEFAULT 0, ENGINE " + engine +
            "); " + kSinks,
        GetParam(), frames, options);
    EXPECT_EQ(wrong, 0u) << engine << ", of " << seen << " packets";
  }
}

// A GPU that has had nothing to do for several changes, whose programs may lie where one before them lay.
TEST_P(ClassifierChangeTest, AreSeenByOneThatWasIdle) {
  const std::string any = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00 ";
  const std::vector<Frame> frames(32, packet_of({1, 2, 3, 4, 6}));
  std::atomic<uint64_t> at[3] = {}, elsewhere{0};
  Options options;
  options.endless = true;
  options.on_packet = [&](const std::string& sink, const Received&) {
    ++(sink == "idle" ? elsewhere : at[static_cast<size_t>(sink[1] - '0')]);
  };
  options.meanwhile = [&](Engine& running) {
    Broker& handlers = running.handlers();
    uint32_t output = 0;
    for (int round = 0; round < 8; ++round) {
      wait_for(at[output], 64);
      handlers.write("way.replace", "0 " + any + "1");
      wait_for(elsewhere, 64);
      for (int change = 0; change < 2 + round % 3; ++change)
        handlers.write("c.replace", "0 " + any + std::to_string((output + 1 + static_cast<uint32_t>(change)) % 3));
      output = (output + 2 + static_cast<uint32_t>(round) % 3) % 3;
      const uint64_t before[3] = {at[0], at[1], at[2]};
      handlers.write("way.replace", "0 " + any + "0");
      wait_for(at[output], 64);
      for (const uint32_t other : {0u, 1u, 2u})
        if (other != output) {
          EXPECT_EQ(at[other], before[other]) << "round " << round;
        }
    }
  };
  run("TestSource(SETS \"l3 l4\") -> way :: BitVectorClassifier(" + any +
          "0, DEVICE cpu); way[1] -> idle :: TestSink;" + "way[0] -> c :: BitVectorClassifier(" + any + "0); " + kSinks,
      GetParam(), frames, options);
}

TEST_P(ClassifierChangeTest, ChangesAllOrNothingAndCountsHits) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 90; ++i) frames.push_back(packet_of({1, 2, 3, i % 3, 6}));
  const auto rule = [](int low, int high) { return format("@0/0 0/0 0 : 65535 %d : %d 0x06/0xFF", low, high); };
  for (const std::string& engine : engines_on(GetParam())) {
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
      for (const char* protocol : {"tcp", "0x06"})
        EXPECT_EQ(handlers.read("c.lookup", std::string("1.2.3.4 5.6.7.8 9 1 ") + protocol), "10 1");
      try {
        handlers.read("c.lookup", "1.2.3.4 5.6.7.8 9 1 tpc");
        ADD_FAILURE() << "it reads tpc";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("'tpc' is not a protocol: expected a number from 0 to 255, or tcp"),
                  std::string::npos)
            << error.what();
      }
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
      wait_while([&] { return std::stoull(handlers.read("c.hits", "10")) < 1000; });
      EXPECT_EQ(handlers.read("c.hits", "11"), "0");
      EXPECT_EQ(handlers.read("c.hits").find("0 "), 0u);
      handlers.write("c.replace", "10 " + rule(9, 9) + " 1");
      EXPECT_EQ(handlers.read("c.hits", "10"), "0") << "another rule";
      wait_while([&] { return handlers.read("c.hits", "11") == "0"; });
      EXPECT_THROW(handlers.read("c.hits", "12"), Error);
    };
    options.on_packet = [](const std::string&, const Received&) {};
    run("TestSource(SETS \"l3 l4\") -> c :: BitVectorClassifier(" + rule(0, 0) + " 0, " + rule(1, 65535) +
            " 1, STEP 10, ENGINE " + engine + "); " + kSinks,
        GetParam(), frames, options);
  }
}

}  // namespace
}  // namespace heddle::test
