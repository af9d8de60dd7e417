#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "functions/classifier/engine.h"

struct rte_acl_ctx;

namespace heddle::classifier {

/** DPDK's rte_acl: a set of tries over all fields. Sets are built when the program has started, for rte_acl needs
 *  DPDK's memory, and a change builds the whole set anew. Addresses must be prefixes. */
class AclEngine : public RuleEngine {
 public:
  explicit AclEngine(const Limits& limits);
  ~AclEngine() override;

  void load(std::span<const SetRule> rules) override;
  /** Starts DPDK if nothing has yet, and builds the set that load() was given. */
  void start() override;
  void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const override;
  size_t bytes() const override;
  bool has_retired() const override { return !retired_.empty(); }
  void reclaim() override;

 private:
  struct Set;
  std::unique_ptr<Set> build(std::span<const SetRule> rules) const;

  Limits limits_;
  std::vector<SetRule> waiting_;  // for start()
  bool started_ = false;
  std::unique_ptr<Set> set_;
  std::atomic<const Set*> current_{nullptr};
  std::vector<std::unique_ptr<Set>> retired_;
};

}  // namespace heddle::classifier
