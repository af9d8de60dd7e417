#pragma once

#include <intel-ipsec-mb.h>

#include <memory>
#include <vector>

#include "functions/ipsec/details.h"
#include "functions/ipsec/secret_memory.h"

namespace heddle::ipsec {

/** What a packet thread hands to intel-ipsec-mb: up to kMax packets at a time. */
class Burst {
 public:
  static constexpr int kMax = IMB_MAX_BURST_SIZE;

  Burst();

  /** Begins a burst of at most `count` packets. */
  void begin(int count);
  /** Adds packet number count(): `esp` is its ESP header, behind which are IV, `bytes` of plain text or ciphertext,
   *  which is replaced, and the ICV, which finish() writes for what is enciphered. `high`: upper half of its sequence
   *  number, if that is extended. */
  void encipher(const Details& sa, uint8_t* esp, uint32_t bytes, uint32_t high = 0) { add(sa, esp, bytes, high, true); }
  void decipher(const Details& sa, uint8_t* esp, uint32_t bytes, uint32_t high = 0) {
    add(sa, esp, bytes, high, false);
  }
  int count() const { return count_; }
  /** Does the work. False, which no valid packet leads to, if the library refuses: no result is valid then. */
  bool finish();
  /** Whether the ICV that packet `number`, which has been deciphered, came with is right; takes a time that does not
   *  depend on it. */
  bool authentic(int number) const;

 private:
  struct Free {
    void operator()(IMB_MGR* manager) const { free_mb_mgr(manager); }
  };
  /** The ICV of a packet from outside. */
  struct Tag {
    const uint8_t* received;  // in the packet, or `copy`
    uint32_t bytes;
    alignas(16) uint8_t made[32], copy[16];
  };
  void add(const Details& sa, uint8_t* esp, uint32_t bytes, uint32_t high, bool encipher);
  void set_cipher(const Details& sa, IMB_JOB& job, uint8_t* esp, uint32_t bytes, bool encipher);
  void set_hash(const Details& sa, IMB_JOB& job, uint8_t* esp, uint32_t bytes, uint32_t high, bool encipher);

  std::unique_ptr<IMB_MGR, Free> manager_;
  int count_ = 0;
  IMB_JOB* jobs_[kMax];
  SecretMemory memory_;
  uint8_t (*ivs_)[16];  // [kMax], with nonces, which are part of the key
  alignas(16) uint8_t headers_[kMax][16];
  Tag tags_[kMax];
};

/** One for each packet thread. */
std::vector<std::unique_ptr<Burst>> make_bursts(int threads);

}  // namespace heddle::ipsec
