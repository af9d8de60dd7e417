// Control threads beside packet threads: reports, handlers and changes at once, and a start that fails half-way. Most
// of it is for ThreadSanitizer to judge.

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>
#include <thread>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

std::unique_ptr<Engine> make_engine(const std::string& chain, int threads = 1) {
  click::Diagnostics diagnostics;
  Chain read_chain = read(chain, {"cpu", LaunchMode::persistent}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  RunOptions options;
  options.threads = threads;
  options.batch_size = 64;
  return std::make_unique<Engine>(std::move(read_chain.router), std::move(read_chain.plan), options);
}

uint64_t statistic(const Report& report, const std::string& element, const std::string& name) {
  for (auto& entry : report.elements)
    for (auto& [key, value] : entry.statistics)
      if (entry.name == element && key == name) return value;
  ADD_FAILURE() << element << " has no " << name;
  return 0;
}

// Reports, handlers that read and handlers that change, each on a thread of its own.
TEST(Control, ReportsAndHandlersBesideChanges) {
  const auto engine = make_engine(
      "InfiniteSource(LENGTH 64) -> GetIPAddress(30) -> rt :: RadixIPLookup(0.0.0.0/0 0) -> c :: Counter -> Discard;");
  engine->start();
  std::atomic<bool> done{false};
  std::atomic<int> odd{0};
  std::thread reader([&] {
    while (!done) {
      const uint64_t routes = statistic(engine->report(), "rt", "routes");
      odd += routes != 1 && routes != 3;  // a change is seen whole
    }
  });
  std::thread caller([&] {
    while (!done)
      for (const char* handler : {"c.count", "load", "rt.table", "c.drops"}) engine->handlers().read(handler);
  });
  for (int i = 0; i < 30; ++i) {
    engine->handlers().write("rt.ctrl", "set 10.0.0.0/8 0\nset 10.1.0.0/16 0");
    engine->handlers().write("c.reset", "");
    engine->handlers().write("rt.ctrl", "remove 10.0.0.0/8\nremove 10.1.0.0/16");
  }
  done = true;
  reader.join(), caller.join();
  EXPECT_EQ(odd, 0);
  engine->stop();
  engine->wait();
  EXPECT_EQ(engine->report().problems.size(), 0u);
}

// Control threads ask and change while the run ends and elements are stopped.
TEST(Control, ChangesGoOnWhileTheRunEnds) {
  for (int i = 0; i < 5; ++i) {
    const auto engine = make_engine("InfiniteSource -> c :: Counter -> Discard; Script(TYPE PASSIVE);");
    engine->start();
    std::atomic<bool> done{false};
    std::atomic<int> writes{0};
    std::thread writer([&] {
      for (; !done; ++writes) engine->handlers().write("c.reset", ""), engine->exhausted();
    });
    wait_while([&] { return writes < 10; });
    engine->stop();
    engine->wait();
    done = true;
    writer.join();
  }
}

// A script goes on when sources are exhausted. What was so before it gave them something to do says nothing.
TEST(Control, NobodyKnowsOfAnEndFromBeforeAWrite) {
  std::optional<bool> told;
  Broker broker({.update = [](Element&, const std::function<void()>& change) { change(); },
                 .stop = [] {},
                 .exhausted = [&] { return told; },
                 .await_counts = {}});
  broker.global().write("reset", [](const std::string&) {});
  EXPECT_FALSE(broker.exhausted());
  told = true;
  EXPECT_TRUE(broker.exhausted());
  told = std::nullopt;  // a busy machine
  EXPECT_TRUE(broker.exhausted());
  broker.write("reset", "");
  EXPECT_FALSE(broker.exhausted());
  told = true;
  EXPECT_TRUE(broker.exhausted());
  told = false;
  EXPECT_FALSE(broker.exhausted());
  told = std::nullopt;
  EXPECT_FALSE(broker.exhausted());
}

// Who reads counts beside a reset sees those before it or those after it, never what is less than nothing.
TEST(Control, CountsNeverWrapAround) {
  const auto engine = make_engine("s :: InfiniteSource -> c :: Counter -> Discard;");
  engine->start();
  std::atomic<bool> done{false};
  std::thread resetter([&] {
    while (!done) engine->handlers().write("c.reset", ""), engine->handlers().write("s.reset_counts", "");
  });
  for (int i = 0; i < 2000; ++i) {
    ASSERT_LT(statistic(engine->report(), "c", "count"), uint64_t{1} << 60);
    ASSERT_LT(std::stoull(engine->handlers().read("s.count")), uint64_t{1} << 60);
  }
  done = true;
  resetter.join();
  engine->stop();
  engine->wait();
}

TEST(Control, AHandlerThatThrowsIsAnErrorOfTheCall) {
  Broker broker({{}, {}, {}, {}});
  broker.global()
      .read("bad", []() -> std::string { throw std::length_error("too long"); })
      .write("bad", [](const std::string&) { throw std::bad_alloc(); });
  EXPECT_THROW(broker.read("bad"), HandlerError);
  EXPECT_THROW(broker.write("bad", ""), HandlerError);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)  // they map terabytes
// The second of two threads finds no room for its stack: an error, and the first one ends.
TEST(Control, AThreadThatCannotBeStartedIsAnError) {
  constexpr size_t kStackBytes = size_t{512} << 20;
  const auto engine =
      make_engine("InfiniteSource -> Discard; b :: InfiniteSource -> Discard; StaticThreadSched(b 1);", 2);
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  pthread_attr_t before, large;
  pthread_getattr_default_np(&before);
  pthread_getattr_default_np(&large);
  pthread_attr_setstacksize(&large, kStackBytes);
  rlimit unlimited{}, limit{};
  getrlimit(RLIMIT_AS, &unlimited);
  limit = {pages * 4096 + kStackBytes * 3 / 2, unlimited.rlim_max};
  pthread_setattr_default_np(&large);
  setrlimit(RLIMIT_AS, &limit);
  std::string problem;
  try {
    engine->start();
  } catch (const Error& error) {
    problem = error.what();
  }
  setrlimit(RLIMIT_AS, &unlimited);
  pthread_setattr_default_np(&before);
  EXPECT_TRUE(problem.starts_with("packet thread 2 of 2 cannot be started (")) << problem;
  EXPECT_NE(problem.find("give fewer with -j"), std::string::npos);
}
#endif

}  // namespace
}  // namespace heddle::test
