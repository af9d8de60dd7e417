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

/** Every form with each kind of algorithm, as associations 0x1000 and on; `extended`: with extended numbers, which pass
 *  the end of 32 bits after 20 packets. */
std::vector<Sa> all_forms(bool extended) {
  constexpr Outside kForms[] = {
      {}, {.ip6 = true}, {.transport = true}, {.transport = true, .ip6 = true}, {.udp = true}};
  constexpr Algorithms kOnes[] = {{}, {256, 0, true}, {128, 128}, {192, 64}};
  std::vector<Sa> list;
  for (auto& algorithms : kOnes)
    for (Outside form : kForms) {
      if (extended) form.extended_from = (uint64_t{3} << 32) - 21;
      list.push_back({0x1000 + static_cast<unsigned>(list.size()), "", extended ? 4096 : 0, algorithms, form});
    }
  return list;
}

/** Packets of all of them in turn, with numbers and IVs that IPsecSequence takes over or not. */
std::vector<Frame> frames_for(std::mt19937& random, const std::vector<Sa>& list, size_t each) {
  std::vector<Frame> frames;
  for (size_t k = 0; k < each * list.size(); ++k) {
    const size_t sa = k % list.size();
    frames.push_back(frame_for(random, list[sa].outside, random() % (k % 16 == 0 ? 1400 : 200)));
    frames.back().headroom = static_cast<int>(random() % 128);
    frames.back().column[static_cast<int>(Column::sa)] = sa;
    frames.back().column[static_cast<int>(Column::esp_sequence)] = random();
    frames.back().column[static_cast<int>(Column::esp_iv)] = uint64_t{random()} << 32 | random();
  }
  return frames;
}

/** Where ESP begins in what Encap has made of a frame. */
size_t esp_at(const Sa& sa, const Bytes& esp) {
  const unsigned char spi[4] = {0, 0, 0x10, static_cast<unsigned char>(sa.spi)};
  return static_cast<size_t>(std::search(esp.begin() + 34, esp.end(), spi, spi + 4) - esp.begin());
}

std::string numbered_here(const KeyFile& keys) {
  return "TestSource(SETS \"sa\") -> IPsecSequence(esp, BY column) -> esp :: IPsecEncap(" + keys.path() +
         ", OFFSET 14) -> sink :: TestSink;";
}

/** All that stay on one processor, and the launch modes that are not among them. */
std::vector<Backend> every_launch_mode() {
  std::vector<Backend> list = fixed_backends();
  for (Backend& way : all_ways())
    if (way.transport == Transport::direct && (way.launch == LaunchMode::async || way.launch == LaunchMode::graph))
      list.push_back(std::move(way));
  return list;
}

class IpsecForms : public OnBackend {};
INSTANTIATE_TEST_SUITE_P(All, IpsecForms, testing::ValuesIn(every_launch_mode()), backend_name);

TEST_P(IpsecForms, AreAsOnTheCpu) {
  auto random = random_for("ipsec forms");
  const std::vector<Sa> list = all_forms(false);
  const KeyFile keys(associations(list));
  expect_as_on_cpu(keys, GetParam(), frames_for(random, list, full() ? 200 : 40), random);
}

// Both ends on either processor, over the end of 32 bits: what is outside ciphertext and ICV is byte by byte as on the
// CPU, and these are what the other understands with its own upper halves.
TEST_P(IpsecForms, HaveExtendedNumbers) {
  auto random = random_for("ipsec extended numbers");
  const std::vector<Sa> list = all_forms(true);
  const KeyFile keys(associations(list));
  const std::vector<Frame> frames = frames_for(random, list, 60);
  const std::vector<Bytes> theirs = run(numbered_here(keys), cpu(), frames).bytes();
  const std::vector<Bytes> ours = run(numbered_here(keys), GetParam(), frames, {.batches = {100, 31, 1}}).bytes();
  ASSERT_EQ(ours.size(), frames.size());
  for (size_t k = 0; k < ours.size(); ++k) {
    const size_t at = esp_at(list[k % list.size()], theirs[k]);
    ASSERT_EQ(ours[k].size(), theirs[k].size());
    ASSERT_EQ(Bytes(ours[k].begin(), ours[k].begin() + static_cast<long>(at) + 8),
              Bytes(theirs[k].begin(), theirs[k].begin() + static_cast<long>(at) + 8));
    ASSERT_EQ(get_u32(ours[k], at + 4), static_cast<uint32_t>(k / list.size() - 20)) << "in order";
  }
  for (const bool apart : {true, false}) {
    const Result back = run(decap_chain(keys, "14", apart), cpu(), frames_of(ours));
    EXPECT_TRUE(same(back.bytes(), bytes_of(frames))) << apart;
    EXPECT_TRUE(back.drops.empty());
  }
  const Result back = run(decap_chain(keys), GetParam(), frames_of(theirs), {.batches = {100, 31, 1}});
  EXPECT_EQ(back.processor.at("it") == "cpu", !GetParam().on_gpu());
  EXPECT_TRUE(same(back.bytes(), bytes_of(frames)));
  EXPECT_TRUE(back.drops.empty());
}

// Late, again and far ahead, on either side of the end of 32 bits: as the CPU judges when it does all itself.
TEST_P(IpsecForms, ExtendedNumbersComeInAnyOrder) {
  auto random = random_for("ipsec extended order");
  const std::vector<Sa> list = {
      {0x1001, "", 64, {}, {.extended_from = (uint64_t{1} << 32) - 200}},
      {0x1002, "", 1024, {128, 128}, {.ip6 = true, .extended_from = (uint64_t{7} << 32) - 100}}};
  const KeyFile keys(associations(list));
  std::vector<Frame> frames = frames_for(random, list, 300);
  const std::vector<Bytes> esp = run(numbered_here(keys), cpu(), frames).bytes();
  std::vector<Frame> in;
  for (size_t k = 0; k < esp.size(); ++k) {
    const size_t back = random() % 4 == 0 ? random() % 200 : random() % 8;
    in.push_back({esp[k < back ? k : k - back]});
    if (random() % 8 == 0) in.back().bytes.back() ^= 1;  // marks no number
  }
  const Result alone = run(decap_chain(keys, "14", false), cpu(), in);
  const Result out = run(decap_chain(keys), GetParam(), in, {.batches = {64, 7}});
  EXPECT_TRUE(same(out.bytes(), alone.bytes()));
  EXPECT_GT(out.at("sink").size(), 100u);
  EXPECT_GT(out.drop("r.replayed"), 50u);
  EXPECT_EQ(out.drop("r.replayed") + out.drop("it.bad_icv"), alone.drop("it.replayed") + alone.drop("it.bad_icv"));
}

// Every bit from SPI to ICV, every length, lengths that lie, headers without an end: what the CPU makes of them, and
// nothing of it that is not authentic.
TEST_P(IpsecForms, LetNothingDamagedPass) {
  auto random = random_for("ipsec damaged forms");
  for (const bool extended : {false, true}) {
    std::vector<Sa> list = all_forms(extended);
    const KeyFile keys(associations(list));
    const std::vector<Frame> plain = frames_for(random, list, 1);
    const std::vector<Bytes> good = run(numbered_here(keys), cpu(), plain).bytes();
    ASSERT_EQ(good.size(), plain.size());
    std::vector<Frame> damaged, others;  // in what is authenticated; elsewhere
    for (size_t k = 0; k < good.size(); ++k) {
      const bool six = list[k].outside.ip6;
      const size_t at = esp_at(list[k], good[k]), size = good[k].size();
      for (size_t tries = 0; tries < 60; ++tries) {
        const size_t bit = tries < 32 ? 8 * at + 32 + tries : 8 * at + 64 + random() % (8 * (size - at - 8));
        damaged.push_back({good[k]});
        damaged.back().bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
      }
      for (size_t cut = 14; cut < size; cut += 1 + random() % 3) {
        damaged.push_back({Bytes(good[k].begin(), good[k].begin() + static_cast<long>(cut))});
        if (cut < at) continue;
        damaged.push_back(damaged.back());  // with headers that say so
        Bytes& bytes = damaged.back().bytes;
        put_u16(bytes, six ? 18 : 16, static_cast<unsigned>(cut - (six ? 54 : 14)));
        if (list[k].outside.udp) put_u16(bytes, at - 4, static_cast<unsigned>(cut - at + 8));
        if (!six) set_ip_checksum(bytes, 14);
      }
      for (int tries = 0; tries < 40; ++tries) {  // headers that lie
        others.push_back({good[k]});
        others.back().bytes[14 + random() % (at - 14)] = static_cast<uint8_t>(random());
      }
    }
    const Result out = run(decap_chain(keys), GetParam(), damaged, {.batches = {100, 31, 1}});
    EXPECT_TRUE(out.at("sink").empty());
    EXPECT_EQ(out.drops, run(decap_chain(keys), cpu(), damaged).drops);
    EXPECT_GT(out.drop("it.bad_icv"), list.size() * 50);
    EXPECT_GT(out.drop("it.short"), list.size() * 10);
    const Result lies = run(decap_chain(keys), GetParam(), others, {.batches = {100, 31, 1}});
    const Result wanted = run(decap_chain(keys), cpu(), others);
    EXPECT_TRUE(same(lies.bytes(), wanted.bytes()));
    EXPECT_EQ(lies.drops, wanted.drops);
    EXPECT_GT(lies.dropped, list.size() * 10);
  }
}

// Without an IPsecSequence that refuses them before: what is cut, changed, a fragment, or goes elsewhere.
TEST_P(IpsecForms, TakeOrRefuseWhateverComesToEncap) {
  auto random = random_for("ipsec forms anything");
  const std::vector<Sa> list = all_forms(false);
  const KeyFile keys(associations(list));
  std::vector<Frame> frames;
  for (const Frame& good : frames_for(random, list, 3))
    for (int tries = 0; tries < 30; ++tries) {
      frames.push_back(good);
      Bytes& bytes = frames.back().bytes;
      if (tries % 3 == 0)
        bytes.resize(random() % bytes.size());
      else if (tries == 1)
        bytes[20] |= 0x20;  // of IPv4: more fragments follow
      else
        bytes[14 + random() % std::min<size_t>(bytes.size() - 14, 72)] = static_cast<uint8_t>(random());
    }
  const Result out = run(numbered_encap(keys), GetParam(), frames, {.batches = {100, 31, 1}});
  const Result wanted = run(numbered_encap(keys), cpu(), frames);
  EXPECT_TRUE(same(out.bytes(), wanted.bytes()));
  EXPECT_EQ(out.drops, wanted.drops);
  EXPECT_GT(out.at("sink").size(), frames.size() / 4);
  for (const char* reason : {"esp.no_sa", "esp.malformed", "esp.fragment"}) EXPECT_GT(out.drop(reason), 5u) << reason;
  EXPECT_TRUE(same(run(decap_chain(keys), GetParam(), frames_of(out.bytes())).bytes(),
                   run(decap_chain(keys, "14", false), cpu(), frames_of(out.bytes())).bytes()));
}

}  // namespace
}  // namespace heddle::test
