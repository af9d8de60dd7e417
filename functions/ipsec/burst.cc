#include "functions/ipsec/burst.h"

#include <cstring>

#include "core/error.h"

namespace heddle::ipsec {
namespace {

/** The library's names for the algorithms of an association. */
void set_transform(const Association& sa, IMB_JOB& job) {
  switch (sa.transform) {
    case Transform::aes_ctr_hmac_sha1_96:
      job.cipher_mode = IMB_CIPHER_CNTR;
      job.hash_alg = IMB_AUTH_HMAC_SHA_1;
      job.key_len_in_bytes = 4 * (sa.rounds - 6);
      job.enc_keys = job.dec_keys = sa.round_keys;
      job.u.HMAC._hashed_auth_key_xor_ipad = reinterpret_cast<const uint8_t*>(sa.inner);
      job.u.HMAC._hashed_auth_key_xor_opad = reinterpret_cast<const uint8_t*>(sa.outer);
      job.auth_tag_output_len_in_bytes = kIcvBytes;
      break;
  }
}

}  // namespace

Burst::Burst() : manager_(alloc_mb_mgr(0)) {
  if (manager_ == nullptr) throw Error("intel-ipsec-mb gets no memory");
  init_mb_mgr_auto(manager_.get(), nullptr);
  if (imb_get_errno(manager_.get()) != 0)
    throw Error(format("intel-ipsec-mb does not run on this CPU: %s", imb_get_strerror(imb_get_errno(manager_.get()))));
}

void Burst::begin(int count) {
  count_ = 0;
  IMB_GET_NEXT_BURST(manager_.get(), static_cast<uint32_t>(count), jobs_);
}

void Burst::add(const Association& sa, uint8_t* esp, uint32_t bytes, bool encipher) {
  IMB_JOB& job = *jobs_[count_];
  uint8_t* iv = ivs_[count_];  // the library appends the block counter, which begins at 1
  std::memcpy(iv, &sa.nonce, 4);
  std::memcpy(iv + 4, esp + kEspBytes, kIvBytes);
  set_transform(sa, job);
  job.src = esp;
  job.dst = esp + kEspBytes + kIvBytes;
  job.cipher_start_src_offset_in_bytes = kEspBytes + kIvBytes;
  job.msg_len_to_cipher_in_bytes = bytes;
  job.hash_start_src_offset_in_bytes = 0;
  job.msg_len_to_hash_in_bytes = kEspBytes + kIvBytes + bytes;
  job.iv = iv;
  job.iv_len_in_bytes = 12;
  job.auth_tag_output = icvs_[count_];
  job.cipher_direction = encipher ? IMB_DIR_ENCRYPT : IMB_DIR_DECRYPT;
  job.chain_order = encipher ? IMB_ORDER_CIPHER_HASH : IMB_ORDER_HASH_CIPHER;
  ++count_;
}

bool Burst::finish() {
  if (count_ == 0) return true;
  IMB_JOB* done[kMost];
  std::memcpy(done, jobs_, sizeof(IMB_JOB*) * static_cast<size_t>(count_));
  uint32_t finished = IMB_SUBMIT_BURST(manager_.get(), static_cast<uint32_t>(count_), done);
  bool ok = imb_get_errno(manager_.get()) == 0;
  const auto check = [&](uint32_t n) {
    for (uint32_t i = 0; i < n; ++i) ok = ok && done[i]->status == IMB_STATUS_COMPLETED;
  };
  check(finished);
  for (uint32_t more; (more = IMB_FLUSH_BURST(manager_.get(), kMost, done)) > 0; finished += more) check(more);
  return ok && finished == static_cast<uint32_t>(count_);
}

std::vector<std::unique_ptr<Burst>> make_bursts(int threads) {
  std::vector<std::unique_ptr<Burst>> bursts;
  for (int t = 0; t < threads; ++t) bursts.push_back(std::make_unique<Burst>());
  return bursts;
}

}  // namespace heddle::ipsec
