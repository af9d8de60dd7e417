#include "functions/classifier/acl_beside_tables.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "core/error.h"

namespace heddle::classifier {

AclBesideTables::AclBesideTables(const Limits& limits, std::unique_ptr<RuleEngine> acl, std::span<const SetRule> rules)
    : limits_(limits) {
  take(std::move(acl), build(EngineKind::tuple, rules), rules);
}

std::unique_ptr<RuleEngine> AclBesideTables::build(EngineKind kind, std::span<const SetRule> rules) const {
  auto engine = make_engine(kind, limits_);
  engine->start();
  engine->load(rules);
  return engine;
}

void AclBesideTables::take(std::unique_ptr<RuleEngine> acl, std::unique_ptr<RuleEngine> tables,
                           std::span<const SetRule> rules) {
  auto all = std::make_shared<const std::vector<SetRule>>(rules.begin(), rules.end());
  const std::lock_guard lock(mutex_);
  ++state_;
  now_.store(acl.get(), std::memory_order_release);
  if (acl_ != nullptr) retired_.push_back(std::move(acl_)), retired_.push_back(std::move(tables_));
  acl_ = std::move(acl), tables_ = std::move(tables);
  rules_ = std::move(all), changes_ = {};
  failed_ = false;
}

void AclBesideTables::load(std::span<const SetRule> rules) {
  auto acl = build(EngineKind::acl, rules), tables = build(EngineKind::tuple, rules);
  take(std::move(acl), std::move(tables), rules);
}

void AclBesideTables::change(std::span<const SetRule> added, std::span<const uint32_t> gone, const RuleSet& all) {
  const std::lock_guard lock(mutex_);
  ++state_;
  now_.store(tables_.get(), std::memory_order_release);
  wake_.notify_all();
  if (!thread_.joinable()) try {
      thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
    } catch (const std::system_error&) {  // no more threads: the tables stay, until another change finds one
    }
  tables_->change(added, gone, all);
  changes_.add(added, gone);
}

void AclBesideTables::work(const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr Seconds kMinPause{10e-3};
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    const uint64_t state = state_;
    const auto changes = [&] { return state_ != state; };
    if (now_.load(std::memory_order_relaxed) == acl_.get() || failed_) {
      wake_.wait(lock, stop, changes);
      continue;
    }
    if (wake_.wait_for(lock, stop, std::max(Seconds{build_seconds_}, kMinPause), changes) || stop.stop_requested())
      continue;
    const auto before = rules_;
    const SetChanges since = changes_;
    lock.unlock();
    std::vector<SetRule> rules = since.made_to(*before);
    std::unique_ptr<RuleEngine> acl;
    const auto start = Clock::now();
    try {
      acl = build(EngineKind::acl, rules);
    } catch (const Error&) {  // the tables have the rules
    }
    const Seconds took = Clock::now() - start;
    lock.lock();
    build_seconds_ = took.count();
    if (state_ != state) {
      lock.unlock();
      acl.reset();  // takes a while, which no change waits for
      lock.lock();
      continue;
    }
    failed_ = acl == nullptr;
    if (failed_) continue;
    now_.store(acl.get(), std::memory_order_release);
    retired_.push_back(std::exchange(acl_, std::move(acl)));
    rules_ = std::make_shared<const std::vector<SetRule>>(std::move(rules)), changes_ = {};
  }
}

size_t AclBesideTables::bytes() const {
  const std::lock_guard lock(mutex_);
  return acl_->bytes() + tables_->bytes();
}

bool AclBesideTables::has_retired() const {
  const std::lock_guard lock(mutex_);
  return !retired_.empty() || tables_->has_retired();
}

void AclBesideTables::reclaim() {
  const std::lock_guard lock(mutex_);
  retired_.clear();
  tables_->reclaim();
}

bool AclBesideTables::by_acl() const {
  const std::lock_guard lock(mutex_);
  return now_.load(std::memory_order_relaxed) == acl_.get();
}

}  // namespace heddle::classifier
