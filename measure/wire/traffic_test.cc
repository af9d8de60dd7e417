#include "measure/wire/traffic.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "core/error.h"
#include "io/capture/writer.h"
#include "measure/wire/signature.h"
#include "measure/wire/test_support.h"
#include "measure/wire/toeplitz.h"
#include "tests/support/frames.h"

namespace heddle::bench {
namespace {

using test::ip;

/** A file that lives as long as the object. */
struct File {
  explicit File(const std::string& text)
      : path("/tmp/heddle_traffic_" + std::to_string(getpid()) + "_" + std::to_string(++count)) {
    std::ofstream(path) << text;
  }
  ~File() { unlink(path.c_str()); }
  static inline int count = 0;
  std::string path;
};

/** The frames of a queue as they will lie in memory, without signatures. */
std::vector<std::vector<uint8_t>> frames_of(const Traffic& traffic, int port, int queue) {
  std::vector<std::vector<uint8_t>> frames;
  const Stream& stream = traffic.stream(port, queue);
  for (size_t i = 0; i < stream.frames.size(); ++i) {
    const Stream::Frame& frame = stream.frames[i];
    std::vector<uint8_t> bytes(stream.heads[i].bytes, stream.heads[i].bytes + std::min<size_t>(64, frame.length));
    if (frame.length > 64)
      bytes.insert(bytes.end(), traffic.rests() + frame.rest, traffic.rests() + frame.rest + frame.length - 64);
    frames.push_back(std::move(bytes));
  }
  return frames;
}

void write_capture(const std::string& path, const std::vector<std::vector<uint8_t>>& frames) {
  capture::Writer writer(path, {.background = false});
  for (auto& frame : frames) {
    const auto bytes = static_cast<uint32_t>(frame.size());
    writer.write(frame.data(), bytes, bytes, 0);
  }
}

std::string mistake(TrafficOptions options) {
  try {
    const Traffic traffic(options, 1, 1);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Traffic, FixedSizesAndFlows) {
  for (const uint32_t flows : {1u, 100u, 20000u}) {
    const Traffic traffic({.sizes = "128", .flows = flows}, 1, 1);
    EXPECT_EQ(traffic.flows(), flows);
    EXPECT_EQ(traffic.mean_bytes(), 128);
    std::set<FiveTuple> tuples;
    std::map<uint32_t, int> packets;
    const auto frames = frames_of(traffic, 0, 0);
    for (size_t i = 0; i < frames.size(); ++i) {
      FiveTuple tuple;
      ASSERT_EQ(frames[i].size(), 124u);
      ASSERT_TRUE(five_tuple_of(frames[i], tuple));
      ASSERT_EQ(tuple, traffic.tuple(traffic.stream(0, 0).frames[i].flow));
      tuples.insert(tuple);
      ++packets[traffic.stream(0, 0).frames[i].flow];
    }
    EXPECT_EQ(tuples.size(), flows);
    for (auto& [flow, count] : packets) EXPECT_LE(std::abs(count - static_cast<int>(frames.size() / flows)), 1);
  }
}

TEST(Traffic, FlowsOfTcp) {
  for (const char* size : {"76", "77", "1518"}) {
    const Traffic traffic({.sizes = size, .protocol = "tcp", .flows = 100}, 1, 1);
    EXPECT_EQ(traffic.flows(), 100u);
    EXPECT_EQ(traffic.mean_bytes(), std::stoi(size));
    std::set<FiveTuple> tuples;
    auto frames = frames_of(traffic, 0, 0);
    for (size_t i = 0; i < frames.size(); ++i) {
      const Stamping& stamping = traffic.stream(0, 0).frames[i].stamping;
      FiveTuple tuple;
      ASSERT_TRUE(five_tuple_of(frames[i], tuple));
      ASSERT_EQ(tuple.protocol, kTcp);
      tuples.insert(tuple);
      ASSERT_EQ(frames[i][14 + 20 + 12], 0x50);  // no options
      ASSERT_EQ(frames[i][14 + 20 + 13], 0x10);  // ACK alone
      // The checksum is right when the signature is there, which here is zeros.
      ASSERT_EQ(stamping.checksum_at, 14 + 20 + 16);
      const auto sum = static_cast<uint16_t>(~stamping.sum);
      std::memcpy(&frames[i][stamping.checksum_at], &sum, sizeof sum);
      ASSERT_EQ(checksum_errors(frames[i]), "");
    }
    EXPECT_EQ(tuples.size(), 100u);
  }
  const Traffic plain({.sizes = "128", .protocol = "tcp", .flows = 10, .signatures = false}, 1, 1);
  for (const auto& frame : frames_of(plain, 0, 0)) ASSERT_EQ(checksum_errors(frame), "");
}

TEST(Traffic, TheSameForTheSameSeed) {
  const Traffic one({.seed = 5}, 1, 2), again({.seed = 5}, 1, 2), other({.seed = 6}, 1, 2);
  EXPECT_EQ(frames_of(one, 0, 1), frames_of(again, 0, 1));
  EXPECT_NE(frames_of(one, 0, 1), frames_of(other, 0, 1));
}

TEST(Traffic, Imix) {
  const Traffic traffic({.sizes = "imix"}, 1, 1);
  std::map<size_t, double> sizes;
  for (auto& frame : frames_of(traffic, 0, 0)) sizes[frame.size() + 4] += 1;
  ASSERT_EQ(sizes.size(), 3u);
  EXPECT_NEAR(sizes[64] / sizes[1518], 7, 0.02);
  EXPECT_NEAR(sizes[594] / sizes[1518], 4, 0.02);
  EXPECT_NEAR(traffic.mean_bytes(), (7 * 64 + 4 * 594 + 1518) / 12.0, 0.5);
}

TEST(Traffic, QueuesAreThoseOfTheHash) {
  for (const bool symmetric : {true, false}) {
    const Traffic traffic({.flows = 4000, .symmetric = symmetric}, 2, 3);
    for (int port = 0; port < 2; ++port)
      for (int queue = 0; queue < 3; ++queue) {
        const auto& frames = traffic.stream(port, queue).frames;
        EXPECT_NEAR(static_cast<double>(frames.size()), 4096.0 / 6, 4096 * 0.05);
        for (auto& frame : frames) {
          const uint32_t hash = toeplitz_hash(traffic.tuple(frame.flow), symmetric ? kSymmetricKey : kMicrosoftKey);
          ASSERT_EQ(static_cast<int>(hash % 128) % 3, queue);
        }
      }
  }
}

TEST(Traffic, ZipfsLaw) {
  const Traffic traffic({.flows = 1000, .zipf = 1}, 1, 1);
  std::map<uint32_t, int> packets;
  const auto& frames = traffic.stream(0, 0).frames;
  for (auto& frame : frames) ++packets[frame.flow];
  std::vector<int> ranks;
  for (auto& [flow, count] : packets) ranks.push_back(count);
  std::sort(ranks.rbegin(), ranks.rend());
  const double harmonic = std::log(1000.0) + 0.5772;
  const auto all = static_cast<double>(frames.size());
  for (const size_t k : {size_t{1}, size_t{2}, size_t{10}}) {
    const double wanted = all / harmonic / static_cast<double>(k);
    EXPECT_NEAR(ranks[k - 1], wanted, 5 * std::sqrt(wanted)) << k;
  }
}

TEST(Traffic, DestinationsOfRoutes) {
  const File routes("10.1.0.0/16 1\n192.0.2.128/25 10.0.0.1 2\n# none\n203.0.113.7 3\n");
  const Traffic traffic({.addresses = "routes:" + routes.path, .flows = 600}, 1, 1);
  int found[3] = {};
  for (uint32_t flow = 0; flow < traffic.flows(); ++flow) {
    const uint32_t address = traffic.tuple(flow).destination;
    if (address >> 16 == ip(10, 1, 0, 0) >> 16)
      ++found[0];
    else if (address >> 7 == ip(192, 0, 2, 128) >> 7)
      ++found[1];
    else if (address == ip(203, 0, 113, 7))
      ++found[2];
  }
  EXPECT_EQ(found[0] + found[1] + found[2], 600);
  for (const int count : found) EXPECT_NEAR(count, 200, 60);
}

/** The hash by which frames of IPv6 are spread, from what is in them. */
uint32_t hash6_of(const std::vector<uint8_t>& frame) {
  Ip6Addresses ip6;
  std::copy_n(frame.begin() + 22, 16, ip6.source.begin());
  std::copy_n(frame.begin() + 38, 16, ip6.destination.begin());
  const FiveTuple flow{0, 0, static_cast<uint16_t>(be16(frame, 54)), static_cast<uint16_t>(be16(frame, 56)), frame[20]};
  return toeplitz_hash(flow, ip6, kSymmetricKey);
}

TEST(Traffic, UnicastOfIp6IsSpreadAsNicsDo) {
  const Traffic traffic({.sizes = "84", .addresses = "uniform6", .flows = 3000, .signatures = false}, 1, 3);
  std::set<std::vector<uint8_t>> headers;
  for (int queue = 0; queue < 3; ++queue) {
    const auto frames = frames_of(traffic, 0, queue);
    EXPECT_NEAR(static_cast<double>(frames.size()), 4096.0 / 3, 4096 * 0.05);
    for (const auto& frame : frames) {
      ASSERT_EQ(frame.size(), 80u);
      ASSERT_EQ(checksum_errors6(frame), "");
      ASSERT_EQ(frame[22] >> 5, 1);
      ASSERT_EQ(frame[38] >> 5, 1);
      ASSERT_EQ(queue_of(hash6_of(frame), 3), queue);
      headers.emplace(frame.begin() + 22, frame.begin() + 58);
    }
  }
  EXPECT_EQ(headers.size(), 3000u);  // flows
}

TEST(Traffic, DestinationsOfRoutesOfIp6) {
  const File routes("2001:db8::/32 0\n2a00:1::/64 2a00:1::1 1\n::1/128 2\n");
  for (const char* protocol : {"udp", "tcp"}) {
    const Traffic traffic({.sizes = "128", .addresses = "routes6:" + routes.path, .protocol = protocol, .flows = 900},
                          1, 1);
    std::map<uint32_t, int> packets;  // by the destination's first bytes
    std::set<std::vector<uint8_t>> hosts;
    for (const auto& frame : frames_of(traffic, 0, 0)) {
      ++packets[be16(frame, 38) << 16 | be16(frame, 40)];
      hosts.emplace(frame.begin() + 46, frame.begin() + 54);
      if (be16(frame, 38) == 0x2a00) {
        ASSERT_EQ(be16(frame, 42) | be16(frame, 44), 0u);
      }
      if (be16(frame, 38) == 0) {
        ASSERT_EQ(frame[53], 1);
      }
    }
    EXPECT_EQ(packets.size(), 3u);
    for (const uint32_t first : {0x20010db8u, 0x2a000001u, 0u}) EXPECT_NEAR(packets[first], 4096 / 3.0, 300);
    EXPECT_NEAR(static_cast<double>(hosts.size()), 600, 70);
  }
}

TEST(Traffic, EthernetAddressesOfATable) {
  const File macs("02-00-00-00-00-01 0\n2:0:0:0:0:2 1 # a host\n\n2:0:0:0:0:3 0\n");
  const Traffic traffic({.addresses = "macs:" + macs.path, .flows = 600}, 1, 1);
  std::map<std::pair<uint32_t, uint32_t>, int> packets;
  for (const auto& frame : frames_of(traffic, 0, 0)) {
    ASSERT_EQ(be16(frame, 0) | be16(frame, 6), 0x0200u);
    ++packets[{be16(frame, 4), be16(frame, 10)}];
  }
  EXPECT_EQ(packets.size(), 6u);  // none to itself
  for (const auto& [pair, count] : packets) {
    EXPECT_TRUE(1 <= pair.first && pair.first <= 3 && 1 <= pair.second && pair.second <= 3);
    EXPECT_NE(pair.first, pair.second);
    EXPECT_NEAR(count, 4096 / 6.0, 250);
  }
}

/** The value of a TLV of NDN of this type at `at`, which is moved behind it; read here by rules of our own. */
std::vector<uint8_t> value_of(const std::vector<uint8_t>& bytes, size_t& at, uint8_t type) {
  EXPECT_EQ(bytes.at(at++), type);
  size_t length = bytes.at(at++);
  if (length == 253) length = be16(bytes, at), at += 2;
  at += length;
  return {bytes.begin() + static_cast<ptrdiff_t>(at - length), bytes.begin() + static_cast<ptrdiff_t>(at)};
}

TEST(Traffic, InterestsForNamesOfATable) {
  const std::string longer(300, 'x');
  const File names("/a 0\n/org/" + longer + "\n/ 2\n");
  for (const char* size : {"64", "99", "512"}) {
    const Traffic traffic({.sizes = size, .addresses = "names:" + names.path, .flows = 600}, 1, 2);
    std::map<std::string, int> packets;
    std::set<std::string> last;
    for (int queue = 0; queue < 2; ++queue)
      for (const auto& frame : frames_of(traffic, 0, queue)) {
        ASSERT_EQ(be16(frame, 12), 0x8624u);
        size_t at = 14, in_interest = 0, in_name = 0;
        const auto interest = value_of(frame, at, 5);
        const auto name = value_of(interest, in_interest, 7);
        EXPECT_EQ(value_of(interest, in_interest, 10).size(), 4u);
        EXPECT_EQ(in_interest, interest.size());
        ASSERT_LE(at, signature_at(static_cast<uint32_t>(frame.size())));  // which has room behind it
        std::string text;
        while (in_name < name.size()) {
          const auto component = value_of(name, in_name, 8);
          if (in_name == name.size())
            last.emplace(component.begin(), component.end());
          else
            text += "/" + std::string(component.begin(), component.end());
        }
        ++packets[text];
        ASSERT_GE(frame.size() + 4, static_cast<size_t>(std::stoi(size)));
        if (text.size() < 10 && size != std::string("64")) {
          ASSERT_EQ(frame.size() + 4, static_cast<size_t>(std::stoi(size)));
        }
      }
    EXPECT_EQ(packets.size(), 3u);
    for (const char* name : {"/a", ""}) EXPECT_NEAR(packets[name], 4096 / 3.0, 300);
    EXPECT_NEAR(packets["/org/" + longer], 4096 / 3.0, 300);
    EXPECT_EQ(last.size(), 600u);  // flows
    // As much as any number of flows may need.
    const Traffic one({.sizes = size, .addresses = "names:" + names.path, .flows = 1}, 1, 1);
    EXPECT_EQ(one.longest_bytes(), traffic.longest_bytes());
  }
}

TEST(Traffic, MistakesInTablesAreNamed) {
  const File bad("2:0:0:0:0:1 0\n1:0:0:0:0:1 0\n");
  EXPECT_EQ(mistake({.addresses = "macs:" + bad.path}), bad.path + ":2: '1:0:0:0:0:1' is a group address");
  EXPECT_EQ(mistake({.addresses = "names:" + bad.path}).substr(0, bad.path.size() + 3), bad.path + ":1:");
  EXPECT_NE(mistake({.sizes = "128", .addresses = "routes6:" + bad.path}).find("is not a route"), std::string::npos);
  const File empty("# nothing\n");
  EXPECT_EQ(mistake({.addresses = "macs:" + empty.path}),
            "the file of Ethernet addresses '" + empty.path + "' is empty");
  EXPECT_EQ(mistake({.addresses = "names:" + empty.path}), "the file of names '" + empty.path + "' is empty");
  EXPECT_NE(mistake({.addresses = "names:/none"}).find("/none"), std::string::npos);
  EXPECT_EQ(mistake({.addresses = "uniform6"}),
            "frame size '64': a frame of IPv6 and UDP has 84 bytes at least (with FCS), for its headers and the "
            "generator's signature, and 64 is less");
  EXPECT_EQ(mistake({.sizes = "95", .addresses = "uniform6", .protocol = "tcp"}).substr(0, 47),
            "frame size '95': a frame of IPv6 and TCP has 96");
  const File names("/a\n");
  EXPECT_EQ(mistake({.sizes = "128", .addresses = "names:" + names.path, .protocol = "tcp"}),
            "protocol 'tcp': names:" + names.path + " is NDN, which has none");
  const File many("/" + std::string(9000, 'a') + "\n");
  EXPECT_NE(mistake({.addresses = "names:" + many.path}).find("frames have room for 8192"), std::string::npos);
}

TEST(Traffic, HeaderTraceIsSentInOrder) {
  const File trace(
      "2954081539\t883698240\t0\t2121\t6\t0\t-1\n1\t2\t3\t4\t17\t0\t-1\n2954081539\t883698240\t0\t2121\t6\t0\t7\n"
      "5\t6\t0\t0\t1\n");
  const Traffic traffic({.addresses = "trace:" + trace.path}, 1, 1);
  EXPECT_EQ(traffic.flows(), 3u);
  const auto frames = frames_of(traffic, 0, 0);
  ASSERT_EQ(frames.size(), 4u);
  std::vector<FiveTuple> tuples(4);
  for (size_t i = 0; i < 4; ++i) {
    ASSERT_TRUE(five_tuple_of(frames[i], tuples[i]));
    EXPECT_EQ(traffic.stream(0, 0).frames[i].flow == traffic.stream(0, 0).frames[0].flow, i == 0 || i == 2);
  }
  EXPECT_EQ(tuples[0], (FiveTuple{2954081539u, 883698240u, 0, 2121, kTcp}));
  EXPECT_EQ(tuples[1], (FiveTuple{1, 2, 3, 4, kUdp}));
  EXPECT_EQ(tuples[2], tuples[0]);
  EXPECT_EQ(tuples[3], (FiveTuple{5, 6, 0, 0, 1}));
  EXPECT_EQ(frames[0].size(), 72u);
}

TEST(Traffic, CapturedPacketsAreSentWhole) {
  const File file("");
  std::vector<std::vector<uint8_t>> captured;
  auto random = test::random_for("captured");
  for (uint32_t i = 0; i < 50; ++i) {
    captured.push_back(make_frame({i % 7 + 1, 2, 3, 4, i % 3 == 0 ? kTcp : kUdp}, {}, 60 + random() % 1400));
    for (size_t k = 60; k < captured.back().size(); ++k) captured.back()[k] = static_cast<uint8_t>(random());
  }
  captured.emplace_back(60, uint8_t{9});  // not IP
  unlink(file.path.c_str());
  write_capture(file.path, captured);
  const Traffic whole({.sizes = file.path, .signatures = false}, 1, 1);
  EXPECT_EQ(frames_of(whole, 0, 0), captured);
  const Traffic with({.sizes = file.path}, 1, 1);
  EXPECT_EQ(with.flows(), 14u + 1);  // 7 sources with TCP and UDP
  const auto sent = frames_of(with, 0, 0);
  ASSERT_EQ(sent.size(), captured.size());
  for (size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(sent[i].size(), std::max<size_t>(captured[i].size(), i % 3 == 0 ? 72 : 60));
    if (sent[i].size() < 80) continue;
    EXPECT_TRUE(std::equal(captured[i].begin() + 52, captured[i].end() - 19, sent[i].begin() + 52));
  }
  EXPECT_EQ(sent.back().size(), 78u);
}

TEST(Traffic, RealTraceAndCapture) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "HEDDLE_TEST_DATA names the folder of real inputs";
  const std::string folder = data;
  const Traffic trace({.addresses = "trace:" + folder + "/classbench/acl1_1k_edge_trace"}, 1, 4);
  std::ifstream lines(folder + "/classbench/acl1_1k_edge_trace");
  size_t packets = 0, wanted = 0;
  for (std::string line; std::getline(lines, line);) ++wanted;
  for (int queue = 0; queue < 4; ++queue) packets += trace.stream(0, queue).frames.size();
  EXPECT_EQ(packets, wanted);
  const Traffic capture({.sizes = folder + "/pcap/tcpdump_eth.pcap"}, 1, 1);
  EXPECT_GT(capture.flows(), 100u);
  EXPECT_GT(capture.stream(0, 0).frames.size(), 1000u);
}

TEST(Traffic, MillionsOfFlowsDifferAndTheirMakingCanBeStopped) {
  const Traffic traffic({.flows = 1 << 20}, 1, 2);
  std::vector<FiveTuple> tuples;
  for (uint32_t flow = 0; flow < traffic.flows(); ++flow) tuples.push_back(traffic.tuple(flow));
  std::sort(tuples.begin(), tuples.end());
  EXPECT_EQ(std::unique(tuples.begin(), tuples.end()) - tuples.begin(), 1 << 20);
  int looks = 0;
  TrafficOptions options{.flows = 1 << 24};
  options.look = [&] {
    if (++looks == 3) throw Error("stopped");
  };
  EXPECT_EQ(mistake(options), "stopped");
}

TEST(Traffic, MistakesAreNamed) {
  EXPECT_EQ(mistake({.zipf = std::nan("")}), "zipf: nan is not from 0 to 10");
  EXPECT_EQ(mistake({.sizes = "63"}), "frame size '63': expected 64 to 9216 bytes (with FCS), imix or a capture file");
  EXPECT_EQ(mistake({.sizes = "huge"}).substr(0, 18), "frame size 'huge':");
  EXPECT_EQ(mistake({.addresses = "random"}),
            "addresses 'random': expected uniform, routes:FILE or trace:FILE, of IPv6 uniform6 or routes6:FILE, of "
            "Ethernet macs:FILE, or of NDN names:FILE");
  EXPECT_EQ(mistake({.flows = 0}), "flows: 0 is not from 1 to 16777216");
  EXPECT_EQ(mistake({.protocol = "sctp"}), "protocol 'sctp': expected udp or tcp");
  EXPECT_EQ(mistake({.sizes = "75", .protocol = "tcp"}),
            "frame size '75': a frame of TCP has 76 bytes at least (with FCS), for its headers and the generator's "
            "signature, and 75 is less");
  EXPECT_EQ(mistake({.sizes = "imix", .protocol = "tcp"}).substr(0, 37), "frame size 'imix': a frame of TCP has");
  EXPECT_EQ(mistake({.sizes = "128", .addresses = "trace:/none", .protocol = "tcp"}),
            "the header trace '/none' has its own protocols");
  EXPECT_EQ(mistake({.addresses = "trace:/none"}), "cannot read the header trace '/none'");
  EXPECT_NE(mistake({.addresses = "routes:/none"}).find("cannot read the route file '/none'"), std::string::npos);
  EXPECT_NE(mistake({.sizes = "./none.pcap"}).find("none.pcap"), std::string::npos);
  const File bad("1 2 3 4 17\n1 2 3 70000 17\n");
  EXPECT_EQ(mistake({.addresses = "trace:" + bad.path}),
            bad.path + ":2: expected \"source destination source-port destination-port protocol\", five numbers");
  EXPECT_EQ(mistake({.sizes = "./a.pcap", .zipf = 1}), "the capture './a.pcap' has its own addresses and flows");
  EXPECT_EQ(mistake({.sizes = "./a.pcap", .protocol = "tcp"}),
            "the capture './a.pcap' has its own addresses and flows");
}

}  // namespace
}  // namespace heddle::bench
