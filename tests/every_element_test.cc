// Every element class meets packets that lie: headers whose lengths are wrong, packets that end anywhere, protocols
// inside protocols. Each frame ends where its memory ends, so that AddressSanitizer sees who reads behind it.
#include <set>

#include "click/arguments.h"
#include "core/element.h"
#include "tests/support/every_class.h"
#include "tests/support/harness.h"
#include "tests/support/sanitizer.h"

namespace heddle::test {
namespace {

Bytes join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
Bytes bytes(std::string_view text) { return {text.begin(), text.end()}; }
Bytes ethernet(unsigned type) {
  return {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type)};
}
Bytes ip4(unsigned protocol, const Bytes& payload, const Bytes& ip_options = {}, unsigned fragment = 0) {
  Bytes header = {0x45, 0, 0, 0, 0, 1, 0, 0, 64, static_cast<uint8_t>(protocol), 0, 0, 192, 0, 2, 1, 10, 0, 0, 1};
  header[0] = static_cast<uint8_t>(0x45 + ip_options.size() / 4);
  Bytes packet = join({header, ip_options, payload});
  put_u16(packet, 2, static_cast<unsigned>(packet.size()));
  put_u16(packet, 6, fragment);
  set_ip_checksum(packet, 0);
  return packet;
}
Bytes ip6(unsigned next, const Bytes& payload) {
  Bytes header = {0x60, 0,    0,    0,    0,    0,    static_cast<uint8_t>(next),
                  64,   0x20, 0x01, 0x0d, 0xb8, 0,    0,
                  0,    0,    0,    0,    0,    0,    0,
                  0,    0,    1,    0x20, 0x01, 0x0d, 0xb8,
                  0,    0,    0,    0,    0,    0,    0,
                  0,    0,    0,    0,    2};
  put_u16(header, 4, static_cast<unsigned>(payload.size()));
  return join({header, payload});
}
Bytes ports(unsigned source, unsigned destination) {
  return {static_cast<uint8_t>(source >> 8), static_cast<uint8_t>(source), static_cast<uint8_t>(destination >> 8),
          static_cast<uint8_t>(destination)};
}
Bytes udp(unsigned source, unsigned destination, const Bytes& payload) {
  Bytes length = {0, 0, 0, 0};
  put_u16(length, 0, static_cast<unsigned>(8 + payload.size()));
  return join({ports(source, destination), length, payload});
}
Bytes tcp(unsigned source, unsigned destination, unsigned flags, const Bytes& tcp_options, const Bytes& payload) {
  Bytes rest = {
      0, 0, 0, 1, 0, 0, 0, 2, static_cast<uint8_t>((5 + tcp_options.size() / 4) << 4), static_cast<uint8_t>(flags),
      1, 0, 0, 0, 0, 0};
  return join({ports(source, destination), rest, tcp_options, payload});
}

/** One of each kind that an element parses. */
std::vector<Bytes> right_packets() {
  const Bytes text = bytes("PORT 10,0,0,1,4,1\r\n"), request = bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const Bytes ping = {8, 0, 0, 0, 0, 1, 0, 1, 'p', 'i', 'n', 'g'}, echo6 = {128, 0, 0, 0, 0, 1, 0, 1};
  const Bytes quoted = ip4(17, udp(5000, 53, Bytes(8)));
  const Bytes mac = {1, 1, 2, 0, 0, 0, 0, 2};
  Bytes solicitation = {135, 0, 0, 0, 0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  solicitation = join({solicitation, mac});
  Bytes advertisement = solicitation;
  advertisement[0] = 136, advertisement[4] = 0x60, advertisement[24] = 2;
  const Bytes arp = {0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1};
  Bytes reply = arp;
  reply[7] = 2;
  Bytes esp = {0, 0, 0x10, 0x01, 0, 0, 0, 1};
  esp.resize(72, 0x5a);
  const auto v4 = [](const Bytes& packet) { return join({ethernet(0x0800), packet}); };
  const auto v6 = [](const Bytes& packet) { return join({ethernet(0x86dd), packet}); };
  return {
      v4(ip4(6, tcp(40000, 21, 0x18, {}, text))),
      v4(ip4(6, tcp(40000, 80, 0x02, {2, 4, 5, 180, 3, 3, 7, 0}, {}))),
      v4(ip4(6, tcp(40001, 80, 0x18, {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}, request))),
      v4(ip4(17, udp(5000, 53, Bytes(30)))),
      v4(ip4(1, ping)),
      v4(ip4(1, join({Bytes{3, 4, 0, 0, 0, 0, 1, 0}, quoted}))),
      v4(ip4(1, join({Bytes{5, 1, 0, 0, 10, 0, 0, 7}, ip4(6, tcp(40000, 21, 0x10, {}, {}))}))),
      v4(ip4(17, udp(5000, 53, Bytes(40)), {}, 0x2000)),                         // the first fragment
      v4(ip4(17, Bytes(40), {}, 6)),                                             // and one behind it
      v4(ip4(17, udp(5000, 53, Bytes(200)), {}, 0x4000)),                        // not to be fragmented
      v4(ip4(17, udp(1, 2, Bytes(9)), {7, 7, 4, 0, 0, 0, 0, 0})),                // record route
      v4(ip4(17, udp(1, 2, Bytes(9)), {68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0})),  // time stamps
      v4(ip4(17, udp(1, 2, Bytes(9)), {131, 7, 4, 10, 0, 0, 1, 0})),             // a source route
      v4(ip4(50, esp)),
      v4(ip4(17, udp(4500, 4500, esp))),
      v4(ip4(4, quoted)),
      v6(ip6(17, udp(5000, 53, Bytes(30)))),
      v6(ip6(6, tcp(40000, 80, 0x18, {}, request))),
      v6(ip6(58, echo6)),
      v6(ip6(58, solicitation)),
      v6(ip6(58, advertisement)),
      v6(ip6(0, join({Bytes{60, 0, 1, 4, 0, 0, 0, 0}, Bytes{44, 0, 1, 4, 0, 0, 0, 0}, Bytes{17, 0, 0, 1, 0, 0, 0, 9},
                      udp(1, 2, Bytes(16))}))),  // hop-by-hop and destination options, a fragment
      v6(ip6(43, join({Bytes{6, 2, 0, 1, 0, 0, 0, 0}, Bytes(16), tcp(1, 2, 2, {}, {})}))),  // a routing header
      join({ethernet(0x0806), arp, Bytes(18)}),
      join({ethernet(0x0806), reply, Bytes(18)}),
      join({ethernet(0x8100), Bytes{0, 7, 8, 0}, ip4(17, udp(5000, 53, Bytes(30)))}),
      join({ethernet(0x88a8), Bytes{0, 7, 0x81, 0, 0, 8, 8, 0}, ip4(17, udp(5000, 53, Bytes(30)))}),
      join({ethernet(0x8624), Bytes{5, 14, 7, 6, 8, 1, 'a', 8, 1, 'b', 10, 4, 1, 2, 3, 4}}),  // an NDN Interest
      {},
  };
}

/** The same, cut off anywhere, and with bytes that say something else. */
const std::vector<Frame>& hostile_frames() {
  static const std::vector<Frame> frames = [] {
    auto random = random_for("hostile frames");
    constexpr uint8_t kTelling[] = {0, 1, 4, 5, 6, 15, 0x3f, 0x40, 0x45, 0x4f, 0x60, 0x7f, 0x80, 0xfe, 0xff};
    std::vector<Frame> all;
    for (const Bytes& right : right_packets()) {
      all.push_back({right});
      for (size_t length = 0; length < right.size(); length += length < 80 ? 1 : 7)
        all.push_back({Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length))});
      for (int i = 0; i < tries(60, 2000) && right.size() > 14; ++i) {
        Bytes wrong = right;
        for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
          const size_t at = 12 + random() % (std::min<size_t>(wrong.size(), 90) - 12);
          wrong[at] = random() % 4 == 0 ? static_cast<uint8_t>(random()) : kTelling[random() % std::size(kTelling)];
        }
        if (random() % 4 == 0) wrong.resize(14 + random() % (wrong.size() - 13));
        const size_t header = wrong.size() > 14 ? (wrong[14] & 15u) * 4 : 0;
        if (random() % 2 == 0 && header >= 20 && wrong.size() >= 14 + header) set_ip_checksum(wrong, 14);
        all.push_back({wrong});
      }
    }
    std::shuffle(all.begin(), all.end(), random);
    return all;
  }();
  return frames;
}

class EveryElement : public testing::TestWithParam<ClassInChain> {
 protected:
  const FilesOfElements files_;
};
INSTANTIATE_TEST_SUITE_P(All, EveryElement, testing::ValuesIn(classes_in_chains()),
                         [](const auto& info) { return info.param.name; });

// run() checks that every packet arrives or is dropped with a reason, and comes back to its pool.
TEST_P(EveryElement, TakesPacketsThatLie) {
  Options options;
  options.guarded = true;
  options.batches = {32, 1, 64, 7};
  options.on_packet = [](const std::string&, const Received&) {};
  std::string chain = files_.definitions() + GetParam().chain();
  for (int checked = 0; checked < 2; ++checked) {
    SCOPED_TRACE(chain);
    const Result result = run(chain, backends()[0], hostile_frames(), options);
    EXPECT_GE(result.received, hostile_frames().size());
    // Once more behind elements that have looked at the headers.
    const std::string from = "MarkIP", to = "CheckIP";
    const size_t at = chain.find(from, chain.find("TestSource"));
    if (at == std::string::npos) break;
    for (size_t next = at; next != std::string::npos; next = chain.find(from, next))
      chain.replace(next, from.size(), to);
  }
}

/** Reads the byte behind each packet. */
class TestReadsBehind : public Element {
 public:
  void run_cpu(Batch& batch) override {
    for (int i = 0; i < batch.size(); ++i) sum_ += batch.frame(i)[batch.length(i)];
  }

 private:
  unsigned sum_ = 0;
};
HEDDLE_ELEMENT(TestReadsBehind);

TEST(EveryElementDeathTest, ReadingBehindAPacketIsSeen) {
  if (!kSanitized) GTEST_SKIP() << "no sanitizer looks";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Options options;
  options.guarded = true;
  EXPECT_DEATH(run("TestSource -> TestReadsBehind -> TestSink", backends()[0], hostile_frames(), options),
               "heap-buffer-overflow");
}

TEST(EveryElementClass, IsHere) {
  std::set<std::string> named = classes_apart();
  for (const ClassInChain& it : classes_in_chains()) EXPECT_TRUE(named.insert(it.name).second) << it.name;
  for (const std::string& name : Catalog::instance().names()) {
    const bool of_a_test = name.starts_with("Test") || name == "NoThreadsLeft";
    EXPECT_TRUE(of_a_test || named.erase(name) == 1)
        << name << ": its own test, beside it, wants a line HEDDLE_TESTED_WITH_ALL(" << name
        << ", ...), see tests/support/every_class.h; as functions/xor/xor_test.cc has it";
  }
  EXPECT_TRUE(named.empty()) << *named.begin() << " is no element";
}

// As test_every_element.py has it for the classes of its lists.
TEST(EveryElementClass, RefusesWhatItsTestSays) {
  int refused = 0;
  for (const ClassInChain& it : classes_in_chains()) {
    for (const std::string& arguments : it.refuses) {
      const std::string found = mistakes(format("TestSource ->\n x :: %s(%s) -> TestSink", it.name, arguments.c_str()));
      const size_t place = found.find(":2:"), element = found.find(format(": %s 'x'", it.name));
      EXPECT_TRUE(place < element && element < found.find('\n'))
          << it.name << "(" << arguments << ") is to be refused by line, element and value, but: " << found;
      ++refused;
    }
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace heddle::test
