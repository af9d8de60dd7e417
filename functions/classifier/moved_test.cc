// Rules and hits when another configuration moves the element between CPU and GPU.

#include <atomic>
#include <sstream>

#include "functions/classifier/frames_for_test.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

class ClassifierMoves : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(All, ClassifierMoves, testing::ValuesIn(gpu_backends()), backend_name);

// Both ways, after moves that fail behind the elements' start as well, and rules change as before in the new place.
TEST_P(ClassifierMoves, KeepsRulesAndHits) {
  const std::string all = "@0/0 0/0 0 : 65535 0 : 65535 0x00/0x00 ";
  const std::vector<Frame> frames(64, packet_of({1, 2, 7, 4, 6}));
  for (const std::string& engine : engines_on(GetParam())) {
    // The mirror stays on the GPU, which a program that began without one cannot get.
    const auto chain = [&](const std::string& where) {
      return "TestSource(SETS \"l3 l4\") -> from :: Switch(1) -> k :: Counter -> EtherMirror"
             " -> c :: BitVectorClassifier(@9.9.9.9/32 0/0 0 : 65535 0 : 65535 0x00/0x00 0, " +
             all + "1, STEP 100, ENGINE " + engine + where + "); from[1] -> d :: Discard; " + kSinks;
    };
    std::atomic<uint64_t> seen{0}, by_rules_of_before{0};
    std::atomic<uint32_t> output{1};
    Options options{.batches = {64}, .endless = true};
    options.on_packet = [&](const std::string& sink, const Received&) {
      if (static_cast<uint32_t>(sink[1] - '0') != output) ++by_rules_of_before;
      ++seen;
    };
    options.meanwhile = [&](Engine& running) {
      Broker& handlers = running.handlers();
      const auto to = [&](const std::string& text) {
        running.reconfigure([&] {
          click::Diagnostics diagnostics;
          Chain next = read(text, GetParam().plan(), diagnostics);
          if (!diagnostics.ok()) throw Error(diagnostics.text());
          return Configuration{std::move(next.router), std::move(next.plan)};
        });
      };
      // Packets come until `more` have been counted; then nothing is under way.
      const auto let_come = [&](uint64_t more) {
        const auto count = [&] { return std::stoull(handlers.read("k.count")); };
        const uint64_t wanted = count() + more;
        handlers.write("from.switch", "0");
        wait_while([&] { return count() < wanted; });
        handlers.write("from.switch", "1");
        const auto sum = [&] {
          uint64_t hits = 0, number = 0, of_rule = 0;
          for (std::istringstream text(handlers.read("c.hits")); text >> number >> of_rule;) hits += of_rule;
          return hits;
        };
        wait_for_more(handlers, "d.count");
        wait_while([&] { return sum() != count() || seen != count(); });
      };
      let_come(100);
      EXPECT_EQ(by_rules_of_before, 0u);
      int rules = 2;
      for (const char* where : {", DEVICE cpu", "", ", DEVICE cpu", ", DEVICE gpu"}) {
        const uint32_t rule = 100u - static_cast<uint32_t>(rules);  // before all others
        output = rule % 3;
        handlers.write("c.add", format("%u ", rule) + all + std::to_string(output));
        ++rules;
        const std::string hits = handlers.read("c.hits");
        const std::string lookup = format("%u %u", rule, output.load());
        EXPECT_THROW(to(chain(where) + "Script(init x $(nobody.count));"), Error);
        for (int move = 0; move < 2; ++move) {
          EXPECT_EQ(handlers.read("c.count"), std::to_string(rules)) << where;
          EXPECT_EQ(handlers.read("c.hits"), hits) << where;
          EXPECT_EQ(handlers.read("c.lookup", "1.2.3.4 5.6.7.8 1 1 6"), lookup) << where;
          if (move == 0) to(chain(where));
        }
        let_come(100);
        EXPECT_EQ(by_rules_of_before, 0u) << where;
      }
      handlers.write("c.remove", "95");
      EXPECT_EQ(handlers.read("c.lookup", "1.2.3.4 5.6.7.8 1 1 6"), "96 0");
    };
    run(chain(""), GetParam(), frames, options);
  }
}

}  // namespace
}  // namespace heddle::test
