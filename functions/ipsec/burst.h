#pragma once

#include <intel-ipsec-mb.h>

#include <memory>
#include <vector>

#include "functions/ipsec/rule.h"

namespace heddle::ipsec {

/** What a packet thread hands to intel-ipsec-mb: up to kMost packets at a time. */
class Burst {
 public:
  static constexpr int kMost = IMB_MAX_BURST_SIZE;

  Burst();

  /** Begins a burst of at most `count` packets. */
  void begin(int count);
  /** Adds packet number count(): `esp` is its ESP header, behind which are IV and `bytes` of plain text or ciphertext,
   * which is
   *  replaced. Its ICV becomes icv(number). */
  void encipher(const Association& sa, uint8_t* esp, uint32_t bytes) { add(sa, esp, bytes, true); }
  void decipher(const Association& sa, uint8_t* esp, uint32_t bytes) { add(sa, esp, bytes, false); }
  int count() const { return count_; }
  /** Does the work. False, which no valid packet leads to, if the library refuses: no result is valid then. */
  bool finish();
  const uint8_t* icv(int number) const { return icvs_[number]; }

 private:
  struct Free {
    void operator()(IMB_MGR* manager) const { free_mb_mgr(manager); }
  };
  void add(const Association& sa, uint8_t* esp, uint32_t bytes, bool encipher);

  std::unique_ptr<IMB_MGR, Free> manager_;
  int count_ = 0;
  IMB_JOB* jobs_[kMost];
  alignas(16) uint8_t ivs_[kMost][16], icvs_[kMost][16];
};

/** One for each packet thread. */
std::vector<std::unique_ptr<Burst>> make_bursts(int threads);

}  // namespace heddle::ipsec
