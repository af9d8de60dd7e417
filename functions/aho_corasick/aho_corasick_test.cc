// The element in chains, on every backend, against a search of every place for every pattern; the automata by
// themselves are tested in automata_test.cc.

#include "functions/aho_corasick/aho_corasick.h"

#include <fstream>
#include <numeric>
#include <sstream>

#include "functions/nids/packets_for_test.h"
#include "tests/support/access.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

HEDDLE_ON_EVERY_BACKEND(AhoCorasickTest);

struct Line {
  std::string protocol;
  int port;  ///< -1: any
  std::string bytes;
  std::string text() const {
    std::string text = protocol + " " + (port < 0 ? "any" : std::to_string(port)) + " |";
    for (const char c : bytes) text += format("%02x ", static_cast<unsigned>(static_cast<uint8_t>(c)));
    return text + "|";
  }
};
using Lines = std::vector<Line>;

void write(const TextFile& file, const Lines& lines) {
  std::ofstream out(file.path);
  for (const Line& line : lines) out << line.text() << "\n";
}

bool is_of(const Line& line, const nids::OraclePacket& packet) {
  return line.protocol == "ip" || (line.protocol == "tcp" && packet.protocol == 6) ||
         (line.protocol == "udp" && packet.protocol == 17) ||
         (line.protocol == "icmp" && (packet.protocol == 1 || packet.protocol == 58));
}

/** The line whose pattern is the packet's first match, or -1. */
int first_match(const Lines& lines, const nids::OraclePacket& packet) {
  int port = -1;
  if (packet.has_ports)
    for (const int own : {packet.source_port, packet.destination_port})
      for (const Line& line : lines)
        if (line.port == own && is_of(line, packet)) port = own;
  size_t best_end = SIZE_MAX;
  int best = -1;
  for (size_t l = 0; l < lines.size(); ++l) {
    const Line& line = lines[l];
    if (!is_of(line, packet) || (line.port >= 0 && line.port != port)) continue;
    const size_t at = packet.payload.find(line.bytes);
    if (at == std::string::npos) continue;
    const size_t end = at + line.bytes.size();
    if (end > best_end || (end == best_end && line.bytes.size() <= lines[static_cast<size_t>(best)].bytes.size()))
      continue;
    best_end = end, best = static_cast<int>(l);
  }
  return best;
}

Lines random_lines(std::mt19937& random, size_t count) {
  const char* const protocols[] = {"tcp", "udp", "icmp", "ip"};
  Lines lines;
  while (lines.size() < count) {
    Line line{protocols[random() % 4], -1, nids::random_bytes(random, 2 + random() % 6)};
    if (random() % 20 == 0) line.bytes = nids::random_bytes(random, 30 + random() % 200);
    if ((line.protocol == "tcp" || line.protocol == "udp") && random() % 3 != 0)
      line.port = static_cast<int>(random() % 4);
    if (random() % 8 == 0 && !lines.empty()) line.bytes = lines[random() % lines.size()].bytes + line.bytes;
    if (line.bytes.size() > 255) continue;
    const auto same = [&](const Line& other) {
      return other.protocol == line.protocol && other.port == line.port && other.bytes == line.bytes;
    };
    if (std::ranges::none_of(lines, same)) lines.push_back(line);
  }
  return lines;
}

/** Payloads of any length with patterns in them, some at their end; headers of all kinds, some broken. */
std::vector<Frame> packets_for(std::mt19937& random, const Lines& lines, size_t count) {
  constexpr int kProtocols[] = {6, 6, 6, 17, 17, 1, 47};
  std::vector<Frame> frames;
  while (frames.size() < count) {
    const size_t size = random() % 8 == 0 ? random() % 3000 : random() % 50 == 0 ? 8000 : random() % 120;
    std::string payload = random() % 4 == 0 ? nids::random_bytes(random, size) : std::string(size, 'x');
    for (size_t pieces = random() % 3; pieces > 0; --pieces) {
      std::string part = lines[random() % lines.size()].bytes;
      if (random() % 3 == 0) part.resize(part.size() / 2);
      if (part.size() > payload.size()) continue;
      const size_t last = payload.size() - part.size();
      payload.replace(random() % 3 == 0 ? last : random() % (last + 1), part.size(), part);
    }
    const auto port = [&] { return random() % 8 == 0 ? 65535u : static_cast<unsigned>(random() % 5); };
    const unsigned source = port(), destination = port();
    const bool is_ip6 = random() % 3 == 0;
    frames.push_back(is_ip6 ? ip6_packet(random, payload)
                            : packet_with(kProtocols[random() % 7], payload, source, destination, 5 + random() % 4));
    Bytes& bytes = frames.back().bytes;
    if (!is_ip6 && random() % 10 == 0) put_u16(bytes, kL3 + 6, static_cast<unsigned>(random()));
    if (random() % 10 == 0 && bytes.size() > 46) bytes[46] = static_cast<uint8_t>(random());
    if (random() % 10 == 0) bytes.resize(random() % bytes.size());
    if (random() % 10 == 0) frames.back().headroom = static_cast<int>(random() % 128);
  }
  return frames;
}

std::string chain(const TextFile& file) {
  return "TestSource(SETS \"l3 l4\") -> it :: AhoCorasick(" + file.path +
         "); it[0] -> clean :: TestSink; it[1] -> matched :: TestSink;";
}

std::vector<int64_t> serials(const std::vector<Received>& packets) {
  std::vector<int64_t> list;
  for (const Received& packet : packets) list.push_back(packet.serial);
  return list;
}

TEST_P(AhoCorasickTest, FindsWhatTheOracleFinds) {
  auto random = random_for("aho-corasick element");
  const TextFile file("patterns");
  for (const size_t count : {1u, 7u, 60u}) {
    const Lines lines = random_lines(random, count);
    write(file, lines);
    const auto frames = packets_for(random, lines, 600);
    std::vector<int64_t> clean, matched;
    uint64_t too_short = 0;
    for (size_t i = 0; i < frames.size(); ++i) {
      const nids::OraclePacket packet = nids::oracle_packet(frames[i]);
      if (!packet.is_ip)
        ++too_short;
      else
        (first_match(lines, packet) < 0 ? clean : matched).push_back(static_cast<int64_t>(i));
    }
    EXPECT_GT(matched.size(), 10u);
    EXPECT_GT(clean.size(), 10u);
    for (const std::vector<int>& batches : {std::vector<int>{1024}, {0, 1, 31, 32, 33, 5, 300}}) {
      const Result result = run(chain(file), GetParam(), frames, {.batches = batches});
      EXPECT_EQ(serials(result.at("clean")), clean) << count << " patterns";
      EXPECT_EQ(serials(result.at("matched")), matched) << count << " patterns";
      EXPECT_EQ(result.drop("it.short"), too_short);
      EXPECT_EQ(result.statistics.at("it.matches"), matched.size());
      EXPECT_EQ(result.statistics.at("it.patterns"), count);
    }
  }
}

// By what handlers say under traffic.
TEST_P(AhoCorasickTest, CountsPacketsByTheirFirstMatch) {
  const TextFile file("counted");
  const Lines lines = {{"tcp", 80, "bc"}, {"ip", -1, "abc"},   {"ip", -1, "bc"}, {"tcp", -1, "c"},
                       {"udp", 80, "x"},  {"icmp", -1, "xyz"}, {"ip", -1, "z"}};
  write(file, lines);
  const std::string far(700, '.');
  const std::vector<Frame> frames = {
      packet_with(6, "...abc...x", 9, 80),  // the longest that ends first
      packet_with(6, "xbc", 80, 9),         // by its source port; of equal ones the first line's
      packet_with(6, "b.c", 80, 80),        // nothing but c, which is for all of TCP
      packet_with(17, "abc", 9, 9),        packet_with(17, far + "x" + far + "abc", 9, 80),
      packet_with(1, far + "xyz"),         packet_with(47, far + "xyz" + far),
      packet_with(6, far, 80, 80),         packet_with(17, "", 80, 80)};
  std::vector<uint64_t> wanted(lines.size());
  for (const Frame& frame : frames)
    if (const int line = first_match(lines, nids::oracle_packet(frame)); line >= 0) ++wanted[static_cast<size_t>(line)];
  EXPECT_EQ(wanted, (std::vector<uint64_t>{1, 2, 0, 1, 1, 1, 1}));
  const auto in_all = std::accumulate(wanted.begin(), wanted.end(), uint64_t{0});
  Options options;
  options.endless = true;
  options.batches = {static_cast<int>(frames.size())};
  options.on_packet = [](const std::string&, const Received&) {};
  options.meanwhile = [&](Engine& engine) {
    while (std::stoull(engine.handlers().read("it.count")) < 100 * in_all) std::this_thread::yield();
    std::istringstream text(engine.handlers().read("it.matches"));
    std::vector<uint64_t> counts;
    size_t l = 0;
    for (std::string line; std::getline(text, line); ++l) {
      const size_t blank = line.find(' ');
      ASSERT_LT(l, lines.size());
      EXPECT_EQ(line.substr(blank + 1), lines[l].text());
      counts.push_back(std::stoull(line.substr(0, blank)));
      // What is in flight may have been counted in part.
      const double share = static_cast<double>(counts.back()) / static_cast<double>(counts[0]);
      EXPECT_NEAR(share, static_cast<double>(wanted[l]), 0.3) << line;
    }
    EXPECT_EQ(l, lines.size());
    const auto sum = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
    while (std::stoull(engine.handlers().read("it.count")) < sum) std::this_thread::yield();
    EXPECT_EQ(engine.handlers().read("it.patterns"), "7");
  };
  run(chain(file), GetParam(), frames, options);
}

// Patterns at every place of packets of many lengths, so across every border between what threads and lines have; with
// all packets of a tile in use, and few, which gives each several threads.
TEST_P(AhoCorasickTest, FindsPatternsAtEveryPlace) {
  auto random = random_for("every place");
  const TextFile file("places");
  Lines lines;
  for (const size_t length : {1u, 4u, 33u, 255u}) {
    std::string bytes;
    for (size_t b = 0; b < length; ++b) bytes += static_cast<char>('a' + random() % 26);
    lines.push_back({"udp", static_cast<int>(length), bytes});
  }
  write(file, lines);
  std::vector<Frame> frames;
  for (const Line& line : lines)
    for (const size_t length : {1u, 40u, 300u, 700u, 1500u})
      for (size_t at = 0; at + line.bytes.size() <= length; at += length > 100 && !full() ? 7 : 1) {
        std::string payload(length, '.');
        payload.replace(at, line.bytes.size(), line.bytes);
        frames.push_back(packet_with(17, payload, 9, static_cast<unsigned>(line.port)));
        frames.back().headroom = static_cast<int>(at % 64);
        payload[at + at % line.bytes.size()] = '!';  // the same with one byte that is wrong
        frames.push_back(packet_with(17, payload, 9, static_cast<unsigned>(line.port)));
      }
  for (const std::vector<int>& batches : {std::vector<int>{1024}, {3, 1, 2}}) {
    const Result result = run(chain(file), GetParam(), frames, {.batches = batches});
    ASSERT_EQ(result.at("matched").size(), frames.size() / 2);
    for (size_t i = 0; i < frames.size() / 2; ++i)
      ASSERT_EQ(result.at("matched")[i].serial, static_cast<int64_t>(2 * i));
  }
}

TEST_P(AhoCorasickTest, WithoutOutput1AllPacketsGoOn) {
  const TextFile file("monitor");
  write(file, {{"ip", -1, "bad"}});
  const std::vector<Frame> frames = {packet_with(6, "good"), packet_with(6, "bad"), packet_with(17, "so bad")};
  const Result result = run("TestSource(SETS \"l3 l4\") -> it :: AhoCorasick(" + file.path + ") -> sink :: TestSink;",
                            GetParam(), frames);
  EXPECT_EQ(serials(result.at("sink")), (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(result.statistics.at("it.matches"), 2u);
}

TEST_P(AhoCorasickTest, TouchesOnlyWhatItDeclares) {
  const TextFile file("access");
  write(file, {{"ip", -1, "A"}, {"tcp", 0, "B"}, {"icmp", -1, "C"}});
  AccessOptions options;
  options.outputs = 2;
  options.shape = [](Frame& frame, std::mt19937& random) {
    if (frame.bytes.size() < 38) return;
    constexpr uint8_t kProtocols[] = {6, 17, 1, 47};
    frame.bytes[23] = kProtocols[random() % 4];
    put_u16(frame.bytes, 20, random() % 3 == 0 ? 7 : 0);
    if (random() % 2 == 0) frame.bytes[kL3] = 0x60, frame.bytes[kL3 + 6] = random() % 2 == 0 ? 60 : 17;
  };
  EXPECT_EQ(access_violations("AhoCorasick(" + file.path + ")", GetParam(), options), std::vector<std::string>{});
  options.outputs = 1;
  EXPECT_EQ(access_violations("AhoCorasick(" + file.path + ")", GetParam(), options), std::vector<std::string>{});
}

// Packets are searched for the old patterns or for the new ones, and none is lost.
TEST_P(AhoCorasickTest, ReplacesItsPatternsUnderTraffic) {
  const TextFile file("replaced");
  const Line a{"tcp", -1, "first"}, b{"tcp", 2, "second"};
  write(file, {a});
  const std::vector<Frame> frames(64, packet_with(6, "xxxxx first but not secund"));
  std::atomic<uint64_t> clean{0}, matched{0};
  Options options;
  options.endless = true;
  options.on_packet = [&](const std::string& sink, const Received&) { ++(sink == "clean" ? clean : matched); };
  options.meanwhile = [&](Engine& engine) {
    const auto wait_for = [&](const std::atomic<uint64_t>& count) {
      const uint64_t start = count;
      wait_while([&] { return count - start < 64; });
    };
    const auto why_not = [&] {
      try {
        engine.handlers().write("it.reload", "");
      } catch (const Error& error) {
        return std::string(error.what());
      }
      return std::string();
    };
    for (int change = 0; change < 6; ++change) {
      wait_for(change % 2 == 0 ? matched : clean);
      write(file, {change % 2 == 0 ? b : a});
      EXPECT_EQ(why_not(), "");
      if (change % 2 == 0) {
        EXPECT_EQ(engine.handlers().read("it.matches"), "0 " + b.text() + "\n");
      }
    }
    wait_for(matched);
    std::ofstream(file.path) << "tcp any good\nno any pattern\ntcp\n";
    const std::string why = why_not();
    EXPECT_NE(why.find(file.path + ":2: the protocol 'no'"), std::string::npos) << why;
    EXPECT_NE(why.find("\n" + file.path + ":3: expected PROTOCOL PORT PATTERN"), std::string::npos) << why;
    EXPECT_TRUE(why.ends_with("; the patterns stay as they are")) << why;
    std::remove(file.path.c_str());
    EXPECT_NE(why_not().find("cannot read the file of patterns"), std::string::npos);
    wait_for(matched);
    EXPECT_EQ(engine.handlers().read("it.patterns"), "1");
    const std::string counts = engine.handlers().read("it.matches");
    EXPECT_TRUE(counts.ends_with(" " + a.text() + "\n") && !counts.starts_with("0 ")) << counts;
  };
  const Result result = run(chain(file), GetParam(), frames, options);
  EXPECT_EQ(result.dropped, 0u);
}

std::string mistakes_of(const std::string& text) {
  const TextFile file("wrong");
  std::ofstream(file.path) << text;
  std::string found = mistakes(chain(file));
  for (size_t at; (at = found.find(file.path)) != std::string::npos;) found.replace(at, file.path.size(), "FILE");
  return found;
}

TEST(AhoCorasickFile, NamesWhatIsWrong) {
  EXPECT_EQ(mistakes_of(""), "");
  EXPECT_EQ(
      mistakes_of("# a comment\n\n  tcp any # is a pattern \r\nudp 0 |00|a|FF 0a|\nip any \\|\\\\\nicmp any a b\n"),
      "");
  const std::pair<std::string, std::string> wrong[] = {
      {"tcp 80\n", "FILE:1: expected PROTOCOL PORT PATTERN, as in 'tcp 80 GET |2f|login'"},
      {"\nsctp any x\n", "FILE:2: the protocol 'sctp' is not one of ip (which is all), tcp, udp and icmp"},
      {"icmp 8 x\n", "FILE:1: only tcp and udp have ports: write 'any' for '8'"},
      {"tcp 65536 x\n", "FILE:1: the port '65536' is not 'any' or a number from 0 to 65535"},
      {"tcp http x\n", "FILE:1: the port 'http' is not 'any'"},
      {"tcp any |4\n", "FILE:1: the pattern '|4' has no '|' at the end"},
      {"tcp any |4|\n", "FILE:1: the pattern '|4|' has half a byte"},
      {"tcp any |4g|\n", "FILE:1: the pattern '|4g|' has 'g' among hexadecimal digits"},
      {"tcp any ||\n", "FILE:1: the pattern '||' is empty"},
      {"tcp any a\\b\n", "FILE:1: the pattern 'a\\b' has a '\\' that is not before"},
      {"tcp any " + std::string(256, 'x') + "\n", "has more than 255 bytes"},
      {"tcp 80 AB\ntcp any AB\ntcp 80 |41|B\n", "FILE:3: the pattern is there already, as 'tcp 80 AB'"}};
  for (const auto& [text, why] : wrong) {
    const std::string found = mistakes_of(text);
    EXPECT_NE(found.find(why), std::string::npos) << text << found;
  }
  EXPECT_NE(mistakes("TestSource(SETS \"l3 l4\") -> AhoCorasick(/nonexistent) -> TestSink;")
                .find("cannot read the file of patterns '/nonexistent'"),
            std::string::npos);
  EXPECT_NE(mistakes("TestSource(SETS \"l3 l4\") -> AhoCorasick -> TestSink;").find("PATTERNS"), std::string::npos);
}

TEST(AhoCorasickFile, RefusesWhatMakesTooMuch) {
  auto random = random_for("too many states");
  std::string text;
  for (int p = 0; p < 300; ++p) {
    text += "tcp 80 ";
    for (int b = 0; b < 250; ++b) text += static_cast<char>('a' + random() % 26);
    text += "\n";
  }
  EXPECT_NE(mistakes_of(text).find("FILE: one automaton has too many states, with 300 patterns"), std::string::npos)
      << mistakes_of(text);
  text.clear();
  for (int port = 0; port < 65533; ++port) text += format("udp %d x\n", port);
  EXPECT_NE(mistakes_of(text).find("FILE: there are patterns for 65533 ports"), std::string::npos);
  text.clear();
  for (int port = 0; port < 3000; ++port) text += format("udp %d x\nip any %d\n", port, port);
  EXPECT_NE(mistakes_of(text).find("FILE: the automata of 3000 ports have the patterns for 'any' port as well"),
            std::string::npos);
}

}  // namespace
}  // namespace heddle::test
