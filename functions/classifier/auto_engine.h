#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "functions/classifier/engine.h"

namespace heddle::classifier {

/** ENGINE auto on a CPU: the engine that choose_engine() takes for the rules, each time that they are all replaced.
 *  Where it would have to be built anew for changes, and that takes long or they come too fast, hash tables take its
 *  place, until the rules are replaced the next time. Where ports of DPDK are in use rte_acl is tried as well when the
 *  program starts, and from then on; changes go to hash tables beside it (AclBesideTables). */
class AutoEngine : public RuleEngine {
 public:
  using Clock = std::function<double()>;  ///< seconds
  using Choose = std::function<EngineChoice(std::span<const SetRule>, const Limits&)>;
  explicit AutoEngine(const Limits& limits, Clock clock = steady_seconds, Choose choose = choose_engine);

  void load(std::span<const SetRule> rules) override;
  void change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all) override;
  void start() override;
  void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const override {
    engine().classify(keys, outcomes, n);
  }
  size_t bytes() const override { return engine().bytes(); }
  bool has_retired() const override { return !before_.empty() || engine().has_retired(); }
  void reclaim() override;

  /** Of now; for the thread that changes rules. */
  const EngineChoice& choice() const { return choice_; }

 private:
  static double steady_seconds();
  RuleEngine& engine() const { return *now_.load(std::memory_order_acquire); }
  void take(std::unique_ptr<RuleEngine> engine, EngineChoice choice);
  /** Takes hash tables with these rules, if they do. */
  bool take_tables(const RuleSet& all);
  /** Takes rte_acl with these rules, which the engine has, if it is faster. */
  void try_acl(std::span<const SetRule> rules);

  Limits limits_;
  Clock clock_;
  Choose choose_;
  EngineChoice choice_{EngineKind::tuple, "no rules"};
  std::unique_ptr<RuleEngine> engine_;
  std::atomic<RuleEngine*> now_;                     // engine_
  std::vector<std::unique_ptr<RuleEngine>> before_;  // readers may be in them

  double behind_ = 0;          // seconds that changes took beyond their share of the time
  double last_ = 0;            // when the last one ended
  double change_seconds_ = 0;  // what one takes
  uint64_t changes_ = 0;       // since `engine_` was taken

  bool started_ = false;
  std::vector<SetRule> waiting_;  // for start(): the rules, if they are few enough for rte_acl
};

}  // namespace heddle::classifier
