// Published vectors: RFC 3602 (section 4), RFC 3686 (section 6), RFC 2202 and RFC 4231 (keys up to 64 bytes, which is all that
// IPsec has), RFC 4868 (section 2.7.2.1), and draft-mcgrew-gcm-test-01, which has those of RFC 4106. Ciphers as packets have them, through Burst.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include "functions/ipsec/burst.h"
#include "functions/ipsec/keys.h"
#include "functions/ipsec/sha.h"

namespace heddle::ipsec {
namespace {

using Bytes = std::vector<uint8_t>;

struct Cbc {
  const char *key, *iv, *plain, *cipher;
};
struct Ctr {
  const char *key, *iv, *nonce, *plain, *cipher;
};
struct Hmac {
  const char *key, *text, *sha1, *sha256;  // sha1: or null
};
struct Gcm {
  const char *key, *nonce, *header, *plain, *cipher;  // header: what is authenticated only; cipher: with the ICV
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
constexpr Ctr kRfc3686[] = {
    {"ae6852f8121067cc4bf7a5765577f39e",
     "0000000000000000",
     "00000030",
     "53696e676c6520626c6f636b206d7367",
     "e4095d4fb7a7b3792d6175a3261311b8"},
    {"7e24067817fae0d743d6ce1f32539163",
     "c0543b59da48d90b",
     "006cb6db",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "5104a106168a72d9790d41ee8edad388eb2e1efc46da57c8fce630df9141be28"},
    {"7691be035e5020a8ac6e618529f9a0dc",
     "27777f3f4a1786f0",
     "00e0017b",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
     "c1cf48a89f2ffdd9cf4652e9efdb72d74540a42bde6d7836d59a5ceaaef3105325b2072f"},
    {"16af5b145fc9f579c175f93e3bfb0eed863d06ccfdb78515",
     "36733c147d6d93cb",
     "00000048",
     "53696e676c6520626c6f636b206d7367",
     "4b55384fe259c9c84e7935a003cbe928"},
    {"7c5cb2401b3dc33c19e7340819e0f69c678c3db8e6f6a91a",
     "020c6eadc2cb500d",
     "0096b03b",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "453243fc609b23327edfaafa7131cd9f8490701c5ad4a79cfc1fe0ff42f4fb00"},
    {"02bf391ee8ecb159b959617b0965279bf59b60a786d3e0fe",
     "5cbd60278dcc0912",
     "0007bdfd",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
     "96893fc55e5c722f540b7dd1ddf7e758d288bc95c69165884536c811662f2188abee0935"},
    {"776beff2851db06f4c8a0542c8696f6c6a81af1eec96b4d37fc1d689e6c1c104",
     "db5672c97aa8f0b2",
     "00000060",
     "53696e676c6520626c6f636b206d7367",
     "145ad01dbf824ec7560863dc71e3e0c0"},
    {"f6d66d6bd52d59bb0796365879eff886c66dd51a5b6a99744b50590c87a23884",
     "c1585ef15a43d875",
     "00faac24",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
     "f05e231b3894612c49ee000b804eb2a9b8306b508f839d6a5530831d9344af1c"},
    {"ff7a617ce69148e4f1726e2f43581de2aa62d9f805532edff1eed687fb54153d",
     "51a51d70a1c11148",
     "001cc5b7",
     "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20212223",
     "eb6c52821d0bbbf7ce7594462aca4faab407df866569fd07f48cc0b583d6071f1ec0e6b8"},
};
constexpr Hmac kHmac[] = {
    {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
     "4869205468657265",
     "b617318655057264e28bc0b6fb378c8ef146be00",
     "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
    {"4a656665",
     "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
     "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
     "125d7342b9ac11cd91a39af48aa17b4f63f175d3",
     "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"},
    {"0102030405060708090a0b0c0d0e0f10111213141516171819",
     "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
     "4c9007f4026250c6bc8414f9bf50c86c2d7235da",
     "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"},
    {"0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c",
     "546573742057697468205472756e636174696f6e",
     "4c1a03424b55e07fe7f27be1",
     "a3b6167473100ee06e0c796c2955552b"},
    {"0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b",
     "4869205468657265",
     nullptr,
     "198a607eb44bfbc69903a0f1cf2bbdc5ba0aa3f3d9ae3c1c7a3b1696a0b68cf7"},
    {"4a6566654a6566654a6566654a6566654a6566654a6566654a6566654a656665",
     "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
     nullptr,
     "167f928588c5cc2eef8e3093caa0e87c9ff566a14794aa61648d81621a2a40c6"},
    {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
     "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd",
     nullptr,
     "cdcb1220d1ecccea91e53aba3092f962e549fe6ce9ed7fdc43191fbde45c30b0"},
    {"0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20",
     "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
     nullptr,
     "372efcf9b40b35c2115b1346903d2ef42fced46f0846e7257bb156d3d7b30d3f"},
};
constexpr Gcm kGcm[] = {
    {"4c80cdefbb5d10da906ac73c3613a634",
     "2e443b684956ed7e3b244cfe",
     "000043218765432100000000",
     "45000048699a000080114db7c0a80102c0a801010a9bf15638d301000001000000000000045f736970045f756470037369700963796265726369747902646b000021000101020201",
     "fecf537e729d5b07dc30df528dd22b768d1b98736696a6fd348509fa13ceac34cfa2436f14a3f3cf65925bf1f4a13c5d15b21e1884f5ff6247aeabb786b93bce61bc17d768fd9732459018148f6cbe722fd04796562dfdb4"},
    {"feffe9928665731c6d6a8f9467308308",
     "cafebabefacedbaddecaf888",
     "0000a5f80000000a",
     "4500003e698f000080114dccc0a80102c0a801010a980035002a2343b2d001000001000000000000037369700963796265726369747902646b00000100010001",
     "deb22cd9b07c72c16e3a65beeb8df304a5a5897d33ae530f1ba76d5d114d2a5c3de81827c10e9a4f51330d0eec416642cfbb85a5b47e48a4ec3b9ba95d918bd183b70d3aa8bc6ee4c309e9d85a41ad4a"},
    {"feffe9928665731c6d6a8f9467308308feffe9928665731c",
     "cafebabefacedbaddecaf888",
     "0000a5f80000000a",
     "45000028a4ad4000400678800a01038f0a010612802306b8cb712602dd6bb03e501016d075680001",
     "a5b1f8066029aea40e598b8122de02420938b3ab33f828e687b8858b5bfbdbd0315b27452144cc7795457b9652037f5318027b5b4cd7a636"},
    {"abbccddef00112233445566778899aababbccddef00112233445566778899aab",
     "112233440102030405060708",
     "4a2cbfe300000002",
     "4500003069a6400080062690c0a801029389155e0a9e008b2dc57ee0000000007002400020bf0000020405b40101040201020201",
     "ff425c9b724599df7a3bcd510194e00d6a78107f1b0b1cbf06efae9d65a5d763748a637985771d347f0545659f14e99def842d8eb335f4eecfdbf831824b4c4915956c96"},
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

Bytes bytes_of(const std::string& hex) {
  Bytes bytes;
  for (size_t at = 0; at < hex.size(); at += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

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
    expand_key(bytes_of(key), keys);
    start_hmac(Bytes(20), keys);
    details.suite = suite;
    details.encipher_keys = details.decipher_keys = keys.round_keys;
    details.inner = keys.inner, details.outer = keys.outer;
    details.key_bytes = static_cast<uint8_t>(bytes_of(key).size());
    std::memcpy(&details.nonce, bytes_of(nonce).data(), 4);
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
    EXPECT_EQ(through(sa, Bytes(8) + bytes_of(v.iv) + bytes_of(v.cipher), false), bytes_of(v.plain));
  }
  for (auto& v : kRfc3602Packets) {
    const Sa sa(v.key, kCbc);
    const Bytes text = through(sa, bytes_of(v.packet), false);
    const auto load = [&](uint32_t at) {
      uint32_t word;
      std::memcpy(&word, &text[at], 4);
      return word;
    };
    const Payload payload = payload_of(static_cast<uint32_t>(text.size()), load);
    EXPECT_EQ(payload.reason, kGood);
    EXPECT_EQ(payload.next_header, v.next_header);
    EXPECT_EQ(Bytes(text.begin(), text.begin() + payload.bytes), bytes_of(v.payload));
  }
}

// The IV is what stood in its place, enciphered (FIPS 197, C.1), and the text follows it as RFC 3602 says.
TEST(IpsecVectors, CbcMakesItsOwnIv) {
  const Sa sa("000102030405060708090a0b0c0d0e0f", kCbc);
  const Bytes text = bytes_of(kRfc3602[2].plain);
  Bytes esp = Bytes(8) + bytes_of("00112233445566778899aabbccddeeff") + text + Bytes(12);
  Burst burst;
  burst.begin(1);
  burst.encipher(sa.details, esp.data(), static_cast<uint32_t>(text.size()));
  ASSERT_TRUE(burst.finish());
  esp.resize(esp.size() - 12);
  EXPECT_EQ(Bytes(esp.begin() + 8, esp.begin() + 24), bytes_of("69c4e0d86a7b0430d8cdb78070b4c55a"));
  EXPECT_EQ(through(sa, esp, false), text);
}

TEST(IpsecVectors, Ctr) {
  for (auto& v : kRfc3686) {
    const Sa sa(v.key, kCtr, v.nonce);
    const Bytes head = Bytes(8) + bytes_of(v.iv);
    EXPECT_EQ(through(sa, head + bytes_of(v.plain), true), bytes_of(v.cipher));
    EXPECT_EQ(through(sa, head + bytes_of(v.cipher), false), bytes_of(v.plain));
  }
}

TEST(IpsecVectors, Gcm) {
  for (auto& v : kGcm) {
    const Bytes nonce = bytes_of(v.nonce), header = bytes_of(v.header), sealed = bytes_of(v.cipher);
    Sa sa(v.key, kGcmSuite, std::string(v.nonce).substr(0, 8).c_str());
    sa.details.extended = header.size() == 12;  // SPI, upper and lower half of the sequence number (RFC 4106, 5)
    uint32_t high = 0;
    if (sa.details.extended) std::memcpy(&high, &header[4], 4);
    Bytes esp(header.begin(), header.begin() + 4);
    esp = esp + Bytes(header.end() - 4, header.end()) + Bytes(nonce.begin() + 4, nonce.end());
    const auto bytes = static_cast<uint32_t>(sealed.size() - 16);
    for (const uint8_t icv : {8, 12, 16}) {
      sa.details.suite.icv_bytes = icv;
      Bytes packet = esp + bytes_of(v.plain) + Bytes(icv);
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

/** The same by the blocks of sha.h, which a GPU computes; all of the result. */
Bytes hmac_by_blocks(bool sha256, const uint32_t* inner, const uint32_t* outer, Bytes text) {
  const size_t digest = sha256 ? 32 : 20;
  const auto hashed = [&](const uint32_t* start, Bytes message) {
    const size_t bits = 8 * (64 + message.size());  // the block of the key has been before
    message.push_back(0x80);
    while (message.size() % 64 != 56) message.push_back(0);
    for (int shift = 56; shift >= 0; shift -= 8) message.push_back(static_cast<uint8_t>(bits >> shift));
    uint32_t state[8] = {};
    std::copy_n(start, digest / 4, state);
    for (size_t at = 0; at < message.size(); at += 64) {
      uint32_t words[16] = {};
      for (size_t b = 0; b < 64; ++b) words[b / 4] |= uint32_t{message[at + b]} << (24 - 8 * (b % 4));
      sha256 ? sha256_block(state, words) : sha1_block(state, words);
    }
    Bytes bytes;
    for (size_t b = 0; b < digest; ++b) bytes.push_back(static_cast<uint8_t>(state[b / 4] >> (24 - 8 * (b % 4))));
    return bytes;
  };
  return hashed(outer, hashed(inner, std::move(text)));
}

TEST(IpsecVectors, Hmac) {
  const std::unique_ptr<IMB_MGR, void (*)(IMB_MGR*)> manager(alloc_mb_mgr(0), free_mb_mgr);
  init_mb_mgr_auto(manager.get(), nullptr);
  for (auto& v : kHmac) {
    Association sa{};
    uint32_t inner[8], outer[8];
    start_hmac(bytes_of(v.key), sa);
    start_hmac_sha256(bytes_of(v.key), inner, outer);
    const auto begins = [](const char* hex, const Bytes& with) {
      const Bytes all = bytes_of(hex);  // of some vectors only the start is published
      return std::equal(all.begin(), all.begin() + static_cast<long>(std::min(all.size(), with.size())), with.begin());
    };
    if (v.sha1 != nullptr) {
      EXPECT_TRUE(begins(v.sha1, hmac(manager.get(), false, sa.inner, sa.outer, bytes_of(v.text)))) << v.text;
    }
    EXPECT_TRUE(begins(v.sha256, hmac(manager.get(), true, inner, outer, bytes_of(v.text)))) << v.text;
    if (v.sha1 != nullptr) {
      EXPECT_TRUE(begins(v.sha1, hmac_by_blocks(false, sa.inner, sa.outer, bytes_of(v.text)))) << v.text;
    }
    EXPECT_TRUE(begins(v.sha256, hmac_by_blocks(true, inner, outer, bytes_of(v.text)))) << v.text;
  }
}

}  // namespace
}  // namespace heddle::ipsec
