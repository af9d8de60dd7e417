// Tables change while packets flow: every packet gets the old answer or the new one, never another, on every backend.
// With HEDDLE_STRESS=1 it runs for long: reuse of slots, packet buffers, groups and hops that only a real GPU can get
// wrong.

#include <unistd.h>

#include <atomic>
#include <thread>

#include "functions/ip_lookup/ip_lookup.h"
#include "tests/support/harness.h"
#include "tests/support/patience.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(UpdateTest);

int rounds() {
  const char* stress = std::getenv("HEDDLE_STRESS");
  return stress != nullptr && *stress == '1' ? 20000 : 12;
}

uint32_t swap_order(uint32_t value) { return __builtin_bswap32(value); }

// Addresses 10.0.a.b; each has a route in every state of the table, and the state decides port and gateway. Two routes
// of one state never share gateway and port, so a wrong group or a hop that was reused too early gives an answer that
// belongs to no state or to another address.
constexpr int kStates = 3;
constexpr unsigned kNets = 8;
uint32_t gateway(int state, unsigned net, bool long_prefix) {
  return swap_order(ip(100 + static_cast<unsigned>(state), net, long_prefix, 1));
}
uint32_t port(int state, unsigned net) { return (static_cast<unsigned>(state) + net) % 2; }

// Puts the routes of `state` in the place of the others. In this order no address has an answer in between: longer
// prefixes come before the shorter ones around them, and go after them.
void change_to(int state, ip_lookup::RouteTable& table) {
  for (unsigned net = 0; net < kNets; ++net) {
    // In two of the states a longer prefix takes half of the addresses, so that groups come and go.
    if (state != 1) table.add({ip(10, 0, net, 128), 25, {gateway(state, net, true), port(state, net)}});
    table.add({ip(10, 0, net, 0), 24, {gateway(state, net, false), port(state, net)}});
    if (state == 1) table.remove(ip(10, 0, net, 128), 25);
  }
}

bool is_answer(int state, uint32_t address, uint32_t dst, uint32_t out) {
  const unsigned net = address >> 8 & 255;
  const bool long_prefix = state != 1 && (address & 128) != 0;
  return dst == gateway(state, net, long_prefix) && out == port(state, net);
}

// `behind`: elements behind port 0, which give packets back as they were.
void expect_old_or_new(const std::string& element, const Backend& backend, const std::string& device = "",
                       const std::string& behind = "") {
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 512; ++i) frames.push_back(ip_frame(i, ip(10, 0, i % kNets, i * 37 % 256), i % 20));
  std::string arguments;
  for (unsigned net = 0; net < kNets; ++net)
    for (unsigned half = 0; half < 2; ++half)
      arguments += format("%s10.0.%u.%u/%u 100.%u.%u.1 %u", arguments.empty() ? "" : ", ", net, 128 * half, 24 + half,
                          net, half, port(0, net));
  // Bit s: an answer of state s is right now. One word, so that a packet sees one moment: while the table changes, old
  // and new are right; a change ends only when the threads that may hold old answers have come to the end of their
  // round.
  std::atomic<unsigned> allowed{1u << 0};
  std::atomic<uint64_t> wrong{0}, seen{0};
  std::array<std::atomic<uint64_t>, kStates> answers{};
  Options options{.batches = {1, 31, 32, 33, 200, 0}, .packets = 600, .endless = true};
  options.on_packet = [&](const std::string& sink, const Received& packet) {
    const unsigned right = allowed;
    const uint32_t address = get_u32(packet.bytes, 30);
    const uint32_t out = static_cast<uint32_t>(sink[1] - '0');
    bool good = false;
    for (int s = 0; s < kStates; ++s)
      good = good || ((right >> s & 1) != 0 && is_answer(s, address, packet.column[0], out));
    if (!good) ++wrong;
    if (packet.bytes != frames[static_cast<size_t>(packet.serial)].bytes) ++wrong;
    for (int s = 0; s < kStates; ++s)
      if (is_answer(s, address, packet.column[0], out)) ++answers[static_cast<size_t>(s)];
    ++seen;
  };
  options.meanwhile = [&](Engine& engine) {
    std::thread updater([&] {
      auto* lookup = dynamic_cast<IPRouteTable*>(
          engine.router().nodes[static_cast<size_t>(engine.router().find("rt"))].element.get());
      int now = 0;
      for (int round = 0; round < rounds() && engine.running(); ++round) {
        const uint64_t had = seen;
        const int then = (now + 1 + round / 5 % 2) % kStates;
        allowed = 1u << now | 1u << then;
        engine.update(*lookup, [&] { change_to(then, lookup->routes()); });
        if (!engine.running()) break;  // nobody has been waited for
        allowed = 1u << then;
        now = then;
        while (seen < had + 200 && engine.running()) usleep(50);
      }
    });
    updater.join();
  };
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> rt :: " + element + "(" + arguments + device + "); rt[0] -> " + behind +
              "s0 :: TestSink(READS dst); rt[1] -> s1 :: TestSink(READS dst);",
          backend, frames, options);
  EXPECT_EQ(wrong, 0u) << "of " << seen << " packets";
  EXPECT_EQ(result.drop("rt.no_route"), 0u);
  for (auto& count : answers) EXPECT_GT(count, 0u);
}

TEST_P(UpdateTest, EveryPacketGetsTheOldAnswerOrTheNewOne) {
  for (const char* element : {"DirectIPLookup", "RadixIPLookup", "LinearIPLookup"}) {
    SCOPED_TRACE(element);
    expect_old_or_new(element, GetParam());
  }
}

// Packets that carry what they were told wait for others before a GPU, or go from one to the next.
TEST_P(UpdateTest, WaitsForPacketsThatWaitForOthers) {
  const std::string waits = "XOR(3, LATENCY 10s) -> ", goes = "XOR(3) -> ", undo = "XOR(3, DEVICE cpu) -> ";
  // Packets of one way wait where it meets the other for those that are on a GPU, and all go to it then.
  const std::string meet = "{ input -> w :: RoundRobinSwitch; w[0] -> " + goes + undo + "output; w[1] -> output; } -> ";
  for (const std::string& behind :
       {waits + undo, goes + undo + goes + undo, goes + undo + waits + undo, meet + goes + undo, meet + waits + undo}) {
    SCOPED_TRACE(behind);
    expect_old_or_new("DirectIPLookup", GetParam(), ", DEVICE cpu", behind);
  }
}

// A thread whose sources have ended must not be waited for while another goes on.
TEST_P(UpdateTest, DoesNotWaitForThreadsThatHaveEnded) {
  auto random = random_for("update threads");
  std::vector<Frame> frames;
  for (unsigned i = 0; i < 100; ++i) frames.push_back(ip_frame(i, random(), 0));
  std::atomic<uint64_t> seen{0};
  std::atomic<bool> updated{false};
  Options options{.threads = 2};
  options.on_packet = [&](const std::string&, const Received&) { ++seen; };
  options.meanwhile = [&](Engine& engine) {
    while (seen < 1000) usleep(100);
    std::thread updater([&] {
      auto* lookup = dynamic_cast<IPRouteTable*>(
          engine.router().nodes[static_cast<size_t>(engine.router().find("rt"))].element.get());
      for (int i = 0; i < 3; ++i) engine.update(*lookup, [] {});
      updated = true;
    });
    Patience patience;
    while (!updated && !patience.is_over(0)) usleep(1000);
    EXPECT_TRUE(updated) << "update() waits for a thread that has ended";
    engine.stop();
    updater.join();
  };
  run("TestSource(EVERY_THREAD true) -> g :: GetIPAddress(30); TestSource(ENDLESS true) -> g"
      "-> rt :: DirectIPLookup(0/0 0) -> TestSink;",
      GetParam(), frames, options);
}

// Slots and buffers are used over and over, every result is looked at.
TEST_P(UpdateTest, ReusesSlotsAndBuffers) {
  auto random = random_for("reuse");
  std::vector<Frame> frames = random_frames(random, 777, 0, 90);
  std::atomic<uint64_t> seen{0}, wrong{0};
  Options options{.batches = {33, 1, 64, 250, 31}, .packets = 300, .endless = true};
  options.on_packet = [&](const std::string&, const Received& packet) {
    const Bytes& sent = frames[static_cast<size_t>(packet.serial)].bytes;
    bool good = packet.bytes.size() == sent.size();
    for (size_t i = 0; good && i < sent.size(); ++i) good = packet.bytes[i] == (sent[i] ^ 0x77);
    wrong += !good;
    ++seen;
  };
  const uint64_t wanted = static_cast<uint64_t>(rounds()) * 1000;
  options.meanwhile = [&](Engine& engine) {
    while (seen < wanted && engine.running()) usleep(200);
  };
  run("TestSource -> XOR(0x33) -> XOR(0x44) -> sink :: TestSink;", GetParam(), frames, options);
  EXPECT_GE(seen, wanted);
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace heddle::test
