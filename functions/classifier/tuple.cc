#include "functions/classifier/tuple.h"

#include <map>

namespace heddle::classifier {
namespace {

class Merger {
 public:
  explicit Merger(std::span<const SetRule> rules) {
    for (uint32_t i = 0; i < rules.size(); ++i) {
      words_.push_back(words_of(rules[i].rule.low));
      left_[tuple_of(rules[i].rule)].push_back(i);
    }
    counts_.resize(std::bit_ceil(std::max<size_t>(4 * rules.size(), 64)));
  }

  std::vector<TuplePlan> run() {
    std::vector<TuplePlan> plans;
    while (!left_.empty()) {
      plans.push_back({best_tuple(), {}});
      place(plans.back().tuple, &plans.back().rules);
    }
    return plans;
  }

 private:
  /** Of those left the tuple with most rules, relaxed field by field for as long as that takes in more. */
  Tuple best_tuple() {
    const auto most = std::ranges::max_element(left_, {}, [](const auto& one) { return one.second.size(); });
    Tuple tuple = most->first;
    for (size_t gain = place(tuple, nullptr);;) {
      Tuple best = tuple;
      for (const Tuple& next : relaxed(tuple))
        if (const size_t more = place(next, nullptr); more > gain) gain = more, best = next;
      if (best == tuple) return tuple;
      tuple = best;
    }
  }

  static std::vector<Tuple> relaxed(const Tuple& tuple) {
    std::vector<Tuple> result;
    const auto add = [&](Tuple next) {
      if (next != tuple && std::ranges::find(result, next) == result.end()) result.push_back(next);
    };
    for (const Field f : {kSource, kDestination})
      for (const int step : {4, 8, 32}) {
        Tuple next = tuple;
        next[f] = static_cast<uint8_t>(tuple[f] == 0 ? 0 : (tuple[f] - 1) / step * step);
        add(next);
      }
    for (const Field f : {kSourcePort, kDestinationPort, kProtocol}) {
      Tuple next = tuple;
      next[f] = 0;
      add(next);
    }
    add({tuple[kSource], tuple[kDestination], 0, 0, 0});
    return result;
  }

  /** How many rules a table with `tuple` takes; if `into` is given they go there. Rules with just this tuple have no
   *  other table, and are taken in any case. */
  size_t place(const Tuple& tuple, std::vector<uint32_t>* into) {
    std::ranges::fill(counts_, uint8_t{0});
    const Words mask = mask_of(tuple);
    const int shift = 64 - std::countr_zero(counts_.size());
    size_t taken = 0;
    for (auto group = left_.begin(); group != left_.end();) {
      auto& [own, rules] = *group;
      if (!fits(tuple, own)) {
        ++group;
        continue;
      }
      size_t kept = 0;
      for (const uint32_t rule : rules) {
        uint8_t& count = counts_[hash_of(words_[rule] & mask) >> shift];
        if (count >= kCollisions && own != tuple) {
          if (into != nullptr) rules[kept++] = rule;
          continue;
        }
        if (count < kCollisions) ++count;
        ++taken;
        if (into != nullptr) into->push_back(rule);
      }
      if (into != nullptr) rules.resize(kept);
      group = rules.empty() ? left_.erase(group) : std::next(group);
    }
    return taken;
  }

  std::vector<Words> words_;                     // of each rule's lowest key
  std::map<Tuple, std::vector<uint32_t>> left_;  // by tuple
  std::vector<uint8_t> counts_;                  // of keys, by hash
};

}  // namespace

std::vector<TuplePlan> merge_tuples(std::span<const SetRule> rules) { return Merger(rules).run(); }

}  // namespace heddle::classifier
