// Associations that change while packets flow, and what of them stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "core/load.h"
#include "functions/ipsec/chains_for_test.h"
#include "functions/ipsec/changes.h"
#include "functions/ipsec/headers.h"
#include "functions/ipsec/replay_rule.h"

namespace heddle::test {
namespace {

using namespace esp;
using ipsec::AssociationList;
using ipsec::Associations;
using ipsec::FileAssociation;
using ipsec::swapped;

constexpr uint32_t kNone = Associations::kNone;

FileAssociation association_of(uint32_t spi, uint32_t nonce = 0) {
  FileAssociation one;
  one.sa.spi = swapped(spi), one.sa.nonce = nonce, one.sa.rounds = 10, one.window = 64;
  std::fill(std::begin(one.sa.round_keys), std::end(one.sa.round_keys), spi);
  return one;
}

/** The same as a change under traffic does. */
void change(Associations& associations, const AssociationList& list) {
  if (auto next = associations.successor(list)) associations.replace(std::move(next));
  associations.choose();
}

/** Why a list of this association alone cannot follow. */
std::string problem_with(const Associations& associations, const FileAssociation& one) {
  return associations.problem_with(one, associations.places_of({one})[0]);
}

/** What an Encap says of a packet that has place `place`. */
int reason_at(const Associations& associations, uint32_t place) {
  auto random = random_for("any packet");
  const Frame frame = inner_frame(random, 40);
  const uint8_t* const packet = frame.bytes.data() + 14;
  return ipsec::plain_of(associations[place], packet, 60, [packet](uint32_t at) { return load_u32(packet + at); })
      .reason;
}

bool holds(std::span<const std::byte> image, const FileAssociation& one) {
  const auto key = std::as_bytes(std::span(one.sa.round_keys).first(44));
  return std::search(image.begin(), image.end(), key.begin(), key.end()) != image.end();
}

TEST(AssociationChange, WhatStaysGoesOnAtItsPlace) {
  const FileAssociation a = association_of(0x1001), b = association_of(0x1002), c = association_of(0x1003);
  Associations all;
  all.load(AssociationList{a, b}, 0);
  const uint64_t base = all[1].iv_base;
  all.take_numbers(1, 5);
  EXPECT_TRUE(all.window(1).mark(3));
  change(all, {c, b});
  EXPECT_EQ(all.find(b.sa.spi), 1u);
  EXPECT_EQ(all.next_number(1), 6u);
  EXPECT_EQ(all[1].iv_base, base);
  EXPECT_FALSE(all.window(1).mark(3));
  EXPECT_EQ(all.find(a.sa.spi), kNone);
  EXPECT_EQ(all.find(c.sa.spi), 2u) << "a's place may be that of packets on their way";
  EXPECT_EQ(all.next_number(2), 1u);
  EXPECT_TRUE(all.window(2).mark(3));
}

TEST(AssociationChange, WhatIsLeftServesPacketsOnTheirWayAndThenNoneAndItsKeysAreGone) {
  const FileAssociation a = association_of(0x1001), b = association_of(0x1002), c = association_of(0x1003);
  Associations all;
  all.load(AssociationList{a, b}, 0);
  change(all, {b});
  ASSERT_TRUE(all.has_retired());
  EXPECT_EQ(reason_at(all, 0), ipsec::kGood);
  EXPECT_TRUE(holds(all.bytes(), a));
  EXPECT_FALSE(all.chosen().has(0)) << "IPsecSequence gives it to none";
  EXPECT_EQ(all.chosen().select({ipsec::Selector::Family::ip4, 1, 2}), 1u);
  all.reclaim();
  EXPECT_FALSE(all.has_retired());
  EXPECT_EQ(reason_at(all, 0), ipsec::kNoSa);
  EXPECT_EQ(reason_at(all, 1), ipsec::kGood);
  EXPECT_FALSE(holds(all.bytes(), a));
  EXPECT_TRUE(holds(all.bytes(), b));
  change(all, {b, c});
  EXPECT_EQ(all.find(c.sa.spi), 0u) << "the place is free";
  EXPECT_EQ(all.count(), 2u);
}

TEST(AssociationChange, OtherKeysAreAnotherAssociation) {
  Associations all;
  all.load(AssociationList{association_of(0x1001)}, 0);
  all.take_numbers(0, 7);
  change(all, {association_of(0x1001, 1)});
  const uint32_t place = all.find(swapped(0x1001));
  EXPECT_EQ(place, 1u);
  EXPECT_EQ(all.next_number(place), 1u);
  all.reclaim();
  EXPECT_EQ(reason_at(all, 0), ipsec::kNoSa);
}

// Its other end has moved: numbers may not begin again with the same keys.
TEST(AssociationChange, OtherAddressesAndTheSameKeysCountOn) {
  FileAssociation one = association_of(0x1001);
  Associations all;
  all.load(AssociationList{one}, 0);
  all.take_numbers(0, 7);
  one.sa.destination = 5, one.selector.family = ipsec::Selector::Family::ip4;
  EXPECT_EQ(problem_with(all, one), "");
  change(all, {one});
  EXPECT_EQ(all.find(one.sa.spi), 0u);
  EXPECT_EQ(all[0].destination, 5u);
  EXPECT_EQ(all.selector(0).family, ipsec::Selector::Family::ip4);
  EXPECT_EQ(all.next_number(0), 8u);
}

// The key of RFC 4301 (4.1): a receiver chooses its SPIs, so two of them may choose the same.
TEST(AssociationChange, DestinationsTellApartWhatHasOneSpiAndKey) {
  FileAssociation a = association_of(0x1001), b = a, c = a;
  a.sa.destination = 1, b.sa.destination = 2, c.sa.destination = 3;
  Associations all, other;
  all.load(AssociationList{a, b}, 0), other.load(AssociationList{b}, 0);
  EXPECT_TRUE(all.has_several(a.sa.spi));
  EXPECT_FALSE(other.has_several(a.sa.spi));
  EXPECT_FALSE(all.has_several(swapped(0x1002)));
  EXPECT_EQ(all.place_of(a.sa), 0u);
  EXPECT_EQ(all.place_of(b.sa), 1u);
  EXPECT_EQ(all.place_of(c.sa), kNone);
  EXPECT_EQ(all.place_in(other, 0), kNone) << "it could be either";
  EXPECT_EQ(all.place_in(other, 1), 0u);
  all.take_numbers(0, 5), all.take_numbers(1, 7);
  change(all, {b, a});
  EXPECT_EQ(all.next_number(0), 6u);
  EXPECT_EQ(all.next_number(1), 8u);
  // What comes beside one that stays does not go on as that: numbers would be used twice with one key.
  change(all, {b});
  FileAssociation limited = c;
  limited.limits.soft_packets = 10;
  EXPECT_NE(problem_with(all, limited), "") << "it would be b, which has moved";
  EXPECT_EQ(all.places_of({limited, b}), (std::vector{kNone, 1u}));
  EXPECT_EQ(all.problem_with(limited, kNone), "");
  change(all, {c, b});
  EXPECT_EQ(all.place_of(b.sa), 1u);
  EXPECT_EQ(all.next_number(1), 8u);
  const uint32_t place = all.place_of(c.sa);
  EXPECT_EQ(place, 2u);
  EXPECT_EQ(all.next_number(place), 1u);
  EXPECT_NE(all[place].iv_base, all[1].iv_base);
}

TEST(AssociationChange, NothingIsDoneIfAllIsTheSame) {
  const AssociationList list{association_of(0x1001), association_of(0x1002)};
  Associations all;
  all.load(list, 0);
  EXPECT_EQ(all.successor(list), nullptr);
  EXPECT_EQ(all.successor({list[1], list[0]}), nullptr);
  EXPECT_EQ(all.successor(all.list()), nullptr);
  EXPECT_NE(all.successor({list[1]}), nullptr);
}

TEST(AssociationChange, ProgressThatWouldBeLostIsAProblem) {
  FileAssociation one = association_of(0x1001);
  one.limits.soft_packets = 10;
  Associations all;
  all.load(AssociationList{one}, 0);
  const auto problem = [&](const auto& alter) {
    FileAssociation other = one;
    alter(other);
    return problem_with(all, other);
  };
  EXPECT_EQ(problem([](auto&) {}), "");
  EXPECT_EQ(problem([](auto& o) { o.window = 128; }),
            "it has a replay window of another size than before, and the same keys; give it new ones, or let hotconfig "
            "read the file");
  EXPECT_NE(problem([](auto& o) { o.sa.extended = true; }).find("flag esn"), std::string::npos);
  EXPECT_NE(problem([](auto& o) { o.limits = {}; }).find("other limits"), std::string::npos);
  EXPECT_EQ(problem([](auto& o) { o.window = 128, o.sa.nonce = 9; }), "");
}

TEST(AssociationChange, PlacesThatMayNotBeUsedAgainAreNot) {
  Associations all;
  all.load(AssociationList{association_of(0x1001)}, 0);
  all.reuse_if([](uint32_t place, const FileAssociation& from) { return place != 0 || from.sa.nonce == 3; });
  for (uint32_t k = 1; k <= 4; ++k) {
    change(all, {association_of(0x1001, k)});
    all.reclaim();
    EXPECT_EQ(all.find(swapped(0x1001)), (std::array{0u, 1u, 2u, 0u, 1u}[k])) << k;
  }
}

// What has a limit may be new; nobody has looked for its end before.
TEST(AssociationChange, LimitsOfNewOnesAreSaid) {
  FileAssociation limited = association_of(0x1002);
  limited.limits.soft_packets = 2, limited.limits.hard_packets = 3;
  Associations all;
  all.load(AssociationList{association_of(0x1001)}, 0);
  EXPECT_EQ(all.statistics().size(), 1u);
  change(all, {association_of(0x1001), limited});
  for (int packet = 0; packet < 3; ++packet) EXPECT_TRUE(all.take_life(1, 1, {}));
  EXPECT_FALSE(all.take_life(1, 1, {}));
  testing::internal::CaptureStderr();
  all.announce("e");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("0x00001002 has reached its hard limit"), std::string::npos);
  const std::vector<std::pair<std::string, uint64_t>> wanted{{"associations", 2}, {"expiring", 0}, {"expired", 1}};
  EXPECT_EQ(all.statistics(), wanted);
  EXPECT_EQ(all.lifetimes(), "1 0x00001002 3 3 hard\n");
  change(all, {association_of(0x1001)});
  all.reclaim();
  EXPECT_EQ(all.lifetimes(), "");
  EXPECT_EQ(all.statistics().front().second, 1u);
}

/** A file's lines of an association whose keys follow from its SPI. */
std::string lines_of(unsigned spi, const Outside& outside = {}, const std::string& more = "", int gcm_bits = 128) {
  std::mt19937 random(spi);
  const std::string to = outside.ip6 ? "2001:db8:a::1 dst 2001:db8:b::1" : "198.51.100.1 dst 203.0.113.1";
  return "src " + to +
         format("\n\tproto esp spi 0x%08x mode %s\n\treplay-window 64%s\n", spi,
                outside.transport ? "transport" : "tunnel", outside.extended_from != 0 ? " flag esn" : "") +
         esp::lines_of(random, {.gcm_bits = gcm_bits}) + esp::lines_of(outside, 64) + more;
}

void write(const KeyFile& file, const std::string& text) { std::ofstream(file.path(), std::ios::trunc) << text; }

/** backends(), and every launch mode with the transport that functions want; with full() every way. */
std::vector<Backend> ways() {
  if (full()) return backends_and_all_ways();
  std::vector<Backend> list = backends();
  std::erase_if(list, [](const Backend& backend) { return backend.on_gpu() && !backend.by_load; });
  for (Backend& way : all_ways())
    if (way.transport == Transport::gather) list.push_back(std::move(way));
  return list;
}
class IpsecChangeTest : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(All, IpsecChangeTest, testing::ValuesIn(ways()), backend_name);

constexpr int kFrames = 97;

/** Frames whose sources are by turns of two halves. */
std::vector<Frame> frames_of_two_halves() {
  auto random = random_for("frames of associations that change");
  std::vector<Frame> frames;
  for (int i = 0; i < kFrames; ++i) {
    frames.push_back(inner_frame(random, random() % 200));
    put_u32(frames.back().bytes, 26, i % 2 == 0 ? 1 : ~0u), set_ip_checksum(frames.back().bytes, 14);
  }
  return frames;
}

/** Sees that packets come in their order and without a gap, and, if they are ESP, that numbers do: those of an
 *  association from 1 on, one association after the other. */
struct Judge {
  bool is_esp;
  std::atomic<uint64_t> packets{0}, begun{0}, wrong{0};
  int64_t last = kFrames - 1;
  uint32_t spi = 0, number = 0;
  void operator()(const Received& packet) {
    if (packet.serial != (last + 1) % kFrames) ++wrong;
    last = packet.serial;
    if (is_esp) {
      const uint32_t its = get_u32(packet.bytes, 34), here = get_u32(packet.bytes, 38);
      if (its != spi) ++begun, spi = its, number = 0;
      if (here != number + 1) ++wrong;
      number = here;
    }
    ++packets;
  }
};

/** Associations with extended numbers, which begin with 1 as others do. */
std::string extended_lines_of(unsigned spi) {
  std::string text = lines_of(spi, {.extended_from = 1});
  for (const std::string word : {" seq 0x1", " oseq 0x1"}) text[text.find(word) + word.size() - 1] = '0';
  return text;
}

/** A tunnel whose ends go over to a new association again and again, the receiver first. No packet is lost or
 *  overtaken, and no number left out or used twice: neither at a change, nor by one that is another's. `to_the_end`:
 *  the receiver is there. */
void follow_each_other(const Backend& backend, bool to_the_end, bool extended) {
  const auto lines = [&](unsigned spi) { return extended ? extended_lines_of(spi) : lines_of(spi); };
  const std::string other = lines_of(0x2000, {}, "\tsel src 192.0.2.0/24 dst 192.0.2.0/24\n");
  const KeyFile out(lines(0x1000) + other), in(lines(0x1000));
  Judge judge{!to_the_end};
  constexpr unsigned kChanges = 3;
  Options options;
  options.endless = true, options.packets = 1024, options.scratch = 128, options.batches = {64, 31, 1};
  options.on_packet = [&](const std::string&, const Received& packet) { judge(packet); };
  options.meanwhile = [&](Engine& engine) {
    const auto call = [&](const char* handler) { engine.handlers().write(handler, ""); };
    const auto wait = [&] {
      const uint64_t start = judge.packets;
      wait_while([&] { return judge.packets - start < 200; });
    };
    for (unsigned spi = 0x1000; spi < 0x1000 + kChanges; ++spi) {
      wait();
      write(in, lines(spi) + lines(spi + 1)), write(out, other + lines(spi + 1));
      if (to_the_end) call("d.reload");
      wait();
      call("e.reload");
      call("late.reload");  // which has changed with e
      write(in, lines(spi + 1));
      if (to_the_end) call("d.reload"), call("d.reload");
      const std::string numbers = engine.handlers().read("q.numbers");
      EXPECT_NE(numbers.find(" 0x00002000 0\n"), std::string::npos) << numbers;
      EXPECT_NE(numbers.find(format(" 0x%08x ", spi + 1)), std::string::npos) << numbers;
      EXPECT_EQ(numbers.find(format(" 0x%08x ", spi)), std::string::npos) << numbers;
      // What cannot be read changes nothing.
      write(in, "src x\n"), write(out, other + lines(spi + 1) + "mark 1\n");
      EXPECT_THROW(call("e.reload"), Error);
      if (to_the_end) {
        EXPECT_THROW(call("d.reload"), Error);
      }
    }
    wait();
    EXPECT_EQ(std::ranges::count(engine.handlers().read("late.associations"), '\n'), 2);
    if (to_the_end) {
      EXPECT_EQ(std::ranges::count(engine.handlers().read("d.associations"), '\n'), 1);
    }
  };
  const std::string tunnel = "IPsecEncap(" + out.path() + ", OFFSET 14) -> ";
  const std::string receiver = "IPsecDecap(" + in.path() + ", OFFSET 14) -> IPsecReplay(d) -> sink :: TestSink;";
  const Result result = run("TestSource -> q :: IPsecSequence(e) -> c :: Classifier(26/00, -); c[0] -> e :: " + tunnel +
                                (to_the_end ? "d :: " + receiver + " c[1] -> late :: " + tunnel + "d;"
                                            : "sink :: TestSink; c[1] -> late :: " + tunnel + "sink;"),
                            backend, frames_of_two_halves(), options);
  EXPECT_EQ(result.dropped, 0u) << (result.drops.empty() ? "" : result.drops.begin()->first);
  EXPECT_EQ(judge.wrong, 0u);
  if (judge.is_esp) {
    EXPECT_EQ(judge.begun, kChanges + 1);
  }
}

TEST_P(IpsecChangeTest, NumbersFollowEachOtherUnderTraffic) { follow_each_other(GetParam(), false, false); }
TEST_P(IpsecChangeTest, AssociationsFollowEachOtherUnderTraffic) { follow_each_other(GetParam(), true, false); }
TEST_P(IpsecChangeTest, ExtendedNumbersFollowEachOtherUnderTraffic) {
  if (GetParam().by_load) GTEST_SKIP() << "IPsecDecap refuses extended numbers there";
  follow_each_other(GetParam(), true, true);
}

// Of an association that goes, both ends say so, and of others nothing changes.
TEST_P(IpsecChangeTest, WhatGoesIsNoAssociationAnyMore) {
  const std::string sel[] = {"\tsel src 0.0.0.0/1 dst 0.0.0.0/0\n", "\tsel src 128.0.0.0/1 dst 0.0.0.0/0\n"};
  const std::string low = lines_of(0x1001, {}, sel[0]), high = lines_of(0x1002, {}, sel[1]);
  const KeyFile out(low + high), in(low + high);
  std::atomic<uint64_t> counts[2] = {}, wrong{0};
  int64_t last = kFrames - 1;
  Options options;
  options.endless = true, options.packets = 1024, options.scratch = 128;
  options.on_packet = [&](const std::string&, const Received& packet) {
    const bool is_high = get_u32(packet.bytes, 26) == ~0u;
    ++counts[is_high];
    if (is_high) return;
    if (packet.serial != (last == kFrames - 1 ? 0 : last + 2)) ++wrong;
    last = packet.serial;
  };
  uint64_t high_packets = 0;
  options.meanwhile = [&](Engine& engine) {
    const auto wait = [&](int which) {
      const uint64_t start = counts[which];
      wait_while([&] { return counts[which] - start < 200; });
    };
    wait(1);
    engine.handlers().write("e.remove", "0x1002 203.0.113.1");
    high_packets = counts[1];
    wait(0);
    EXPECT_EQ(counts[1], high_packets);
    EXPECT_THROW(engine.handlers().write("e.remove", "0x1002"), Error);
    EXPECT_THROW(engine.handlers().write("e.remove", "0x1001 203.0.113.2"), Error);
    EXPECT_THROW(engine.handlers().write("e.remove", ""), Error);
    // Another with new keys comes, from a file of its own, and has the place of the one before.
    const KeyFile more(lines_of(0x1003, {}, sel[1]));
    engine.handlers().write("e.add", more.path());
    EXPECT_THROW(engine.handlers().write("e.add", more.path()), Error);
    wait_while([&] {
      const std::string drops = engine.handlers().read("d.drops");
      return drops.find("no_sa ") == drops.npos || drops.find("no_sa 0\n") != drops.npos;
    });
    engine.handlers().write("d.add", more.path());
    wait(1);
    EXPECT_EQ(engine.handlers().read("e.associations").substr(0, 13), "0 0x00001001 ");
    EXPECT_NE(engine.handlers().read("e.associations").find("\n1 0x00001003 "), std::string::npos);
  };
  const Result result =
      run("TestSource -> q :: IPsecSequence(e) -> e :: IPsecEncap(" + out.path() + ", OFFSET 14) -> d :: IPsecDecap(" +
              in.path() + ", OFFSET 14) -> IPsecReplay(d) -> sink :: TestSink;",
          GetParam(), frames_of_two_halves(), options);
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(result.drop("q.no_sa"), 0u);
  EXPECT_GT(result.drop("d.no_sa"), 0u);
  EXPECT_EQ(result.dropped, result.drop("q.no_sa") + result.drop("d.no_sa"));
}

}  // namespace
}  // namespace heddle::test
