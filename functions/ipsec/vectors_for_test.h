#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "functions/ipsec/sha.h"

/** Published vectors that several tests want, and those of HEDDLE_TEST_DATA. */
namespace heddle::ipsec::vectors {

using Bytes = std::vector<uint8_t>;

inline Bytes from_hex(const std::string& hex) {
  Bytes bytes;
  for (size_t at = 0; at < hex.size(); at += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoul(hex.substr(at, 2), nullptr, 16)));
  return bytes;
}

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

/** SHA-1 or SHA-256 by the blocks of sha.h, which a GPU computes, of what has brought the hash to `start` with `before`
 *  bytes and of `message`. */
inline Bytes hash_by_blocks(bool sha256, const uint32_t* start, size_t before, Bytes message) {
  const size_t digest = sha256 ? 32 : 20, bits = 8 * (before + message.size());
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
}

/** All of an HMAC; `inner` and `outer`: behind the block of the key. */
inline Bytes hmac_by_blocks(bool sha256, const uint32_t* inner, const uint32_t* outer, const Bytes& text) {
  return hash_by_blocks(sha256, outer, 64, hash_by_blocks(sha256, inner, 64, text));
}

/** The folder HEDDLE_TEST_DATA/crypto, or nothing. */
inline std::filesystem::path data_folder() {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  const auto folder = std::filesystem::path(data == nullptr ? "" : data) / "crypto";
  return std::filesystem::exists(folder) ? folder : std::filesystem::path();
}

/** Wycheproof's of HMAC-SHA-1. */
struct Tagged {
  Bytes key, message, tag;  // tag: 20 bytes or the first 10
  bool valid;
};
inline std::vector<Tagged> wycheproof(const std::filesystem::path& folder) {
  std::ifstream file(folder / "hmac_sha1_test.json");
  const nlohmann::json all = nlohmann::json::parse(file);
  std::vector<Tagged> list;
  for (auto& group : all["testGroups"])
    for (auto& test : group["tests"])
      list.push_back({from_hex(test["key"]), from_hex(test["msg"]), from_hex(test["tag"]), test["result"] == "valid"});
  return list;
}

/** NIST's: names and values of each paragraph. */
inline std::vector<std::map<std::string, std::string>> nist(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::map<std::string, std::string>> list(1);
  for (std::string line; std::getline(file, line);) {
    while (!line.empty() && line.back() == '\r') line.pop_back();
    const size_t equals = line.find(" = ");
    if (line.empty())
      list.emplace_back();
    else if (equals != std::string::npos)
      list.back()[line.substr(0, equals)] = line.substr(equals + 3);
  }
  return list;
}

}  // namespace heddle::ipsec::vectors
