#pragma once

#include "functions/classifier/engine.h"
#include "functions/classifier/split_tree.h"

namespace heddle::classifier {

/** k-ary HyperSplit, on CPU and GPU. Any change builds the tree anew. */
class SplitEngine : public RuleEngine {
 public:
  explicit SplitEngine(const Limits& limits) : limits_(limits) { load({}); }

  void load(std::span<const SetRule> rules) override {
    table_.load(rules, limits_.no_match, limits_.most_bytes, limits_.layout);
  }
  void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const override {
    classify_by_tree(table_.image(), keys, outcomes, n);
  }
  size_t bytes() const override { return table_.bytes().size(); }
  Table* table() override { return &table_; }
  bool has_retired() const override { return table_.has_retired(); }
  void reclaim() override { table_.reclaim(); }

 private:
  Limits limits_;
  SplitTable table_;
};

}  // namespace heddle::classifier
