// What the switch learns from traffic, on every backend: a GPU tells the host, and the host changes the table.

#include <atomic>
#include <functional>
#include <map>
#include <thread>

#include "functions/l2_switch/l2_switch.h"
#include "functions/l2_switch/switch_for_test.h"

namespace heddle::test {
namespace {

using namespace switching;

HEDDLE_ON_EVERY_BACKEND(L2SwitchLearns);

/** Where packets leave, from some time on. */
class Watch {
 public:
  /** `output`: of a frame, less than 0 if it is dropped. */
  Watch(std::vector<Frame> frames, std::vector<int> output) : frames_(std::move(frames)), output_(std::move(output)) {}
  const std::vector<Frame>& frames() const { return frames_; }
  void operator()(const std::string& sink, const Received& packet) {
    if (strict_ && sink[1] - '0' != output_[static_cast<size_t>(packet.serial)]) ++wrong_;
    ++seen_;
  }
  /** When nothing is in flight any more from before: no packet takes another way than it should. Where CPU and GPU have
   *  the switch in turn, each hears of what the other has learned a little later: only in the end. */
  void expect_right(const Backend& backend) {
    do {
      wait(kPackets);
      wrong_ = 0;
      strict_ = true;
      wait(2 * frames_.size());
      strict_ = false;
    } while (backend.by_load && wrong_ > 0);
    EXPECT_EQ(wrong_, 0u);
  }
  /** Options of a run over and over, with `meanwhile(handlers)`. */
  Options options(std::function<void(Broker&)> meanwhile) {
    Options options{.batches = {256}, .packets = kPackets, .endless = true};
    options.on_packet = [this](const std::string& sink, const Received& packet) { (*this)(sink, packet); };
    options.meanwhile = [meanwhile = std::move(meanwhile)](Engine& engine) { meanwhile(engine.handlers()); };
    return options;
  }

 private:
  static constexpr unsigned kPackets = 1024;  // of the pool
  void wait(uint64_t packets) const {
    wait_while([&, start = seen_.load()] { return seen_ - start < packets; });
  }
  std::vector<Frame> frames_;
  std::vector<int> output_;
  std::atomic<uint64_t> seen_{0}, wrong_{0};
  std::atomic<bool> strict_{false};
};

/** As handlers show it. */
std::string shown(const Mac& a) { return format("%02X-%02X-%02X-%02X-%02X-%02X", a[0], a[1], a[2], a[3], a[4], a[5]); }

/** The handler `table` of what has been learned. */
std::string table_of(const std::map<Mac, unsigned>& learned) {
  std::string list;
  for (const auto& [address, port] : learned) list += shown(address) + format(" %u learned\n", port);
  return list;
}
void wait_for_table(Broker& handlers, const std::string& table) {
  wait_while([&] { return handlers.read("sw.table") != table; });
}

/** Each of `hosts` says where it is, then sends to each of the others. */
Watch conversations(unsigned hosts, std::map<Mac, unsigned>& learned) {
  std::vector<Frame> frames;
  for (unsigned i = 0; i < hosts; ++i) frames.push_back(frame_of(kBroadcast, mac(i), i % 3));
  for (unsigned i = 0; i < hosts * 4; ++i)
    frames.push_back(frame_of(mac(i * 7 % hosts), mac(i % hosts), i % hosts % 3));
  frames.push_back(frame_of(mac(hosts), mac(0), 0));
  frames.push_back(frame_of(mac(0), {1, 0, 0, 0, 0, 1}, 1));  // from a group
  frames.push_back(frame_of(mac(1), mac(hosts + 1), 7));      // by a port that there is not
  Oracle oracle{.ports = 3, .stays = {}};
  for (const Frame& frame : frames) oracle.output(frame);
  std::vector<int> outputs;
  for (const Frame& frame : frames) outputs.push_back(oracle.output(frame));
  learned = oracle.learned;
  return {std::move(frames), std::move(outputs)};
}

TEST_P(L2SwitchLearns, LearnsFromTraffic) {
  std::map<Mac, unsigned> learned;
  Watch watch = conversations(120, learned);
  const Result result = run("TestSource(SETS paint) -> sw :: L2Switch;" + kSinks, GetParam(), watch.frames(),
                            watch.options([&](Broker& handlers) {
                              wait_for_table(handlers, table_of(learned));
                              watch.expect_right(GetParam());
                              handlers.write("sw.flush", "");
                              wait_for_table(handlers, table_of(learned));
                              watch.expect_right(GetParam());
                            }));
  EXPECT_EQ(result.statistics.at("sw.learned"), 240u);
  EXPECT_EQ(result.statistics.at("sw.moved"), 0u);
  EXPECT_EQ(result.statistics.at("sw.not_learned"), 0u);
  EXPECT_EQ(result.statistics.at("sw.events_lost"), 0u);
}

// All hosts move to port 1 and back. Entries that stay do not.
TEST_P(L2SwitchLearns, FollowsMoves) {
  std::map<Mac, unsigned> learned;
  Watch watch = conversations(60, learned);
  std::map<Mac, unsigned> moved = learned;
  for (auto& [address, port] : moved) port = 1;
  moved.erase(mac(9)), learned.erase(mac(9));
  moved[mac(61)] = 1;  // what came by no port comes by this one
  learned[mac(61)] = 1;
  const auto with_one_that_stays = [](std::string table) {
    return table.insert(table.find(shown(mac(10))), shown(mac(9)) + " 0\n");
  };
  const Result result = run("TestSource(SETS paint) -> from :: Switch -> sw :: L2Switch(" + text(mac(9)) +
                                " 0); from[1] -> Paint(1) -> sw;" + kSinks,
                            GetParam(), watch.frames(), watch.options([&](Broker& handlers) {
                              handlers.write("from.switch", "1");
                              wait_for_table(handlers, with_one_that_stays(table_of(moved)));
                              handlers.write("from.switch", "0");
                              wait_for_table(handlers, with_one_that_stays(table_of(learned)));
                              watch.expect_right(GetParam());
                            }));
  EXPECT_EQ(result.statistics.at("sw.entries"), 61u);
  EXPECT_GE(result.statistics.at("sw.moved"), 39u);
}

// Random addresses fill the table while the known ones talk: these go on being switched, and newcomers are flooded.
TEST_P(L2SwitchLearns, KnowsItsHostsInAFlood) {
  auto random = random_for("l2 flood");
  std::map<Mac, unsigned> learned;
  const Watch known = conversations(50, learned);
  std::vector<Frame> frames = known.frames();
  for (int i = 0; i < 1500; ++i) {
    Mac from = {0x06, 0};
    for (size_t b = 1; b < 6; ++b) from[b] = static_cast<uint8_t>(random());
    frames.push_back(frame_of(mac(static_cast<unsigned>(random() % 50)), from, 3));
  }
  Oracle oracle{.ports = 3, .stays = {}, .learned = learned, .learns = false};
  std::vector<int> outputs;
  for (Frame frame : frames) outputs.push_back((frame.column[kPaint] %= 3, oracle.output(frame)));
  Watch watch(frames, outputs);
  const Result result =
      run("TestSource(SETS paint) -> kind :: PaintSwitch; sw :: L2Switch(CAPACITY 200);"
          "kind[0] -> sw; kind[1] -> sw; kind[2] -> sw; kind[3] -> flood :: Switch(1) -> Paint(0) -> sw;"
          "flood[1] -> Discard;" +
              kSinks,
          GetParam(), frames, watch.options([&](Broker& handlers) {
            wait_for_table(handlers, table_of(learned));
            handlers.write("flood.switch", "0");
            wait_while([&] { return handlers.read("sw.count") != "200"; });
            watch.expect_right(GetParam());
            EXPECT_TRUE(handlers.read("sw.table").starts_with(table_of(learned)));
            EXPECT_EQ(handlers.read("sw.events_lost"), "0");
          }));
  EXPECT_EQ(result.statistics.at("sw.learned"), 200u);
  EXPECT_EQ(result.statistics.at("sw.moved"), 0u);
  EXPECT_GT(result.statistics.at("sw.not_learned"), 100u);
}

// What has been learned goes over to another configuration, which goes on learning.
TEST_P(L2SwitchLearns, IsReplaced) {
  std::map<Mac, unsigned> learned;
  Watch watch = conversations(40, learned);
  const std::string chain = "TestSource(SETS paint) -> from :: Switch -> sw :: L2Switch; from[1] -> Discard;" + kSinks;
  Options options = watch.options({});
  options.meanwhile = [&](Engine& engine) {
    Broker& handlers = engine.handlers();
    for (int i = 0; i < 3; ++i) {
      wait_for_table(handlers, table_of(learned));
      handlers.write("sw.remove", text(mac(5)));
      wait_for_table(handlers, table_of(learned));
      watch.expect_right(GetParam());
      engine.reconfigure([&] {
        click::Diagnostics diagnostics;
        const std::string quiet = "TestSource(SETS paint) -> from :: Switch(1)" + chain.substr(chain.find(" -> sw"));
        Chain next = read(i % 2 == 0 ? quiet : chain, GetParam().plan(), diagnostics);
        return Configuration{std::move(next.router), std::move(next.plan)};
      });
      EXPECT_EQ(handlers.read("sw.table"), table_of(learned));
      handlers.write("from.switch", "0");
    }
    watch.expect_right(GetParam());
  };
  run(chain, GetParam(), watch.frames(), options);
}

// The same switch in another configuration has the same table, with what a handler has added; with an entry of its own
// as well, what has been learned. A configuration that fails changes nothing.
TEST_P(L2SwitchLearns, TableGoesOver) {
  std::map<Mac, unsigned> learned;
  Watch watch = conversations(40, learned);
  const auto chain = [](const std::string& entries) {
    return "TestSource(SETS paint) -> sw :: L2Switch" + entries + ";" + kSinks;
  };
  Options options = watch.options({});
  options.meanwhile = [&](Engine& engine) {
    Broker& handlers = engine.handlers();
    const auto to = [&](const std::string& text) {
      engine.reconfigure([&] {
        click::Diagnostics diagnostics;
        Chain next = read(text, GetParam().plan(), diagnostics);
        return Configuration{std::move(next.router), std::move(next.plan)};
      });
    };
    const auto lookup = [&](unsigned n) { return handlers.read("sw.lookup", text(mac(n))); };
    wait_for_table(handlers, table_of(learned));
    handlers.write("sw.add", text(mac(900)) + " 2");
    to(chain(""));
    EXPECT_EQ(lookup(900), "2");
    EXPECT_EQ(handlers.read("sw.count"), std::to_string(learned.size() + 1));
    watch.expect_right(GetParam());
    EXPECT_THROW(to(chain("") + "FromDump(/nowhere) -> Discard;"), Error);
    EXPECT_EQ(lookup(900), "2");
    to(chain("(" + text(mac(901)) + " 1)"));
    EXPECT_EQ(lookup(900), "-1");
    EXPECT_EQ(lookup(901), "1");
    EXPECT_EQ(handlers.read("sw.count"), std::to_string(learned.size() + 1));
    watch.expect_right(GetParam());
  };
  run(chain(""), GetParam(), watch.frames(), options);
}

// What the GPU tells at the end of a run is heard.
TEST_P(L2SwitchLearns, HearsTheLastWord) {
  const Result result = run("TestSource(SETS paint) -> sw :: L2Switch;" + kSinks, GetParam(),
                            std::vector<Frame>(100, frame_of(kBroadcast, mac(1), 1)));
  EXPECT_EQ(result.statistics.at("sw.entries"), 1u);
  EXPECT_EQ(result.statistics.at("sw.learned"), 1u);
}

// An address that is heard of stays, another goes, one that was set stays.
TEST_P(L2SwitchLearns, Ages) {
  std::vector<Frame> frames = {frame_of(mac(2), mac(1), 0)};
  std::atomic<bool> once{false};
  Options options{.endless = true};
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    Broker& handlers = engine.handlers();
    handlers.write("sw.add", text(mac(7)) + " 1");
    const auto wait_for = [&](const std::string& count) {
      wait_while([&] { return handlers.read("sw.count") != count; });
    };
    wait_for("2");
    handlers.write("from.switch", "1");
    wait_for("1");
    EXPECT_NE(handlers.read("sw.table").find(" 1\n"), std::string::npos);
    EXPECT_EQ(std::ranges::count(cuckoo::forms(), handlers.read("sw.form"), &cuckoo::Form::name), 1);
    handlers.write("from.switch", "0");
    wait_for("2");
    once = true;
  };
  // A Switch stands for a cable that is pulled.
  run("TestSource(SETS paint) -> from :: Switch -> sw :: L2Switch(TIMEOUT 100ms); from[1] -> Discard;" + kSinks,
      GetParam(), frames, options);
  EXPECT_TRUE(once);
}

}  // namespace
}  // namespace heddle::test
