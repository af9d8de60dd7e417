// GPU ports of a chain on simt, in one configuration after the other, and their end.

#include <unistd.h>

#include <list>
#include <optional>
#include <thread>

#include "io/memif/port.h"
#include "simt/blocks.h"
#include "simt/loss.h"
#include "tests/support/harness.h"
#include "tests/support/patience.h"

namespace heddle::test {
namespace {

struct Peer {
  Peer(const std::string& socket, int queues) {
    config.socket = socket;
    config.interface.receiving = config.interface.transmitting = queues, config.interface.log2_size = 6;
    rings = memif::Region(memif::ClientSession::rings_bytes(config.interface));
    port.emplace(config, &rings, &buffers);
    port->open();
  }
  /** Gives the buffers of its receiving rings, too: before that the program has no way for packets to it. */
  void serve() {
    port->serve();
    if (port->session() == nullptr) return;
    for (const memif::SharedRing& shared : port->session()->receiving())
      __atomic_store_n(&shared.ring->head, uint16_t{1}, __ATOMIC_RELEASE);
  }
  memif::PortConfig config;
  memif::Region rings, buffers{1 << 20};
  std::optional<memif::Port> port;
};

/** Ports a with two ring pairs, b with three kernels, c with several blocks, and their peers. */
class GpuPortsTest : public testing::Test {
 protected:
  static constexpr unsigned kBlocks[] = {2, 3, 7};

  /** The chain of those of the ports that `names` has. */
  std::string chain(const std::string& names, const std::string& functions = "EtherMirror") const {
    std::string text;
    for (const auto& [name, arguments] : {std::pair("a", "QUEUES 2"), {"b", "KERNELS split"}, {"c", "WARP_BATCH 480"}})
      if (names.find(name) != names.npos)
        text += format("FromGPUPort(%s, SOCKET %s, ROLE server, NDESC 64, %s) -> %s -> ToGPUPort(%s);", name,
                       path(name).c_str(), arguments, functions.c_str(), name);
    return text;
  }
  std::string path(const std::string& name) const { return path_ + "." + name; }
  static Configuration configuration(const std::string& text) {
    click::Diagnostics diagnostics;
    Chain made = read(text, {"simt", LaunchMode::persistent}, diagnostics);
    if (!diagnostics.ok()) throw Error(diagnostics.text());
    return {std::move(made.router), std::move(made.plan)};
  }
  void start(const std::string& text) {
    EXPECT_EQ(simt::running_blocks(), 0u);
    Configuration first = configuration(text);
    engine_.emplace(std::move(first.router), std::move(first.plan), RunOptions{});
    engine_->start();
  }
  /** Until `done`, peers call and answer. */
  template <class Done>
  void serve_until(const Done& done) {
    Patience patience;
    while (!done() && !patience.is_over(simt::running_blocks())) {
      for (auto& peer : peers_)
        if (peer.port) peer.serve();
      std::this_thread::yield();
    }
    EXPECT_TRUE(done());
  }
  void expect_blocks(unsigned blocks) {
    serve_until([&] { return simt::running_blocks() == blocks; });
    EXPECT_EQ(simt::running_blocks(), blocks);
  }
  /** The engine is still there, with its devices, and nothing runs on them. */
  void end() {
    engine_->stop();
    engine_->wait();
    EXPECT_EQ(engine_->report().problems, std::vector<std::string>{});
    EXPECT_EQ(simt::running_blocks(), 0u);
  }

  const std::string path_ = format("/tmp/hd%d", static_cast<int>(::getpid()));
  std::optional<Engine> engine_;
  std::list<Peer> peers_;
};

// A peer that goes ends the kernels of its port, the end of the run ends those of all.
TEST_F(GpuPortsTest, NoBlockRunsBehindTheEnd) {
  start(chain("abc"));
  peers_.emplace_back(path("a"), 2), peers_.emplace_back(path("b"), 1), peers_.emplace_back(path("c"), 1);
  expect_blocks(2 + 3 + 7);
  std::next(peers_.begin())->port.reset();
  expect_blocks(2 + 7);
  end();
}

// Connections that go on are the same: nobody calls again.
TEST_F(GpuPortsTest, ConfigurationsHaveTheKernelsOfTheirPorts) {
  start(chain("ab"));
  peers_.emplace_back(path("a"), 2), peers_.emplace_back(path("b"), 1);
  expect_blocks(2 + 3);
  const auto to = [&](const std::string& text) {
    engine_->reconfigure([&] { return configuration(text); });
    EXPECT_TRUE(engine_->running());
  };
  for (int i = 0; i < 3; ++i) {
    to(chain("ab", i % 2 == 0 ? "EtherMirror -> EtherMirror" : "EtherMirror"));
    expect_blocks(2 + 3);
  }
  to(chain("abc"));
  peers_.emplace_back(path("c"), 1);
  expect_blocks(2 + 3 + 7);
  to(chain("ac"));
  expect_blocks(2 + 7);
  for (auto& peer : peers_)
    if (peer.config.socket == path("b"))
      serve_until([&] { return peer.port->session() == nullptr; });
    else
      EXPECT_TRUE(peer.port->session() != nullptr && peer.port->number() == 1);
  end();
}

// What fails when nothing runs any more.
TEST_F(GpuPortsTest, KernelsStartAgainWhenTheNextConfigurationFails) {
  start(chain("ac"));
  peers_.emplace_back(path("a"), 2), peers_.emplace_back(path("c"), 1);
  expect_blocks(2 + 7);
  const auto expect_failure = [&](const std::string& text, const std::string& why) {
    try {
      engine_->reconfigure([&] { return configuration(text); });
      ADD_FAILURE() << text << " was taken";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
    EXPECT_TRUE(engine_->running());
    expect_blocks(2 + 7);
  };
  for (int i = 0; i < 2; ++i) {
    expect_failure(chain("abc") + "Script(init x $(nobody.count));", "nobody");  // b's socket is free again
    const simt::NoMemoryLeft full;
    expect_failure(chain("abc"), "out of memory");
  }
  for (auto& peer : peers_) EXPECT_EQ(peer.port->number(), 1u);
  engine_->reconfigure([&] { return configuration(chain("abc")); });
  expect_blocks(2 + 7);
  end();
}

}  // namespace
}  // namespace heddle::test
