#pragma once

#include <hs/hs.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::nids {

/** Searches for patterns on the CPU, by Hyperscan. (Not by its fork Vectorscan, which has the same interface: that of
 *  Debian 12, 5.4.9, misses patterns near the end of a text where the processor has AVX-512; the tests find it out.) */
class Scanner {
 public:
  /** For packet threads 0..`threads` - 1. Throws Error when Hyperscan does not take the patterns. */
  Scanner(const std::vector<std::string>& patterns, int threads);
  ~Scanner();
  Scanner(const Scanner&) = delete;
  Scanner& operator=(const Scanner&) = delete;

  /** Whether some pattern occurs in `text`, in letters of any case. On that thread. */
  bool finds(std::span<const uint8_t> text, int thread) const;

  /** Whether this processor has what Hyperscan needs. */
  static bool available() { return hs_valid_platform() == HS_SUCCESS; }

 private:
  hs_database_t* database_ = nullptr;
  std::vector<hs_scratch_t*> scratch_;  // by thread
};

}  // namespace heddle::nids
