// ipsec: IPsecEncap's batch path against bare intel-ipsec-mb in bursts of 128 on the same packets, on one core, without
// I/O, for each kind of suite with AES-128. On the GPU: ipsec_gpu_bench.cc.

#include <intel-ipsec-mb.h>

#include <cstring>
#include <memory>

#include "bench/bench.h"
#include "bench/packet_array.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/ipsec.h"
#include "functions/ipsec/keys.h"

namespace heddle::bench {
namespace {

using namespace ipsec;

constexpr int kPackets = 256, kRounds = 21;
constexpr uint32_t kLink = 14;

/** What is measured: a name, and what protects. */
struct Case {
  const char* name;
  Suite suite;
};
constexpr Case kCases[] = {
    {"ipsec", {}},
    {"ipsec-ctr-sha256", {Cipher::aes_ctr, Hash::hmac_sha256_128, 16}},
    {"ipsec-cbc-sha256", {Cipher::aes_cbc, Hash::hmac_sha256_128, 16}},
    {"ipsec-gcm", {Cipher::aes_gcm, Hash::none, 16}},
};

FileAssociation association(const Suite& suite) {
  const uint8_t key[32] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  FileAssociation one;
  one.sa.suite = suite;
  one.sa.spi = swapped(0x1001);
  one.sa.source = swapped(0xc6336401), one.sa.destination = swapped(0xcb007101);
  expand_key(std::span(key).first<16>(), one.sa);
  if (suite.hash == Hash::hmac_sha1_96)
    start_hmac(std::span(key).first<20>(), one.sa);
  else
    start_hmac_sha256(key, one.sa.inner, one.sa.outer);
  return one;
}

// What a program would write that has nothing but the library: ciphertext in place, the tag behind it.
class Bare {
 public:
  explicit Bare(const FileAssociation& sa) : sa_(sa), manager_(alloc_mb_mgr(0)) {
    init_mb_mgr_auto(manager_, nullptr);
    IMB_AES128_GCM_PRE(manager_, sa_.sa.round_keys, &gcm_);
  }
  ~Bare() { free_mb_mgr(manager_); }
  void run(Batch& batch, uint32_t inner) {
    const Suite& suite = sa_.sa.suite;
    const uint32_t head = kEspBytes + suite.iv_bytes(), align = suite.alignment();
    const uint32_t bytes = (inner + kTrailerBytes + align - 1) & ~(align - 1);
    for (int first = 0; first < batch.size(); first += IMB_MAX_BURST_SIZE) {
      IMB_JOB* jobs[IMB_MAX_BURST_SIZE];
      const uint32_t count = IMB_GET_NEXT_BURST(manager_, IMB_MAX_BURST_SIZE, jobs);
      for (uint32_t k = 0; k < count; ++k) {
        IMB_JOB& job = *jobs[k];
        uint8_t* esp = batch.frame(first + static_cast<int>(k)) + kLink - head;
        set_cipher(job, esp, k);
        job.cipher_direction = IMB_DIR_ENCRYPT, job.chain_order = IMB_ORDER_CIPHER_HASH;
        job.key_len_in_bytes = 16;
        job.src = esp, job.dst = esp + head;
        job.cipher_start_src_offset_in_bytes = head, job.msg_len_to_cipher_in_bytes = bytes;
        job.hash_start_src_offset_in_bytes = 0, job.msg_len_to_hash_in_bytes = head + bytes;
        job.auth_tag_output = esp + head + bytes, job.auth_tag_output_len_in_bytes = suite.icv_bytes;
        set_hash(job, esp);
      }
      done_ += IMB_SUBMIT_BURST(manager_, count, jobs);
      while (const uint32_t more = IMB_FLUSH_BURST(manager_, IMB_MAX_BURST_SIZE, jobs)) done_ += more;
    }
  }
  uint64_t done() const { return done_; }

 private:
  void set_cipher(IMB_JOB& job, const uint8_t* esp, uint32_t k) {
    job.enc_keys = job.dec_keys = sa_.sa.round_keys;
    job.iv = ivs_[k], job.iv_len_in_bytes = 12;
    std::memcpy(ivs_[k], &sa_.sa.nonce, 4);
    std::memcpy(ivs_[k] + 4, esp + kEspBytes, kIvBytes);
    switch (sa_.sa.suite.cipher) {
      case Cipher::aes_ctr:
        job.cipher_mode = IMB_CIPHER_CNTR;
        break;
      case Cipher::aes_cbc:
        job.cipher_mode = IMB_CIPHER_CBC, job.iv = esp + kEspBytes, job.iv_len_in_bytes = 16;
        break;
      case Cipher::aes_gcm:
        job.cipher_mode = IMB_CIPHER_GCM, job.enc_keys = job.dec_keys = &gcm_;
        break;
    }
  }
  void set_hash(IMB_JOB& job, const uint8_t* esp) {
    if (sa_.sa.suite.hash == Hash::none) {
      job.hash_alg = IMB_AUTH_AES_GMAC;
      job.u.GCM.aad = esp, job.u.GCM.aad_len_in_bytes = kEspBytes;
      return;
    }
    job.hash_alg = sa_.sa.suite.hash == Hash::hmac_sha1_96 ? IMB_AUTH_HMAC_SHA_1 : IMB_AUTH_HMAC_SHA_256;
    job.u.HMAC._hashed_auth_key_xor_ipad = reinterpret_cast<const uint8_t*>(sa_.sa.inner);
    job.u.HMAC._hashed_auth_key_xor_opad = reinterpret_cast<const uint8_t*>(sa_.sa.outer);
  }

  const FileAssociation& sa_;
  IMB_MGR* manager_;
  uint64_t done_ = 0;
  alignas(64) gcm_key_data gcm_;
  alignas(16) uint8_t ivs_[IMB_MAX_BURST_SIZE][16] = {};
};

Result measured(const Case& what, uint16_t length) {
  const uint32_t inner = length - kLink;
  PacketArray packets(kPackets, length, 32);
  Batch& batch = packets.batch;
  IPsecEncap element;
  const FileAssociation one = association(what.suite);
  element.associations().load({&one, 1}, kLink);
  Environment environment;
  element.start(environment);
  // Ciphertext stands where the header was, so each lap writes the header again, as a packet's arrival would.
  const auto header = [&] {
    packets.set_length(length);
    for (int i = 0; i < kPackets; ++i) batch.packet(i)->data_off = PacketArray::kHeadroom;
    for (int i = 0; i < kPackets; ++i) {
      const uint32_t words[2] = {swapped(0x45000000 | inner), 0};
      std::memcpy(batch.frame(i) + kLink, words, sizeof words);
    }
  };
  for (int i = 0; i < kPackets; ++i) {
    batch.column(Column::sa)[i] = 0;
    batch.column(Column::esp_sequence)[i] = static_cast<uint32_t>(i) + 1;
    batch.wide_column(Column::esp_iv)[i] = static_cast<uint64_t>(i);
  }
  const int laps = 400000 / length;
  const auto rate = [&](const auto& work) {
    const double start = seconds_now();
    for (int lap = 0; lap < laps; ++lap) {
      header();
      work();
    }
    return static_cast<double>(laps) * kPackets * length * 8 / (seconds_now() - start) * 1e-9;
  };
  Bare bare(one);
  const Result result = paired(
      format("%s-%d", what.name, length), "Gb/s", 0.85, kRounds, [&] { return rate([&] { element.run_cpu(batch); }); },
      [&] { return rate([&] { bare.run(batch, inner); }); });
  if (bare.done() == 0) throw Error("intel-ipsec-mb did nothing");
  // Its result authenticates.
  header();
  element.run_cpu(batch);
  Burst burst;
  const Associations& associations = element.associations();
  burst.begin(1);
  burst.decipher(associations.details(0), batch.frame(5) + kLink + kIp4Bytes, associations[0].ciphertext_bytes(inner));
  if (!burst.finish() || !burst.authentic(0)) throw Error("IPsecEncap gave a wrong result");
  return result;
}

std::vector<Result> ipsec_cpu() {
  pin_to_core(1);
  std::vector<Result> results;
  for (const Case& what : kCases)
    for (const uint16_t length : {64, 512, 1460}) results.push_back(measured(what, length));
  return results;
}

const Register registered("ipsec-cpu", false, ipsec_cpu);

}  // namespace
}  // namespace heddle::bench
