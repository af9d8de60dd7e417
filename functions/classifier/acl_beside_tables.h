#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "functions/classifier/engine.h"
#include "functions/classifier/set_changes.h"

namespace heddle::classifier {

/** rte_acl, which takes long to build, with hash tables of the same rules beside it. A change goes to these, and from
 *  then on keys are looked up there. When no further change has come for as long as rte_acl takes to build, a thread
 *  builds it anew, and keys are looked up by it again, unless the set has changed meanwhile. If rte_acl cannot be built
 *  the tables stay, until the next load(). */
class AclBesideTables : public RuleEngine {
 public:
  /** `acl` has been started and has `rules`, as load() takes them. Throws Error if hash tables have no room for
   *  them. */
  AclBesideTables(const Limits& limits, std::unique_ptr<RuleEngine> acl, std::span<const SetRule> rules);

  void load(std::span<const SetRule> rules) override;
  void change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all) override;
  void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const override {
    now_.load(std::memory_order_acquire)->classify(keys, outcomes, n);
  }
  size_t bytes() const override;
  bool has_retired() const override;
  void reclaim() override;

  /** Whether keys are looked up by rte_acl now. */
  bool by_acl() const;

 private:
  std::unique_ptr<RuleEngine> build(EngineKind kind, std::span<const SetRule> rules) const;
  void take(std::unique_ptr<RuleEngine> acl, std::unique_ptr<RuleEngine> tables, std::span<const SetRule> rules);
  void work(const std::stop_token& stop);

  const Limits limits_;
  std::atomic<const RuleEngine*> now_{nullptr};  // acl_ or tables_

  mutable std::mutex mutex_;  // of all that follows
  std::condition_variable_any wake_;
  std::unique_ptr<RuleEngine> acl_, tables_;
  std::vector<std::unique_ptr<RuleEngine>> retired_;   // readers may be in them
  std::shared_ptr<const std::vector<SetRule>> rules_;  // that acl_ has
  SetChanges changes_;                                 // since
  uint64_t state_ = 0;                                 // of the set, by number
  bool failed_ = false;                                // to build rte_acl
  double build_seconds_ = 0;
  std::jthread thread_;  // from the first change on; first to go
};

}  // namespace heddle::classifier
