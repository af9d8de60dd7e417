#include "functions/ipsec/keys.h"

#include <string.h>

#include <cstring>
#include <memory>

#include "core/error.h"
#include "core/load.h"
#include "functions/ipsec/sha.h"

namespace heddle::ipsec {

namespace {

constexpr auto kSbox = make_sbox();

/** The library's stateless functions. */
IMB_MGR* library() {
  static const std::unique_ptr<IMB_MGR, void (*)(IMB_MGR*)> manager = [] {
    std::unique_ptr<IMB_MGR, void (*)(IMB_MGR*)> made(alloc_mb_mgr(0), free_mb_mgr);
    if (made == nullptr) throw Error("intel-ipsec-mb gets no memory");
    init_mb_mgr_auto(made.get(), nullptr);
    return made;
  }();
  return manager.get();
}

}  // namespace

void make_lookup(uint32_t (&te)[256]) {
  for (size_t b = 0; b < 256; ++b) {
    const uint32_t one = kSbox[b], two = (one << 1 ^ (one & 0x80 ? 0x1b : 0)) & 0xff;
    te[b] = two | one << 8 | one << 16 | (one ^ two) << 24;
  }
}

void expand_key(std::span<const uint8_t> key, Association& sa) {
  sa.rounds = static_cast<uint32_t>(key.size() / 4 + 6);
  auto* bytes = reinterpret_cast<uint8_t*>(sa.round_keys);
  std::memcpy(bytes, key.data(), key.size());
  uint8_t round = 1;
  for (size_t at = key.size(); at < 16 * (sa.rounds + 1); at += 4) {
    uint8_t word[4];
    std::memcpy(word, bytes + at - 4, 4);
    if (at % key.size() == 0) {
      const uint8_t first = word[0];
      word[0] = kSbox[word[1]] ^ round;
      word[1] = kSbox[word[2]];
      word[2] = kSbox[word[3]];
      word[3] = kSbox[first];
      round = static_cast<uint8_t>(round << 1 ^ (round & 0x80 ? 0x1b : 0));
    } else if (key.size() == 32 && at % 32 == 16) {
      for (uint8_t& byte : word) byte = kSbox[byte];
    }
    for (size_t b = 0; b < 4; ++b) bytes[at + b] = bytes[at + b - key.size()] ^ word[b];
  }
}

void start_hmac(std::span<const uint8_t> key, Association& sa) {
  const auto state_after = [&](uint8_t pad, uint32_t(&state)[8]) {
    uint32_t words[16] = {};
    for (size_t b = 0; b < 64; ++b)
      words[b / 4] |= static_cast<uint32_t>(pad ^ (b < key.size() ? key[b] : 0)) << (24 - 8 * (b % 4));
    constexpr uint32_t kStart[8] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    std::memcpy(state, kStart, sizeof kStart);
    sha1_block(state, words);
    explicit_bzero(words, sizeof words);
  };
  state_after(0x36, sa.inner);
  state_after(0x5c, sa.outer);
}

void start_hmac_sha256(std::span<const uint8_t> key, uint32_t (&inner)[8], uint32_t (&outer)[8]) {
  const auto state_after = [&](uint8_t pad, uint32_t(&state)[8]) {
    uint8_t block[64];
    for (size_t b = 0; b < sizeof block; ++b) block[b] = pad ^ (b < key.size() ? key[b] : 0);
    IMB_SHA256_ONE_BLOCK(library(), block, state);
    explicit_bzero(block, sizeof block);
  };
  state_after(0x36, inner);
  state_after(0x5c, outer);
}

void invert_key(const Association& sa, uint32_t (&words)[60]) {
  alignas(16) uint32_t forwards[60];
  switch (sa.rounds) {
    case 10:
      IMB_AES_KEYEXP_128(library(), sa.round_keys, forwards, words);
      break;
    case 12:
      IMB_AES_KEYEXP_192(library(), sa.round_keys, forwards, words);
      break;
    default:
      IMB_AES_KEYEXP_256(library(), sa.round_keys, forwards, words);
  }
  explicit_bzero(forwards, sizeof forwards);
}

void start_gcm(const Association& sa, gcm_key_data& data) {
  switch (sa.rounds) {
    case 10:
      IMB_AES128_GCM_PRE(library(), sa.round_keys, &data);
      break;
    case 12:
      IMB_AES192_GCM_PRE(library(), sa.round_keys, &data);
      break;
    default:
      IMB_AES256_GCM_PRE(library(), sa.round_keys, &data);
  }
}

void start_ghash(Association& sa) {
  constexpr uint8_t kZeros[16] = {};
  uint8_t key[16];  // GHASH's: zeros enciphered (SP 800-38D, 7.1)
  IMB_JOB* job = IMB_GET_NEXT_JOB(library());
  job->cipher_mode = IMB_CIPHER_ECB, job->cipher_direction = IMB_DIR_ENCRYPT;
  job->hash_alg = IMB_AUTH_NULL, job->chain_order = IMB_ORDER_CIPHER_HASH;
  job->enc_keys = job->dec_keys = sa.round_keys;
  job->key_len_in_bytes = 4 * (sa.rounds - 6);
  job->src = kZeros, job->dst = key;
  job->cipher_start_src_offset_in_bytes = 0, job->msg_len_to_cipher_in_bytes = sizeof key;
  job->iv = nullptr, job->iv_len_in_bytes = 0;
  job = IMB_SUBMIT_JOB(library());
  if (job == nullptr) job = IMB_FLUSH_JOB(library());
  if (job == nullptr || job->status != IMB_STATUS_COMPLETED) throw Error("intel-ipsec-mb enciphers no block");
  Polynomial power{__builtin_bswap64(load_u64(key)), __builtin_bswap64(load_u64(key + 8))};
  sa.powers[0] = divided_by_x(power);
  for (uint32_t i = 1; i < Association::kPowers; ++i) {
    power = product(power, sa.powers[0]);
    sa.powers[i] = divided_by_x(power);
  }
  explicit_bzero(key, sizeof key);
  explicit_bzero(&power, sizeof power);
}

}  // namespace heddle::ipsec
