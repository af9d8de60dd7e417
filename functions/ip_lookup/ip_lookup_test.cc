// The lookup elements in chains; their tables are tested in *table_test.cc.

#include <algorithm>

#include "functions/ip_lookup/direct_table.h"
#include "functions/ip_lookup/ip_route_table.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(IPLookupTest);

const char* const kElements[] = {"DirectIPLookup", "RadixIPLookup", "LinearIPLookup"};

struct TestRoute {
  uint32_t address, length, gateway, port;
};

std::string dotted(uint32_t address) {
  return format("%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
}

std::string arguments(const std::vector<TestRoute>& routes) {
  std::string text;
  for (auto& route : routes)
    text += format("%s%s/%u%s %u", text.empty() ? "" : ", ", dotted(route.address).c_str(), route.length,
                   route.gateway != 0 ? (" " + dotted(route.gateway)).c_str() : "", route.port);
  return text;
}

// The longest route whose bits agree, by trying all; the last of equal ones.
const TestRoute* longest(const std::vector<TestRoute>& routes, uint32_t address) {
  const TestRoute* best = nullptr;
  for (auto& route : routes) {
    bool agrees = true;
    for (uint32_t bit = 0; bit < route.length; ++bit)
      agrees = agrees && (address >> (31 - bit) & 1) == (route.address >> (31 - bit) & 1);
    if (agrees && (best == nullptr || route.length >= best->length)) best = &route;
  }
  return best;
}

const std::vector<TestRoute> kRoutes = {{ip(10, 0, 0, 0), 8, 0, 0},
                                        {ip(10, 1, 0, 0), 16, ip(192, 0, 2, 1), 1},
                                        {ip(10, 1, 2, 0), 24, 0, 2},
                                        {ip(10, 1, 2, 128), 25, 0, 0},
                                        {ip(10, 1, 2, 129), 32, ip(192, 0, 2, 9), 1},
                                        {ip(172, 16, 0, 0), 12, 0, 2},
                                        {ip(255, 255, 255, 255), 32, 0, 1},
                                        {ip(0, 0, 0, 0), 32, 0, 2}};

uint32_t swap_order(uint32_t value) { return __builtin_bswap32(value); }  // columns are in network byte order

// Addresses that meet all routes and their neighbours.
std::vector<Frame> lookup_frames(std::mt19937& random, size_t count) {
  std::vector<Frame> frames;
  for (size_t i = 0; i < count; ++i) {
    uint32_t address = random();
    if (i % 4 != 0) {
      const TestRoute& route = kRoutes[random() % kRoutes.size()];
      address = route.address + (i % 3 == 0 ? random() % 300 : 0) - (i % 5 == 0 ? 1 : 0);
    }
    frames.push_back(ip_frame(random(), address, random() % 40));
    frames.back().column[static_cast<int>(Column::dst)] = swap_order(address);
  }
  return frames;
}

void expect_routed(const Result& result, const std::vector<Frame>& frames, const std::vector<TestRoute>& routes) {
  std::vector<Bytes> bytes[3];
  std::vector<uint32_t> dst[3];
  uint64_t without = 0;
  for (auto& frame : frames) {
    const uint32_t address = swap_order(frame.column[static_cast<int>(Column::dst)]);
    const TestRoute* route = longest(routes, address);
    if (route == nullptr) {
      ++without;
      continue;
    }
    bytes[route->port].push_back(frame.bytes);
    dst[route->port].push_back(route->gateway != 0 ? route->gateway : address);
  }
  EXPECT_EQ(result.drop("rt.no_route"), without);
  for (int port = 0; port < 3; ++port) {
    const std::string sink = format("s%d", port);
    ASSERT_TRUE(same(result.bytes(sink), bytes[port])) << sink;
    EXPECT_TRUE(in_order(result.at(sink)));
    for (size_t i = 0; i < dst[port].size(); ++i)
      ASSERT_EQ(swap_order(result.at(sink)[i].column[0]), dst[port][i]) << sink << " packet " << i;
  }
}

const char* const kSinks =
    "rt[0] -> s0 :: TestSink(READS dst); rt[1] -> s1 :: TestSink(READS dst); rt[2] -> s2 :: TestSink(READS dst);";

TEST_P(IPLookupTest, TakesTheLongestPrefix) {
  auto random = random_for("lookup");
  const auto frames = lookup_frames(random, 1500);
  for (const std::string element : kElements)
    for (const std::vector<int>& batches : {std::vector<int>{1024}, {0, 1, 31, 32, 33, 1024}}) {
      const std::string chain = "TestSource(SETS dst) -> rt :: " + element + "(" + arguments(kRoutes) + "); " + kSinks;
      expect_routed(run(chain, GetParam(), frames, {.batches = batches}), frames, kRoutes);
    }
}

TEST_P(IPLookupTest, TakesTheAddressFromCheckIPHeaderOrGetIPAddress) {
  auto random = random_for("lookup addresses");
  const auto frames = lookup_frames(random, 300);
  for (const char* before : {"CheckIPHeader(14)", "GetIPAddress(30)"}) {
    const std::string chain =
        format("TestSource -> %s -> rt :: DirectIPLookup(", before) + arguments(kRoutes) + "); " + kSinks;
    expect_routed(run(chain, GetParam(), frames), frames, kRoutes);
  }
}

TEST_P(IPLookupTest, KnowsRandomTables) {
  auto random = random_for("lookup tables");
  std::vector<TestRoute> routes;
  for (int i = 0; i < 300; ++i) {
    const uint32_t length = random() % 33;
    const uint32_t address = length == 0 ? 0 : (random() & ~uint32_t{0} << (32 - length));
    routes.push_back({address, length, random() % 3 == 0 ? static_cast<uint32_t>(random()) | 1 : 0,
                      static_cast<uint32_t>(random() % 3)});
  }
  std::vector<Frame> frames;
  for (int i = 0; i < 1024; ++i) {
    const uint32_t address = routes[random() % routes.size()].address + random() % 8;
    frames.push_back(ip_frame(1, address, 0));
    frames.back().column[0] = swap_order(address);
  }
  for (const std::string element : kElements) {
    const std::string chain = "TestSource(SETS dst) -> rt :: " + element + "(" + arguments(routes) + "); " + kSinks;
    expect_routed(run(chain, GetParam(), frames), frames, routes);
  }
}

// A gateway becomes the address that the next lookup finds: recursive routing, in one segment.
TEST_P(IPLookupTest, LooksGatewaysUp) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 200; ++i) {
    frames.push_back(ip_frame(1, ip(10, static_cast<unsigned>(i % 3), 0, static_cast<unsigned>(i)), 0));
    frames.back().column[0] = swap_order(get_u32(frames.back().bytes, 30));
  }
  const Result result = run(
      "TestSource(SETS dst) -> first :: LinearIPLookup(10.0.0.0/16 192.0.2.1 0, 10.1.0.0/16 192.0.2.2 0, 10.2.0.0/16 0)"
      "-> second :: RadixIPLookup(192.0.2.1 0, 192.0.2.2 198.51.100.7 1, 10.2.0.0/16 2);"
      "second[0] -> s0 :: TestSink(READS dst); second[1] -> s1 :: TestSink(READS dst); second[2] -> s2 :: TestSink;",
      GetParam(), frames);
  EXPECT_EQ(result.at("s0").size(), 67u);
  EXPECT_EQ(result.at("s1").size(), 67u);
  EXPECT_EQ(result.at("s2").size(), 66u);
  for (auto& packet : result.at("s0")) EXPECT_EQ(swap_order(packet.column[0]), ip(192, 0, 2, 1));
  for (auto& packet : result.at("s1")) EXPECT_EQ(swap_order(packet.column[0]), ip(198, 51, 100, 7));
}

TEST_P(IPLookupTest, TouchesOnlyWhatItDeclares) {
  AccessOptions options;
  options.outputs = 3;
  options.shape = [](Frame& frame, std::mt19937& random) {
    if (random() % 4 == 0) return;
    frame.column[0] = swap_order(kRoutes[random() % kRoutes.size()].address + random() % 2);
  };
  for (const std::string element : kElements)
    EXPECT_EQ(access_violations(element + "(" + arguments(kRoutes) + ")", GetParam(), options),
              std::vector<std::string>{});
}

TEST(DirectIPLookup, NamesWrongRoutes) {
  EXPECT_EQ(mistakes("TestSource(SETS dst) -> rt :: DirectIPLookup(10.0.0.0/8 1) -> TestSink;"),
            "chain:1:46: DirectIPLookup 'rt': '10.0.0.0/8 1' is not a route to a connected output, 0 to 0\n");
  EXPECT_NE(mistakes("TestSource(SETS dst) -> rt :: DirectIPLookup(10.0.0.256/8 0) -> TestSink;").find("10.0.0.256/8"),
            std::string::npos);
}

/** The routing element `rt` of a chain, and its handlers. */
struct Lookup {
  explicit Lookup(const std::string& element)
      : chain(read("TestSource(SETS dst) -> rt :: " + element + "; rt[0] -> TestSink; rt[1] -> TestSink;", {},
                   diagnostics)),
        table(chain.router.nodes[static_cast<size_t>(chain.router.find("rt"))].element.get()) {
    table->handlers(handlers);
  }
  std::string read_handler(const std::string& name, const std::string& argument = "") const {
    return handlers.find(name)->read(argument);
  }
  /** "" or the error. */
  std::string write(const std::string& name, const std::string& value) const {
    try {
      handlers.find(name)->write(value);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  click::Diagnostics diagnostics;
  Chain chain;
  Element* table;
  Handlers handlers;
};

TEST(IPLookupHandlers, KnowNamesOfAddresses) {
  const Lookup rt("RadixIPLookup(LAN:net 0, default server:ip 1); AddressInfo(LAN 10/8, server 192.0.2.7)");
  ASSERT_TRUE(rt.diagnostics.ok()) << rt.diagnostics.text();
  EXPECT_EQ(rt.read_handler("table"), "0.0.0.0/0\t\t192.0.2.7\t1\n10.0.0.0/8\t\t-\t\t0\n");
  EXPECT_EQ(rt.write("add", "server 1"), "");
  EXPECT_EQ(rt.read_handler("lookup", "server:ip"), "1");
  EXPECT_EQ(rt.write("remove", "server"), "");
  EXPECT_EQ(rt.read_handler("lookup", "server"), "1 192.0.2.7");
}

TEST(IPLookupHandlers, SayHowLookupsAreMade) {
  const Lookup rt("DirectIPLookup(10/8 0)");
  rt.table->start({});
  EXPECT_EQ(std::ranges::count(ip_lookup::direct_forms(), rt.read_handler("form"), &ip_lookup::DirectForm::name), 1);
  EXPECT_EQ(Lookup("RadixIPLookup(10/8 0)").handlers.find("form"), nullptr) << "there is but one way";
}

// With a CPU side, whether there is a GPU side or not; and when the table has become another.
TEST(IPLookupHandlers, ChooseHowLookupsAreMade) {
  const Lookup rt("DirectIPLookup(10/8 0, 11/8 1)");
  const auto& routes = static_cast<IPRouteTable*>(rt.table)->routes();
  rt.table->on_gpu = true, rt.table->on_cpu = false;
  rt.table->start({});
  EXPECT_EQ(routes.chosen_with(), std::nullopt);
  rt.table->on_cpu = true;
  rt.table->start({});
  EXPECT_EQ(routes.chosen_with(), 2u);
  const auto add = [&](int from, int to) {
    std::string lines;
    for (int k = from; k < to; ++k) lines += "add 12.0." + std::to_string(k) + ".0/24 0\n";
    EXPECT_EQ(rt.write("ctrl", lines), "");
  };
  add(0, 2);
  EXPECT_EQ(routes.chosen_with(), 2u);
  add(2, 60);
  EXPECT_EQ(routes.chosen_with(), 62u);
  EXPECT_EQ(rt.write("remove", "11/8"), "");
  EXPECT_EQ(routes.chosen_with(), 62u);
  EXPECT_EQ(rt.write("flush", ""), "");
  EXPECT_EQ(routes.chosen_with(), 0u);
}

TEST(IPLookup, PlanSaysHowLookupsAreMade) {
  const auto plan = [](const std::string& element, const std::string& device) {
    return plan_text("TestSource(SETS dst) -> rt :: " + element + "; rt[0] -> TestSink; rt[1] -> TestSink;", device);
  };
  const std::string text = plan("DirectIPLookup(10/8 0, 11/8 1)", "cpu");
  EXPECT_EQ(std::ranges::count_if(ip_lookup::direct_forms(),
                                  [&](const auto& form) {
                                    return text.find("chosen: look-ups: " + std::string(form.name) +
                                                     ", the fastest here with 2 routes\n") != std::string::npos;
                                  }),
            1)
      << text;
  EXPECT_EQ(text.find("prefetch"), std::string::npos) << text;
  EXPECT_EQ(plan("DirectIPLookup(10/8 0, 11/8 1)", "simt").find("look-ups: "), std::string::npos);
  EXPECT_EQ(plan("RadixIPLookup(10/8 0, 11/8 1)", "cpu").find("look-ups: "), std::string::npos);
}

// Where other elements run between: one of the two ways, and which.
TEST(IPLookup, PlanSaysWhetherEntriesAreAskedForEarly) {
  const std::string text = plan_text(
      "TestSource -> k :: CheckIPHeader(14) -> DecIPTTL -> rt :: DirectIPLookup(10/8 0); rt -> TestSink;", "cpu");
  EXPECT_NE(text.find(" can prefetch for rt "), std::string::npos) << text;
  int lines = 0;
  for (const ip_lookup::DirectForm& form : ip_lookup::direct_forms(true))
    lines += static_cast<int>(text.find(format("chosen: look-ups: %s, %sthe fastest here with 1 routes\n", form.name,
                                               form.early ? "" : "not prefetched early, ")) != std::string::npos);
  EXPECT_EQ(lines, 1) << text;
}

TEST(IPLookupHandlers, ChangeRoutesAsClickDoes) {
  for (const std::string element : kElements) {
    SCOPED_TRACE(element);
    const Lookup rt(element + "(default 192.0.2.1 1, 10.0.0.0/8 0)");
    EXPECT_EQ(rt.read_handler("table"), "0.0.0.0/0\t\t192.0.2.1\t1\n10.0.0.0/8\t\t-\t\t0\n");
    EXPECT_EQ(rt.read_handler("lookup", "10.1.2.3"), "0");
    EXPECT_EQ(rt.read_handler("lookup", "11.1.2.3"), "1 192.0.2.1");

    EXPECT_EQ(rt.write("add", "10.1.2.0/24 192.0.2.9 1"), "");
    EXPECT_EQ(rt.read_handler("lookup", "10.1.2.3"), "1 192.0.2.9");
    EXPECT_EQ(rt.write("add", "10.1.2.0/24 0"), "conflict with existing route '10.1.2.0/24 192.0.2.9 1'");
    EXPECT_EQ(rt.write("add", "10.2.0.0/16 2"),
              "route '10.2.0.0/16 2': output 2 is not connected (outputs are 0 to 1)");
    EXPECT_EQ(rt.write("set", "10.1.2.0/24 0"), "");
    EXPECT_EQ(rt.write("set", "10.1.2.128/25 1"), "");
    EXPECT_EQ(rt.read_handler("lookup", "10.1.2.3"), "0");
    EXPECT_EQ(rt.read_handler("lookup", "10.1.2.200"), "1");
    EXPECT_EQ(rt.write("remove", "10.1.2.0/24 192.0.2.9 1"), "route '10.1.2.0/24 192.0.2.9 1' not found");
    EXPECT_EQ(rt.write("remove", "10.1.3.0/24"), "route '10.1.3.0/24' not found");
    EXPECT_EQ(rt.write("remove", "10.1.2.0/24 0"), "");
    EXPECT_EQ(rt.write("remove", "default"), "");
    EXPECT_EQ(rt.read_handler("lookup", "11.1.2.3"), "-1");
    EXPECT_EQ(rt.read_handler("table"), "10.0.0.0/8\t\t-\t\t0\n10.1.2.128/25\t\t-\t\t1\n");
    EXPECT_EQ(rt.write("add", "10.1.2.0/33 0").substr(0, 40), "expected 'ADDR/MASK [GATEWAY] OUTPUT': '");
    EXPECT_EQ(rt.write("add", "1.0.0.0/8 0\n2.0.0.0/8 0"), "expected one route; ctrl takes several");
    EXPECT_NE(rt.write("add", ""), "");

    const std::string before = rt.read_handler("table");
    EXPECT_EQ(rt.write("ctrl", "add 1.0.0.0/8 0\nremove 10.0.0.0/8\nset 10.0.0.0/9 1\nadd 1.0.0.0/8 1\n"),
              "conflict with existing route '1.0.0.0/8 - 0'");
    EXPECT_EQ(rt.read_handler("table"), before) << "all or none";
    EXPECT_EQ(rt.write("ctrl", "put 1.0.0.0/8 0"), "bad command 'put'; expected add, set or remove");
    EXPECT_EQ(rt.write("ctrl", "add 1.0.0.0/8 0\n\nremove 1.0.0.0/8\nadd 1.0.0.0/8 1\nremove 10.0.0.0/8\n"), "");
    EXPECT_EQ(rt.read_handler("table"), "1.0.0.0/8\t\t-\t\t1\n10.1.2.128/25\t\t-\t\t1\n");
    EXPECT_EQ(rt.write("flush", ""), "");
    EXPECT_EQ(rt.read_handler("table"), "");
    EXPECT_EQ(rt.read_handler("lookup", "1.1.1.1"), "-1");
  }
}

}  // namespace
}  // namespace heddle::test
