#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/huge_pages.h"
#include "functions/classifier/rule.h"

namespace heddle::classifier {

/** Packets that have hit each rule, by id. Each packet thread counts for itself, and a GPU for itself. */
class Hits {
 public:
  void start(int threads) {
    while (counts_.size() < static_cast<size_t>(threads)) counts_.push_back(map_huge_pages(kMaxRules * sizeof(Count)));
  }
  /** Called on that thread; kNoId counts nothing, and nothing is counted before start(). */
  void add(int thread, uint32_t id) {
    if (id == kNoId || counts_.empty()) return;
    Count& count = count_of(counts_[static_cast<size_t>(thread)], id);
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  /** Fetches what a GPU has counted of all ids that rules have had, for the calls below: `read` copies the counts of
   *  the ids from 0 on, or leaves them and returns false. Without it a GPU has counted what it had at the last call. */
  void fetch(const std::function<bool(std::span<uint64_t>)>& read) {
    std::vector<uint64_t> now(used_);
    if (read(now)) on_gpu_ = std::move(now);
  }
  /** Since the last reset() of the id. */
  uint64_t operator[](uint32_t id) const { return sum(id) - (id < before_.size() ? before_[id] : 0); }
  /** Another rule has the id from now on. */
  void reset(uint32_t id) {
    used_ = std::max(used_, id + 1);
    const uint64_t so_far = sum(id);
    if (so_far != 0 && id >= before_.size()) before_.resize(id + 1);
    if (id < before_.size()) before_[id] = so_far;
  }
  /** Moves all that `of` has counted, of rules that keep their ids; back by a call the other way round. */
  void take(Hits& of) {
    used_ = std::max(used_, of.used_);
    for (uint32_t id = 0; id < of.used_; ++id) take(id, of, id);
  }
  /** Moves what `of` has counted of a rule by its id there to this one's. By a call the other way round it is back. */
  void take(uint32_t id, Hits& of, uint32_t its_id) {
    const uint64_t packets = of[its_id];
    if (packets == 0) return;
    if (id >= before_.size()) before_.resize(id + 1);
    before_[id] -= packets;
    of.reset(its_id);
  }

 private:
  using Count = std::atomic<uint64_t>;
  static Count& count_of(const HugePages& counts, uint32_t id) { return reinterpret_cast<Count*>(counts.get())[id]; }
  uint64_t sum(uint32_t id) const {
    uint64_t total = id < on_gpu_.size() ? on_gpu_[id] : 0;
    for (const HugePages& counts : counts_) total += count_of(counts, id).load(std::memory_order_relaxed);
    return total;
  }

  std::vector<HugePages> counts_;  // by thread, [kMaxRules]
  uint32_t used_ = 0;              // ids below it have been a rule's
  std::vector<uint64_t> on_gpu_;   // by id
  std::vector<uint64_t> before_;   // what sum() was when the rule got its id, less what take() has brought
};

}  // namespace heddle::classifier
