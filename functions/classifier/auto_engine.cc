#include "functions/classifier/auto_engine.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "core/error.h"
#include "functions/classifier/acl_beside_tables.h"
#include "functions/classifier/rule_set.h"
#include "io/dpdk/dpdk.h"

namespace heddle::classifier {

double AutoEngine::steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

AutoEngine::AutoEngine(const Limits& limits, Clock clock, Choose choose)
    : limits_(limits),
      clock_(std::move(clock)),
      choose_(std::move(choose)),
      engine_(make_engine(choice_.kind, limits)),
      now_(engine_.get()) {}

void AutoEngine::take(std::unique_ptr<RuleEngine> engine, EngineChoice choice) {
  choice_ = std::move(choice);
  now_.store(engine.get(), std::memory_order_release);
  before_.push_back(std::exchange(engine_, std::move(engine)));
  behind_ = 0, changes_ = 0;
}

void AutoEngine::load(std::span<const SetRule> rules) {
  EngineChoice choice = choose_(rules, limits_);
  const double start = clock_();
  auto engine = make_engine(choice.kind, limits_);
  engine->load(rules);
  take(std::move(engine), std::move(choice));
  last_ = clock_();
  change_seconds_ = (last_ - start) / changes_at_once(choice_.kind);
  if (started_) return try_acl(rules);
  waiting_.clear();
  if (rules.size() <= kMaxAclRules) waiting_.assign(rules.begin(), rules.end());
}

void AutoEngine::start() {
  engine().start();
  started_ = true;
  if (!waiting_.empty()) try_acl(waiting_);
  waiting_ = {};
}

void AutoEngine::try_acl(std::span<const SetRule> rules) {
  if (rules.empty() || !dpdk::wanted()) return;
  EngineChoice choice = choice_;
  auto acl = faster_acl(rules, limits_, engine(), choice);
  choice_.why = choice.why;
  if (acl == nullptr) return;
  try {
    take(std::make_unique<AclBesideTables>(limits_, std::move(acl), rules), std::move(choice));
    choice_.why += "; changes go to hash tables, which are used until acl has been built anew aside";
  } catch (const Error& error) {
    choice_.why += std::string("; no acl, for its changes go to hash tables: ") + error.what();
  }
}

void AutoEngine::change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all) {
  waiting_.clear();  // they are no more what the set is
  if (choice_.kind == EngineKind::tuple || choice_.kind == EngineKind::acl) return engine().change(added, gone, all);
  constexpr double kCreditSeconds = 0.5;  // a few changes in a row, once in a while, are no rate
  const double start = clock_();
  behind_ = std::max(0.0, behind_ - kMaxChanging * (start - last_));
  ++changes_;
  if (behind_ + change_seconds_ > kCreditSeconds && take_tables(all)) return;
  engine().change(added, gone, all);
  last_ = clock_();
  change_seconds_ = last_ - start;
  behind_ += (1 - kMaxChanging) * change_seconds_;
}

bool AutoEngine::take_tables(const RuleSet& all) {
  auto tables = make_engine(EngineKind::tuple, limits_);
  try {
    tables->load(all.sorted());
  } catch (const Error&) {
    return false;  // the others are slow, but right
  }
  take(std::move(tables),
       {EngineKind::tuple, format("at change %zu, for %s would take %.1f ms to be built anew", size_t{changes_},
                                  std::string(name_of(choice_.kind)).c_str(), 1e3 * change_seconds_)});
  return true;
}

void AutoEngine::reclaim() {
  before_.clear();
  engine().reclaim();
}

}  // namespace heddle::classifier
