// The filter language against an evaluator that is built beside each random pattern, and against libpcap's
// filters where both languages mean the same.

#include <pcap/pcap.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "core/columns.h"
#include "elements/ip/filter/graph.h"
#include "elements/ip/filter/parser.h"
#include "elements/ip/ip_filter_test.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

using ip_filter::Program;

constexpr uint16_t kUnmatched = kDrop | 0;

std::vector<ip_filter::Rule> rules(const std::vector<std::string>& patterns) {
  std::vector<ip_filter::Rule> result;
  for (auto& pattern : patterns) {
    const auto words = ip_filter::split(pattern);
    try {
      result.push_back({ip_filter::parse(words, 0, pattern.size()), static_cast<uint16_t>(result.size())});
    } catch (const ip_filter::Mistake& mistake) {
      ADD_FAILURE() << pattern << ": '" << mistake.word << "' is not " << mistake.expected;
    }
  }
  return result;
}

/** Both programs of some patterns, run on packets in buffers that end where the packet does. */
class Programs {
 public:
  explicit Programs(const std::vector<std::string>& patterns)
      : checked_(rules(patterns), kUnmatched, true), fast_(rules(patterns), kUnmatched, false) {}

  /** `packet` begins with its IPv4 header; what lies before that. */
  int run(const Bytes& packet, const Bytes& before = {}) const {
    const uint32_t transport = (packet[0] & 15u) * 4;
    const auto size = static_cast<uint32_t>(packet.size());
    const bool there = transport >= 20 && transport < size;
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[before.size() + size]);
    std::copy(packet.begin(), packet.end(), std::copy(before.begin(), before.end(), exact.get()));
    const auto bytes_before = static_cast<uint32_t>(before.size());
    const ip_filter::Headers headers{exact.get() + bytes_before, size, there ? transport : 0,
                                     there ? size - transport : 0, bytes_before};
    const uint16_t verdict = checked_.run_checked(headers);
    if (size >= fast_.network_bytes() && headers.transport_bytes >= fast_.transport_bytes() &&
        bytes_before >= fast_.bytes_before()) {
      ip_filter::Headers together[Program::kTogether];
      uint16_t verdicts[Program::kTogether];
      std::fill(std::begin(together), std::end(together), headers);
      fast_.run(together, verdicts, fast_.start());
      for (const uint16_t found : verdicts) EXPECT_EQ(found, verdict);
    }
    return verdict == kUnmatched ? -1 : verdict;
  }
  const Program& fast() const { return fast_; }

 private:
  Program checked_, fast_;
};

bool matches(const std::string& pattern, const Bytes& packet) { return Programs({pattern}).run(packet) == 0; }

// A pattern and what it means, in words of bytes: nothing of the compiler is used.
struct Meant {
  std::string text;
  std::function<bool(const Bytes&)> holds;
};

bool compare(const std::string& sign, uint64_t a, uint64_t b) {
  if (sign == "!=") return a != b;
  if (sign == "<") return a < b;
  if (sign == ">") return a > b;
  if (sign == "<=") return a <= b;
  if (sign == ">=") return a >= b;
  return a == b;
}

template <class T, size_t n>
T one_of(std::mt19937& random, const T (&values)[n]) {
  return values[random() % n];
}

std::string random_sign(std::mt19937& random) {
  static const std::string kSigns[] = {"", "=", "==", "!=", "<", ">", "<=", ">="};
  return one_of(random, kSigns);
}

Meant random_port(std::mt19937& random) {
  static const std::string kDirections[] = {"", "src ", "dst ", "src or dst ", "src and dst "};
  static const std::string kProtocols[] = {"", "tcp ", "udp "};
  const std::string direction = one_of(random, kDirections), protocol = one_of(random, kProtocols);
  const std::string sign = random_sign(random);
  static constexpr unsigned kPorts[] = {80, 443, 53, 1024, 5000, 0, 65535};
  const unsigned port = one_of(random, kPorts), mask = random() % 3 == 0 ? 0x0ff0 + random() % 16 : 0xffff;
  const unsigned value = sign.size() < 3 && sign != "!=" ? port : port & mask;
  std::string text = direction + protocol + "port ";
  if (mask != 0xffff) text += format("& 0x%x ", mask);
  return {text + sign + " " + std::to_string(value), [=](const Bytes& p) {
            if (!first(p) || (protocol == "tcp " && p[9] != 6) || (protocol == "udp " && p[9] != 17)) return false;
            if (p[9] != 6 && p[9] != 17) return false;
            if (!has(p, direction == "src " ? 2 : 4)) return false;
            const auto holds = [&](const std::string& relation) {
              const unsigned wanted = relation == "=" ? value & mask : value;
              const bool s =
                  direction == "dst " ? false : compare(relation, get_u16(p, transport_of(p)) & mask, wanted);
              const bool d =
                  direction == "src " ? false : compare(relation, get_u16(p, transport_of(p) + 2) & mask, wanted);
              return direction == "src and dst " ? s && d : s || d;
            };
            if (sign == "!=") return !holds("=");
            if (sign == "<") return !holds(">=");
            if (sign == "<=") return !holds(">");
            return holds(sign.empty() || sign == "==" ? "=" : sign);
          }};
}

Meant random_address(std::mt19937& random) {
  const unsigned bits = random() % 2 == 0 ? 32 : random() % 33;
  const uint32_t mask = bits == 0 ? 0 : ~0u << (32 - bits);
  const uint32_t address = ip(10, random() % 2, 0, random() % 4) & mask;
  const int direction = static_cast<int>(random() % 3);
  const bool unequal = random() % 4 == 0;
  std::string text = direction == 0 ? "src " : direction == 1 ? "dst " : "";
  const bool said = random() % 2 == 0 || direction == 2;  // else it takes src or dst from the directive before it
  if (said) text += bits == 32 ? "host " : "net ";
  if (unequal) text += "!= ";
  text += format("%u.%u.%u.%u", address >> 24, address >> 16 & 255, address >> 8 & 255, address & 255);
  if (bits != 32) {
    text += random() % 2 == 0 ? format("/%u", bits)
                              : format(" mask %u.%u.%u.%u", mask >> 24, mask >> 16 & 255, mask >> 8 & 255, mask & 255);
  }
  return {text, [=](const Bytes& p) {
            const bool s = (get_u32(p, 12) & mask) == address, d = (get_u32(p, 16) & mask) == address;
            return (direction == 0 ? s : direction == 1 ? d : s || d) != unequal;
          }};
}

Meant random_field(std::mt19937& random) {
  struct Field {
    const char* text;
    int protocol;  // 0: IPv4
    size_t at;
    int bytes, shift;
    unsigned largest;
  };
  static constexpr Field kFields[] = {
      {"ip vers", 0, 0, 1, 4, 15},        {"ip hl", 0, 0, 1, 0, 15},          {"ip tos", 0, 1, 1, 0, 255},
      {"ip dscp", 0, 1, 1, 2, 63},        {"ip len", 0, 2, 2, 0, 65535},      {"ip id", 0, 4, 2, 0, 65535},
      {"ip ttl", 0, 8, 1, 0, 255},        {"tcp win", 6, 14, 2, 0, 65535},    {"icmp type", 1, 0, 1, 0, 255},
      {"icmp code", 1, 1, 1, 0, 255},     {"ip proto", 0, 9, 1, 0, 255},      {"ip ect", 0, 1, 1, 0, 3},
      {"ip[12:4]", 0, 12, 4, 0, ~0u},     {"ip[22:2]", 0, 22, 2, 0, 65535},   {"ip[30]", 0, 30, 1, 0, 255},
      {"tcp[3]", 6, 3, 1, 0, 255},        {"udp[2:4]", 17, 2, 4, 0, ~0u},     {"transp[1:3]", -1, 1, 3, 0, 0xffffff},
      {"tcp[12,13]", 6, 12, 2, 0, 65535}, {"icmp[ 7 : 1 ]", 1, 7, 1, 0, 255},
  };
  const Field field = one_of(random, kFields);
  const std::string sign = random_sign(random);
  const unsigned mask = random() % 3 == 0 ? (random() & field.largest) | 1 : field.largest;
  const unsigned value = static_cast<unsigned>(random() % 8 == 0 ? random() : random() % 8) & field.largest;
  std::string text = field.text;
  if (mask != field.largest) text += format(" & %u", mask);
  return {text + " " + sign + " " + std::to_string(value), [=](const Bytes& p) {
            if (field.protocol != 0 && !first(p)) return false;
            if (field.protocol > 0 && p[9] != field.protocol) return false;
            const size_t at = field.protocol == 0 ? field.at : transport_of(p) + field.at;
            if (at + static_cast<size_t>(field.bytes) > p.size()) return false;
            uint64_t number = 0;
            for (int i = 0; i < field.bytes; ++i) number = number << 8 | p[at + static_cast<size_t>(i)];
            number = (number >> field.shift) & field.largest & mask;
            const bool exact = sign.empty() || sign == "=" || sign == "==" || sign == "!=";
            return compare(sign, number, exact ? value & mask : value);
          }};
}

Meant random_word(std::mt19937& random) {
  const auto flag = [](unsigned bit) {
    return
        [bit](const Bytes& p) { return first(p) && p[9] == 6 && has(p, 14) && (p[transport_of(p) + 13] & bit) == bit; };
  };
  const auto protocol = [](unsigned number) { return [number](const Bytes& p) { return p[9] == number; }; };
  const Meant words[] = {
      {"tcp", protocol(6)},
      {"udp", protocol(17)},
      {"ip proto icmp", protocol(1)},
      {"proto 47", protocol(47)},
      {"tcpudp", [](const Bytes& p) { return p[9] == 6 || p[9] == 17; }},
      {"tcp opt syn", flag(2)},
      {"ack", flag(16)},
      {"tcp opt 0x12", flag(18)},
      {"ip frag", [](const Bytes& p) { return (get_u16(p, 6) & 0x3fff) != 0; }},
      {"unfrag", [](const Bytes& p) { return (get_u16(p, 6) & 0x3fff) == 0; }},
      {"ip ect", [](const Bytes& p) { return (p[1] & 3) != 0; }},
      {"ip ce", [](const Bytes& p) { return (p[1] & 3) == 3; }},
      {"true", [](const Bytes&) { return true; }},
      {"false", [](const Bytes&) { return false; }},
      {"icmp type echo", [](const Bytes& p) { return first(p) && p[9] == 1 && has(p, 1) && p[transport_of(p)] == 8; }},
  };
  return one_of(random, words);
}

Meant random_meant(std::mt19937& random, int depth) {
  const unsigned kind = random() % (depth > 0 ? 12 : 6);
  if (kind < 2) return random_word(random);
  if (kind < 3) return random_address(random);
  if (kind < 4) return random_port(random);
  if (kind < 6) return random_field(random);
  const Meant a = random_meant(random, depth - 1), b = random_meant(random, depth - 1);
  if (kind == 6)
    return {(random() % 2 == 0 ? "not (" : "! ! !(") + a.text + ")", [a](const Bytes& p) { return !a.holds(p); }};
  if (kind == 7) {
    const Meant c = random_meant(random, depth - 1);
    return {"((" + a.text + ") ? " + b.text + " : " + c.text + ")",
            [a, b, c](const Bytes& p) { return a.holds(p) ? b.holds(p) : c.holds(p); }};
  }
  if (kind < 10) {
    const std::string sign = random() % 2 == 0 ? ") && (" : random() % 2 == 0 ? ") and (" : ") (";
    return {"((" + a.text + sign + b.text + "))", [a, b](const Bytes& p) { return a.holds(p) && b.holds(p); }};
  }
  return {"(" + a.text + (random() % 2 == 0 ? " or " : " || ") + b.text + ")",
          [a, b](const Bytes& p) { return a.holds(p) || b.holds(p); }};
}

TEST(IPFilterLanguage, MeansWhatRandomPatternsSay) {
  auto random = random_for("ip filter patterns");
  std::vector<Bytes> packets(300);
  for (auto& packet : packets) packet = random_packet(random);
  size_t matched = 0, total = 0;
  for (int round = 0; round < tries(500, 5000); ++round) {
    std::vector<Meant> meant(1 + random() % 5);
    std::vector<std::string> texts;
    for (auto& m : meant) m = random_meant(random, static_cast<int>(random() % 5)), texts.push_back(m.text);
    const Programs programs(texts);
    for (auto& packet : packets) {
      int wanted = -1;
      for (size_t i = 0; i < meant.size() && wanted < 0; ++i)
        if (meant[i].holds(packet)) wanted = static_cast<int>(i);
      matched += wanted >= 0;
      ++total;
      if (programs.run(packet) == wanted) continue;
      std::string all;
      for (auto& text : texts) all += "\n  " + text;
      FAIL() << "output " << programs.run(packet) << " instead of " << wanted << " for" << all << "\n"
             << programs.fast().text() << testing::PrintToString(packet);
    }
  }
  EXPECT_GT(matched, total / 5);
  EXPECT_LT(matched, total * 9 / 10);
}

// Every length of a packet, down to the bare header.
TEST(IPFilterLanguage, MatchesNothingBehindThePacketsEnd) {
  Bytes packet(20 + 20);
  packet[0] = 0x45;
  packet[9] = 6;
  for (const auto& [pattern, bytes] : {std::pair{"src port 0", 22},
                                       {"dst port 0", 24},
                                       {"dst port != 1", 24},
                                       {"dst port < 1", 24},
                                       {"tcp win 0", 36},
                                       {"tcp[19] < 9", 40},
                                       {"tcp[18:2] 0", 40},
                                       {"ip[24] 0", 25},
                                       {"ip[20:4] != 1", 24},
                                       {"tcp opt 0", 34},
                                       {"not tcp port 1", 20}}) {
    for (size_t size = 20; size <= 40; ++size) {
      packet.resize(size);
      EXPECT_EQ(matches(pattern, packet), size >= static_cast<size_t>(bytes)) << pattern << " " << size;
    }
  }
}

TEST(IPFilterLanguage, CarriesQualifiersOver) {
  for (auto& [shorter, longer] : std::vector<std::pair<std::string, std::string>>{
           {"port 80 or 443", "port 80 or port 443"},
           {"src tcp port 80 or 443 or www", "src tcp port 80 or src tcp port 443 or src tcp port 80"},
           {"src 10.0.0.1 or 10.0.0.2", "src host 10.0.0.1 or src host 10.0.0.2"},
           {"ip ttl > 3 and < 9", "ip ttl > 3 and ip ttl < 9"},
           {"icmp type echo or echo-reply", "icmp type 8 or icmp type 0"},
           {"10/8", "src or dst net 10.0.0.0 mask 255.0.0.0"},
           {"udp domain", "udp port 53"},
           {"syn ack", "tcp opt syn and tcp opt ack"},
           {"proto tcp or udp", "proto 6 or proto 17"},
           {"src not 10.0.0.1", "not src 10.0.0.1"},
           {"tcp udp port 53", ""},
           {"dst host & 255.255.255.0 == 10.0.0.0", "dst net 10.0.0.0/24"},
           {"true ? tcp : udp", "tcp"},
           {"false ? tcp : true ? udp : icmp", "udp"}}) {
    if (longer.empty()) continue;
    EXPECT_EQ(Programs({shorter}).fast().text(), Programs({longer}).fast().text()) << shorter;
  }
}

// The patterns and the format are those of a test of Click; the program may not be longer than its.
TEST(IPFilterLanguage, LeavesOutWhatIsKnown) {
  const Programs programs({"dst port 7777", "dst port 8888", "dst port 7000", "icmp type echo", "icmp", "-"});
  EXPECT_EQ(programs.fast().text(),
            " 0 260/00000000%00001fff  yes->step 1  no->step 2\n"
            " 1 264/00060000%00ff0000  yes->step 3  no->step 4\n"
            " 2 264/00010000%00ff0000  yes->[4]  no->[5]\n"
            " 3 512/00001e61%0000ffff  yes->[0]  no->step 5\n"
            " 4 264/00110000%00ff0000  yes->step 3  no->step 6\n"
            " 5 512/000022b8%0000ffff  yes->[1]  no->step 7\n"
            " 6 264/00010000%00ff0000  yes->step 8  no->[5]\n"
            " 7 512/00001b58%0000ffff  yes->[2]  no->[5]\n"
            " 8 512/08000000%ff000000  yes->[3]  no->[4]\n"
            "safe length 516\nalignment offset 0\n");
  EXPECT_EQ(Programs({"tcp and udp", "not tcp or not udp"}).fast().text(),
            "all->[1]\nsafe length 0\nalignment offset 0\n");
}

// Implications between two tests, against all values of a byte.
TEST(IPFilterLanguage, DrawsRightConclusions) {
  auto random = random_for("ip filter conclusions");
  int decided = 0;
  for (int round = 0; round < 20000; ++round) {
    ip_filter::Test tests[2];
    for (auto& test : tests) {
      test.mask = random() % 2 == 0 ? 15 : random() % 16;
      const uint32_t a = random() % 16 & test.mask, b = random() % 16 & test.mask;
      test.low = std::min(a, b), test.high = random() % 2 == 0 ? test.low : std::max(a, b);
    }
    const auto yes = [](const ip_filter::Test& t, uint32_t x) {
      return (x & t.mask) >= t.low && (x & t.mask) <= t.high;
    };
    for (const bool answer : {false, true}) {
      const int known = ip_filter::implied(tests[0], answer, tests[1]);
      if (known < 0) continue;
      ++decided;
      for (uint32_t x = 0; x < 16; ++x)
        if (yes(tests[0], x) == answer) {
          EXPECT_EQ(yes(tests[1], x), known == 1) << x;
        }
    }
  }
  EXPECT_GT(decided, 2000);
}

// Frames of a capture that CheckIPHeader would let pass, from the IPv4 header on.
std::vector<Bytes> packets_of(const std::string& path) {
  char problem[PCAP_ERRBUF_SIZE];
  std::vector<Bytes> result;
  pcap_t* file = pcap_open_offline(path.c_str(), problem);
  if (file == nullptr) {
    ADD_FAILURE() << problem;
    return result;
  }
  pcap_pkthdr* header;
  const uint8_t* data;
  while (pcap_next_ex(file, &header, &data) == 1) {
    if (header->caplen < 34 || data[12] != 8 || data[13] != 0 || data[14] >> 4 != 4) continue;
    Bytes packet(data + 14, data + header->caplen);
    const size_t total = get_u16(packet, 2);
    if ((packet[0] & 15u) < 5 || total < (packet[0] & 15u) * 4 + 20 || total > packet.size()) continue;
    packet.resize(total);
    result.push_back(packet);
  }
  pcap_close(file);
  return result;
}

TEST(IPFilterLanguage, AgreesWithLibpcap) {
  std::vector<std::string> paths;
  if (std::filesystem::exists("chains/traffic.pcap")) paths.push_back("chains/traffic.pcap");  // run in the source tree
  if (const char* data = std::getenv("HEDDLE_TEST_DATA"))
    for (const char* name : {"tcpdump_eth.pcap", "zeek_sample_10000.pcap"})
      paths.push_back(std::string(data) + "/pcap/" + name);
  if (paths.empty()) GTEST_SKIP() << "no captures: set HEDDLE_TEST_DATA, or run in the source tree";
  std::vector<Bytes> packets;
  for (auto& path : paths)
    for (auto& packet : packets_of(path)) packets.push_back(std::move(packet));
  ASSERT_GT(packets.size(), 1000u);

  // Ours and libpcap's, where they differ.
  const std::vector<std::pair<std::string, std::string>> filters = {
      {"tcp", "tcp"},
      {"udp or icmp", "udp or icmp"},
      {"not tcp", "not tcp"},
      {"tcp port 80", "tcp port 80"},
      {"port 80 or 443", "port 80 or 443"},
      {"src port 53", "src port 53 and not sctp"},
      {"dst udp port 53", "udp dst port 53"},
      {"src and dst port 53", "src and dst port 53 and not sctp"},
      {"net 10.0.0.0/8", "net 10.0.0.0/8"},
      {"src net 192.168.0.0 mask 255.255.0.0", "src net 192.168.0.0 mask 255.255.0.0"},
      {"host 127.0.0.1", "host 127.0.0.1"},
      {"dst 10.0.0.2 and tcp opt syn", "dst 10.0.0.2 and tcp[13] & 2 == 2"},
      {"syn and not ack", "tcp[13] & 2 = 2 and tcp[13] & 16 = 0"},
      {"icmp type echo", "icmp[0] = 8"},
      {"icmp type unreachable and icmp code 3", "icmp[0] = 3 and icmp[1] = 3"},
      {"ip ttl < 64", "ip[8] < 64"},
      {"ip ttl >= 64 and <= 128", "ip[8] >= 64 and ip[8] <= 128"},
      {"ip len > 500", "ip[2:2] > 500"},
      {"ip frag", "ip[6:2] & 0x3fff != 0"},
      {"ip hl > 5", "ip[0] & 15 > 5"},
      {"ip tos != 0", "ip[1] != 0"},
      {"tcp win < 1000", "tcp[14:2] < 1000"},
      {"tcp[4:4] > 0x80000000", "tcp[4:4] > 0x80000000"},
      {"udp[4:2] == 100", "udp[4:2] == 100"},
      {"ip proto 47 or proto igmp", "ip proto 47 or igmp"},
      {"tcp and (port www or port 22) and not src net 10.0.0.0/8",
       "tcp and (port 80 or port 22) and not src net 10.0.0.0/8"},
      {"dst tcp port > 1023", "tcp[2:2] > 1023"},
      {"ip id & 1 == 1", "ip[4:2] & 1 == 1"},
      {"(src port < 1024 and tcp) or (udp and not dst port 53)", "tcp[0:2] < 1024 or (udp and not dst port 53)"},
  };
  pcap_t* raw = pcap_open_dead(DLT_RAW, 65535);
  for (auto& [ours, theirs] : filters) {
    bpf_program code;
    ASSERT_EQ(pcap_compile(raw, &code, theirs.c_str(), 1, PCAP_NETMASK_UNKNOWN), 0)
        << theirs << ": " << pcap_geterr(raw);
    const Programs program({ours});
    for (auto& packet : packets) {
      pcap_pkthdr header{{}, static_cast<bpf_u_int32>(packet.size()), static_cast<bpf_u_int32>(packet.size())};
      const bool wanted = pcap_offline_filter(&code, &header, packet.data()) != 0;
      ASSERT_EQ(program.run(packet) == 0, wanted) << ours << " / " << theirs << " " << testing::PrintToString(packet);
    }
    pcap_freecode(&code);
  }
  pcap_close(raw);
}

TEST(IPFilterLanguage, LargePatternsKeepTheirMeaning) {
  std::string pattern = "false";
  for (int i = 0; i < 3000; ++i) pattern += format(" or (src 10.%d.%d.1 and dst port %d)", i / 250, i % 250, i);
  const Programs program({pattern});
  Bytes packet = Bytes(24);
  packet[0] = 0x45, packet[9] = 17;
  for (const int i : {0, 1, 249, 250, 1777, 2999}) {
    put_u32(packet, 12, ip(10, static_cast<unsigned>(i / 250), static_cast<unsigned>(i % 250), 1));
    put_u16(packet, 22, static_cast<unsigned>(i));
    EXPECT_EQ(program.run(packet), 0) << i;
    put_u16(packet, 22, static_cast<unsigned>(i + 1));
    EXPECT_EQ(program.run(packet), -1) << i;
  }
}

// Against the addresses themselves, in two halves that differ in few bits.
TEST(IPFilterLanguage, ComparesEthernetAddresses) {
  static const std::string kAddresses[] = {"2:0:0:0:0:1", "02-00-00-00-00-02", "2:0:0:1:0:1", "3:0:0:0:0:1"};
  static const Bytes kBytes[] = {{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}, {2, 0, 0, 1, 0, 1}, {3, 0, 0, 0, 0, 1}};
  static const std::string kDirections[] = {"host ", "", "src ", "dst ", "src or dst host ", "src and dst "};
  const Bytes packet(40, 0x45);
  int matched = 0;
  for (size_t wanted = 0; wanted < 4; ++wanted)
    for (const std::string& direction : kDirections)
      for (const std::string sign : {"", "!= "}) {
        const Programs programs({"ether " + direction + sign + kAddresses[wanted]});
        for (size_t to = 0; to < 4; ++to)
          for (size_t from = 0; from < 4; ++from) {
            Bytes before = kBytes[to];
            before.insert(before.end(), kBytes[from].begin(), kBytes[from].end());
            before.insert(before.end(), {8, 0});
            const bool source = from == wanted, destination = to == wanted;
            bool holds = source || destination;
            if (direction == "src ") holds = source;
            if (direction == "dst ") holds = destination;
            if (direction == "src and dst ") holds = source && destination;
            EXPECT_EQ(programs.run(packet, before) == 0, holds != !sign.empty()) << direction << sign << wanted;
            matched += holds ? 1 : 0;
          }
        EXPECT_EQ(programs.run(packet, Bytes(13)), -1);  // no header, whatever the relation
      }
  EXPECT_GT(matched, 0);
  EXPECT_EQ(Programs({"ether src 2:0:0:0:0:1 or 3:0:0:0:0:1"}).run(packet, {9, 9, 9, 9, 9, 9, 3, 0, 0, 0, 0, 1, 8, 0}),
            0);
  EXPECT_EQ(Programs({"ether src 2:0:0:0:0:1 or 3:0:0:0:0:1"}).run(packet, {3, 0, 0, 0, 0, 1, 9, 9, 9, 9, 9, 9, 8, 0}),
            -1);
}

}  // namespace
}  // namespace heddle::test
