#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/table.h"
#include "functions/classifier/engine.h"

namespace heddle::classifier {

/** What is to become of a number: a rule, or nothing. */
struct RuleChange {
  uint32_t number = 0;
  std::optional<Rule> rule;
};

/** The rules of an element by number, with the ids by which engines and counters know them. A rule with ranges of 16
 *  bytes is several to an engine, its parts(), with an id each. An id that a change has freed is given to another rule
 *  after the second reclaim(): an engine may have to take a rule out of a structure that readers are in only when
 *  nobody can find it any more, and that is again a change that readers must have seen. */
class RuleSet : public Retiring {
 public:
  /** Makes `rules` the set of `engine`, numbered 0, step, 2 * step, ... Throws what the engine does, with nothing
   *  changed. */
  void load(std::span<const Rule> rules, uint32_t step, RuleEngine& engine);
  /** The same with the numbers that the rules have, ascending; their ids do not count. */
  void load(std::vector<SetRule> rules, RuleEngine& engine);
  /** Makes all of `changes`, at most one a number. Throws what the engine does, with nothing changed. */
  void change(std::span<const RuleChange> changes, RuleEngine& engine);

  /** Exchanges the rules; those who are told of new ids stay. */
  void swap(RuleSet& other);

  /** The first part of the rule; null if there is none. */
  const SetRule* find(uint32_t number) const;
  /** Ids of all its parts. */
  std::vector<uint32_t> ids(uint32_t number) const;
  size_t size() const { return count_; }
  std::vector<SetRule> sorted() const;  ///< parts of the rules, by number

  /** Called for each id that a rule is to get, before the engine has the rule. */
  std::function<void(uint32_t id)> on_new_id = [](uint32_t) {};

  bool has_retired() const override { return retired_.size() >= 1024; }
  void reclaim() override;

 private:
  uint32_t take_id();
  void free_ids(std::span<const SetRule> rules);

  std::multimap<uint32_t, SetRule> rules_;  // parts of rules
  size_t count_ = 0;                        // of rules
  uint32_t next_id_ = 0;
  std::vector<uint32_t> free_, retired_, unlinked_;
};

}  // namespace heddle::classifier
