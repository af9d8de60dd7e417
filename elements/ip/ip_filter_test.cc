// IPFilter and IPClassifier as elements: outputs, actions, drops, marks, mistakes.

#include "elements/ip/ip_filter_test.h"

#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

Frame frame_of(const Bytes& packet) {
  Frame frame;
  frame.bytes.assign(14, 0);
  frame.bytes.insert(frame.bytes.end(), packet.begin(), packet.end());
  put_u16(frame.bytes, 16, static_cast<unsigned>(packet.size()));
  set_ip_checksum(frame.bytes, 14);
  return frame;
}

TEST(IPClassifier, SendsPacketsToTheirOutputs) {
  auto random = random_for("ip classifier");
  std::vector<Frame> frames;
  for (int i = 0; i < 500; ++i) frames.push_back(frame_of(random_packet(random)));
  const Result result =
      run("TestSource -> CheckIPHeader(14) -> c :: IPClassifier(tcp and src port 80, udp or icmp);"
          "c[0] -> a :: TestSink; c[1] -> b :: TestSink;",
          cpu(), frames, {.batches = {100, 1, 33}});
  std::vector<Bytes> wanted[2];
  uint64_t unmatched = 0;
  for (auto& frame : frames) {
    const Bytes packet(frame.bytes.begin() + 14, frame.bytes.end());
    if (packet[9] == 6 && first(packet) && has(packet, 2) && get_u16(packet, transport_of(packet)) == 80)
      wanted[0].push_back(frame.bytes);
    else if (packet[9] == 17 || packet[9] == 1)
      wanted[1].push_back(frame.bytes);
    else
      ++unmatched;
  }
  EXPECT_TRUE(same(result.bytes("a"), wanted[0]));
  EXPECT_TRUE(same(result.bytes("b"), wanted[1]));
  EXPECT_EQ(result.drop("c.no_match"), unmatched);
  EXPECT_GT(unmatched, 0u);
}

TEST(IPClassifier, KnowsNamesOfAddresses) {
  // The same tests as with the addresses in their place.
  const auto program = [](const std::string& patterns) {
    click::Diagnostics diagnostics;
    const Chain chain = read(
        "AddressInfo(server 192.0.2.7/24 0:1:2:3:4:5, LAN 10/8); "
        "TestSource -> MarkIPHeader(14) -> f :: IPFilter(" +
            patterns + ") -> TestSink;",
        {}, diagnostics);
    EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
    if (!diagnostics.ok()) return diagnostics.text();
    Handlers handlers;
    chain.router.nodes[static_cast<size_t>(chain.router.find("f"))].element->handlers(handlers);
    return handlers.find("program")->read("");
  };
  EXPECT_EQ(program("allow src host server or dst net LAN"), program("allow src host 192.0.2.7 or dst net 10.0.0.0/8"));
  EXPECT_EQ(program("allow server:ip && src net server"), program("allow 192.0.2.7 && src net 192.0.2.0/24"));
  EXPECT_EQ(program("allow src LAN, deny dst server:net"), program("allow src 10.0.0.0/8, deny dst 192.0.2.0/24"));
  EXPECT_EQ(program("allow server mask 255.0.0.0"), program("allow 192.0.2.7 mask 255.0.0.0"));
  const std::string wrong = mistakes(
      "AddressInfo(server 0:1:2:3:4:5); TestSource -> MarkIPHeader(14) -> IPFilter(allow host server) -> TestSink;");
  EXPECT_NE(wrong.find("'server' is not"), std::string::npos) << wrong;
}

// Headers may be stripped: the marks still find them.
TEST(IPFilter, TakesTheActionOfTheFirstMatch) {
  auto random = random_for("ip filter actions");
  std::vector<Frame> frames;
  uint64_t tcp = 0, udp = 0, other = 0;
  for (int i = 0; i < 300; ++i) {
    frames.push_back(frame_of(random_packet(random)));
    const uint8_t proto = frames.back().bytes[23];
    ++(proto == 6 ? tcp : proto == 17 ? udp : other);
  }
  for (const char* strip : {"", "Strip(14) ->", "Strip(34) ->"}) {
    const Result result =
        run(std::string("TestSource -> CheckIPHeader(14) -> ") + strip +
                "f :: IPFilter(1 tcp, drop udp, allow icmp); f[0] -> a :: TestSink; f[1] -> b :: TestSink;",
            cpu(), frames);
    EXPECT_EQ(result.at("b").size(), tcp) << strip;
    EXPECT_EQ(result.drop("f.denied"), udp) << strip;
    EXPECT_EQ(result.at("a").size() + result.drop("f.no_match"), other) << strip;
    EXPECT_GT(result.drop("f.no_match"), 0u);
  }
}

TEST(IPFilter, DropsWhatHasNoHeader) {
  std::vector<Frame> frames;
  for (const size_t size : {0, 10, 33, 34, 60}) {
    Frame frame;
    frame.bytes.assign(size, 0x45);
    frame.column[static_cast<int>(Column::l3)] = 14;
    frame.column[static_cast<int>(Column::l4)] = 34;
    frames.push_back(frame);
  }
  frames.push_back(frames.back());
  frames.back().column[static_cast<int>(Column::l4)] = 3;  // no place for a transport header
  const Result result =
      run("TestSource(SETS \"l3 l4\") -> f :: IPFilter(deny transp[0] 0x45, allow all) -> sink :: TestSink;", cpu(),
          frames);
  EXPECT_EQ(result.drop("f.short"), 3u);
  EXPECT_EQ(result.drop("f.denied"), 0u);  // fragments: 0x4545
  EXPECT_EQ(result.delivered, 3u);
}

TEST(IPFilter, NeedsMarkedHeaders) {
  EXPECT_NE(mistakes("TestSource -> IPFilter(allow tcp) -> TestSink;").find("l3"), std::string::npos);
}

TEST(IPFilter, TouchesOnlyWhatItDeclares) {
  const AccessOptions options{.shape = [](Frame& frame, std::mt19937& random) {
    frame.column[static_cast<int>(Column::l3)] = 14;
    frame.column[static_cast<int>(Column::l4)] = 34;
    if (frame.bytes.size() < 34) return;
    frame.bytes[14] = 0x45;
    frame.bytes[23] = random() % 2 == 0 ? 6 : 17;
    put_u16(frame.bytes, 20, 0);
  }};
  EXPECT_EQ(access_violations("IPFilter(allow src 10.0.0.0/8 or tcp port > 1000, allow udp[5] & 3 == 1, deny all)",
                              cpu(), options),
            std::vector<std::string>{});
}

std::string mistake_in(const std::string& pattern) {
  return mistakes("TestSource -> CheckIPHeader(14) -> c :: IPClassifier(" + pattern + ") -> TestSink;");
}

TEST(IPClassifier, NamesMistakesWithTheirPlace) {
  for (auto& [pattern, said] : std::vector<std::pair<std::string, std::string>>{
           {"prot 6", "'prot' is not a word of the filter language"},
           {"prot 6", "did you mean 'proto'?"},
           {"tcp port 80 or", "'end of the pattern' is not a word"},
           {"tcp frobnicate", "'frobnicate'"},
           {"port 70000", "'70000' is not a value of this field; expected 0 to 65535 (pattern 0, character 6)"},
           {"ip ttl & 0x1ff 3", "expected at most 0xff"},
           {"ip ttl & 0 3", "mask with at least one bit"},
           {"tcp udp port 5", "'udp' is not the transport protocol"},
           {"echo", "expected 'port echo' or 'icmp type echo'"},
           {"udp syn", "'syn' is not meaningful here; expected 'tcp opt syn'"},
           {"host 10.0.0.0/8", "an IPv4 address such as 10.0.0.1"},
           {"net 10.0.0.1", "an IPv4 network"},
           {"host > 10.0.0.1", "expected == or !="},
           {"src tcp", "an address or a port"},
           {"80", "expected a field"},
           {"ip[3:5] 1", "LEN from 1 to 4"},
           {"ip[99999] 1", "POS from 0 to 8191"},
           {"ip[x] 1", "[POS:LEN]"},
           {"icmp win 3", "it is one of tcp"},
           {"tcp ? udp", "':'"},
           {"tcp, \"udp port\"", "(pattern 1, character 9)"},
           {"tcp port >", "a value; expected"},
           {"icmp port 3", "a port of TCP or UDP"},
           {"tcp opt & 3 3", "takes no relation"},
           {"ip frag 3", "no value behind"},
           {"src dst port 4", "'src' or 'dst' has been said"},
           {"host ttl 3", "what it is about"}}) {
    EXPECT_NE(mistake_in(pattern).find(said), std::string::npos) << pattern << ":\n" << mistake_in(pattern);
  }
  EXPECT_NE(mistake_in(std::string(200, '(') + "tcp" + std::string(200, ')')).find("at most 100"), std::string::npos);
  const std::string chain = "TestSource -> CheckIPHeader(14) -> f :: IPFilter(";
  EXPECT_NE(mistakes(chain + "alow tcp) -> TestSink;").find("did you mean 'allow'?"), std::string::npos);
  EXPECT_NE(mistakes(chain + "1 tcp) -> TestSink;").find("output 1 is not connected"), std::string::npos);
  EXPECT_EQ(mistakes(chain + ") -> TestSink;"), "");
  EXPECT_EQ(mistakes(chain + "allow, deny any) -> TestSink;"), "");
}

}  // namespace
}  // namespace heddle::test
