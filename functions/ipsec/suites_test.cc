// Suites that CPU and GPU know: byte by byte as intel-ipsec-mb does it on the CPU.

#include <algorithm>
#include <cstring>

#include "functions/ipsec/chains_for_test.h"

namespace heddle::test {
namespace {

using namespace esp;

HEDDLE_ON_EVERY_BACKEND(IpsecSuites);

constexpr Algorithms kAlgorithms[] = {{128, 0, false}, {256, 0, false}, {128, 0, true}, {192, 0, true}, {256, 0, true},
                                      {128, 128},      {192, 128},      {256, 128},     {256, 96},      {128, 64}};

/** Associations 0x1000 and on; `only`: the one of these algorithms, else all. */
std::vector<Sa> all_suites(int only = -1) {
  std::vector<Sa> list;
  for (unsigned k = 0; k < std::size(kAlgorithms); ++k)
    if (only < 0 || static_cast<unsigned>(only) == k) list.push_back({0x1000 + k, "", 0, kAlgorithms[k]});
  return list;
}

/** Packets of these lengths behind the IP header, each of some association, with a number and an IV of its own. */
std::vector<Frame> random_frames(std::mt19937& random, const std::vector<size_t>& payloads, size_t associations) {
  std::vector<Frame> frames;
  for (const size_t payload : payloads) {
    frames.push_back(inner_frame(random, payload));
    Frame& frame = frames.back();
    frame.headroom = static_cast<int>(random() % 128);
    frame.column[static_cast<int>(Column::sa)] = random() % associations;
    frame.column[static_cast<int>(Column::esp_sequence)] = random();
    frame.column[static_cast<int>(Column::esp_iv)] = uint64_t{random()} << 32 | random();
  }
  return frames;
}

/** What a backend makes of packets is what the CPU makes, and each takes out what the other has put in. */
void expect_as_on_cpu(const KeyFile& keys, const Backend& backend, const std::vector<Frame>& frames,
                      std::mt19937& random) {
  const std::vector<Bytes> theirs = run(numbered_encap(keys), cpu(), frames).bytes();
  const std::vector<Bytes> ours = run(numbered_encap(keys), backend, frames, {.batches = {100, 31, 1}}).bytes();
  ASSERT_EQ(theirs.size(), frames.size());
  ASSERT_TRUE(same(ours, theirs));
  std::vector<Frame> esp = frames_of(theirs);
  for (auto& frame : esp) frame.headroom = static_cast<int>(random() % 128);
  const Result back = run(decap_chain(keys), backend, esp, {.batches = {100, 31, 1}});
  ASSERT_TRUE(same(back.bytes(), bytes_of(frames)));
  EXPECT_TRUE(back.drops.empty());
}

TEST_P(IpsecSuites, AreAsOnTheCpuAtAnyLengthAndAddress) {
  auto random = random_for("ipsec suites");
  for (int only = 0; only < static_cast<int>(std::size(kAlgorithms)); ++only) {
    const KeyFile keys(associations(all_suites(only)));
    std::vector<size_t> payloads;
    for (size_t payload = 0; payload <= 300; payload += full() ? 1 : 1 + random() % 5) payloads.push_back(payload);
    for (int i = 0; i < 40; ++i) payloads.push_back(random() % 9001);
    payloads.push_back(9000);
    SCOPED_TRACE(only);
    expect_as_on_cpu(keys, GetParam(), random_frames(random, payloads, 1), random);
  }
}

TEST_P(IpsecSuites, MixInOneTile) {
  auto random = random_for("ipsec mixture of suites");
  const KeyFile keys(associations(all_suites()));
  std::vector<size_t> payloads;
  for (int i = 0; i < (full() ? 3000 : 600); ++i) payloads.push_back(random() % (i % 16 == 0 ? 9001 : 400));
  expect_as_on_cpu(keys, GetParam(), random_frames(random, payloads, std::size(kAlgorithms)), random);
}

// Every address of a piece of 16 bytes, for every length of the last one.
TEST_P(IpsecSuites, DoEveryAlignment) {
  auto random = random_for("ipsec alignments");
  const KeyFile keys(associations(all_suites()));
  std::vector<Frame> frames;
  for (const unsigned sa : {2u, 5u})
    for (size_t payload = 60; payload < 76; ++payload)
      for (int headroom = 0; headroom < 16; ++headroom) {
        Frame frame = random_frames(random, {payload}, 1).at(0);
        frame.headroom = headroom;
        frame.column[static_cast<int>(Column::sa)] = sa;
        frames.push_back(frame);
      }
  expect_as_on_cpu(keys, GetParam(), frames, random);
}

TEST_P(IpsecSuites, LetNothingDamagedPass) {
  auto random = random_for("ipsec damaged suites");
  const KeyFile keys(associations(all_suites()));
  std::vector<Frame> plain = random_frames(random, std::vector<size_t>(std::size(kAlgorithms), 41), 1);
  for (size_t k = 0; k < plain.size(); ++k) plain[k].column[static_cast<int>(Column::sa)] = k;
  const std::vector<Bytes> good = run(numbered_encap(keys), cpu(), plain).bytes();
  for (size_t k = 0; k < good.size(); ++k) {
    SCOPED_TRACE(k);
    std::vector<Bytes> flipped, cut;
    for (size_t bit = 8 * 38; bit < 8 * good[k].size(); ++bit) {
      flipped.push_back(good[k]);
      flipped.back()[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    }
    for (size_t length = 34; length < good[k].size(); ++length) {
      cut.emplace_back(good[k].begin(), good[k].begin() + static_cast<long>(length));
      put_u16(cut.back(), 16, static_cast<unsigned>(length) - 14), set_ip_checksum(cut.back(), 14);
    }
    Result out = run(decap_chain(keys), GetParam(), frames_of(flipped));
    EXPECT_TRUE(out.at("sink").empty());
    EXPECT_EQ(out.drop("it.bad_icv"), flipped.size());
    out = run(decap_chain(keys), GetParam(), frames_of(cut));
    EXPECT_TRUE(out.at("sink").empty());
    EXPECT_EQ(out.drop("it.short") + out.drop("it.bad_icv"), cut.size());
    EXPECT_GT(out.drop("it.bad_icv"), 8u);
  }
}

// A packet is good with its own suite and keys only.
TEST_P(IpsecSuites, AreNotMistakenForOthers) {
  auto random = random_for("ipsec mistaken suites");
  const KeyFile keys(associations(all_suites()));
  const std::vector<Frame> plain = random_frames(random, std::vector<size_t>(64, 100), std::size(kAlgorithms));
  std::vector<Bytes> esp = run(numbered_encap(keys), cpu(), plain).bytes();
  uint64_t others = 0;
  for (size_t k = 0; k < esp.size(); ++k) {
    const unsigned spi = 0x1000 + static_cast<unsigned>(random() % std::size(kAlgorithms));
    others += spi != get_u32(esp[k], 34);
    put_u16(esp[k], 36, spi);
  }
  const Result out = run(decap_chain(keys), GetParam(), frames_of(esp));
  EXPECT_EQ(out.at("sink").size(), esp.size() - others);
  EXPECT_EQ(out.drop("it.bad_icv") + out.drop("it.short"), others);
}

}  // namespace
}  // namespace heddle::test
