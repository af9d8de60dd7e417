// NDNLookup on every backend against a search of lists of components, whose packets another encoder has made.

#include <cstdio>
#include <fstream>
#include <map>
#include <thread>

#include "functions/ndn/name.h"
#include "functions/ndn/ndn_lookup.h"
#include "measure/generate/names.h"
#include "tests/support/access.h"
#include "tests/support/arrivals.h"
#include "tests/support/harness.h"
#include "tests/support/memory.h"
#include "tests/support/sanitizer.h"

namespace heddle::test {
namespace {

using namespace ndn;

HEDDLE_ON_EVERY_BACKEND(NDNLookupTest);

struct Component {
  unsigned type = 8;
  std::string value;
  auto operator<=>(const Component&) const = default;
};
using Name = std::vector<Component>;

void put_number(Bytes& bytes, unsigned number) {
  if (number >= 253) {
    bytes.push_back(253);
    bytes.push_back(static_cast<uint8_t>(number / 256));
  }
  bytes.push_back(static_cast<uint8_t>(number % 256));
}

Bytes tlv(unsigned type, const Bytes& value) {
  Bytes bytes;
  put_number(bytes, type);
  put_number(bytes, static_cast<unsigned>(value.size()));
  bytes.insert(bytes.end(), value.begin(), value.end());
  return bytes;
}

Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

Bytes encoded(const Name& name) {
  Bytes all;
  for (const auto& [type, value] : name) {
    const Bytes part = tlv(type, Bytes(value.begin(), value.end()));
    all.insert(all.end(), part.begin(), part.end());
  }
  return tlv(7, all);
}

std::string uri(const Name& name) {
  std::string text;
  for (const auto& [type, value] : name) {
    text += format("/%u=", type);
    for (const char c : value) text += format("%%%02x", static_cast<unsigned>(static_cast<uint8_t>(c)));
    if (value.empty()) text += "...";
  }
  return text.empty() ? "/" : text;
}

Bytes in_ethernet(const Bytes& packet) { return joined({Bytes(12, 2), {0x86, 0x24}, packet}); }
Bytes interest(const Name& name) { return tlv(5, joined({encoded(name), tlv(10, {1, 2, 3, 4})})); }

Name random_name(std::mt19937& random, size_t most) {
  Name name(1 + random() % most);
  for (auto& [type, value] : name) {
    if (random() % 10 == 0) type = 1 + static_cast<unsigned>(random() % 65535);
    value.resize(random() % 40 == 0 ? random() % 300 : random() % 3);
    for (char& c : value) c = static_cast<char>('a' + random() % 2);
  }
  return name;
}

using Routes = std::map<Name, unsigned>;

int longest(const Routes& routes, Name name) {
  for (;; name.pop_back()) {
    if (const auto found = routes.find(name); found != routes.end()) return static_cast<int>(found->second);
    if (name.empty()) return -1;
  }
}

struct NameFile {
  explicit NameFile(const Routes& routes) {
    std::ofstream out(path);
    out << "# name output\n";
    for (const auto& [name, output] : routes) out << uri(name) << " " << output << "\n";
  }
  ~NameFile() { std::remove(path.c_str()); }
  std::string path = testing::TempDir() + std::to_string(getpid()) + "heddle_ndn.names";
};

const std::string kSinks = " n[0] -> s0 :: TestSink; n[1] -> s1 :: TestSink; n[2] -> s2 :: TestSink;";

TEST_P(NDNLookupTest, TakesTheLongestPrefix) {
  auto random = random_for("ndn");
  for (const size_t count : {0u, 1u, 30u, 3000u}) {
    Routes routes;
    for (size_t i = 0; i < count; ++i) routes[random_name(random, i % 50 == 0 ? 31 : 6)] = random() % 3;
    if (count == 30) routes[{}] = 2;
    const NameFile file(routes);
    std::vector<Frame> frames;
    std::vector<Bytes> wanted[3];
    uint64_t no_route = 0, data = 0, fragments = 0;
    for (int i = 0; i < 800; ++i) {
      Name name = random_name(random, 8);
      if (!routes.empty() && random() % 2 == 0) {
        name = std::next(routes.begin(), static_cast<long>(random() % routes.size()))->first;
        const Name more = random_name(random, 40);
        if (name.empty() || random() % 2 == 0) name.insert(name.end(), more.begin(), more.end());
      }
      const int form = static_cast<int>(random() % 8);
      Bytes packet = interest(name);
      if (form == 0) packet = tlv(6, joined({encoded(name), tlv(21, {9})}));
      if (form == 1) packet = tlv(100, joined({tlv(81, Bytes(8, 7)), tlv(80, packet)}));
      if (form == 2) packet = tlv(100, joined({tlv(81, Bytes(8, 7)), tlv(82, {0}), tlv(83, {2}), tlv(80, packet)}));
      if (form == 3) packet = tlv(100, joined({tlv(82, {0}), tlv(83, {1}), tlv(80, packet)}));
      if (form == 4) packet.resize(packet.size() + random() % 20, 0x55);  // Ethernet pads
      if (packet.size() > 1900) continue;
      frames.push_back({in_ethernet(packet)});
      const int output = longest(routes, name);
      if (form == 0)
        ++data;
      else if (form == 2)
        ++fragments;
      else if (output < 0)
        ++no_route;
      else
        wanted[output].push_back(frames.back().bytes);
    }
    const std::string chain = "TestSource -> n :: NDNLookup(FILE " + file.path + ");" + kSinks;
    for (const std::vector<int>& batches : {std::vector<int>{1024}, {0, 1, 31, 32, 33, 1024}}) {
      const Result result = run(chain, GetParam(), frames, {.batches = batches});
      EXPECT_EQ(result.drop("n.no_route"), no_route);
      EXPECT_EQ(result.drop("n.data"), data);
      EXPECT_EQ(result.drop("n.fragment"), fragments);
      EXPECT_EQ(result.drop("n.malformed"), 0u);
      for (int port = 0; port < 3; ++port)
        EXPECT_TRUE(same(result.bytes(format("s%d", port)), wanted[port])) << count << " routes, output " << port;
    }
  }
}

TEST_P(NDNLookupTest, RefusesWhatIsMalformed) {
  const Bytes good = interest({{8, "a"}, {8, "bc"}});
  std::vector<Bytes> packets;
  const size_t name_end = 2 + 2 + 3 + 4;
  for (size_t length = 0; length < good.size(); ++length) packets.emplace_back(good.begin(), good.begin() + length);
  packets.push_back(tlv(5, tlv(7, {})));                   // no component
  packets.push_back(tlv(5, tlv(8, {1})));                  // no name
  packets.push_back(tlv(9, encoded({{8, "a"}})));          // neither Interest nor Data
  packets.push_back(tlv(5, tlv(7, {8, 2, 'a'})));          // a component longer than the name
  packets.push_back(tlv(5, tlv(7, {8})));                  // without length
  packets.push_back(tlv(5, tlv(7, {0, 1, 'a'})));          // of type 0
  packets.push_back(tlv(5, tlv(7, {253, 0, 8, 1, 'a'})));  // numbers that are longer than they need be
  packets.push_back(tlv(5, tlv(7, {8, 253, 0, 1, 'a'})));
  packets.push_back(tlv(5, tlv(7, {8, 254, 0, 0, 0, 1, 'a'})));
  packets.push_back(tlv(5, tlv(7, {254, 0, 1, 0, 0, 1, 'a'})));  // of type 65536
  packets.push_back(tlv(5, tlv(7, {8, 255, 0, 0, 0, 0, 0, 0, 0, 1, 'a'})));
  packets.push_back(tlv(5, tlv(7, {8, 254, 255, 255, 255, 255, 'a'})));
  packets.push_back({5, 4, 7, 5, 8, 3, 'a', 'b', 'c'});  // a name longer than its Interest
  packets.push_back(tlv(100, {}));                       // an LpPacket without fragment
  packets.push_back(tlv(100, tlv(81, {1})));
  packets.push_back(tlv(100, tlv(80, {})));
  std::vector<Frame> frames;
  for (const Bytes& packet : packets) frames.push_back({in_ethernet(packet)});
  for (size_t length = 0; length < 14; ++length) frames.push_back({Bytes(length, 5)});
  EXPECT_LT(name_end, good.size());
  const Result result = run("TestSource -> n :: NDNLookup(/ 0);" + kSinks, GetParam(), frames);
  EXPECT_EQ(result.drop("n.malformed"), frames.size());
}

// Bytes of packets changed at random: nothing is read outside of them (run() and sanitizers look), and each is counted.
TEST_P(NDNLookupTest, SurvivesAnything) {
  auto random = random_for("ndn hostile");
  std::vector<Frame> frames;
  for (int i = 0; i < 3000; ++i) {
    Bytes packet = interest(random_name(random, 5));
    if (i % 3 == 0) packet = tlv(100, joined({tlv(81, Bytes(8, 7)), tlv(80, packet)}));
    for (size_t change = 0; change < 1 + random() % 3; ++change)
      packet[random() % packet.size()] = static_cast<uint8_t>(random() % 4 == 0 ? 252 + random() % 4 : random());
    if (i % 5 == 0) packet.resize(random() % (packet.size() + 1));
    frames.push_back({in_ethernet(packet)});
  }
  const Result result = run("TestSource -> n :: NDNLookup(/8=a 0, /8=b/8=a 1, DATA 2);" + kSinks, GetParam(), frames);
  EXPECT_EQ(result.delivered + result.dropped, frames.size());
}

TEST_P(NDNLookupTest, TouchesOnlyWhatItDeclares) {
  AccessOptions options;
  options.outputs = 2;
  options.shape = [](Frame& frame, std::mt19937& random) {
    const Bytes packet = in_ethernet(interest({{8, random() % 2 == 0 ? "a" : "b"}}));
    if (frame.bytes.size() >= packet.size() && random() % 4 != 0)
      std::copy(packet.begin() + 14, packet.end(), frame.bytes.begin() + 14);
  };
  EXPECT_EQ(access_violations("NDNLookup(/a 1, / 0)", GetParam(), options), std::vector<std::string>{});
}

// Whether there is a GPU side as well: choosing takes the table's memory.
TEST(NDNLookup, ChoosesItsFormWhenItHasACpuSide) {
  if (kSanitized) GTEST_SKIP() << "all memory is written";
  for (const bool on_cpu : {false, true}) {
    click::Diagnostics diagnostics;
    const Chain chain =
        read("TestSource -> n :: NDNLookup(/a 0, CAPACITY 4000000); n[0] -> TestSink;", {}, diagnostics);
    Element& element = *chain.router.nodes[static_cast<size_t>(chain.router.find("n"))].element;
    element.on_gpu = true, element.on_cpu = on_cpu;
    const size_t before = written_bytes();
    element.start({});
    EXPECT_EQ(written_bytes() - before > 4'000'000 * 6, on_cpu);
  }
}

TEST_P(NDNLookupTest, ChangesUnderTraffic) {
  std::vector<Frame> frames;
  for (int i = 0; i < 64; ++i) frames.push_back({in_ethernet(interest({{8, "a"}, {8, std::to_string(i)}}))});
  Arrivals arrivals;
  Options options = arrivals.options();
  options.meanwhile = [&](Engine& engine) {
    const auto wait_for = [&](size_t port) { arrivals.wait_for(port); };
    Broker& handlers = engine.handlers();
    for (int change = 0; change < 3; ++change) {
      wait_for(0);
      handlers.write("n.add", "/a 1");
      wait_for(1);
      handlers.write("n.add", "/a/7 2");
      wait_for(2);
      EXPECT_EQ(handlers.read("n.table"), "/ 0\n/a 1\n/a/7 2\n");
      EXPECT_EQ(std::ranges::count(cuckoo::forms(), handlers.read("n.form"), &cuckoo::Form::name), 1);
      EXPECT_THROW(handlers.write("n.add", "/a 0"), Error);
      handlers.write("n.set", "/a 0");
      handlers.write("n.remove", "/a/7");
      handlers.write("n.remove", "/a");
      EXPECT_THROW(handlers.write("n.remove", "/a"), Error);
    }
    wait_for(0);
  };
  const Result result = run("TestSource -> n :: NDNLookup(/ 0);" + kSinks, GetParam(), frames, options);
  EXPECT_EQ(result.dropped, 0u);
}

TEST_P(NDNLookupTest, AFullTableKeepsItsRoutesUnderTraffic) {
  std::vector<Frame> frames;
  for (int i = 0; i < 64; ++i)
    frames.push_back({in_ethernet(interest({{8, i % 2 == 0 ? "a" : "b"}, {8, std::to_string(i)}}))});
  Arrivals arrivals;
  Options options = arrivals.options();
  options.meanwhile = [&](Engine& engine) {
    const auto wait_for = [&](size_t port) { arrivals.wait_for(port); };
    Broker& handlers = engine.handlers();
    for (const char* handler : {"n.add", "n.set"}) {
      wait_for(1);
      try {
        handlers.write(handler, "/b 2");
        ADD_FAILURE() << handler << " on a full table";
      } catch (const Error& error) {
        EXPECT_NE(std::string(error.what()).find("the table is full (2 names, CAPACITY 2)"), std::string::npos)
            << error.what();
      }
      EXPECT_EQ(handlers.read("n.table"), "/ 0\n/a 1\n");
      wait_for(0), wait_for(1);
      EXPECT_EQ(arrivals.at(2), 0u);
    }
    handlers.write("n.set", "/a 0");  // needs no further entry
    handlers.write("n.remove", "/a");
    handlers.write("n.add", "/b 2");
    wait_for(2);
    EXPECT_EQ(handlers.read("n.table"), "/ 0\n/b 2\n");
  };
  const Result result =
      run("TestSource -> n :: NDNLookup(/ 0, /a 1, CAPACITY 2);" + kSinks, GetParam(), frames, options);
  EXPECT_EQ(result.dropped, 0u);
}

TEST(NDNName, ReadsAndWritesUris) {
  const std::map<std::string, Name> right = {{"/", {}},
                                             {"ndn:/a/b", {{8, "a"}, {8, "b"}}},
                                             {"/8=a/b/", {{8, "a"}, {8, "b"}}},
                                             {"/.../a.b", {{8, ""}, {8, "a.b"}}},
                                             {"/....", {{8, "."}}},
                                             {"/%00%fF~", {{8, std::string("\0\xff~", 3)}}},
                                             {"/54=%01/65535=x", {{54, "\1"}, {65535, "x"}}}};
  for (const auto& [text, name] : right) {
    std::string wire;
    int components = 0;
    ASSERT_EQ(parse_name(text, wire, components), "") << text;
    EXPECT_EQ(components, static_cast<int>(name.size()));
    Bytes wanted = tlv(7, Bytes(wire.begin(), wire.end()));
    EXPECT_EQ(wanted, encoded(name)) << text;
    std::string again;
    ASSERT_EQ(parse_name(name_text(wire), again, components), "") << name_text(wire);
    EXPECT_EQ(again, wire) << name_text(wire);
  }
  std::string deep;
  for (int i = 0; i < 32; ++i) deep += "/a";
  for (const std::string text : {"", "a/b", "//", "/a//b", "/.", "/a/..", "/%", "/%1", "/%g0", "/%+1", "/0=a",
                                 "/65536=a", "/x=a", deep.c_str()}) {
    std::string wire;
    int components = 0;
    EXPECT_NE(parse_name(text, wire, components), "") << text;
  }
}

TEST(NDNLookup, KnowsGeneratedNames) {
  auto random = random_for("ndn generated");
  const auto texts = bench::generate_names(20000, bench::NameForm::ndn, seed());
  NameTable table;
  table.reset(texts.size(), 7, 0, 0);
  std::map<std::string, uint16_t> outputs;
  for (const std::string& text : texts) {
    std::string wire;
    int components = 0;
    ASSERT_EQ(parse_name(text, wire, components), "") << text;
    outputs[wire] = static_cast<uint16_t>(random() % 1000);
    table.set(wire, components, outputs[wire]);
  }
  const auto group = std::make_unique<Group>();
  for (const auto& [wire, output] : outputs) {
    const Bytes packet = tlv(5, tlv(7, Bytes(wire.begin(), wire.end())));
    const uint8_t* at = packet.data();
    const auto length = static_cast<uint32_t>(packet.size());
    uint16_t next = 0;
    group->look_up(table, &at, &length, &next, 1);
    ASSERT_EQ(next, output) << name_text(wire);
  }
  for (const auto& [wire, output] : outputs) ASSERT_TRUE(table.remove(wire));
  EXPECT_EQ(table.lengths(), 0u);
  EXPECT_EQ(table.hashes().size(), 0u);
}

TEST(NDNLookup, PlanSaysHowLookupsAreMade) {
  const std::string chain = "TestSource -> n :: NDNLookup(/a 0); n[0] -> TestSink;";
  const std::string text = plan_text(chain);
  EXPECT_NE(text.find("chosen: look-ups: "), std::string::npos) << text;
  EXPECT_NE(text.find(", the fastest here "), std::string::npos) << text;
  EXPECT_EQ(plan_text(chain, "simt").find("look-ups: "), std::string::npos);
}

TEST(NDNLookup, NamesWhatIsWrong) {
  const auto of = [](const std::string& arguments) {
    return mistakes("TestSource -> n :: NDNLookup(" + arguments + ");" + kSinks);
  };
  EXPECT_EQ(of("/a 0, / 2, OFFSET 0, DATA 1, CAPACITY 2"), "");
  EXPECT_NE(of("/a 3").find("'3' is not a connected output, 0 to 2"), std::string::npos);
  EXPECT_NE(of("/a 0, /b 0, CAPACITY 1").find("the table is full"), std::string::npos);
  for (const char* arguments : {"x", "a 0", "/a", "/a 0 0", "FILE none", "CAPACITY 0", "OFFSET -1", "DATA 3", "/%zz 0"})
    EXPECT_NE(of(arguments), "") << arguments;
}

}  // namespace
}  // namespace heddle::test
