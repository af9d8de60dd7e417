// GPU ports of a chain on simt, and their end.

#include <unistd.h>

#include <thread>

#include "io/memif/port.h"
#include "simt/blocks.h"
#include "tests/support/harness.h"
#include "tests/support/patience.h"

namespace heddle::test {
namespace {

// The engine is still there, with its devices, and nothing runs on them: a peer that goes ends the kernels of its port,
// the end of the run ends those of all.
TEST(GpuPorts, NoBlockRunsBehindTheEnd) {
  EXPECT_EQ(simt::running_blocks(), 0u);
  const std::string path = format("/tmp/hd%d", static_cast<int>(::getpid()));
  std::string chain;
  for (const auto& [name, arguments, path_end] :
       {std::tuple("a", "QUEUES 2", ".a"), {"b", "KERNELS split", ".b"}, {"c", "WARP_BATCH 480", ".c"}})
    chain += format("FromGPUPort(%s, SOCKET %s%s, ROLE server, NDESC 64, %s) -> EtherMirror -> ToGPUPort(%s);", name,
                    path.c_str(), path_end, arguments, name);
  click::Diagnostics diagnostics;
  Chain made = read(chain, {"simt", LaunchMode::persistent}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  Engine engine(std::move(made.router), std::move(made.plan), {});
  engine.start();
  const unsigned before = simt::running_blocks();

  struct Peer {
    Peer(const std::string& socket, int queues) {
      config.socket = socket;
      config.interface.queues = queues, config.interface.log2_size = 6;
      rings = memif::Region(memif::ClientSession::rings_bytes(config.interface));
      port.emplace(config, &rings, &buffers);
      port->open();
    }
    memif::PortConfig config;
    memif::Region rings, buffers{1 << 20};
    std::optional<memif::Port> port;
  };
  Peer a(path + ".a", 2), b(path + ".b", 1), c(path + ".c", 1);
  const auto wait_for_blocks = [&](unsigned blocks) {
    Patience patience;
    while (simt::running_blocks() != before + blocks && !patience.is_over(simt::running_blocks())) {
      for (Peer* peer : {&a, &b, &c})
        if (peer->port) peer->port->serve();
      std::this_thread::yield();
    }
    EXPECT_EQ(simt::running_blocks(), before + blocks);
  };
  wait_for_blocks(2 + 3 + 7);
  b.port.reset();
  wait_for_blocks(2 + 7);
  engine.stop();
  engine.wait();
  EXPECT_EQ(simt::running_blocks(), 0u);
}

}  // namespace
}  // namespace heddle::test
