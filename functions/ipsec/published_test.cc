// Published vectors as packets, on every backend.

#include <cstring>

#include "core/load.h"
#include "functions/ipsec/chains_for_test.h"
#include "functions/ipsec/keys.h"
#include "functions/ipsec/vectors_for_test.h"

namespace heddle::test {
namespace {

using namespace esp;
namespace vectors = ipsec::vectors;
using vectors::from_hex;

HEDDLE_ON_EVERY_BACKEND(IpsecPublished);

std::string tunnel(const std::string& spi, const std::string& algorithms) {
  return "src 198.51.100.1 dst 203.0.113.1\nproto esp spi 0x" + spi + " mode tunnel\nreplay-window 0\n" + algorithms;
}
std::string gcm(const std::string& key, const std::string& salt) {
  return "aead rfc4106(gcm(aes)) 0x" + key + salt + " 128\n";
}

/** An ESP packet on its way to the tunnel's end; or another protocol's. */
Bytes frame_of(const Bytes& esp, uint8_t protocol = 50) {
  Bytes frame = ip_frame(ip(198, 51, 100, 1), ip(203, 0, 113, 1), esp.size()).bytes;
  std::copy(esp.begin(), esp.end(), frame.begin() + 34);
  frame[23] = protocol;
  set_ip_checksum(frame, 14);
  return frame;
}
/** The same over IPv6, to 2001:db8:b::1. */
Bytes frame6_of(const Bytes& esp, uint8_t protocol = 50) {
  auto random = random_for("ipsec published over ip6");  // the same header each time
  Bytes frame = inner6_frame(random, esp.size()).bytes;
  std::copy(esp.begin(), esp.end(), frame.begin() + 54);
  frame[14] = 0x60, frame[20] = protocol;
  return frame;
}

Bytes exclusive_or(const Bytes& one, const Bytes& other, size_t size) {
  Bytes to(size);
  for (size_t at = 0; at < size; ++at) to[at] = one.at(at) ^ other.at(at);
  return to;
}

// RFC 3686 and RFC 4106: a packet's ciphertext differs from it by what a vector's ciphertext differs from its text.
TEST_P(IpsecPublished, KeyStreams) {
  std::string text;
  std::vector<Frame> frames;
  std::vector<Bytes> ivs, streams;
  auto random = random_for("ipsec key streams");
  const auto add = [&](const std::string& algorithms, const std::string& iv, const Bytes& plain, const Bytes& cipher) {
    text += tunnel(format("%zx", 0x1000 + frames.size()), algorithms);
    ivs.push_back(from_hex(iv));
    streams.push_back(exclusive_or(plain, cipher, plain.size()));
    Frame frame = inner_frame(random, 100);
    frame.column[static_cast<int>(Column::sa)] = frames.size();
    frame.column[static_cast<int>(Column::esp_iv)] = load_u64(ivs.back().data());
    frames.push_back(frame);
  };
  for (auto& v : vectors::kRfc3686)
    add("auth-trunc hmac(sha1) 0x" + std::string(40, '5') + " 96\nenc rfc3686(ctr(aes)) 0x" + v.key + v.nonce + "\n",
        v.iv, from_hex(v.plain), from_hex(v.cipher));
  for (auto& v : vectors::kGcm) {
    const std::string nonce = v.nonce;
    add(gcm(v.key, nonce.substr(0, 8)), nonce.substr(8), from_hex(v.plain), from_hex(v.cipher));
  }
  const KeyFile keys(text);
  const std::vector<Bytes> esp = run(numbered_encap(keys), GetParam(), frames).bytes();
  ASSERT_EQ(esp.size(), frames.size());
  for (size_t k = 0; k < esp.size(); ++k) {
    EXPECT_EQ(Bytes(esp[k].begin() + 42, esp[k].begin() + 50), ivs[k]);
    const Bytes plain(frames[k].bytes.begin() + 14, frames[k].bytes.end()), cipher(esp[k].begin() + 50, esp[k].end());
    EXPECT_EQ(exclusive_or(plain, cipher, streams[k].size()), streams[k]) << k;
  }
}

// Those of draft-mcgrew-gcm-test-01 without extended sequence numbers. Their next header is no tunnel's, so they are
// dropped behind their ICV, which is right.
TEST_P(IpsecPublished, PacketsOfGcm) {
  for (auto& v : vectors::kGcm) {
    const std::string nonce = v.nonce, header = v.header;
    if (header.size() != 16) continue;
    const KeyFile keys(tunnel(header.substr(0, 8), gcm(v.key, nonce.substr(0, 8))));
    const Bytes frame = frame_of(from_hex(header + nonce.substr(8) + v.cipher));
    Bytes wrong = frame;
    wrong.back() ^= 1;
    const Result out = run(decap_chain(keys), GetParam(), frames_of({frame, wrong}));
    EXPECT_EQ(out.drop("it.not_ip"), 1u) << header;
    EXPECT_EQ(out.drop("it.bad_icv"), 1u) << header;
  }
}

// In transport mode they are what another protocol has sent.
TEST_P(IpsecPublished, ContentOfGcm) {
  int count = 0;
  for (auto& v : vectors::kGcm) {
    const std::string nonce = v.nonce, header = v.header;
    if (header.size() != 16) continue;
    Bytes plain = from_hex(v.plain);
    const uint8_t protocol = plain.back();
    plain.resize(plain.size() - 2 - plain[plain.size() - 2]);
    const Bytes esp = from_hex(header + nonce.substr(8) + v.cipher);
    for (const bool six : {false, true}) {
      const KeyFile keys((six ? "src 2001:db8:a::1 dst 2001:db8:b::1" : "src 198.51.100.1 dst 203.0.113.1") +
                         std::string("\nproto esp spi 0x") + header.substr(0, 8) +
                         " mode transport\nreplay-window 0\n" + gcm(v.key, nonce.substr(0, 8)));
      const Bytes frame = six ? frame6_of(esp) : frame_of(esp);
      Bytes wrong = frame;
      wrong[wrong.size() - 17] ^= 1;
      const Result out = run(decap_chain(keys), GetParam(), frames_of({wrong, frame}));
      EXPECT_TRUE(same(out.bytes(), {six ? frame6_of(plain, protocol) : frame_of(plain, protocol)}));
      EXPECT_EQ(out.drop("it.bad_icv"), 1u) << header;
      ++count;
    }
  }
  EXPECT_EQ(count, 6);
}

/** A message that an ESP packet can be all of, but for its ICV. */
struct Message {
  Bytes key, bytes, icv;
};
bool fits(const Bytes& bytes) { return bytes.size() >= 16 + 4 && bytes.size() % 4 == 0; }

std::string tunnel_of(const Message& message) {
  const auto hex = [](const Bytes& bytes) {
    std::string text;
    for (const uint8_t byte : bytes) text += format("%02x", byte);
    return text;
  };
  const bool sha256 = message.key.size() == 32;
  return tunnel(hex({message.bytes.begin(), message.bytes.begin() + 4}),
                "auth-trunc hmac(" + std::string(sha256 ? "sha256" : "sha1") + ") 0x" + hex(message.key) +
                    (sha256 ? " 128" : " 96") + "\nenc rfc3686(ctr(aes)) 0x" + std::string(40, '5') + "\n");
}

/** Only packets with their own ICV are deciphered, which gives nothing that is a packet; `changes`: of ICVs, to wrong
 *  ones. */
void expect_only_right_icvs(const Backend& backend, const std::vector<Message>& messages,
                            const std::vector<Bytes>& changes) {
  std::string text;
  std::vector<Bytes> frames;
  for (auto& message : messages) {
    text += tunnel_of(message);
    const auto add = [&](const Bytes& icv) {
      Bytes esp = message.bytes;
      esp.insert(esp.end(), icv.begin(), icv.end());
      frames.push_back(frame_of(esp));
    };
    add(message.icv);
    for (auto& change : changes) add(exclusive_or(message.icv, change, message.icv.size()));
  }
  const KeyFile keys(text);
  const Result out = run(decap_chain(keys), backend, frames_of(frames));
  EXPECT_TRUE(out.at("sink").empty());
  EXPECT_EQ(out.drop("it.bad_icv"), messages.size() * changes.size());
  EXPECT_EQ(out.drop("it.bad_padding") + out.drop("it.not_ip"), messages.size());
}

TEST_P(IpsecPublished, HmacSha256OfRfc4868) {
  std::vector<Message> messages;
  for (auto& v : vectors::kHmac)
    if (const Bytes key = from_hex(v.key), bytes = from_hex(v.text), icv = from_hex(v.sha256);
        key.size() == 32 && fits(bytes))
      messages.push_back({key, bytes, {icv.begin(), icv.begin() + 16}});
  ASSERT_EQ(messages.size(), 1u);
  std::vector<Bytes> changes(128, Bytes(16));
  for (size_t bit = 0; bit < changes.size(); ++bit) changes[bit][bit / 8] = static_cast<uint8_t>(1 << bit % 8);
  expect_only_right_icvs(GetParam(), messages, changes);
}

// Right tags, and right ones changed as each wrong one is.
TEST_P(IpsecPublished, HmacSha1OfWycheproof) {
  const auto folder = vectors::data_folder();
  if (folder.empty()) GTEST_SKIP() << "HEDDLE_TEST_DATA has no crypto/";
  std::vector<Message> messages;
  std::vector<Bytes> changes;
  for (auto& v : vectors::wycheproof(folder)) {
    if (v.key.size() != 20 || v.tag.size() != 20) continue;
    if (!v.valid) {
      ipsec::Association sa{};
      ipsec::start_hmac(v.key, sa);
      const Bytes right = vectors::hmac_by_blocks(false, sa.inner, sa.outer, v.message);
      changes.push_back(exclusive_or(right, v.tag, 12));
      if (changes.back() == Bytes(12)) changes.pop_back();  // wrong behind the 96 bits of an ICV
    } else if (fits(v.message)) {
      messages.push_back({v.key, v.message, {v.tag.begin(), v.tag.begin() + 12}});
    }
  }
  ASSERT_EQ(messages.size(), 5u);
  ASSERT_EQ(changes.size(), 40u);
  expect_only_right_icvs(GetParam(), messages, changes);
}

}  // namespace
}  // namespace heddle::test
