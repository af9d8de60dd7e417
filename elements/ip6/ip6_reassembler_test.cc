// IP6Reassembler: packets cut up, and what of it comes back, as RFC 8200 (4.5), 5722, 6946 and 7112 say.

#include <algorithm>
#include <map>
#include <set>

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

constexpr auto kNetwork = static_cast<int>(Column::l3), kTransport = static_cast<int>(Column::l4);
constexpr size_t kEther = 14, kIp = 40;
constexpr uint8_t kHopByHop = 0, kTcp = 6, kUdp = 17, kRouting = 43, kFragment = 44, kGre = 47, kIcmp6 = 58,
                  kNothing = 59, kDestination = 60;

/** With a Tee, so that run() does not expect to see all packets again. */
const std::string kEnd = " -> t :: Tee(2) -> sink :: TestSink(READS \"l3 l4\"); t[1] -> TestSink;";
const std::string kChain =
    "TestSource -> Strip(14) -> CheckIP6Header -> r :: IP6Reassembler(HIMEM 100000000) -> Unstrip(14)" + kEnd;
const std::string kUnstripped = "TestSource -> MarkIP6Header(14) -> r :: IP6Reassembler" + kEnd;

Bytes operator+(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Bytes random_bytes(std::mt19937& random, size_t count) { return random_frame(random, count).bytes; }

/** A packet before it is cut: a frame with an IPv6 header, extension headers that all fragments have, and the rest. */
struct Packet6 {
  Bytes ether = Bytes(12, 2) + Bytes{0x86, 0xdd}, addresses = Bytes(32, 0x20);
  Bytes kept{};             ///< extension headers, each with the number of the one behind, but the last
  uint8_t first_kept = 0;   ///< the number of the first of them
  size_t last_kept_at = 0;  ///< where in `kept` the last one begins
  uint8_t protocol = kUdp;  ///< of what is cut
  Bytes payload{};
  uint32_t id = 1;

  void keep(std::mt19937& random, uint8_t number) {
    Bytes header = random_bytes(random, 8 * (1 + random() % 3));
    header[1] = static_cast<uint8_t>(header.size() / 8 - 1);
    if (kept.empty())
      first_kept = number;
    else
      kept[last_kept_at] = number;
    last_kept_at = kept.size();
    kept = kept + header;
  }
  Bytes frame(uint8_t number, const Bytes& behind) const {
    Bytes header{0x60, 1, 2, 3, 0, 0, kept.empty() ? number : first_kept, 64};
    put_u16(header, 4, static_cast<unsigned>(kept.size() + behind.size()));
    Bytes extensions = kept;
    if (!kept.empty()) extensions[last_kept_at] = number;
    return ether + header + addresses + extensions + behind;
  }
  Bytes whole() const { return frame(protocol, payload); }
  Bytes fragment(size_t from, const Bytes& part, bool more) const {
    Bytes header{protocol, 0, 0, 0, 0, 0, 0, 0};
    put_u16(header, 2, static_cast<unsigned>(from | (more ? 1 : 0)));
    put_u32(header, 4, id);
    return frame(kFragment, header + part);
  }
  /** The part [from, to) of the payload. */
  Bytes fragment(size_t from, size_t to) const {
    const auto at = [&](size_t place) { return payload.begin() + static_cast<long>(place); };
    return fragment(from, Bytes(at(from), at(to)), to < payload.size());
  }
  /** All parts, cut at some of the multiples of 8 from `least` on. */
  std::vector<Bytes> cut(std::mt19937& random, size_t least = 8) const {
    std::set<size_t> places;
    for (size_t k = 1 + random() % 12; k > 0; --k) {
      const size_t place = (least + random() % payload.size()) / 8 * 8;
      if (place < payload.size()) places.insert(place);
    }
    std::vector<Bytes> parts;
    size_t from = 0;
    for (const size_t to : places) parts.push_back(fragment(from, to)), from = to;
    parts.push_back(fragment(from, payload.size()));
    return parts;
  }
};

Packet6 random_packet(std::mt19937& random, uint32_t id) {
  Packet6 packet;
  packet.ether = random_bytes(random, 12) + Bytes{0x86, 0xdd};
  packet.addresses = random_bytes(random, 32);
  packet.addresses[0] = packet.addresses[16] = 0x20;
  for (const uint8_t number : {kHopByHop, kDestination, kRouting})
    if (random() % 4 == 0) packet.keep(random, number);
  packet.payload = random_bytes(random, 24 + random() % 3000);
  packet.id = id;
  return packet;
}

std::vector<Frame> frames_of(const std::vector<Bytes>& all) {
  std::vector<Frame> frames;
  for (const Bytes& bytes : all) frames.push_back({bytes});
  return frames;
}

Result reassemble(const std::vector<Bytes>& frames, const Options& options = {}) {
  return run(kChain, cpu(), frames_of(frames), options);
}

TEST(IP6Reassembler, MakesPacketsWholeInAnyOrder) {
  auto random = random_for("IPv6 fragments in any order");
  for (int batch : {1, 7, 1024}) {
    std::vector<Packet6> packets;
    std::vector<std::pair<Bytes, size_t>> frames;  // with the packet that they are of
    for (uint32_t k = 0; k < 60; ++k) {
      packets.push_back(random_packet(random, k % 50));
      for (Bytes& part : packets.back().cut(random)) frames.emplace_back(std::move(part), k);
    }
    std::shuffle(frames.begin(), frames.end(), random);
    std::vector<Bytes> sent, wanted;
    std::map<size_t, size_t> missing;
    uint64_t again = 0;
    for (const auto& [bytes, packet] : frames) ++missing[packet];
    for (const auto& [bytes, packet] : frames) {
      sent.push_back(bytes);
      const bool atomic = bytes.size() == packets[packet].whole().size() + 8;
      if (--missing[packet] == 0)
        wanted.push_back(packets[packet].whole());
      else if (random() % 4 == 0)
        sent.push_back(bytes), ++again;
      EXPECT_TRUE(!atomic || missing[packet] == 0);
    }
    const Result result = reassemble(sent, {.batches = {batch}});
    EXPECT_TRUE(same(result.bytes(), wanted));
    EXPECT_EQ(result.drop("r.duplicate"), again);
    EXPECT_EQ(result.dropped, again);
    EXPECT_EQ(result.statistics.at("r.whole"), 60u);
    for (const Received& packet : result.at("sink")) {
      EXPECT_EQ(packet.column[kNetwork], kEther);
      EXPECT_EQ(packet.column[kTransport], kEther + kIp);
    }
  }
}

/** RFC 3168, 5.3; where that leaves it open, as Linux (ip_frag_ecn_table). */
TEST(IP6Reassembler, LosesNoSignOfCongestion) {
  Packet6 packet;
  packet.payload = Bytes(24, 'a');
  const auto of_class = [](Bytes frame, unsigned traffic_class) {
    put_u16(frame, kEther, 0x6000 | traffic_class << 4);
    return frame;
  };
  std::vector<Bytes> frames, wanted;
  for (unsigned all = 0; all < 64; ++all, ++packet.id) {
    const unsigned codepoint[3] = {all & 3, all >> 2 & 3, all >> 4};
    for (const unsigned k : {all % 3, (all + 1) % 3, (all + 2) % 3})
      frames.push_back(of_class(packet.fragment(8 * k, 8 * k + 8), 4 * k + codepoint[k]));
    const auto not_ect = std::count(codepoint, codepoint + 3, 0u), congested = std::count(codepoint, codepoint + 3, 3u);
    if (not_ect == 0 || not_ect == 3) wanted.push_back(of_class(packet.whole(), congested > 0 ? 3 : codepoint[0]));
  }
  const Result result = reassemble(frames);
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_EQ(wanted.size(), 28u);
  EXPECT_EQ(result.drop("r.mixed_ecn"), 3 * (64 - wanted.size()));
  EXPECT_EQ(result.drop("r.timeout"), 0u);
}

TEST(IP6Reassembler, TellsPacketsApart) {
  Packet6 packet;
  packet.payload = Bytes(24, 'a');
  Packet6 other[3] = {packet, packet, packet};
  other[0].id = 0x01000001;
  other[1].addresses[15] ^= 1;
  other[2].addresses[31] ^= 1;
  std::vector<Bytes> frames{packet.fragment(0, 16)};
  for (const Packet6& one : other) frames.push_back(one.fragment(16, 24));
  packet.protocol = kTcp;  // which is not what tells them apart
  frames.push_back(packet.fragment(16, 24));
  packet.protocol = kUdp;
  EXPECT_TRUE(same(reassemble(frames).bytes(), {packet.whole()}));
}

TEST(IP6Reassembler, LetsOthersPass) {
  auto random = random_for("IPv6 packets that are no fragments");
  std::vector<Bytes> frames;
  for (uint32_t k = 0; k < 50; ++k) {
    Packet6 packet = random_packet(random, k);
    packet.protocol = std::array{kUdp, kTcp, kNothing, kGre}[k % 4];
    frames.push_back(packet.whole());
  }
  Packet6 cut_off;  // an extension header that goes on behind the packet
  cut_off.keep(random, kDestination);
  cut_off.kept[1] = 255;
  frames.push_back(cut_off.frame(kFragment, Bytes(100)));
  const Result result = reassemble(frames);
  EXPECT_TRUE(same(result.bytes(), frames));
  EXPECT_EQ(result.statistics.at("r.whole"), 0u);
}

TEST(IP6Reassembler, MakesFragmentsThatAreWholePackets) {
  auto random = random_for("IPv6 atomic fragments");
  std::vector<Bytes> frames, wanted;
  for (uint32_t k = 0; k < 50; ++k) {
    Packet6 packet = random_packet(random, 7);  // all of them the same identification
    packet.addresses = Bytes(32, 0x20);
    if (k == 0) frames.push_back(packet.fragment(0, 16));  // what waits does not matter to them (RFC 6946)
    if (k == 1) packet.payload = {}, packet.protocol = kNothing;
    if (k == 2) packet.payload.resize(3);
    frames.push_back(packet.fragment(0, packet.payload, false));
    wanted.push_back(packet.whole());
  }
  const Result result = reassemble(frames);
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_EQ(result.drop("r.timeout"), 1u);
}

TEST(IP6Reassembler, GivesUpWhatOverlaps) {
  Packet6 packet;
  for (unsigned k = 0; k < 64; ++k) packet.payload.push_back(static_cast<uint8_t>(k));
  Packet6 friendly = packet;
  friendly.id = 2;
  const auto part = [&](size_t from, size_t to) { return packet.fragment(from, to); };
  Bytes changed = part(16, 32);
  changed.back() ^= 1;
  const std::vector<std::vector<Bytes>> cases = {
      {part(0, 16), part(8, 24)},
      {part(8, 24), part(0, 16)},
      {part(0, 32), part(8, 16)},
      {part(8, 16), part(0, 32)},
      {part(16, 32), changed},
      {part(16, 32), part(16, 24)},
      {part(48, 64), packet.fragment(48, Bytes(16, 1), true)},
      {packet.fragment(48, Bytes(16, 48), true), packet.fragment(48, Bytes(16, 48), false)},
      {part(48, 64), packet.fragment(64, Bytes(8), true)},
      {part(48, 64), packet.fragment(56, Bytes(16), false)},
      {packet.fragment(64, Bytes(8), true), part(56, 64)},
      {part(0, 16), part(32, 64), part(24, 40)},
  };
  for (const auto& frames : cases) {
    std::vector<Bytes> all = frames;
    all.insert(all.begin() + 1, friendly.fragment(0, 32));
    all.push_back(friendly.fragment(32, 64));
    const Result result = reassemble(all);
    EXPECT_TRUE(same(result.bytes(), {friendly.whole()}));
    EXPECT_EQ(result.drop("r.overlap"), frames.size());
  }
}

TEST(IP6Reassembler, RefusesWhatNoFragmentCanBe) {
  Packet6 packet;
  packet.payload = Bytes(64, 'a');
  Bytes lies = packet.fragment(8, 16), short_header = packet.frame(kFragment, Bytes(7));
  put_u16(lies, kEther + 4, 17);
  const Bytes inner = Bytes{kUdp, 0, 0, 1, 0, 0, 0, 1} + Bytes(16);
  Packet6 nested = packet;
  nested.protocol = kFragment;
  Packet6 deeper = packet;
  deeper.protocol = kDestination;
  for (const Bytes& frame : {
           packet.fragment(0, Bytes(12), true),  // no multiple of 8
           packet.fragment(8, Bytes(12), true),
           packet.fragment(8, Bytes(), true),  // nothing
           packet.fragment(8, Bytes(), false),
           packet.fragment(65528, Bytes(8), false),  // beyond all packets
           packet.fragment(65528, Bytes(1000), true),
           nested.fragment(0, inner, true),  // a fragment of a fragment
           nested.fragment(0, inner, false),
           deeper.fragment(0, Bytes{kFragment, 0, 0, 0, 0, 0, 0, 0} + inner, true),
           short_header,
       })
    EXPECT_EQ(reassemble({frame}).drop("r.bad_fragment"), 1u);
  EXPECT_EQ(run(kUnstripped, cpu(), {{lies}}).drop("r.bad_fragment"), 1u);
  std::vector<Bytes> many;
  for (size_t k = 0; k < 65; ++k) many.push_back(packet.fragment(16 * k, Bytes(8), true));
  EXPECT_EQ(reassemble(many).drop("r.too_many"), 65u);
  Frame unmarked{packet.fragment(0, 16)};
  unmarked.column[kNetwork] = unmarked.bytes.size() - kIp + 1;
  EXPECT_EQ(run("TestSource(SETS l3) -> r :: IP6Reassembler" + kEnd, cpu(), {unmarked}).drop("r.no_header"), 1u);
}

TEST(IP6Reassembler, WantsAllHeadersInTheFirstFragment) {
  Bytes tcp(40);
  tcp[12] = 0xa0;
  struct Case {
    Bytes headers;
    uint8_t protocol;
    size_t end;  // bytes that the first fragment has to have
  };
  const Bytes options16{kTcp, 1, 1, 4, 0, 0, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0};
  Bytes options_udp = options16, options_gre = options16, twice = options16 + options16;
  options_udp[0] = kUdp, options_gre[0] = kGre, twice[0] = kDestination;
  for (const Case& it :
       {Case{tcp, kTcp, 40}, Case{Bytes(8), kUdp, 8}, Case{Bytes(8), kIcmp6, 8}, Case{{}, kGre, 1},
        Case{options16 + tcp, kDestination, 56}, Case{options_udp, kDestination, 24},
        Case{options_gre, kDestination, 17}, Case{twice + tcp, kDestination, 72}, Case{twice + tcp, kHopByHop, 72}}) {
    Packet6 packet;
    packet.protocol = it.protocol;
    packet.payload = it.headers + Bytes(96 - it.headers.size(), 'x');
    std::vector<Bytes> frames, wanted;
    for (size_t cut = 8; cut < 96; cut += 8, ++packet.id) {
      frames.push_back(packet.fragment(0, cut));
      frames.push_back(packet.fragment(cut, 96));
      if (cut >= it.end) wanted.push_back(packet.whole());
    }
    const Result result = reassemble(frames);
    EXPECT_TRUE(same(result.bytes(), wanted)) << it.end;
    EXPECT_EQ(result.drop("r.header_chain"), 11 - wanted.size()) << it.end;
    EXPECT_EQ(result.drop("r.timeout"), 11 - wanted.size()) << it.end;
  }
}

TEST(IP6Reassembler, MakesPacketsAsLongAsThereAre) {
  for (const size_t more : {0, 1}) {
    Packet6 packet;
    packet.payload = Bytes(kMaxPacketBytes - kEther - kIp + more, 'x');
    std::vector<Bytes> frames;
    for (size_t from = 0; from < packet.payload.size(); from += 1448)
      frames.push_back(packet.fragment(from, std::min(from + 1448, packet.payload.size())));
    const Result result = run(kUnstripped, cpu(), frames_of(frames));
    if (more == 0) {
      EXPECT_TRUE(same(result.bytes(), {packet.whole()}));
    } else {
      EXPECT_EQ(result.drop("r.no_buffer"), frames.size());
    }
  }
}

TEST(IP6Reassembler, KeepsToItsMemoryInFloods) {
  auto random = random_for("floods of IPv6 fragments");
  std::vector<Bytes> frames, wanted;
  for (uint32_t k = 0; k < 3000; ++k) {
    Packet6 packet = random_packet(random, k % 8 == 0 ? k : 0xffffffff - k);
    if (k % 2 == 0) packet.addresses = Bytes(32, 0x20);
    packet.payload.resize(24);
    frames.push_back(packet.fragment(0, 16));
    if (k % 100 != 0) continue;
    frames.push_back(packet.fragment(16, 24));
    wanted.push_back(packet.whole());
  }
  const Result result = reassemble(frames);
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_EQ(result.drop("r.no_memory"), 3000 - wanted.size() - 256);
  EXPECT_EQ(result.drop("r.timeout"), 256u);  // at the end
}

TEST(IP6Reassembler, StaysWithinPacketsWhateverComes) {
  auto random = random_for("broken IPv6 fragments");
  for (int round = 0; round < tries(20, 400); ++round) {
    std::vector<Bytes> frames;
    for (uint32_t k = 0; k < 30; ++k) {
      Packet6 packet = random_packet(random, random() % 4);
      packet.addresses = Bytes(32, 0x20);
      packet.protocol = std::array{kUdp, kTcp, kIcmp6, kDestination, kFragment, kHopByHop, kRouting}[random() % 7];
      for (Bytes& frame : packet.cut(random)) {
        for (size_t changes = random() % 4; changes > 0; --changes)
          frame[kEther + random() % std::min<size_t>(frame.size() - kEther, 120)] = static_cast<uint8_t>(random());
        if (random() % 4 == 0) frame.resize(random() % (frame.size() + 1));
        frames.push_back(std::move(frame));
      }
    }
    std::shuffle(frames.begin(), frames.end(), random);
    for (const char* mark : {"MarkIP6Header(14)", "CheckIP6Header(OFFSET 14)"})
      run(std::string("TestSource -> ") + mark + " -> IP6Reassembler(HIMEM 20000) -> CheckIP6Header(OFFSET 14)" + kEnd,
          cpu(), frames_of(frames), {.guarded = true});
  }
}

TEST(IP6Reassembler, MayBePulled) {
  auto random = random_for("IPv6 fragments that are pulled");
  std::vector<Bytes> frames, wanted;
  for (uint32_t k = 0; k < 20; ++k) {
    const Packet6 packet = random_packet(random, k);
    for (Bytes& part : packet.cut(random)) frames.push_back(std::move(part));
    wanted.push_back(packet.whole());
  }
  Packet6 late;
  late.payload = Bytes(24, 'a');
  frames.push_back(late.fragment(0, 16));
  const Result result = run(
      "TestSource -> Queue -> MarkIP6Header(14) -> r :: IP6Reassembler -> Unqueue" + kEnd + "r[1] -> late :: TestSink;",
      cpu(), frames_of(frames));
  EXPECT_TRUE(same(result.bytes(), wanted));
  EXPECT_TRUE(same(result.bytes("late"), {frames.back()}));
}

}  // namespace
}  // namespace heddle::test
