#include "measure/generate/routes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/error.h"
#include "measure/generate/random.h"

namespace heddle::bench {
namespace {

using Class = RouteProfile::Class;
constexpr int kNone = RouteProfile::kNone;

// `total` in proportion to the weights, in whole numbers: the largest remainders are rounded up.
std::vector<size_t> apportion(size_t total, const std::vector<double>& weights) {
  double sum = 0;
  for (const double weight : weights) sum += weight;
  std::vector<size_t> shares(weights.size()), order(weights.size());
  std::vector<double> rest(weights.size());
  size_t given = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const double exact = static_cast<double>(total) * weights[i] / sum;
    shares[i] = static_cast<size_t>(exact);
    rest[i] = exact - static_cast<double>(shares[i]);
    given += shares[i];
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rest[a] > rest[b]; });
  for (size_t i = 0; given < total; ++i, ++given) ++shares[order[i % order.size()]];
  return shares;
}

class Generator {
 public:
  Generator(const RouteProfile& profile, size_t count, uint64_t seed)
      : profile_(profile), random_(seed), by_length_(static_cast<size_t>(address_bits(profile.family)) + 1) {
    prefixes_.reserve(count);
    std::vector<double> weights;
    for (const auto& [block, weight] : profile.blocks) {
      blocks_.push_back(Prefix{Address{block} << (128 - profile.block_bits()), profile.block_bits()});
      weights.push_back(weight);
    }
    pick_block_.emplace(weights);
    // A prefix that fills a block leaves no room for others: such blocks are those with the least weight.
    emptiest_.resize(blocks_.size());
    std::iota(emptiest_.begin(), emptiest_.end(), size_t{0});
    std::stable_sort(emptiest_.begin(), emptiest_.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  }

  /** Classes must come with the shorter lengths first. */
  void add(const Class& one, size_t count) {
    class_ = &one;
    members_.clear();
    children_.clear();
    near_ = cumulative(one.length);
    double parents = 0;
    for (const auto& other : profile_.classes) parents += other.cover == one.cover ? other.parents : 0;
    const auto covers = profile_.covers.find(one.cover);
    new_cover_ = covers == profile_.covers.end() ? 1 : covers->second / parents;
    for (size_t i = 0; i < count; ++i) place();
  }

  std::vector<Prefix> sorted() const {
    std::vector<Prefix> all(prefixes_.begin(), prefixes_.end());
    std::sort(all.begin(), all.end());
    return all;
  }

 private:
  std::vector<double> cumulative(int length) const {
    std::vector<double> sums;
    double sum = 0;
    for (const double weight : profile_.near[static_cast<size_t>(length)]) sums.push_back(sum += weight);
    return sums;
  }

  Address bits() {
    const Address high = random_.bits();  // the order of draws is part of the output
    return high << 64 | random_.bits();
  }
  Prefix below(const Prefix& parent) {
    return {(parent.address | (bits() & ~prefix_bits(parent.length))) & prefix_bits(class_->length), class_->length};
  }

  // Beside `other`, which is below `parent`.
  Prefix beside(const Prefix& other, const Prefix& parent) {
    const size_t free = std::min(near_.size(), static_cast<size_t>(class_->length - parent.length));
    if (free == 0 || near_[free - 1] == 0) return below(parent);
    const double drawn = random_.unit() * near_[free - 1];
    const auto at =
        std::upper_bound(near_.begin(), near_.begin() + static_cast<ptrdiff_t>(free), drawn) - near_.begin();
    const int first = std::min(class_->length - 1 - static_cast<int>(at), class_->length - 1);  // bit that differs
    const Address flipped = other.address ^ Address { 1 } << (127 - first);
    return {((flipped & prefix_bits(first + 1)) | (bits() & ~prefix_bits(first + 1))) & prefix_bits(class_->length),
            class_->length};
  }

  bool covered_between(const Prefix& prefix, int from) const {
    for (int length = std::max(from, profile_.block_bits()); length < prefix.length; ++length)
      if (!by_length_[static_cast<size_t>(length)].empty() &&
          prefixes_.contains({prefix.address & prefix_bits(length), length}))
        return true;
    return false;
  }

  Prefix parent_of(const Prefix& prefix) const {
    const int length = class_->cover == kNone ? profile_.block_bits() : class_->cover;
    return {prefix.address & prefix_bits(length), length};
  }

  // A prefix of the class; it may exist already, or lie under another.
  Prefix propose() {
    if (class_->cover == kNone) {
      const bool fills = class_->length <= profile_.block_bits();
      if (fills && !emptiest_.empty()) {
        const Prefix& block = blocks_[emptiest_.back()];
        emptiest_.pop_back();
        return {block.address & prefix_bits(class_->length), class_->length};
      }
      const Prefix& block = blocks_[(*pick_block_)(random_)];
      if (fills) return {block.address & prefix_bits(class_->length), class_->length};
      const auto found = children_.find(block);
      if (found == children_.end()) return below(block);
      return beside(found->second[random_.below(found->second.size())], block);
    }
    const auto& parents = by_length_[static_cast<size_t>(class_->cover)];
    if (!members_.empty() && (parents.empty() || !random_.chance(class_->parents / class_->count))) {
      const Prefix& other = members_[random_.below(members_.size())];
      return beside(other, parent_of(other));
    }
    if (parents.empty()) return anywhere();
    const auto& used = used_[class_->cover];
    const auto& from = used.empty() || random_.chance(new_cover_) ? parents : used;
    return below(from[random_.below(from.size())]);
  }

  Prefix anywhere() {
    return below({blocks_[(*pick_block_)(random_)].address, std::min(class_->length, profile_.block_bits())});
  }

  void place() {
    constexpr int kTries = 200, kTriesAnywhere = 20'000;
    for (int i = 0; i < kTries; ++i) {
      const Prefix prefix = propose();
      if (prefixes_.contains(prefix) || covered_between(prefix, class_->cover + 1)) continue;
      return keep(prefix);
    }
    // No room where it should be.
    for (int i = 0; i < kTriesAnywhere; ++i) {
      const Prefix prefix = anywhere();
      if (!prefixes_.contains(prefix)) return keep(prefix);
    }
    throw Error(
        format("no room for so many different prefixes of length %d; ask for fewer, or for a table like another",
               class_->length));
  }

  void keep(const Prefix& prefix) {
    prefixes_.insert(prefix);
    by_length_[static_cast<size_t>(prefix.length)].push_back(prefix);
    members_.push_back(prefix);
    if (class_->cover == kNone && prefix.length > profile_.block_bits()) children_[parent_of(prefix)].push_back(prefix);
    if (class_->cover == kNone) return;
    const Prefix parent = parent_of(prefix);
    if (are_used_.insert(parent).second) used_[class_->cover].push_back(parent);
  }

  const RouteProfile& profile_;
  Random random_;
  std::vector<Prefix> blocks_;
  std::optional<Discrete> pick_block_;
  std::vector<size_t> emptiest_;  ///< of blocks_, the one with the least weight last
  std::unordered_set<Prefix, PrefixHash> prefixes_;
  std::vector<std::vector<Prefix>> by_length_;
  std::unordered_set<Prefix, PrefixHash> are_used_;  ///< covers with any more-specific
  std::map<int, std::vector<Prefix>> used_;          ///< by length
  // Of the class at hand:
  double new_cover_ = 1;  ///< what share of covers that are new to the class have no other more-specific
  const Class* class_ = nullptr;
  std::vector<Prefix> members_;
  std::unordered_map<Prefix, std::vector<Prefix>, PrefixHash> children_;  // by block
  std::vector<double> near_;                                              // sums of the profile's
};

// How much larger than in the profile the prefixes under no other may be in number.
double room_for_roots(const RouteProfile& profile) {
  double filled = 0;
  for (const auto& one : profile.classes)
    if (one.cover == kNone) filled += one.count * power(2, profile.block_bits() - one.length);
  return std::max(1.0, kFull * static_cast<double>(profile.blocks.size()) / filled);
}

// How many there are to be of each of the profile's classes.
std::vector<size_t> apportion(const RouteProfile& profile, size_t count) {
  // First lengths, so that they are exact, then the classes of each.
  std::map<int, std::vector<size_t>> lengths;
  for (size_t i = 0; i < profile.classes.size(); ++i) lengths[profile.classes[i].length].push_back(i);
  std::vector<double> weights;
  for (const auto& [length, classes] : lengths) weights.push_back(profile.count_of(length));
  const auto shares = apportion(count, weights);

  std::vector<size_t> result(profile.classes.size());
  size_t at = 0;
  for (const auto& [length, classes] : lengths) {
    std::vector<double> counts;
    for (const size_t i : classes) counts.push_back(profile.classes[i].count);
    const auto of_class = apportion(shares[at++], counts);
    for (size_t i = 0; i < classes.size(); ++i) result[classes[i]] = of_class[i];
  }

  // What does not fit becomes more-specifics.
  const double room = room_for_roots(profile);
  const auto common = std::max_element(weights.begin(), weights.end()) - weights.begin();
  const auto& commonest = std::next(lengths.begin(), common)->second;
  size_t excess = 0;
  std::vector<double> covered;
  for (const size_t i : commonest) covered.push_back(profile.classes[i].cover == kNone ? 0 : profile.classes[i].count);
  if (*std::max_element(covered.begin(), covered.end()) == 0) return result;
  for (size_t i = 0; i < result.size(); ++i) {
    if (profile.classes[i].cover != kNone) continue;
    const auto most = static_cast<size_t>(profile.classes[i].count * room) + 1;
    excess += result[i] - std::min(result[i], most);
    result[i] = std::min(result[i], most);
  }
  const auto more = apportion(excess, covered);
  for (size_t i = 0; i < commonest.size(); ++i) result[commonest[i]] += more[i];
  return result;
}

}  // namespace

std::vector<Prefix> generate_prefixes(const RouteProfile& profile, size_t count, uint64_t seed) {
  const auto shares = apportion(profile, count);
  Generator generator(profile, count, seed);
  for (size_t i = 0; i < shares.size(); ++i) generator.add(profile.classes[i], shares[i]);
  return generator.sorted();
}

std::string route_file(const std::vector<Prefix>& prefixes, Family family, uint32_t hops, uint64_t seed) {
  Random random(~seed);
  std::string text;
  for (const Prefix& prefix : prefixes)
    text += to_text(prefix, family) + " " + std::to_string(random.below(hops)) + "\n";
  return text;
}

}  // namespace heddle::bench
