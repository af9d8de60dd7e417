// Hot reconfiguration: packets are not lost, or counted where they are, order is kept, and what elements have gathered
// stays.
#include <pthread.h>

#include <set>

#include "core/element.h"
#include "simt/loss.h"
#include "tests/support/frames.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

constexpr int kOffered = 5000, kTimes = 20, kTimesBeside = 5;

Configuration read_for(const Backend& backend, const std::string& text) {
  click::Diagnostics diagnostics;
  Chain chain = read(text, backend.plan(), diagnostics);
  if (!diagnostics.ok()) throw Error(diagnostics.text());
  return {std::move(chain.router), std::move(chain.plan)};
}

/** The frames of an endless source, as a sink sees them: their numbers rise, and begin again each time round. */
class Rounds {
 public:
  void see(const Received& packet) {
    if (packet.serial <= last_) ++begun_;
    last_ = packet.serial;
    ++seen_;
  }
  int64_t begun() const { return begun_; }
  int64_t seen() const { return seen_; }

 private:
  int64_t last_ = -1, begun_ = 1, seen_ = 0;
};

std::vector<Frame> frames() {
  std::vector<Frame> list(kOffered);
  for (int i = 0; i < kOffered; ++i) list[static_cast<size_t>(i)].bytes.assign(64, static_cast<uint8_t>(i));
  return list;
}

HEDDLE_ON_EVERY_BACKEND(Reconfigure);

// The queue is full all the time: the source gives 1024 packets at a time, and 64 are pulled. Every second
// configuration has a function more, which goes to the GPU where there is one. The harness adds up what came, arrived
// and was dropped.
TEST_P(Reconfigure, UnderOverloadAllIsCountedAndInOrder) {
  const std::string head = "src :: TestSource(ENDLESS true) -> c :: Counter -> ",
                    tail = "u :: Unqueue -> sink :: TestSink;";
  const std::string one = head + "m :: EtherMirror -> q :: Queue(500) -> " + tail;
  const std::string other = head + "x :: XOR(5) -> n :: Null -> q :: Queue(700) -> " + tail;
  Rounds rounds;
  std::string counted;
  Options options;
  options.endless = true;
  if (GetParam().device == "simt") options.batches = {128};  // a batch that is under way there delays each change
  options.on_packet = [&](const std::string&, const Received& packet) { rounds.see(packet); };
  options.meanwhile = [&](Engine& engine) {
    for (int i = 0; i < kTimes; ++i) {
      wait_for_more(engine.handlers(), "sink.count");
      const uint64_t before = std::stoull(engine.handlers().read("c.count"));
      engine.reconfigure([&] { return read_for(GetParam(), i % 2 == 0 ? other : one); });
      EXPECT_GE(std::stoull(engine.handlers().read("c.count")), before) << "time " << i;
      EXPECT_EQ(engine.handlers().read("q.capacity"), i % 2 == 0 ? "700" : "500");
    }
    EXPECT_EQ(engine.reconfigurations(), kTimes);
    wait_for_more(engine.handlers(), "sink.count");
  };
  const Result result = run(one, GetParam(), frames(), options);
  EXPECT_EQ(result.statistics.at("c.count"), result.received);
  EXPECT_GT(result.drop("q.full"), 0u);
  EXPECT_LE(rounds.begun(), static_cast<int64_t>(result.received / kOffered) + 1) << "packets overtook others";
  EXPECT_EQ(rounds.seen(), static_cast<int64_t>(result.delivered));
}

// What does not fit into the new queue, or waits in one that is no more, is lost and says so.
TEST(ReconfigureQueues, WhatIsLeftBehindIsCounted) {
  Options options;
  options.endless = true;
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [](Engine& engine) {
    wait_for_more(engine.handlers(), "sink.count");
    const auto to = [&](const std::string& text) { engine.reconfigure([&] { return read_for(cpu(), text); }); };
    to("src :: TestSource(ENDLESS true) -> q :: Queue(10) -> Unqueue -> sink :: TestSink;");
    wait_for_more(engine.handlers(), "sink.count");
    to("src :: TestSource(ENDLESS true) -> sink :: TestSink;");
    wait_for_more(engine.handlers(), "sink.count");
  };
  const Result result = run("src :: TestSource(ENDLESS true) -> q :: Queue(1000) -> Unqueue -> sink :: TestSink;",
                            cpu(), frames(), options);
  // The queue is full again within a round.
  EXPECT_GT(result.drop("q.reconfigured"), 500u);
  EXPECT_LE(result.drop("q.reconfigured"), 1000u);
}

// Nothing that fails on the way stops what runs: reading, starting, and a device that cannot be had.
TEST(ReconfigureFailure, TheOldConfigurationGoesOn) {
  const std::string good =
      "src :: TestSource(ENDLESS true) -> c :: Counter -> q :: Queue -> Unqueue -> sink :: TestSink;";
  const std::pair<const char*, const char*> bad[] = {
      {"src :: TestSource -> NoSuchClass -> Discard;", "NoSuchClass"},
      {"src :: TestSource -> c :: Counter -> sink :: TestSink; FromDump(/nonexistent.pcap) -> Discard;",
       "/nonexistent.pcap"},
      {"src :: TestSource -> c :: Counter(COUNT_CALL 5 nobody.reset) -> sink :: TestSink;", "nobody"},
      {"StaticThreadSched(src 7); src :: TestSource -> sink :: TestSink;", "thread 7"},
      {"FromDPDKDevice(net_null0) -> Discard; src :: TestSource -> sink :: TestSink;", "net_null0"},
  };
  Options options;
  options.endless = true;
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    for (const auto& [text, why] : bad) {
      wait_for_more(engine.handlers(), "sink.count");
      const Element* before = engine.router().nodes[0].element.get();
      const uint64_t count = std::stoull(engine.handlers().read("c.count"));
      try {
        engine.reconfigure([&chain = text] { return read_for(cpu(), chain); });
        ADD_FAILURE() << text << " was taken";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
      }
      EXPECT_EQ(engine.router().nodes[0].element.get(), before);
      EXPECT_GE(std::stoull(engine.handlers().read("c.count")), count);
      wait_for_more(engine.handlers(), "sink.count");
    }
    EXPECT_EQ(engine.reconfigurations(), 0);
    engine.reconfigure([&] { return read_for(cpu(), good); });
    wait_for_more(engine.handlers(), "sink.count");
  };
  const Result result = run(good, cpu(), frames(), options);
  EXPECT_EQ(result.statistics.at("c.count"), result.received);
}

void expect_failure(Engine& engine, const Backend& backend, const std::string& text, const std::string& why) {
  try {
    engine.reconfigure([&] { return read_for(backend, text); });
    ADD_FAILURE() << text << " was taken";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
  EXPECT_TRUE(engine.running());  // and what has failed is freed
}

HEDDLE_ON_EVERY_BACKEND(ReconfigureInVain);

// What fails behind the pause, time after time, leaves threads, GPUs and tables as they were, and packets are counted
// once.
TEST_P(ReconfigureInVain, TablesGoOnFollowingTheirChanges) {
  const std::string chain =
      "src :: TestSource(ENDLESS true) -> GetIPAddress(30) -> rt :: DirectIPLookup(10.0.0.0/24 0);"
      "rt[0] -> zero :: Counter -> sink :: TestSink; rt[1] -> one :: Counter -> sink;";
  std::vector<Frame> list;
  for (unsigned i = 0; i < 256; ++i) list.push_back(ip_frame(1, ip(10, 0, 0, i), 20));
  Options options{.batches = {64, 33}, .endless = true};
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    Broker& handlers = engine.handlers();
    // What enters when the handler has returned takes no other way. What is under way may, and slots of several streams
    // see a change in any order; but packets leave in the order in which they entered.
    const auto expect_way = [&](const std::string& port) {
      const std::string here = port == "0" ? "zero.count" : "one.count",
                        there = port == "0" ? "one.count" : "zero.count";
      handlers.write("rt.set", "10.0.0.0/24 " + port);
      const uint64_t all_new = std::stoull(handlers.read(here)) + options.packets;
      wait_while([&] { return std::stoull(handlers.read(here)) < all_new; });
      wait_for_more(handlers, here);
      const std::string before = handlers.read(there);
      wait_for_more(handlers, here);
      EXPECT_EQ(handlers.read(there), before);
    };
    wait_for_more(handlers, "zero.count");
    for (const char* port : {"1", "0", "1"}) {
      expect_failure(engine, GetParam(), chain + "Script(init x $(nobody.count));", "nobody");
      expect_way(port);
    }
    if (GetParam().device == "simt") {
      const simt::NoMemoryLeft full;
      expect_failure(engine, GetParam(), chain, "out of memory");
      expect_way("0");
    }
    engine.reconfigure([&] { return read_for(GetParam(), chain); });
    EXPECT_TRUE(engine.running());
    for (const char* port : {"1", "0"}) expect_way(port);
  };
  const Result result = run(chain, GetParam(), list, options);
  EXPECT_EQ(result.statistics.at("zero.count") + result.statistics.at("one.count"), result.received);
}

/** Of a configuration that takes another one's place: no thread can be made from its start() on, until the former
 *  configuration goes on, if that gives them back. */
class NoThreadsLeft : public Element {
 public:
  static inline bool gives_back = true;

  static void limit(size_t stack_bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  static constexpr size_t kUsual = size_t{8} << 20, kMoreThanThereIs = size_t{1} << 47;

  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
  void start(const Environment&) override {
    if (predecessor != nullptr) limit(kMoreThanThereIs);
  }
  void take_state(Element& old) override {
    if (&old != predecessor && gives_back) limit(kUsual);
  }
};
HEDDLE_ELEMENT(NoThreadsLeft);

TEST(ReconfigureThreads, WhenThereAreNoMoreTheOldOnesGoOn) {
  const std::string chain = "src :: TestSource(ENDLESS true) -> c :: Counter -> sink :: TestSink; NoThreadsLeft;";
  NoThreadsLeft::gives_back = true;
  Options options;
  options.endless = true;
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    for (int i = 0; i < 3; ++i) {
      wait_for_more(engine.handlers(), "sink.count");
      expect_failure(engine, cpu(), chain, "cannot be started");
    }
    wait_for_more(engine.handlers(), "sink.count");
  };
  const Result result = run(chain, cpu(), frames(), options);
  EXPECT_EQ(result.statistics.at("c.count"), result.received);
}

// A program that can do nothing any more ends.
TEST(ReconfigureThreads, WhenThereAreNoneAtAllTheProgramEnds) {
  const std::string text =
      "InfiniteSource -> d :: Discard; ControlSocket(unix, " + testing::TempDir() + "no_threads.sock); NoThreadsLeft;";
  NoThreadsLeft::gives_back = false;
  Configuration first = read_for(cpu(), text);
  Engine engine(std::move(first.router), std::move(first.plan), {});
  engine.start();
  wait_for_more(engine.handlers(), "d.count");
  EXPECT_THROW(engine.reconfigure([&] { return read_for(cpu(), "InfiniteSource -> d :: Discard; NoThreadsLeft;"); }),
               Error);
  NoThreadsLeft::limit(NoThreadsLeft::kUsual);
  engine.wait();
  const Report report = engine.report();
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("the former configuration cannot go on"), std::string::npos) << report.problems[0];
}

// Scripts ask when neither configuration runs.
TEST(ReconfigureHandlers, ANewScriptAsksNewElements) {
  std::string nulls;
  for (int i = 0; i < 400; ++i) nulls += "Null -> ";
  Options options;
  options.endless = true;
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    wait_for_more(engine.handlers(), "sink.count");
    engine.reconfigure([&] {
      return read_for(cpu(),
                      "src :: TestSource(ENDLESS true) -> " + nulls +
                          "n :: Null -> sink :: TestSink; Script(init x $(sink.count), init y $(sink.byte_count));"
                          "script :: Script(export drops <$(n.drops)>);");
    });
    wait_for_more(engine.handlers(), "sink.count");
    EXPECT_EQ(engine.handlers().read("script.drops"), "<>");
  };
  run("src :: TestSource(ENDLESS true) -> q :: Queue(1) -> Unqueue -> sink :: TestSink;", cpu(), frames(), options);
}

TEST(ReconfigureHandlers, CountsGoOnFromTheirReset) {
  const std::string chain = "src :: TestSource(ENDLESS true) -> sink :: TestSink;";
  Options options;
  options.endless = true;
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    Broker& handlers = engine.handlers();
    wait_for_more(handlers, "sink.count");
    const uint64_t reset_behind = std::stoull(handlers.read("sink.count"));
    handlers.write("sink.reset_counts", "");
    engine.reconfigure([&] { return read_for(cpu(), chain); });
    const uint64_t since = std::stoull(handlers.read("sink.count"));
    EXPECT_LE(since, engine.element_report(engine.router().find("sink")).packets - reset_behind);
  };
  run(chain, cpu(), frames(), options);
}

// Handlers are asked on other threads all the while: they see one configuration or the other.
TEST(ReconfigureHandlers, SeeOneConfigurationOrTheOther) {
  std::set<std::string> seen;
  std::atomic<bool> done{false};
  std::thread reader;
  Options options;
  options.endless = true, options.threads = 2;
  options.on_packet = [](const std::string&, const Received&) {};
  const auto text = [](int capacity) {
    return format(
        "src :: TestSource(ENDLESS true) -> q :: Queue(%d) -> u :: Unqueue -> sink :: TestSink;"
        "StaticThreadSched(u 1);",
        capacity);
  };
  options.meanwhile = [&](Engine& engine) {
    reader = std::thread([&] {
      while (!done) {
        seen.insert(engine.handlers().read("q.capacity"));
        engine.report();
      }
    });
    for (int i = 0; i < kTimesBeside; ++i) {
      wait_for_more(engine.handlers(), "sink.count");
      engine.reconfigure([&] { return read_for(cpu(), text(100 + i % 3)); });
    }
    done = true;
    reader.join();
  };
  run(text(100), cpu(), frames(), options);
  for (auto& capacity : seen) EXPECT_TRUE(capacity == "100" || capacity == "101" || capacity == "102") << capacity;
}

}  // namespace
}  // namespace heddle::test
