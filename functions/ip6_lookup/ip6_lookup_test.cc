// The element in chains, on every backend; its table is tested in table_test.cc.

#include "functions/ip6_lookup/ip6_lookup.h"

#include <cstdio>
#include <fstream>
#include <thread>

#include "functions/ip6_lookup/oracle_for_test.h"
#include "functions/ip6_lookup/route_file.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using namespace ip6_lookup;

HEDDLE_ON_EVERY_BACKEND(Ip6LookupTest);

constexpr size_t kL3 = 14;

Frame packet_to(const Address& address, size_t payload = 8) {
  Frame frame{Bytes(kL3 + 40 + payload, 0x5a)};
  frame.bytes[kL3] = 0x60;
  put_u16(frame.bytes, kL3 + 4, static_cast<unsigned>(payload));
  for (size_t i = 0; i < 4; ++i)
    put_u32(frame.bytes, kL3 + 24 + 4 * i,
            static_cast<uint32_t>((i < 2 ? address.high : address.low) >> (i % 2 == 0 ? 32 : 0)));
  frame.column[static_cast<int>(Column::l3)] = kL3;
  return frame;
}

struct RouteFile {
  explicit RouteFile(const std::string& name)
      : path(testing::TempDir() + std::to_string(getpid()) + "heddle_" + name + ".routes6") {}
  ~RouteFile() { std::remove(path.c_str()); }
  void write(const std::vector<Route>& routes) const {
    std::ofstream out(path);
    for (const Route& route : routes) out << to_text(route.prefix) << " " << route.hop.port << "\n";
  }
  std::string path;
};

const char* const kEngines[] = {"tree", "trie"};
const char* const kSinks = " rt[0] -> s0 :: TestSink; rt[1] -> s1 :: TestSink; rt[2] -> s2 :: TestSink;";

TEST_P(Ip6LookupTest, RoutesByTheLongestPrefix) {
  auto random = random_for("ip6 lookup");
  const RouteFile file("routes");
  for (const size_t count : {0u, 3u, 60u, 4000u}) {
    const auto routes = random_routes(random, count, 3);
    Oracle oracle;
    for (const Route& route : routes) oracle.add(route);
    file.write(routes);
    std::vector<Frame> frames;
    std::vector<Bytes> wanted[3];
    uint64_t no_route = 0, no_header = 0;
    for (const Address& address : addresses_near(random, routes, 700)) {
      frames.push_back(packet_to(address, random() % 9));
      Frame& frame = frames.back();
      if (random() % 16 == 0) frame.bytes.resize(random() % frame.bytes.size());
      if (random() % 16 == 0) frame.column[static_cast<int>(Column::l3)] = random() % 2 == 0 ? random() : random() % 80;
      const size_t at = frame.column[static_cast<int>(Column::l3)];
      if (at + 40 > frame.bytes.size()) {
        ++no_header;
        continue;
      }
      Address to;
      for (size_t b = 0; b < 16; ++b) {
        uint64_t& half = b < 8 ? to.high : to.low;
        half = half << 8 | frame.bytes[at + 24 + b];
      }
      if (const auto port = oracle.lookup(to))
        wanted[*port].push_back(frame.bytes);
      else
        ++no_route;
    }
    for (const std::string engine : kEngines)
      for (const std::vector<int>& batches : {std::vector<int>{1024}, {0, 1, 31, 32, 33, 1024}}) {
        const Result result =
            run("TestSource(SETS l3) -> rt :: LookupIP6Route(FILE " + file.path + ", ENGINE " + engine + ");" + kSinks,
                GetParam(), frames, {.batches = batches});
        EXPECT_EQ(result.drop("rt.no_route"), no_route);
        EXPECT_EQ(result.drop("rt.no_header"), no_header);
        for (int port = 0; port < 3; ++port) {
          EXPECT_TRUE(same(result.bytes(format("s%d", port)), wanted[port])) << engine << ", output " << port;
          EXPECT_TRUE(in_order(result.at(format("s%d", port))));
        }
      }
  }
}

TEST_P(Ip6LookupTest, StandsBehindCheckIP6Header) {
  std::vector<Frame> frames;
  for (uint64_t i = 0; i < 300; ++i) frames.push_back(packet_to({0x20010db800000000 | (i & 1) << 16, i}));
  for (const std::string engine : kEngines) {
    const Result result = run(
        "TestSource -> CheckIP6Header(OFFSET 14) -> rt :: LookupIP6Route(2001:db8::/32 1, 2001:db8:1::/48 fe80::1 2,"
        " 2001:db8::7/128 0, ENGINE " +
            engine + ");" + kSinks,
        GetParam(), frames);
    EXPECT_EQ(result.at("s0").size(), 0u);  // 7 is odd: 2001:db8:1::7
    EXPECT_EQ(result.at("s1").size(), 150u);
    EXPECT_EQ(result.at("s2").size(), 150u);
  }
}

TEST_P(Ip6LookupTest, TouchesOnlyWhatItDeclares) {
  AccessOptions options;
  options.outputs = 2;
  options.shape = [](Frame& frame, std::mt19937& random) {
    const size_t at = frame.column[static_cast<int>(Column::l3)];
    if (at + 40 > frame.bytes.size() || random() % 4 == 0) return;
    put_u32(frame.bytes, at + 24, 0x20010db8);
    put_u32(frame.bytes, at + 28, random() % 2);
  };
  for (const std::string engine : kEngines)
    EXPECT_EQ(access_violations("LookupIP6Route(2001:db8::/32 1, 2001:db8:0:1::/64 0, ::/1 0, ENGINE " + engine + ")",
                                GetParam(), options),
              std::vector<std::string>{});
}

// Every packet gets the old answer or the new one, none is lost, and changes arrive.
void change_under_traffic(Backend backend, const std::string& engine, int changes) {
  const RouteFile file("changes");
  file.write({{prefix_of({}, 0), {{}, 0}}});
  std::vector<Frame> frames;
  for (uint64_t i = 0; i < 64; ++i) frames.push_back(packet_to({0x20010db800000000 + (i % 2), i}));
  std::atomic<uint64_t> at[3] = {}, wrong{0};
  Options options;
  options.endless = true;
  options.on_packet = [&](const std::string& sink, const Received& packet) {
    const size_t port = static_cast<size_t>(sink[1] - '0');
    ++at[port];
    if (port == 2 && packet.bytes[kL3 + 31] != 1) ++wrong;  // only the odd ever lead there
  };
  options.meanwhile = [&](Engine& engine) {
    const auto wait_for = [&](size_t port) {
      const uint64_t start = at[port];
      wait_while([&] { return at[port] - start < 64; });
    };
    Broker& handlers = engine.handlers();
    for (int change = 0; change < changes; ++change) {
      wait_for(0);
      handlers.write("rt.add", "2001:db8::/32 1");
      wait_for(1);
      handlers.write("rt.ctrl", "add 2001:db8:0:1::/64 2\nset 2001:db8::/32 0");
      wait_for(2);
      EXPECT_THROW(handlers.write("rt.ctrl", "remove 2001:db8::/32\nremove 2001:db9::/32"), Error);
      EXPECT_EQ(handlers.read("rt.table"), "::/0\t-\t0\n2001:db8::/32\t-\t0\n2001:db8:0:1::/64\t-\t2\n");
      handlers.write("rt.remove", "2001:db8:0:1::/64");
      handlers.write("rt.reload", "");
    }
    std::ofstream(file.path) << "no route\n";
    EXPECT_THROW(handlers.write("rt.reload", ""), Error);
    wait_for(0);
  };
  const Result result =
      run("TestSource(SETS l3) -> rt :: LookupIP6Route(FILE " + file.path + ", ENGINE " + engine + ");" + kSinks,
          backend, frames, options);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(result.dropped, 0u);
}

TEST_P(Ip6LookupTest, ChangesUnderTraffic) {
  change_under_traffic(GetParam(), "tree", 4);
  change_under_traffic(GetParam(), "trie", 1);  // each reads the file again, and so writes all of ::/0
}

// So many that a trie grows beyond its room, and gives it back: packets go where nothing changes, all the time.
TEST_P(Ip6LookupTest, TrieGrowsUnderTraffic) {
  std::vector<Frame> frames;
  for (uint64_t i = 0; i < 64; ++i) frames.push_back(packet_to({0x20010db800000000 + (i % 2), i}));
  std::atomic<uint64_t> seen{0}, wrong{0};
  Options options;
  options.endless = true;
  options.on_packet = [&](const std::string& sink, const Received& packet) {
    ++seen;
    if (sink != (packet.bytes[kL3 + 31] == 1 ? "s1" : "s2")) ++wrong;
  };
  options.meanwhile = [&](Engine& engine) {
    Broker& handlers = engine.handlers();
    const auto more = [&] {
      const uint64_t start = seen;
      wait_while([&] { return seen - start < 256; });
    };
    more();
    for (int round = 0; round < 2; ++round) {
      std::string added, removed;
      for (int i = 0; i < 150; ++i) {  // 13 groups each, and there is room for 1,024 more than are needed
        added += format("add 2001:db9:%x:%x::1/128 2001:db8::%x 0\n", i, round, i + 1);
        removed += format("remove 2001:db9:%x:%x::1/128\n", i, round);
      }
      handlers.write("rt.ctrl", added);
      EXPECT_EQ(handlers.read("rt.lookup", format("2001:db9:5:%x::1", round)), "0 2001:db8::6");
      more();
      handlers.write("rt.ctrl", removed);
      EXPECT_EQ(handlers.read("rt.table"), "2001:db8::/32\t-\t2\n2001:db8:0:1::/64\t2001:db8::99\t1\n");
      more();
    }
  };
  const Result result = run(
      "TestSource(SETS l3) -> rt :: LookupIP6Route(2001:db8::/32 2, 2001:db8:0:1::/64 2001:db8::99 1, ENGINE trie);" +
          std::string(kSinks),
      GetParam(), frames, options);
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(result.dropped, 0u);
}

TEST(LookupIP6Route, AnswersItsHandlers) {
  click::Diagnostics diagnostics;
  const Chain chain = read(
      "TestSource(SETS l3) -> rt :: LookupIP6Route(2001:db8::/32 fe80::1 1, ::/0 ::0 0); rt[0] -> TestSink; rt[1] -> "
      "TestSink;",
      {}, diagnostics);
  ASSERT_TRUE(diagnostics.ok()) << diagnostics.text();
  Handlers handlers;
  chain.router.nodes[static_cast<size_t>(chain.router.find("rt"))].element->handlers(handlers);
  const auto lookup = [&](const std::string& key) { return handlers.find("lookup")->read(key); };
  const auto write = [&](const char* name, const std::string& value) { handlers.find(name)->write(value); };
  EXPECT_EQ(lookup("2001:db8::7"), "1 fe80::1");
  EXPECT_EQ(lookup("2001:db9::7"), "0");
  EXPECT_THROW(lookup("10.0.0.1"), Error);
  EXPECT_EQ(handlers.find("table")->read(""), "::/0\t-\t0\n2001:db8::/32\tfe80::1\t1\n");
  EXPECT_THROW(write("add", "::/0 1"), Error);
  EXPECT_THROW(write("add", "::/1 2"), Error);
  EXPECT_THROW(write("add", ""), Error);
  EXPECT_THROW(write("add", "::/1 1\n::/2 1"), Error);
  EXPECT_THROW(write("ctrl", "put ::/1 1"), Error);
  EXPECT_THROW(write("remove", "::/1"), Error);
  write("ctrl", "# two\nset ::/0 1\n\nremove 2001:db8::/32\nadd 2001:db8::/33 0");
  EXPECT_EQ(handlers.find("table")->read(""), "::/0\t-\t1\n2001:db8::/33\t-\t0\n");
  write("flush", "");
  EXPECT_EQ(lookup("2001:db8::7"), "-1");
  EXPECT_EQ(handlers.find("reload"), nullptr);
}

TEST(LookupIP6Route, PlanSaysHowLookupsAreMade) {
  const std::string chain = "TestSource(SETS l3) -> rt :: LookupIP6Route(2001:db8::/32 0, ::/0 0) -> TestSink;";
  const std::string text = plan_text(chain);
  EXPECT_NE(text.find("chosen: look-ups: "), std::string::npos) << text;
  EXPECT_NE(text.find(", the fastest here "), std::string::npos) << text;
  EXPECT_NE(text.find("; a tree of 0.0 MB (the default)"), std::string::npos) << text;
  EXPECT_EQ(plan_text(chain, "simt").find("look-ups: "), std::string::npos);
  const std::string trie =
      "TestSource(SETS l3) -> rt :: LookupIP6Route(2001:db8::/32 0, ::/0 0, ENGINE trie) -> TestSink;";
  for (const char* device : {"cpu", "simt"}) {
    const std::string planned = plan_text(trie, device);
    EXPECT_NE(planned.find("a trie of 65.1 MB (ENGINE says so)"), std::string::npos) << planned;
  }
}

// Where other elements run between: one of the two ways, and which.
TEST(LookupIP6Route, PlanSaysWhetherATrieIsAskedForEarly) {
  const auto plan = [](const std::string& engine) {
    return plan_text("TestSource -> CheckIP6Header(OFFSET 14) -> DecIP6HLIM -> rt :: LookupIP6Route(::/0 0, ENGINE " +
                         engine + ") -> TestSink;",
                     "cpu");
  };
  const std::string text = plan("trie");
  EXPECT_NE(text.find(" can prefetch for rt "), std::string::npos) << text;
  int lines = 0;
  for (const auto& form : ip6_lookup::forms(ip6_lookup::EngineKind::trie, true))
    lines +=
        static_cast<int>(text.find(format("chosen: look-ups: %s, %sthe fastest here with 1 routes; a trie", form.name,
                                          form.early ? "" : "not prefetched early, ")) != std::string::npos);
  EXPECT_EQ(lines, 1) << text;
  EXPECT_EQ(plan("tree").find("prefetch"), std::string::npos);
}

TEST(LookupIP6Route, KeepsToItsMemory) {
  const std::string routes = "TestSource(SETS l3) -> rt :: LookupIP6Route(2001:db8::/32 0, ::/0 0, ";
  const std::string text = mistakes(routes + "ENGINE trie, MEMORY 60) -> TestSink;");
  EXPECT_NE(text.find("LookupIP6Route 'rt': 0 IPv6 routes need a trie of 65 MB, and MEMORY allows 60 MB"),
            std::string::npos)
      << text;
  EXPECT_EQ(mistakes(routes + "MEMORY 1) -> TestSink;"), "");
}

TEST(LookupIP6Route, NamesWhatIsWrong) {
  const RouteFile file("wrong");
  std::ofstream(file.path) << "::/0 0\n2001:db8::/129 0 # too long\n::/1 1\n";
  const std::string text = mistakes("TestSource(SETS l3) -> rt :: LookupIP6Route(FILE " + file.path + ") -> TestSink;");
  EXPECT_NE(text.find(file.path + ":2: '2001:db8::/129 0' is not a route: '129' is not a prefix length of 0 to 128"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("route ::/1: output 1 is not connected (outputs are 0 to 0)"), std::string::npos) << text;
}

}  // namespace
}  // namespace heddle::test
