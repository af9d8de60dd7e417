#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "core/load.h"
#include "functions/ipsec/chains_for_test.h"

namespace heddle::test {
namespace {

using namespace esp;

HEDDLE_ON_EVERY_BACKEND(IpsecTest);

TEST_P(IpsecTest, TakesOutWhatItHasPutIn) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec lengths");
  std::vector<Frame> frames;
  for (size_t payload = 0; payload <= 1500; payload += payload < 300 || full() ? 1 : 7)
    frames.push_back(inner_frame(random, payload));
  for (const size_t payload : {1480, 9000, 9001, 9002, 9003}) frames.push_back(inner_frame(random, payload));
  const Result out = run(encap_chain(keys), GetParam(), frames, {.batches = {100, 31, 1}});
  ASSERT_EQ(out.at("sink").size(), frames.size());
  for (size_t i = 0; i < frames.size(); ++i) {
    const Bytes& bytes = out.at("sink")[i].bytes;
    const uint32_t inner = static_cast<uint32_t>(frames[i].bytes.size()) - 14;
    ASSERT_EQ(bytes.size(), 14 + 36 + ipsec::ciphertext_bytes(inner) + 12);
    ASSERT_EQ(get_u32(bytes, 34), 0x1001u);
    ASSERT_EQ(get_u32(bytes, 38), i + 1) << "sequence numbers are in order";
    EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 14), Bytes(frames[i].bytes.begin(), frames[i].bytes.begin() + 14));
  }
  const Result back = run(decap_chain(keys), GetParam(), frames_of(out.bytes()), {.batches = {100, 31, 1}});
  EXPECT_TRUE(same(back.bytes(), bytes_of(frames)));
}

TEST_P(IpsecTest, DoesFramesAtAnyAddress) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec addresses");
  std::vector<Frame> frames;
  for (const size_t payload : {0, 1, 2, 3, 13, 14, 15, 16, 90, 91, 92, 93, 94, 300, 1480})
    for (int headroom = 0; headroom < 128; headroom += 1 + static_cast<int>(random() % 5)) {
      frames.push_back(inner_frame(random, payload));
      frames.back().headroom = headroom;
    }
  const Result out = run(encap_chain(keys), GetParam(), frames);
  std::vector<Frame> esp = frames_of(out.bytes());
  for (size_t i = 0; i < esp.size(); ++i) esp[i].headroom = frames[i].headroom;
  const Result back = run(decap_chain(keys), GetParam(), esp);
  EXPECT_TRUE(same(back.bytes(), bytes_of(frames)));
}

TEST_P(IpsecTest, LinkHeadersOfAnyLength) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec link headers");
  for (const int link : {0, 1, 2, 4, 15, 16, 17, 18, 22, 37, 64}) {
    std::vector<Frame> frames;
    for (const size_t payload : {0, 33, 700}) {
      frames.push_back(inner_frame(random, payload));
      Bytes& bytes = frames.back().bytes;
      bytes.erase(bytes.begin(), bytes.begin() + 14);
      for (int b = 0; b < link; ++b) bytes.insert(bytes.begin(), static_cast<uint8_t>(random()));
      if (link >= 2) bytes[static_cast<size_t>(link) - 2] = 8, bytes[static_cast<size_t>(link) - 1] = 0;
    }
    const std::string offset = format("%s, OFFSET %d", keys.path().c_str(), link);
    const Result out = run("TestSource -> IPsecSequence(esp) -> esp :: IPsecEncap(" + offset + ") -> sink :: TestSink;",
                           GetParam(), frames);
    const Result back = run(decap_chain(keys, std::to_string(link)), GetParam(), frames_of(out.bytes()));
    EXPECT_TRUE(same(back.bytes(), bytes_of(frames))) << "link header of " << link;
  }
}

// What no tunnel takes: no header, or one that promises more than there is. What a link has padded goes.
TEST_P(IpsecTest, RefusesWhatIsNoPacket) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec malformed");
  std::vector<Frame> frames = {inner_frame(random, 100),
                               inner_frame(random, 100),
                               inner_frame(random, 100),
                               inner_frame(random, 100),
                               {Bytes(33)},
                               {Bytes(5)},
                               {Bytes(0)},
                               inner_frame(random, 10)};
  frames[0].bytes.pop_back();
  frames[1].bytes[14] = 0x54;
  frames[2].bytes[14] = 0x44;
  put_u16(frames[3].bytes, 16, 19);
  frames[7].bytes.resize(60);
  for (auto& frame : frames) frame.column[static_cast<int>(Column::esp_sequence)] = 9;
  const Bytes good(frames[7].bytes.begin(), frames[7].bytes.begin() + 14 + 20 + 10);
  for (const bool numbered : {true, false}) {
    const Result out = numbered ? run(encap_chain(keys, ", SPI 0x1001"), GetParam(), frames)
                                : run("TestSource(SETS \"sa esp_sequence esp_iv\") -> esp :: IPsecEncap(" +
                                          keys.path() + ", OFFSET 14) -> sink :: TestSink;",
                                      GetParam(), frames);
    EXPECT_EQ(out.drop(numbered ? "q.malformed" : "esp.malformed"), 7u);
    ASSERT_EQ(out.at("sink").size(), 1u);
    EXPECT_EQ(get_u32(out.at("sink")[0].bytes, 38), numbered ? 1u : 9u) << "no number is taken in vain";
    EXPECT_TRUE(same(run(decap_chain(keys), cpu(), frames_of(out.bytes())).bytes(), {good}));
  }
}

TEST_P(IpsecTest, OuterHeaderFollowsTheAssociation) {
  const KeyFile keys(associations({{0x1001},
                                   {0x1002, "replay-window 0 flag noecn nopmtudisc\n"},
                                   {0x1003, "replay-window 0 flag nopmtudisc extra-flag dont-encap-dscp\n"}}));
  auto random = random_for("ipsec outer");
  Frame frame = inner_frame(random, 40);
  frame.bytes[15] = 0xb9 | 2;
  put_u16(frame.bytes, 20, 0x4000);
  set_ip_checksum(frame.bytes, 14);
  const unsigned tos[] = {0xbb, 0xb8, 0x03}, df[] = {0x40, 0, 0};
  for (unsigned k = 0; k < 3; ++k) {
    const Result out = run(encap_chain(keys, format(", SPI %u", 0x1001 + k)), GetParam(), {frame});
    ASSERT_EQ(out.at("sink").size(), 1u);
    const Bytes& bytes = out.at("sink")[0].bytes;
    EXPECT_EQ(bytes[15], tos[k]);
    EXPECT_EQ(bytes[20], df[k]);
    EXPECT_EQ(get_u32(bytes, 26), ip(198, 51, 100, 1));
    EXPECT_EQ(get_u32(bytes, 30), ip(203, 0, 113, 1));
    Bytes right = bytes;
    set_ip_checksum(right, 14);
    EXPECT_EQ(bytes, right);
  }
}

TEST_P(IpsecTest, RefusesColumnsThatNameNoAssociation) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec sa column");
  std::vector<Frame> frames;
  for (const uint64_t sa : {0u, 1u, ~0u, 0u}) {
    frames.push_back(inner_frame(random, 64));
    frames.back().column[static_cast<int>(Column::sa)] = sa;
  }
  const Result out = run("TestSource(SETS \"sa esp_sequence esp_iv\") -> esp :: IPsecEncap(" + keys.path() +
                             ", OFFSET 14) -> sink :: TestSink;",
                         GetParam(), frames);
  EXPECT_EQ(out.at("sink").size(), 2u);
  EXPECT_EQ(out.drop("esp.no_sa"), 2u);
}

TEST_P(IpsecTest, NoDamagedPacketLeaves) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec damage");
  const Bytes good = run(encap_chain(keys), cpu(), {inner_frame(random, 60)}).bytes().at(0);
  std::vector<Bytes> flipped, cut;
  for (size_t bit = 8 * 34; bit < 8 * good.size(); ++bit) {
    flipped.push_back(good);
    flipped.back()[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
  for (size_t length = 0; length < good.size(); ++length) cut.emplace_back(good.begin(), good.begin() + length);
  std::vector<Bytes> said = cut;  // cut, with headers that say so
  for (auto& bytes : said)
    if (bytes.size() >= 34) put_u16(bytes, 16, static_cast<unsigned>(bytes.size()) - 14), set_ip_checksum(bytes, 14);
  for (const bool apart : {true, false}) {
    const std::string chain = decap_chain(keys, "14", apart);
    Result out = run(chain, GetParam(), frames_of(flipped));
    const unsigned zero = apart ? 0 : 1;  // sequence number 0, which is refused before anything is deciphered
    EXPECT_TRUE(out.at("sink").empty());
    EXPECT_EQ(out.drop("it.no_sa"), 32u);
    EXPECT_EQ(out.drop("it.replayed"), zero);
    EXPECT_EQ(out.drop("it.bad_icv"), flipped.size() - 32 - zero);
    out = run(chain, GetParam(), frames_of(cut));
    EXPECT_TRUE(out.at("sink").empty());
    EXPECT_EQ(out.drop("it.not_esp"), 34u);
    EXPECT_EQ(out.drop("it.short"), cut.size() - 34);
    out = run(chain, GetParam(), frames_of(said));
    EXPECT_TRUE(out.at("sink").empty());
    EXPECT_GT(out.drop("it.bad_icv"), 10u);
  }
}

// What the ICV does not cover: a bit of the outer header sends the packet elsewhere, or changes nothing of what is
// inside.
TEST_P(IpsecTest, FlippedBitsOfTheOuterHeader) {
  const KeyFile keys(associations({{0x1001, "", 0}}));
  auto random = random_for("ipsec outer bits");
  const Frame plain = inner_frame(random, 60);
  const Bytes good = run(encap_chain(keys), cpu(), {plain}).bytes().at(0);
  std::vector<Bytes> flipped;
  for (size_t bit = 8 * 14; bit < 8 * 34; ++bit) {
    flipped.push_back(good);
    flipped.back()[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
  }
  const Result out = run(decap_chain(keys), GetParam(), frames_of(flipped));
  for (auto& packet : out.at("sink")) EXPECT_EQ(packet.bytes, plain.bytes) << "bit " << packet.serial;
  EXPECT_EQ(out.drop("it.no_sa"), 34u) << "destination, longer headers";
  EXPECT_GT(out.drop("it.not_esp"), 25u) << "version, shorter headers, fragments, protocol";
  EXPECT_GT(out.drop("it.short"), 8u) << "length";
  const Result wanted = run(decap_chain(keys), cpu(), frames_of(flipped));
  EXPECT_EQ(out.drops, wanted.drops);
  EXPECT_TRUE(same(out.bytes(), wanted.bytes()));
}

// Whatever comes to Encap is refused, or leaves the other end as it came, without what is behind its end.
TEST_P(IpsecTest, EncapTakesOrRefuses) {
  const KeyFile keys(associations({{0x1001}}));
  auto random = random_for("ipsec encap anything");
  Frame six = random_frame(random, 14 + 40 + 30);
  put_u16(six.bytes, 12, 0x86dd), put_u16(six.bytes, 18, 30);
  six.bytes[14] = 0x60;
  std::vector<Frame> frames;
  for (const Frame& good : {inner_frame(random, 30), six}) {
    for (size_t bit = 8 * 14; bit < 8 * 54; ++bit) {
      frames.push_back(good);
      frames.back().bytes[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    }
    for (size_t length = 0; length <= good.bytes.size(); ++length) {
      frames.push_back(good);
      frames.back().bytes.resize(length);
    }
  }
  std::vector<Bytes> wanted;
  for (auto& frame : frames) {
    const Bytes& bytes = frame.bytes;
    if (bytes.size() < 34) continue;
    const bool is_six = bytes[14] >> 4 == 6;
    const size_t header = is_six ? 40 : (bytes[14] & 15u) * 4;
    const size_t size = is_six ? 40 + (get_u32(bytes, 18) >> 16) : get_u32(bytes, 14) & 0xffff;
    if ((!is_six && bytes[14] >> 4 != 4) || header < 20 || size < header || 14 + size > bytes.size()) continue;
    wanted.emplace_back(bytes.begin(), bytes.begin() + 14 + static_cast<long>(size));
    put_u16(wanted.back(), 12, is_six ? 0x86dd : 0x0800);
  }
  const Result out = run(encap_chain(keys, ", SPI 0x1001"), GetParam(), frames);
  EXPECT_EQ(out.drop("q.malformed"), frames.size() - wanted.size());
  EXPECT_GT(wanted.size(), 400u);
  EXPECT_GT(frames.size() - wanted.size(), 150u);
  EXPECT_TRUE(same(run(decap_chain(keys), GetParam(), frames_of(out.bytes())).bytes(), wanted));
}

// Good and bad packets of several associations in the same tiles: each has its own fate.
TEST_P(IpsecTest, DamagedPacketsLeaveOthersAlone) {
  const KeyFile keys(associations({{0x1001}, {0x1002}, {0x1003}}));
  auto random = random_for("ipsec mixture");
  std::vector<Frame> plain;
  for (int i = 0; i < 500; ++i) {
    plain.push_back(inner_frame(random, random() % 1400));
    plain.back().column[static_cast<int>(Column::sa)] = random() % 3;
  }
  const std::string encap = "TestSource(SETS \"sa\") -> IPsecSequence(esp, BY column) -> esp :: IPsecEncap(" +
                            keys.path() + ", OFFSET 14) -> sink :: TestSink;";
  std::vector<Frame> esp = frames_of(run(encap, cpu(), plain).bytes());
  std::vector<Bytes> wanted;
  std::map<std::string, uint64_t> drops;
  for (size_t i = 0; i < esp.size(); ++i) {
    Bytes& bytes = esp[i].bytes;
    switch (random() % 6) {
      case 0: {
        const size_t at = 38 + random() % (bytes.size() - 38);
        bytes[at] ^= static_cast<uint8_t>(1 + random() % 255);
        ++drops["it.bad_icv"];
        break;
      }
      case 1:
        put_u16(bytes, 34, 0xabcd);
        ++drops["it.no_sa"];
        break;
      case 2:
        bytes[33] ^= 1;  // not this association's destination
        ++drops["it.no_sa"];
        break;
      case 3:
        if (i > 0 && !wanted.empty() && wanted.back() == plain[i - 1].bytes) {
          bytes = esp[i - 1].bytes;
          ++drops["r.replayed"];
          break;
        }
        [[fallthrough]];
      default:
        wanted.push_back(plain[i].bytes);
    }
  }
  const Result out = run(decap_chain(keys), GetParam(), esp, {.batches = {64, 7}});
  EXPECT_TRUE(same(out.bytes(), wanted));
  EXPECT_EQ(out.drops, drops);
  EXPECT_GT(drops["r.replayed"], 10u);
  const Result alone = run(decap_chain(keys, "14", false), GetParam(), esp, {.batches = {64, 7}});
  EXPECT_TRUE(same(alone.bytes(), wanted));
  EXPECT_EQ(alone.drop("it.replayed"), drops["r.replayed"]);
}

TEST_P(IpsecTest, ReplayWindow) {
  const KeyFile keys(associations({{0x1001}})), off(associations({{0x1001, "", 0}})),
      eight(associations({{0x1001, "", 8}}));
  auto random = random_for("ipsec replay");
  std::vector<Frame> frames(400, inner_frame(random, 20));
  const std::vector<Bytes> esp = run(encap_chain(keys), cpu(), frames).bytes();
  const auto passed = [&](const KeyFile& file, const std::vector<int>& order) {
    std::vector<Frame> in;
    for (const int number : order) in.push_back({esp[static_cast<size_t>(number) - 1]});
    std::vector<int> lists[2];
    for (const bool apart : {true, false}) {
      const Result out = run(decap_chain(file, "14", apart), GetParam(), in);
      EXPECT_EQ(out.drop(apart ? "r.replayed" : "it.replayed") + out.at("sink").size(), order.size());
      for (auto& packet : out.at("sink")) lists[apart].push_back(order[static_cast<size_t>(packet.serial)]);
    }
    EXPECT_EQ(lists[0], lists[1]);
    return lists[1];
  };
  EXPECT_EQ(passed(keys, {1, 2, 2, 1, 4, 3, 3, 4, 5}), (std::vector{1, 2, 4, 3, 5}));
  EXPECT_EQ(passed(keys, {100, 36, 37, 37, 99, 100, 164, 100, 101}), (std::vector{100, 37, 99, 164, 101}));
  EXPECT_EQ(passed(keys, {1, 400, 336, 337, 130, 1, 338}), (std::vector{1, 400, 337, 338}));
  EXPECT_EQ(passed(eight, {20, 12, 13, 13, 14}), (std::vector{20, 13, 14}));
  EXPECT_EQ(passed(off, {5, 5, 1, 400, 1}), (std::vector{5, 5, 1, 400, 1}));
  // All orders of a shuffle within the window, each packet twice.
  std::vector<int> order, once;
  for (int base = 1; base <= 384; base += 32) {
    std::vector<int> some;
    for (int k = 0; k < 32; ++k) some.push_back(base + k), some.push_back(base + k);
    std::shuffle(some.begin(), some.end(), random);
    order.insert(order.end(), some.begin(), some.end());
  }
  EXPECT_EQ(passed(keys, order).size(), 384u);
}

// ---- packets of another implementation (HEDDLE_TEST_DATA/esp)

std::vector<std::vector<std::string>> table(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; std::getline(words, word, '\t');) rows.back().push_back(word);
  }
  return rows;
}

std::vector<Frame> pcap(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  std::vector<Frame> frames;
  for (size_t at = 24; at + 16 <= all.size();) {
    uint32_t length;
    std::memcpy(&length, &all[at + 8], 4);
    frames.push_back(
        {Bytes(all.begin() + static_cast<long>(at) + 16, all.begin() + static_cast<long>(at + 16 + length))});
    at += 16 + length;
  }
  return frames;
}

class IpsecData : public OnBackend {
 protected:
  void SetUp() override {
    const char* data = std::getenv("HEDDLE_TEST_DATA");
    if (data != nullptr) folder_ = std::filesystem::path(data) / "esp";
    if (!std::filesystem::exists(folder_ / "tunnel4_sa.tsv")) GTEST_SKIP() << "HEDDLE_TEST_DATA has no esp/";
    std::string text;
    for (auto& row : table(folder_ / "tunnel4_sa.tsv"))
      if (row[0] != "src")
        text += "src " + row[0] + " dst " + row[1] + "\nproto esp spi " + row[2] +
                " mode tunnel\nreplay-window 64 flag noecn nopmtudisc extra-flag dont-encap-dscp\nauth hmac(sha1) 0x" +
                row[5] + "\nenc rfc3686(ctr(aes)) 0x" + row[3] + row[4] + "\n";
    keys_ = std::make_unique<KeyFile>(text);
  }
  std::filesystem::path folder_;
  std::unique_ptr<KeyFile> keys_;
};
INSTANTIATE_TEST_SUITE_P(All, IpsecData, testing::ValuesIn(backends()), backend_name);

TEST_P(IpsecData, EnciphersAsOthersDo) {
  std::vector<Frame> plain = pcap(folder_ / "tunnel4_plain.pcap");
  const std::vector<Frame> esp = pcap(folder_ / "tunnel4_esp.pcap");
  const auto index = table(folder_ / "tunnel4_index.tsv");
  ASSERT_EQ(plain.size() + 1, index.size());
  std::vector<Bytes> wanted;
  for (size_t k = 0; k < plain.size(); ++k) {
    const auto& row = index[k + 1];
    plain[k].column[static_cast<int>(Column::sa)] = std::stoul(row[1]);
    plain[k].column[static_cast<int>(Column::esp_sequence)] = std::stoul(row[3]);
    plain[k].column[static_cast<int>(Column::esp_iv)] = __builtin_bswap64(std::stoull(row[4], nullptr, 16));
    wanted.push_back(esp[k].bytes);
    // Others number all outer packets 1.
    put_u16(wanted.back(), 18, static_cast<unsigned>(std::stoul(row[3])) & 0xffff);
    set_ip_checksum(wanted.back(), 14);
  }
  const Result out = run("TestSource(SETS \"sa esp_sequence esp_iv\") -> IPsecEncap(" + keys_->path() +
                             ", OFFSET 14) -> sink :: TestSink;",
                         GetParam(), plain);
  EXPECT_TRUE(same(out.bytes(), wanted));
}

TEST_P(IpsecData, DeciphersWhatOthersDid) {
  const Result out = run(decap_chain(*keys_), GetParam(), pcap(folder_ / "tunnel4_esp.pcap"));
  EXPECT_TRUE(same(out.bytes(), bytes_of(pcap(folder_ / "tunnel4_plain.pcap"))));
  const auto index = table(folder_ / "tunnel4_index.tsv");
  for (auto& packet : out.at("sink"))
    ASSERT_EQ(packet.column[static_cast<int>(Column::sa)],
              std::stoul(index[static_cast<size_t>(packet.serial) + 1][1]));
}

TEST_P(IpsecData, RefusesWhatIsBad) {
  const std::map<std::string, std::string> reasons = {{"spi_unknown", "no_sa"}, {"ct_flip", "bad_icv"},
                                                      {"iv_flip", "bad_icv"},   {"icv_flip", "bad_icv"},
                                                      {"seq_flip", "bad_icv"},  {"truncate_frame", "short"}};
  std::map<std::string, uint64_t> wanted;
  uint64_t either = 0;  // cut, with headers that say so: what is left may look like an ESP packet
  for (auto& label : table(folder_ / "tunnel4_bad_labels.tsv")) {
    if (label[1] == "icv_cut" || label[1] == "short_esp")
      ++either;
    else
      ++wanted[reasons.at(label[1])];
  }
  const Result out = run(decap_chain(*keys_), GetParam(), pcap(folder_ / "tunnel4_bad.pcap"));
  EXPECT_TRUE(out.at("sink").empty());
  EXPECT_EQ(out.drop("it.no_sa"), wanted["no_sa"]);
  EXPECT_GE(out.drop("it.bad_icv"), wanted["bad_icv"]);
  EXPECT_GE(out.drop("it.short"), wanted["short"]);
  EXPECT_EQ(out.drop("it.short") + out.drop("it.bad_icv"), wanted["short"] + wanted["bad_icv"] + either);
}

}  // namespace
}  // namespace heddle::test
