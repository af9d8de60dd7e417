#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "core/huge_pages.h"
#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** Packets that have hit each rule, by id. Each packet thread counts for itself. */
class Hits {
 public:
  void start(int threads) {
    while (counts_.size() < static_cast<size_t>(threads)) counts_.push_back(map_huge_pages(kMostRules * sizeof(Count)));
  }
  /** Called on that thread; kNoId counts nothing, and nothing is counted before start(). */
  void add(int thread, uint32_t id) {
    if (id == kNoId || counts_.empty()) return;
    Count& count = of(counts_[static_cast<size_t>(thread)], id);
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /** Since the last reset() of the id. */
  uint64_t operator[](uint32_t id) const { return sum(id) - (id < before_.size() ? before_[id] : 0); }
  /** Another rule has the id from now on. */
  void reset(uint32_t id) {
    const uint64_t so_far = sum(id);
    if (so_far != 0 && id >= before_.size()) before_.resize(id + 1);
    if (id < before_.size()) before_[id] = so_far;
  }

 private:
  using Count = std::atomic<uint64_t>;
  static Count& of(const HugePages& counts, uint32_t id) { return reinterpret_cast<Count*>(counts.get())[id]; }
  uint64_t sum(uint32_t id) const {
    uint64_t total = 0;
    for (const HugePages& counts : counts_) total += of(counts, id).load(std::memory_order_relaxed);
    return total;
  }

  std::vector<HugePages> counts_;  // by thread, [kMostRules]
  std::vector<uint64_t> before_;   // what sum() was when the rule got its id
};

}  // namespace heddle::classifier
