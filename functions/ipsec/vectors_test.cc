// Published vectors: RFC 3602 (section 4), RFC 3686 (section 6), RFC 2202 and RFC 4231 (keys up to 64 bytes, which is
// all that IPsec has), RFC 4868 (section 2.7.2.1), and draft-mcgrew-gcm-test-01, which has those of RFC 4106. Ciphers
// as packets have them, through Burst.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "functions/ipsec/burst.h"
#include "functions/ipsec/keys.h"
#include "functions/ipsec/vectors_for_test.h"

namespace heddle::ipsec {
namespace {

using namespace vectors;

struct Cbc {
  const char *key, *iv, *plain, *cipher;
};

// clang-format off
constexpr Cbc kRfc3602[] = {
    {"06a9214036b8a15b512e03d534120006",
     "3dafba429d9eb430b422da802c9fac41",
     "53696e676c6520626c6f636b206d7367",
     "e353779c1079aeb82708942dbe77181a"},
    {"c286696d887c9aa0611bbb3e2025a45a",
     "562e17996d093d28ddb3ba695a2e6f58",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "d296cd94c2cccf8a3a863028b5e1dc0a7586602d253cfff91b8266bea6d61ab1"},
    {"6c3ea0477630ce21a2ce334aa746c2cd",
     "c782dc4c098c66cbd9cd27d825682c81",
     "5468697320697320612034382d62797465206d657373616765202865786163746c7920332041455320626c6f636b7329",
     "d0a02b3836451753d493665d33f0e8862dea54cdb293abc7506939276772f8d5021c19216bad525c8579695d83ba2684"},
    {"56e47a38c5598974bc46903dba290349",
     "8ce82eefbea0da3c44699ed7db51b7d9",
     "a0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedf",
     "c30e32ffedc0774e6aff6af0869f71aa0f3af07a9a31a9c684db207eb0ef8e4e35907aa632c3ffdf868bb7b29d3d46ad83ce9f9a102ee99d49a53e87f4c3da55"},
};
// clang-format on

// Cases 5 to 8: whole packets in transport and tunnel mode, pings from 192.168.123.3.
struct CbcPacket {
  const char *key, *packet, *payload;
  uint32_t next_header;
};
// clang-format off
constexpr CbcPacket kRfc3602Packets[] = {
    {"90d382b410eeba7ad938c46cec1a82bf",
     "0000432100000001e96e8c08ab465763fd098d45dd3ff893f663c25d325c18c6a9453e194e120849a4870b66cc6b9965330013b4898dc856a4699e523a55db080b59ec3a8e4b7e52775b07d1db34ed9c538ab50c551b874aa269add047ad2d5913ac19b7cfbad4a6",
     "08000ebda70a00008e9c083db95b070008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
     1},
    {"90d382b410eeba7ad938c46cec1a82bf",
     "000043210000000869d08df7d203329db093fc4924e5bd80f51995881ec4e0c4488987ce742e8109689bb379d2d750c0d915dca346a89f75",
     "0800b5e8a80a0500a69c083d0b660e00777777777777777777777777",
     1},
    {"0123456789abcdef0123456789abcdef",
     "0000876500000002f4e765244f6407adf13dc1380f673f37773b5241a4c449225e4f3ce5ed611b0c237ca96cf74a93013c1b0ea1a0cf70f8e4ecaec78ac53aad7a0f022b859243c647752e94a859352b8a4d4d2decd136e5c177f132ad3fbfb2201ac9904c74ee0a109e0ca1e4dfe9d5a100b842f1c22f0d",
     "45000054090400004001f988c0a87b03c0a87bc808009f76a90a0100b49c083d02a2040008090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f3031323334353637",
     4},
    {"0123456789abcdef0123456789abcdef",
     "000087650000000585d47224b5f3dd5d2101d4ea8dffab2215b92683819596a8047232cc00f7048fe45318e11f8a0f62ede3c3fc61203bb50f980a08c9843fd3a1b06d5c07ff9639b7eb7dfb3512e5de435e7207ed971ef3d2726d9b5ef6affc6d17a0decbb13892",
     "45000044090c00004001f990c0a87b03c0a87bc80800d63caa0a0200c69c083da3de0300ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
     4},
};
// clang-format on

Bytes operator+(Bytes one, const Bytes& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

/** An association with its keys. */
struct Sa {
  Association keys{};
  Details details{};
  uint32_t inner[8] = {}, outer[8] = {};
  alignas(16) uint32_t inverse[60] = {};
  alignas(64) gcm_key_data gcm;

  Sa(const char* key, Suite suite, const char* nonce = "00000000") {
    expand_key(from_hex(key), keys);
    start_hmac(Bytes(20), keys);
    details.suite = suite;
    details.encipher_keys = details.decipher_keys = keys.round_keys;
    details.inner = keys.inner, details.outer = keys.outer;
    details.key_bytes = static_cast<uint8_t>(from_hex(key).size());
    std::memcpy(&details.nonce, from_hex(nonce).data(), 4);
    if (suite.cipher == Cipher::aes_cbc) {
      invert_key(keys, inverse);
      details.decipher_keys = inverse;
    } else if (suite.cipher == Cipher::aes_gcm) {
      start_gcm(keys, gcm);
      details.encipher_keys = details.decipher_keys = &gcm;
    }
  }
};

constexpr Suite kCbc{Cipher::aes_cbc, Hash::hmac_sha1_96, 12}, kCtr{}, kGcmSuite{Cipher::aes_gcm, Hash::none, 16};

/** ESP header, IV, text and room for an ICV, enciphered or deciphered: its text. */
Bytes through(const Sa& sa, Bytes esp, bool encipher) {
  const size_t head = kEspBytes + sa.details.suite.iv_bytes(), size = esp.size();
  esp.resize(size + 16);
  Burst burst;
  burst.begin(1);
  const auto bytes = static_cast<uint32_t>(size - head);
  encipher ? burst.encipher(sa.details, esp.data(), bytes) : burst.decipher(sa.details, esp.data(), bytes);
  EXPECT_TRUE(burst.finish());
  return {esp.begin() + static_cast<long>(head), esp.begin() + static_cast<long>(size)};
}

TEST(IpsecVectors, Cbc) {
  for (auto& v : kRfc3602) {
    const Sa sa(v.key, kCbc);
    EXPECT_EQ(through(sa, Bytes(8) + from_hex(v.iv) + from_hex(v.cipher), false), from_hex(v.plain));
  }
  for (auto& v : kRfc3602Packets) {
    const Sa sa(v.key, kCbc);
    const Bytes text = through(sa, from_hex(v.packet), false);
    const auto load = [&](uint32_t at) {
      uint32_t word;
      std::memcpy(&word, &text[at], 4);
      return word;
    };
    const Payload payload = payload_of(static_cast<uint32_t>(text.size()), load);
    EXPECT_EQ(payload.reason, kGood);
    EXPECT_EQ(payload.next_header, v.next_header);
    EXPECT_EQ(Bytes(text.begin(), text.begin() + payload.bytes), from_hex(v.payload));
  }
}

// The IV is what stood in its place, enciphered (FIPS 197, C.1), and the text follows it as RFC 3602 says.
TEST(IpsecVectors, CbcMakesItsOwnIv) {
  const Sa sa("000102030405060708090a0b0c0d0e0f", kCbc);
  const Bytes text = from_hex(kRfc3602[2].plain);
  Bytes esp = Bytes(8) + from_hex("00112233445566778899aabbccddeeff") + text + Bytes(12);
  Burst burst;
  burst.begin(1);
  burst.encipher(sa.details, esp.data(), static_cast<uint32_t>(text.size()));
  ASSERT_TRUE(burst.finish());
  esp.resize(esp.size() - 12);
  EXPECT_EQ(Bytes(esp.begin() + 8, esp.begin() + 24), from_hex("69c4e0d86a7b0430d8cdb78070b4c55a"));
  EXPECT_EQ(through(sa, esp, false), text);
}

TEST(IpsecVectors, Ctr) {
  for (auto& v : kRfc3686) {
    const Sa sa(v.key, kCtr, v.nonce);
    const Bytes head = Bytes(8) + from_hex(v.iv);
    EXPECT_EQ(through(sa, head + from_hex(v.plain), true), from_hex(v.cipher));
    EXPECT_EQ(through(sa, head + from_hex(v.cipher), false), from_hex(v.plain));
  }
}

TEST(IpsecVectors, Gcm) {
  for (auto& v : kGcm) {
    const Bytes nonce = from_hex(v.nonce), header = from_hex(v.header), sealed = from_hex(v.cipher);
    Sa sa(v.key, kGcmSuite, std::string(v.nonce).substr(0, 8).c_str());
    sa.details.extended = header.size() == 12;  // SPI, upper and lower half of the sequence number (RFC 4106, 5)
    uint32_t high = 0;
    if (sa.details.extended) std::memcpy(&high, &header[4], 4);
    Bytes esp(header.begin(), header.begin() + 4);
    esp = esp + Bytes(header.end() - 4, header.end()) + Bytes(nonce.begin() + 4, nonce.end());
    const auto bytes = static_cast<uint32_t>(sealed.size() - 16);
    for (const uint8_t icv : {8, 12, 16}) {
      sa.details.suite.icv_bytes = icv;
      Bytes packet = esp + from_hex(v.plain) + Bytes(icv);
      Burst burst;
      burst.begin(1);
      burst.encipher(sa.details, packet.data(), bytes, swapped(high));
      ASSERT_TRUE(burst.finish());
      const Bytes wanted = esp + Bytes(sealed.begin(), sealed.end() - 16 + icv);
      EXPECT_EQ(packet, wanted);
      for (const bool good : {true, false}) {
        packet = wanted;
        packet.back() ^= good ? 0 : 1;
        burst.begin(1);
        burst.decipher(sa.details, packet.data(), bytes, swapped(high));
        ASSERT_TRUE(burst.finish());
        EXPECT_EQ(burst.authentic(0), good);
      }
    }
  }
}

/** The start of an HMAC's result: 12 bytes of SHA-1, or 16 of SHA-256. */
Bytes hmac(IMB_MGR* manager, bool sha256, const uint32_t* inner, const uint32_t* outer, const Bytes& text) {
  uint8_t tag[32] = {};
  IMB_JOB* job = IMB_GET_NEXT_JOB(manager);
  job->cipher_mode = IMB_CIPHER_NULL, job->cipher_direction = IMB_DIR_ENCRYPT, job->chain_order = IMB_ORDER_HASH_CIPHER;
  job->hash_alg = sha256 ? IMB_AUTH_HMAC_SHA_256 : IMB_AUTH_HMAC_SHA_1;
  job->src = text.data(), job->dst = nullptr;
  job->hash_start_src_offset_in_bytes = 0, job->msg_len_to_hash_in_bytes = text.size();
  job->u.HMAC._hashed_auth_key_xor_ipad = reinterpret_cast<const uint8_t*>(inner);
  job->u.HMAC._hashed_auth_key_xor_opad = reinterpret_cast<const uint8_t*>(outer);
  job->auth_tag_output = tag, job->auth_tag_output_len_in_bytes = sha256 ? 16 : 12;
  if (IMB_SUBMIT_JOB(manager) == nullptr) IMB_FLUSH_JOB(manager);
  return {tag, tag + (sha256 ? 16 : 12)};
}

TEST(IpsecVectors, Hmac) {
  const std::unique_ptr<IMB_MGR, void (*)(IMB_MGR*)> manager(alloc_mb_mgr(0), free_mb_mgr);
  init_mb_mgr_auto(manager.get(), nullptr);
  for (auto& v : kHmac) {
    Association sa{};
    uint32_t inner[8], outer[8];
    start_hmac(from_hex(v.key), sa);
    start_hmac_sha256(from_hex(v.key), inner, outer);
    const auto begins = [](const char* hex, const Bytes& with) {
      const Bytes all = from_hex(hex);  // of some vectors only the start is published
      return std::equal(all.begin(), all.begin() + static_cast<long>(std::min(all.size(), with.size())), with.begin());
    };
    if (v.sha1 != nullptr) {
      EXPECT_TRUE(begins(v.sha1, hmac(manager.get(), false, sa.inner, sa.outer, from_hex(v.text)))) << v.text;
    }
    EXPECT_TRUE(begins(v.sha256, hmac(manager.get(), true, inner, outer, from_hex(v.text)))) << v.text;
    if (v.sha1 != nullptr) {
      EXPECT_TRUE(begins(v.sha1, hmac_by_blocks(false, sa.inner, sa.outer, from_hex(v.text)))) << v.text;
    }
    EXPECT_TRUE(begins(v.sha256, hmac_by_blocks(true, inner, outer, from_hex(v.text)))) << v.text;
  }
}

// ---- vectors of HEDDLE_TEST_DATA

class IpsecVectorsOfData : public testing::Test {
 protected:
  void SetUp() override {
    if (folder_.empty()) GTEST_SKIP() << "HEDDLE_TEST_DATA has no crypto/";
  }
  const std::filesystem::path folder_ = data_folder();
};

// Right tags are what the CPU and the blocks that a GPU computes make of the message, and no wrong one is, as far as an
// ICV goes: of 14 only what is behind its 96 bits is wrong.
TEST_F(IpsecVectorsOfData, WycheproofOfHmacSha1) {
  const std::unique_ptr<IMB_MGR, void (*)(IMB_MGR*)> manager(alloc_mb_mgr(0), free_mb_mgr);
  init_mb_mgr_auto(manager.get(), nullptr);
  int right = 0, wrong = 0, behind = 0;
  for (auto& v : wycheproof(folder_)) {
    if (v.key.size() > 64) continue;
    Association sa{};
    start_hmac(v.key, sa);
    const Bytes whole = hmac_by_blocks(false, sa.inner, sa.outer, v.message);
    const Bytes icv(whole.begin(), whole.begin() + 12);
    if (!v.message.empty()) {  // which the library refuses
      EXPECT_EQ(hmac(manager.get(), false, sa.inner, sa.outer, v.message), icv);
    }
    EXPECT_EQ(std::equal(v.tag.begin(), v.tag.end(), whole.begin()), v.valid);
    const bool taken =
        std::equal(icv.begin(), icv.begin() + static_cast<long>(std::min<size_t>(12, v.tag.size())), v.tag.begin());
    EXPECT_TRUE(taken || !v.valid);
    ++(v.valid ? right : wrong);
    behind += taken && !v.valid;
  }
  EXPECT_EQ(right, 60);
  EXPECT_EQ(wrong, 104);
  EXPECT_EQ(behind, 14);
}

// AES itself is seen in CBC: enciphered is what stands in the IV's place, and a block behind an IV of zeros is
// deciphered.
TEST_F(IpsecVectorsOfData, NistOfAes) {
  Burst burst;
  int count = 0;
  for (const char* file : {"ECBGFSbox128", "ECBKeySbox128", "ECBMMT128", "ECBVarKey128", "ECBVarTxt128"})
    for (auto& v : nist(folder_ / "AES-ECB" / (file + std::string(".rsp")))) {
      if (!v.contains("KEY")) continue;
      const Sa sa(v["KEY"].c_str(), kCbc);
      const Bytes plain = from_hex(v["PLAINTEXT"]), cipher = from_hex(v["CIPHERTEXT"]);
      for (size_t at = 0; at < plain.size(); at += 16) {
        const auto block = [&](const Bytes& of) {
          return Bytes(of.begin() + static_cast<long>(at), of.begin() + static_cast<long>(at) + 16);
        };
        Bytes esp = Bytes(8) + block(plain) + Bytes(16 + 12);
        burst.begin(1);
        burst.encipher(sa.details, esp.data(), 16);
        ASSERT_TRUE(burst.finish());
        EXPECT_EQ(Bytes(esp.begin() + 8, esp.begin() + 24), block(cipher));
        EXPECT_EQ(through(sa, Bytes(8 + 16) + block(cipher), false), block(plain));
        ++count;
      }
    }
  EXPECT_GT(count, 500);
}

TEST_F(IpsecVectorsOfData, NistOfSha1) {
  constexpr uint32_t kStart[] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};  // FIPS 180-4, 5.3.1
  int count = 0;
  for (const char* file : {"SHA1ShortMsg.rsp", "SHA1LongMsg.rsp"})
    for (auto& v : nist(folder_ / "SHA1" / file)) {
      if (!v.contains("MD")) continue;
      Bytes message = from_hex(v["Msg"]);
      message.resize(std::stoul(v["Len"]) / 8);
      EXPECT_EQ(hash_by_blocks(false, kStart, 0, message), from_hex(v["MD"]));
      ++count;
    }
  EXPECT_GT(count, 100);
}

}  // namespace
}  // namespace heddle::ipsec
