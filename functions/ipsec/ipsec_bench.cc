// ipsec: IPsecEncap's batch path against bare intel-ipsec-mb in bursts of 128 on the same packets, on one core, without
// I/O. On the GPU: ipsec_gpu_bench.cc.

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

FileAssociation association() {
  const uint8_t key[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  FileAssociation one;
  one.sa.spi = swapped(0x1001);
  one.sa.source = swapped(0xc6336401), one.sa.destination = swapped(0xcb007101);
  expand_key(std::span(key).first<16>(), one.sa);
  start_hmac(key, one.sa);
  return one;
}

// What a program would write that has nothing but the library: ciphertext in place, the tag behind it.
class Bare {
 public:
  explicit Bare(const Association& sa) : sa_(sa), manager_(alloc_mb_mgr(0)) { init_mb_mgr_auto(manager_, nullptr); }
  ~Bare() { free_mb_mgr(manager_); }
  void run(Batch& batch, uint32_t inner) {
    const uint32_t bytes = ciphertext_bytes(inner);
    for (int first = 0; first < batch.size(); first += IMB_MAX_BURST_SIZE) {
      IMB_JOB* jobs[IMB_MAX_BURST_SIZE];
      const uint32_t count = IMB_GET_NEXT_BURST(manager_, IMB_MAX_BURST_SIZE, jobs);
      for (uint32_t k = 0; k < count; ++k) {
        IMB_JOB& job = *jobs[k];
        uint8_t* esp = batch.frame(first + static_cast<int>(k)) + kLink - kEspBytes - kIvBytes;
        std::memcpy(ivs_[k], &sa_.nonce, 4);
        std::memcpy(ivs_[k] + 4, esp + kEspBytes, kIvBytes);
        job.cipher_mode = IMB_CIPHER_CNTR, job.hash_alg = IMB_AUTH_HMAC_SHA_1;
        job.cipher_direction = IMB_DIR_ENCRYPT, job.chain_order = IMB_ORDER_CIPHER_HASH;
        job.key_len_in_bytes = 16, job.enc_keys = job.dec_keys = sa_.round_keys;
        job.u.HMAC._hashed_auth_key_xor_ipad = reinterpret_cast<const uint8_t*>(sa_.inner);
        job.u.HMAC._hashed_auth_key_xor_opad = reinterpret_cast<const uint8_t*>(sa_.outer);
        job.src = esp, job.dst = esp + kEspBytes + kIvBytes;
        job.cipher_start_src_offset_in_bytes = kEspBytes + kIvBytes, job.msg_len_to_cipher_in_bytes = bytes;
        job.hash_start_src_offset_in_bytes = 0, job.msg_len_to_hash_in_bytes = kEspBytes + kIvBytes + bytes;
        job.iv = ivs_[k], job.iv_len_in_bytes = 12;
        job.auth_tag_output = esp + kEspBytes + kIvBytes + bytes, job.auth_tag_output_len_in_bytes = kIcvBytes;
      }
      done_ += IMB_SUBMIT_BURST(manager_, count, jobs);
      while (const uint32_t more = IMB_FLUSH_BURST(manager_, IMB_MAX_BURST_SIZE, jobs)) done_ += more;
    }
  }
  uint64_t done() const { return done_; }

 private:
  const Association& sa_;
  IMB_MGR* manager_;
  uint64_t done_ = 0;
  alignas(16) uint8_t ivs_[IMB_MAX_BURST_SIZE][16] = {};
};

std::vector<Result> ipsec_cpu() {
  pin_to_core(1);
  std::vector<Result> results;
  for (const uint16_t length : {64, 512, 1460}) {
    const uint32_t inner = length - kLink;
    PacketArray packets(kPackets, length, 32);
    Batch& batch = packets.batch;
    IPsecEncap element;
    element.associations().load({association()}, kLink);
    Environment environment;
    element.start(environment);
    const auto original = [&] {
      packets.set_length(length);
      for (int i = 0; i < kPackets; ++i) batch.packet(i)->data_off = PacketArray::kHeadroom;
    };
    // Ciphertext stands where the header was, so each lap writes the header again, as a packet's arrival would.
    const auto header = [&] {
      original();
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
    Bare bare(element.associations()[0]);
    results.push_back(paired(
        format("ipsec-%d", length), "Gb/s", 0.85, kRounds, [&] { return rate([&] { element.run_cpu(batch); }); },
        [&] { return rate([&] { bare.run(batch, inner); }); }));
    if (bare.done() == 0) throw Error("intel-ipsec-mb did nothing");
    // Its result authenticates, and deciphers to what went in.
    header();
    element.run_cpu(batch);
    Burst burst;
    uint8_t* esp = batch.frame(5) + kLink + kIp4Bytes;
    const uint32_t bytes = ciphertext_bytes(inner);
    burst.begin(1);
    burst.decipher(element.associations()[0], esp, bytes);
    if (!burst.finish() || std::memcmp(burst.icv(0), esp + kEspBytes + kIvBytes + bytes, kIcvBytes) != 0)
      throw Error("IPsecEncap gave a wrong result");
  }
  return results;
}

const Register registered("ipsec-cpu", false, ipsec_cpu);

}  // namespace
}  // namespace heddle::bench
