#include "functions/ipsec/burst.h"

#include <cstring>

#include "core/error.h"
#include "core/load.h"

namespace heddle::ipsec {
namespace {

alignas(16) constexpr uint8_t kZeros[16] = {};

}  // namespace

Burst::Burst() : manager_(alloc_mb_mgr(0)) {
  if (manager_ == nullptr) throw Error("intel-ipsec-mb gets no memory");
  init_mb_mgr_auto(manager_.get(), nullptr);
  if (imb_get_errno(manager_.get()) != 0)
    throw Error(format("intel-ipsec-mb does not run on this CPU: %s", imb_get_strerror(imb_get_errno(manager_.get()))));
  memory_.allocate(kMax * sizeof *ivs_);
  ivs_ = reinterpret_cast<uint8_t(*)[16]>(memory_.data());
}

void Burst::begin(int count) {
  count_ = 0;
  IMB_GET_NEXT_BURST(manager_.get(), static_cast<uint32_t>(count), jobs_);
}

void Burst::set_cipher(const Details& sa, IMB_JOB& job, uint8_t* esp, uint32_t bytes, bool encipher) {
  uint8_t* iv = ivs_[count_];
  uint32_t from = kEspBytes + sa.suite.iv_bytes();  // of the stream, and how many
  job.iv = iv;
  job.iv_len_in_bytes = 12;
  switch (sa.suite.cipher) {
    case Cipher::aes_ctr:  // the library appends the block counter, which begins at 1
    case Cipher::aes_gcm:
      job.cipher_mode = sa.suite.cipher == Cipher::aes_ctr ? IMB_CIPHER_CNTR : IMB_CIPHER_GCM;
      std::memcpy(iv, &sa.nonce, 4);
      std::memcpy(iv + 4, esp + kEspBytes, kIvBytes);
      break;
    case Cipher::aes_cbc:
      job.cipher_mode = IMB_CIPHER_CBC;
      job.iv_len_in_bytes = 16;
      if (encipher) {  // what stands in the IV's place is enciphered first, and so becomes an IV that nobody can
                       // predict
        job.iv = kZeros;
        from = kEspBytes;
        bytes += sa.suite.iv_bytes();
      } else {
        std::memcpy(iv, esp + kEspBytes, 16);
      }
      break;
  }
  job.enc_keys = sa.encipher_keys;
  job.dec_keys = sa.decipher_keys;
  job.key_len_in_bytes = sa.key_bytes;
  job.src = esp;
  job.dst = esp + from;
  job.cipher_start_src_offset_in_bytes = from;
  job.msg_len_to_cipher_in_bytes = bytes;
}

void Burst::set_hash(const Details& sa, IMB_JOB& job, uint8_t* esp, uint32_t bytes, uint32_t high, bool encipher) {
  const uint32_t from = kEspBytes + sa.suite.iv_bytes();
  uint8_t* const place = esp + from + bytes;
  Tag& tag = tags_[count_];
  if (!encipher) tag.received = place, tag.bytes = sa.suite.icv_bytes;
  job.hash_start_src_offset_in_bytes = 0;
  job.msg_len_to_hash_in_bytes = from + bytes;
  job.auth_tag_output = encipher ? place : tag.made;
  job.auth_tag_output_len_in_bytes = sa.suite.icv_bytes;
  if (sa.suite.hash == Hash::none) {  // GCM
    uint8_t* header = headers_[count_];
    job.hash_alg = IMB_AUTH_AES_GMAC;
    job.hash_start_src_offset_in_bytes = from;
    job.msg_len_to_hash_in_bytes = bytes;
    job.u.GCM.aad = esp;
    job.u.GCM.aad_len_in_bytes = kEspBytes;
    if (!sa.extended) return;
    std::memcpy(header, esp, 4);  // RFC 4106, 5
    store_u32(header + 4, swapped(high));
    std::memcpy(header + 8, esp + 4, 4);
    job.u.GCM.aad = header;
    job.u.GCM.aad_len_in_bytes = 12;
    return;
  }
  job.hash_alg = sa.suite.hash == Hash::hmac_sha1_96 ? IMB_AUTH_HMAC_SHA_1 : IMB_AUTH_HMAC_SHA_256;
  job.u.HMAC._hashed_auth_key_xor_ipad = reinterpret_cast<const uint8_t*>(sa.inner);
  job.u.HMAC._hashed_auth_key_xor_opad = reinterpret_cast<const uint8_t*>(sa.outer);
  if (!sa.extended) return;
  // The upper half is hashed as if it stood behind the packet (RFC 4303, 2.2.1), where the ICV is.
  if (!encipher) {
    std::memcpy(tag.copy, place, tag.bytes);
    tag.received = tag.copy;
  }
  store_u32(place, swapped(high));
  job.msg_len_to_hash_in_bytes += 4;
}

void Burst::add(const Details& sa, uint8_t* esp, uint32_t bytes, uint32_t high, bool encipher) {
  IMB_JOB& job = *jobs_[count_];
  set_cipher(sa, job, esp, bytes, encipher);
  set_hash(sa, job, esp, bytes, high, encipher);
  job.cipher_direction = encipher ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
  job.chain_order = encipher ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
  ++count_;
}

bool Burst::finish() {
  if (count_ == 0) return true;
  IMB_JOB* done[kMax];
  std::memcpy(done, jobs_, sizeof(IMB_JOB*) * static_cast<size_t>(count_));
  uint32_t finished = IMB_SUBMIT_BURST(manager_.get(), static_cast<uint32_t>(count_), done);
  bool ok = imb_get_errno(manager_.get()) == 0;
  const auto check = [&](uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) ok = ok && done[i]->status == IMB_STATUS_COMPLETED;
  };
  check(finished);
  for (uint32_t more; (more = IMB_FLUSH_BURST(manager_.get(), kMax, done)) > 0; finished += more) check(more);
  return ok && finished == static_cast<uint32_t>(count_);
}

bool Burst::authentic(int number) const {
  const Tag& tag = tags_[number];
  uint32_t difference = 0;
  for (uint32_t at = 0; at < tag.bytes; at += 4) difference |= load_u32(tag.made + at) ^ load_u32(tag.received + at);
  return difference == 0;
}

std::vector<std::unique_ptr<Burst>> make_bursts(int threads) {
  std::vector<std::unique_ptr<Burst>> bursts;
  for (int t = 0; t < threads; ++t) bursts.push_back(std::make_unique<Burst>());
  return bursts;
}

}  // namespace heddle::ipsec
