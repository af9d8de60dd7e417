#include "functions/classifier/table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace heddle::classifier {
namespace {

size_t rounded_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/** What is searched for in a dimension. */
struct Axis {
  Place place;
  uint32_t value;        // as Dimension::value
  uint32_t shift = 0;    // of the byte, if it is one
  bool of_bits = false;  // a byte of which rules want some bits
  std::string name;

  uint32_t largest() const { return of_bits ? 0xff : place.largest(); }
  uint32_t bits() const { return largest() <= 0xff ? 8 : largest() <= 0xffff ? 16 : 32; }
  /** Calls visit(low, high) for each run of values that the rule takes, ascending. */
  template <class Visit>
  void each_run(const Rule& rule, const Visit& visit) const {
    if (value < kFields) return visit(rule.low[value], rule.high[value]);
    const auto asked = std::ranges::find(rule.more, place, &Condition::place);
    if (asked == rule.more.end() || (asked->mask == place.largest()) == of_bits) return visit(0u, largest());
    if (!of_bits) return visit(asked->low, asked->high);
    const uint32_t mask = asked->mask >> shift & 0xff, wanted = asked->low >> shift & 0xff;
    for (uint32_t low = 0; low <= 0xff; ++low) {
      if ((low & mask) != wanted) continue;
      uint32_t high = low;
      while (high < 0xff && ((high + 1) & mask) == wanted) ++high;
      visit(low, high);
      low = high;
    }
  }
};

/** The dimensions that the rules need. */
std::vector<Axis> axes_of(std::span<const SetRule> rules, const Layout& layout) {
  std::vector<Axis> axes;
  for (uint32_t f = 0; f < kFields; ++f)
    axes.push_back({.place = place_of(static_cast<Field>(f)), .value = f, .name = kFieldNames[f]});
  std::vector<uint32_t> masks(layout.size());
  std::vector<bool> ranges(layout.size());
  for (const SetRule& rule : rules)
    for (const Condition& condition : rule.rule.more) {
      const size_t p = *find(layout, condition.place);
      if (condition.mask == condition.place.largest())
        ranges[p] = true;
      else
        masks[p] |= condition.mask;
    }
  for (size_t p = 0; p < layout.size(); ++p) {
    const auto value = static_cast<uint32_t>(kFields + p);
    if (ranges[p]) axes.push_back({.place = layout[p], .value = value, .name = name_of(layout[p])});
    for (uint32_t shift = 0; shift < 32; shift += 8)
      if ((masks[p] >> shift & 0xff) != 0)
        axes.push_back(
            {.place = layout[p], .value = value, .shift = shift, .of_bits = true, .name = name_of(layout[p])});
  }
  if (axes.size() > kMaxDimensions)
    throw Error(
        format("the rules ask for so many fields that bit vectors need %zu dimensions, more than %u; use ENGINE "
               "tuple",
               axes.size(), kMaxDimensions));
  return axes;
}

/** Upper limits of the elementary ranges of a dimension, ascending. */
std::vector<uint32_t> limits_of(std::span<const SetRule> rules, const Axis& axis) {
  std::vector<uint32_t> limits;
  limits.reserve(2 * rules.size() + 1);
  for (const auto& [number, id, rule] : rules)
    axis.each_run(rule, [&](uint32_t low, uint32_t high) {
      if (low > 0) limits.push_back(low - 1);
      if (high < axis.largest()) limits.push_back(high);
    });
  limits.push_back(~0u);  // in all dimensions: no value exceeds it
  std::ranges::sort(limits);
  limits.erase(std::unique(limits.begin(), limits.end()), limits.end());
  return limits;
}

/** Fills in all sizes and offsets of `image`; returns the bytes that it takes. */
size_t lay_out(Image& image, size_t rules, const std::vector<Axis>& axes,
               const std::vector<std::vector<uint32_t>>& limits, SearchForm form) {
  image.rules = static_cast<uint32_t>(rules);
  image.words = static_cast<uint32_t>(rounded_up(std::max(rules, size_t{1}), 512) / 64);
  image.aggregate_words = (image.words + 63) / 64;
  size_t end = sizeof(Image);
  const auto take = [&](size_t bytes) {
    const size_t start = rounded_up(end, kBlockBytes);
    end = start + bytes;
    return start;
  };
  image.vector_rules = take(rules * sizeof(VectorRule));
  image.dimension_count = static_cast<uint32_t>(axes.size());
  take_room_to_list(image, 0, end);
  for (size_t d = 0; d < axes.size(); ++d) {
    Dimension& dimension = image.dimensions[d];
    const size_t ranges = limits[d].size();
    dimension.value = axes[d].value;
    dimension.shift = axes[d].shift;
    dimension.mask = axes[d].of_bits ? 0xff : ~0u;
    dimension.ranges = static_cast<uint32_t>(ranges);
    dimension.place = axes[d].place;
    dimension.limit_bits = form == SearchForm::packed ? axes[d].bits() : 32;
    dimension.levels = 0;
    for (size_t count = ranges; dimension.levels == 0 || count > 1; ++dimension.levels) {
      if (dimension.levels == kMaxLevels)
        throw Error(format("%zu rules cut the %s into %zu ranges, more than %u", rules, axes[d].name.c_str(), ranges,
                           1u << 5 * kMaxLevels));
      const size_t blocks = (count + dimension.limits_in_block() - 1) / dimension.limits_in_block();
      dimension.level[dimension.levels] = take(blocks * kBlockBytes);
      count = blocks;
      if (form != SearchForm::binary) continue;
      dimension.blocks = static_cast<uint32_t>(blocks);
      count = 1;
    }
    dimension.aggregates = take(ranges * image.aggregate_words * sizeof(uint64_t));
    dimension.vectors = take(ranges * image.words * sizeof(uint64_t));
  }
  return end;
}

template <class T>
T* place(std::byte* memory, uint64_t offset) {
  return reinterpret_cast<T*>(memory + offset);
}

template <class Limit>
void put_levels(std::byte* memory, const Dimension& dimension, std::vector<uint32_t> limits) {
  constexpr size_t kBlock = kBlockBytes / sizeof(Limit);
  for (int level = 0; level < dimension.levels; ++level) {
    limits.resize(rounded_up(limits.size(), kBlock), ~0u);
    std::ranges::transform(limits, place<Limit>(memory, dimension.level[level]),
                           [](uint32_t limit) { return static_cast<Limit>(limit); });
    for (size_t block = 0; block < limits.size() / kBlock; ++block) limits[block] = limits[block * kBlock + kBlock - 1];
    limits.resize(limits.size() / kBlock);
  }
}
void put_levels(std::byte* memory, const Dimension& dimension, const std::vector<uint32_t>& limits) {
  if (dimension.limit_bits == 8)
    put_levels<uint8_t>(memory, dimension, limits);
  else if (dimension.limit_bits == 16)
    put_levels<uint16_t>(memory, dimension, limits);
  else
    put_levels<uint32_t>(memory, dimension, limits);
}

/** Writes vectors and aggregates range by range, each the one before with the rules changed that begin or end there. */
void put_vectors(std::byte* memory, const Image& image, const Dimension& dimension, std::span<const SetRule> rules,
                 const Axis& axis, const std::vector<uint32_t>& limits, const CheckWanted& check_wanted) {
  const auto range_of = [&](uint32_t value) {
    return static_cast<uint32_t>(std::ranges::lower_bound(limits, value) - limits.begin());
  };
  std::vector<std::pair<uint32_t, uint32_t>> turns;  // range, place of the rule whose bit changes there
  turns.reserve(2 * rules.size());
  for (uint32_t place = 0; place < rules.size(); ++place)
    axis.each_run(rules[place].rule, [&](uint32_t low, uint32_t high) {
      turns.emplace_back(range_of(low), place);
      turns.emplace_back(range_of(high) + 1, place);
    });
  std::ranges::sort(turns);
  std::vector<uint64_t> vector(image.words), aggregate(image.aggregate_words);
  auto* vectors = place<uint64_t>(memory, dimension.vectors);
  auto* aggregates = place<uint64_t>(memory, dimension.aggregates);
  size_t next = 0;
  for (size_t range = 0; range < limits.size(); ++range) {
    check_wanted();
    for (; next < turns.size() && turns[next].first == range; ++next) {
      const uint32_t place = turns[next].second, word = place / 64;
      vector[word] ^= uint64_t{1} << place % 64;
      const uint64_t bit = uint64_t{1} << word % 64;
      aggregate[word / 64] = vector[word] != 0 ? aggregate[word / 64] | bit : aggregate[word / 64] & ~bit;
    }
    vectors = std::ranges::copy(vector, vectors).out;
    aggregates = std::ranges::copy(aggregate, aggregates).out;
  }
}

}  // namespace

std::vector<SetRule> numbered(std::span<const Rule> rules) {
  std::vector<SetRule> result;
  result.reserve(rules.size());
  for (const Rule& rule : rules)
    result.push_back({static_cast<uint32_t>(result.size()), static_cast<uint32_t>(result.size()), rule});
  return result;
}

BuiltImage build_vectors(std::span<const SetRule> rules, uint16_t no_match, size_t most_bytes, const Layout& layout,
                         SearchForm form, const CheckWanted& check_wanted) {
  const std::vector<Axis> axes = axes_of(rules, layout);
  std::vector<std::vector<uint32_t>> limits;
  for (const Axis& axis : axes) limits.push_back(limits_of(rules, axis));
  Image image{};
  const size_t bytes = lay_out(image, rules.size(), axes, limits, form);
  constexpr size_t kMegabyte = size_t{1} << 20;
  if (bytes > most_bytes)
    throw Error(format("%zu rules need bit vectors of %zu MB, and MEMORY allows %zu MB", rules.size(),
                       (bytes + kMegabyte - 1) / kMegabyte, most_bytes / kMegabyte));
  image.no_match = no_match;
  image.versions = versions_of(layout);
  BuiltImage built{map_huge_pages(bytes), bytes};
  std::byte* const memory = built.memory.get();
  std::memcpy(memory, &image, sizeof image);
  for (size_t i = 0; i < rules.size(); ++i)
    place<VectorRule>(memory, image.vector_rules)[i] = {.outcome = {rules[i].number, rules[i].id, rules[i].rule.next}};
  for (size_t d = 0; d < axes.size(); ++d) {
    put_levels(memory, image.dimensions[d], limits[d]);
    put_vectors(memory, image, image.dimensions[d], rules, axes[d], limits[d], check_wanted);
  }
  return built;
}

}  // namespace heddle::classifier
