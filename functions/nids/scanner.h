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
  /** For packet threads 0..`threads` - 1. `patterns`: of each group. Throws Error when Hyperscan does not take them. */
  Scanner(const std::vector<std::vector<std::string>>& patterns, int threads);

  /** Whether some pattern of the group occurs in `text`, in letters of any case. On that thread. */
  bool finds(size_t group, std::span<const uint8_t> text, int thread) const;

  /** Whether this processor has what Hyperscan needs. */
  static bool available() { return hs_valid_platform() == HS_SUCCESS; }

 private:
  struct Free {
    void operator()(hs_database_t* database) const { hs_free_database(database); }
    void operator()(hs_scratch_t* scratch) const { hs_free_scratch(scratch); }
  };
  using Database = std::unique_ptr<hs_database_t, Free>;
  using Scratch = std::unique_ptr<hs_scratch_t, Free>;
  void add(const std::vector<std::string>& patterns);

  std::vector<Database> databases_;  // [group], null: it has no patterns
  std::vector<Scratch> scratch_;     // by thread, for all databases
};

}  // namespace heddle::nids
