#include "functions/classifier/split_tree.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace heddle::classifier {
namespace {

/** What an image is made of. */
struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<uint32_t> leaves;
  std::vector<PlainRule> rules;
  std::vector<PlainCondition> conditions;
  std::vector<std::vector<uint64_t>>
      hidden;  // by rule: bit r is set if it hides the r-th behind it; empty: it hides none

  size_t bytes() const {
    return sizeof(Image) + most_listed(rules.size()) * sizeof(PlainRule) + nodes.size() * sizeof(TreeNode) +
           leaves.size() * sizeof leaves[0] + rules.size() * sizeof(PlainRule) +
           conditions.size() * sizeof(PlainCondition);
  }
};

/** Part of the space: the values from low[f] to high[f] of each field. */
struct Box {
  uint32_t low[kFields], high[kFields];
};

/** How a field is cut: into runs of values in which the same rules match, and how many match in each. */
struct Runs {
  std::vector<uint32_t> last;   // value of each run, ascending
  std::vector<uint32_t> rules;  // in each run
  double mean() const {
    double sum = 0;
    for (const uint32_t count : rules) sum += count;
    return sum / static_cast<double>(rules.size());
  }
};

class Builder {
 public:
  Builder(Tree& tree, size_t most_bytes, const CheckWanted& check_wanted)
      : tree_(tree), most_bytes_(most_bytes), check_wanted_(check_wanted) {}

  /** Makes node `at` and all below it of these rules, which meet the box. `part`: of the whole tree, as far as can be
   *  told. */
  void build(uint32_t at, const Box& box, std::vector<uint32_t> rules, double part = 1) {
    check_wanted_();
    drop_hidden(box, rules);
    Runs best;
    int field = -1;
    if (rules.size() > kLeafRules)
      for (int f = 0; f < kFields; ++f) {
        Runs runs = runs_of(box, rules, f);
        if (runs.last.size() > 1 && (field < 0 || runs.mean() < best.mean())) best = std::move(runs), field = f;
      }
    if (field < 0) return make_leaf(at, rules, part);
    split(at, box, rules, field, best, part);
  }

 private:
  /** Takes away the rules behind one that takes the whole box, and notes that it hides them. */
  void drop_hidden(const Box& box, std::vector<uint32_t>& rules) {
    const auto takes_all = [&](uint32_t r) {
      const PlainRule& rule = tree_.rules[r];
      if (rule.conditions != 0) return false;
      for (int f = 0; f < kFields; ++f)
        if (rule.low[f] > box.low[f] || rule.high[f] < box.high[f]) return false;
      return true;
    };
    const auto first = std::ranges::find_if(rules, takes_all);
    if (first == rules.end()) return;
    if (first + 1 == rules.end()) return;
    auto& hidden = tree_.hidden[*first];
    hidden.resize((tree_.rules.size() - *first + 63) / 64);
    for (auto rule = first + 1; rule != rules.end(); ++rule)
      hidden[(*rule - *first) / 64] |= uint64_t{1} << (*rule - *first) % 64;
    rules.erase(first + 1, rules.end());
  }

  Runs runs_of(const Box& box, const std::vector<uint32_t>& rules, int f) {
    turns_.clear();  // value at which a run begins, and by how many rules it has more or fewer
    for (const uint32_t r : rules) {
      turns_.emplace_back(std::max(tree_.rules[r].low[f], box.low[f]), 1);
      if (tree_.rules[r].high[f] < box.high[f]) turns_.emplace_back(tree_.rules[r].high[f] + 1, -1);
    }
    std::ranges::sort(turns_);
    Runs runs;
    int64_t inside = 0;
    uint32_t begin = box.low[f];
    for (size_t i = 0; i < turns_.size();) {
      if (turns_[i].first > begin) {
        runs.last.push_back(turns_[i].first - 1);
        runs.rules.push_back(static_cast<uint32_t>(inside));
        begin = turns_[i].first;
      }
      for (; i < turns_.size() && turns_[i].first == begin; ++i) inside += turns_[i].second;
    }
    runs.last.push_back(box.high[f]);
    runs.rules.push_back(static_cast<uint32_t>(inside));
    return runs;
  }

  /** The last values of up to kWays - 1 parts with about as many rules in their runs each; the last part has the
   *  rest. */
  static std::vector<uint32_t> cuts_of(const Runs& runs) {
    uint64_t all = 0;
    for (const uint32_t count : runs.rules) all += count + 1;
    std::vector<uint32_t> cuts;
    uint64_t so_far = 0;
    for (size_t i = 0; i + 1 < runs.last.size(); ++i) {
      so_far += runs.rules[i] + 1;
      const bool few = runs.last.size() <= TreeNode::kWays;
      if ((few || so_far * TreeNode::kWays >= all * (cuts.size() + 1)) && cuts.size() + 1 < TreeNode::kWays)
        cuts.push_back(runs.last[i]);
    }
    if (cuts.empty()) cuts.push_back(*(runs.last.end() - 2));  // the last run has nearly all
    return cuts;
  }

  void split(uint32_t at, const Box& box, const std::vector<uint32_t>& rules, int field, const Runs& runs,
             double part) {
    const std::vector<uint32_t> cuts = cuts_of(runs);
    const auto first = static_cast<uint32_t>(tree_.nodes.size());
    tree_.nodes.resize(first + cuts.size() + 1);
    TreeNode& node = tree_.nodes[at];
    std::ranges::fill(node.limits, ~0u);
    std::ranges::copy(cuts, node.limits);
    node.first = first;
    node.what = static_cast<uint32_t>(field);
    check_size();
    std::vector<std::vector<uint32_t>> inside(cuts.size() + 1);
    std::vector<Box> parts(cuts.size() + 1, box);
    double all = 0;
    for (size_t child = 0; child <= cuts.size(); ++child) {
      uint32_t &low = parts[child].low[field], &high = parts[child].high[field];
      if (child > 0) low = cuts[child - 1] + 1;
      if (child < cuts.size()) high = cuts[child];
      for (const uint32_t r : rules)
        if (tree_.rules[r].low[field] <= high && low <= tree_.rules[r].high[field]) inside[child].push_back(r);
      all += weight(inside[child]);
    }
    for (uint32_t child = 0; child <= cuts.size(); ++child) {
      const double share = part * weight(inside[child]) / all;
      build(first + child, parts[child], std::move(inside[child]), share);
    }
  }

  /** Towards the size of the tree that is made of them. */
  static double weight(const std::vector<uint32_t>& rules) { return static_cast<double>(rules.size() + 1); }

  void make_leaf(uint32_t at, const std::vector<uint32_t>& rules, double part) {
    TreeNode& node = tree_.nodes[at];
    node.first = static_cast<uint32_t>(tree_.leaves.size());
    node.what = TreeNode::kLeaf + static_cast<uint32_t>(rules.size());
    tree_.leaves.insert(tree_.leaves.end(), rules.begin(), rules.end());
    done_ += part;
    check_size();
  }

  void check_size() const {
    if (tree_.bytes() <= most_bytes_ && tree_.leaves.size() < TreeNode::kLeaf) return;
    const auto fixed =
        static_cast<double>(sizeof(Image) + (tree_.rules.size() + most_listed(tree_.rules.size())) * sizeof(PlainRule));
    const double all = fixed + (static_cast<double>(tree_.bytes()) - fixed) / done_;
    throw Error(format(
        "%zu rules need a tree of more than %zu MB%s, and MEMORY allows %zu MB", tree_.rules.size(), most_bytes_ >> 20,
        done_ > 0 ? format(", by what has been built about %.1f MB", all / (1 << 20)).c_str() : "", most_bytes_ >> 20));
  }

  Tree& tree_;
  size_t most_bytes_;
  const CheckWanted& check_wanted_;
  double done_ = 0;  // of the tree
  std::vector<std::pair<uint32_t, int>> turns_;
};

Tree make_tree(std::span<const SetRule> rules, size_t most_bytes, const Layout& layout,
               const CheckWanted& check_wanted) {
  Tree tree;
  std::vector<uint32_t> all;
  for (const auto& [number, id, rule] : rules) {
    PlainRule& one = tree.rules.emplace_back();
    std::ranges::copy(rule.low, one.low);
    std::ranges::copy(rule.high, one.high);
    one.outcome = {number, id, rule.next};
    one.first_condition = static_cast<uint32_t>(tree.conditions.size());
    one.conditions = static_cast<uint32_t>(rule.more.size());
    for (const Condition& condition : rule.more)
      tree.conditions.push_back({static_cast<uint32_t>(kFields + *find(layout, condition.place)), condition.mask,
                                 condition.low, condition.high});
    all.push_back(static_cast<uint32_t>(all.size()));
  }
  Box everything{};
  std::ranges::copy(kLargest, everything.high);
  tree.nodes.resize(1);
  tree.hidden.resize(rules.size());
  Builder(tree, most_bytes, check_wanted).build(0, everything, std::move(all));
  return tree;
}

/** BuiltImage::hidden. */
std::vector<std::pair<uint32_t, uint32_t>> hidden_pairs(const Tree& tree) {
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t hider = 0; hider < tree.hidden.size(); ++hider) {
    size_t count = 0;
    for (const uint64_t word : tree.hidden[hider]) count += static_cast<size_t>(std::popcount(word));
    if (count > most_listed(tree.rules.size()) / 2) {
      pairs.emplace_back(hider, hider);
      continue;
    }
    for (uint32_t word = 0; word < tree.hidden[hider].size(); ++word)
      for (uint64_t bits = tree.hidden[hider][word]; bits != 0; bits &= bits - 1)
        pairs.emplace_back(hider, hider + 64 * word + static_cast<uint32_t>(std::countr_zero(bits)));
  }
  return pairs;
}

}  // namespace

BuiltImage build_tree(std::span<const SetRule> rules, uint16_t no_match, size_t most_bytes, const Layout& layout,
                      const CheckWanted& check_wanted) {
  if (kFields + layout.size() > kMaxDimensions)
    throw Error(format("the rules ask for %zu fields beside the 5-tuple, and a tree takes %u; use ENGINE tuple",
                       layout.size(), kMaxDimensions - kFields));
  Image image{};
  put_places(image, layout);
  const Tree tree = make_tree(rules, most_bytes, layout, check_wanted);
  size_t end = sizeof image;
  const auto take = [&](const auto& list) {
    const size_t start = (end + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    end = start + list.size() * sizeof list[0];
    return start;
  };
  image.rules = static_cast<uint32_t>(rules.size());
  image.no_match = no_match;
  image.nodes = take(tree.nodes);
  image.leaves = take(tree.leaves);
  image.tree_rules = take(tree.rules);
  take_room_to_list(image, tree.conditions.size(), end);
  BuiltImage built{map_huge_pages(end), end, hidden_pairs(tree)};
  const auto put = [&](uint64_t offset, const auto& list) {
    if (!list.empty()) std::memcpy(built.memory.get() + offset, list.data(), list.size() * sizeof list[0]);
  };
  std::memcpy(built.memory.get(), &image, sizeof image);
  put(image.nodes, tree.nodes);
  put(image.leaves, tree.leaves);
  put(image.tree_rules, tree.rules);
  put(image.conditions, tree.conditions);
  return built;
}

}  // namespace heddle::classifier
