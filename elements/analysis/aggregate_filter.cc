#include "elements/analysis/aggregate_filter.h"

#include <algorithm>

#include "click/arguments.h"
#include "click/quoting.h"

namespace heddle {
namespace {

constexpr uint16_t kDenied = kDrop, kUndecided = kDrop | 1;  // as drop_reasons() has them

struct AggregateRange {
  uint32_t first = 0, last = 0;
};
bool parse(std::string_view text, AggregateRange& range) {
  const size_t dash = text.find('-');
  uint32_t first = 0, last = 0;
  if (!click::parse(text.substr(0, dash), first)) return false;
  if (dash == text.npos)
    last = first;
  else if (!click::parse(text.substr(dash + 1), last))
    return false;
  range = {first, last};
  return first <= last;
}

}  // namespace

void AggregateFilter::configure(click::Arguments& arguments) {
  ranges_ = {{0, kUndecided}};
  const std::vector<click::Argument> rules = arguments.rest();
  if (rules.empty()) arguments.error("missing rules; expected one or more such as 'allow 1-100' or '1 all'");
  for (const click::Argument& rule : rules) {
    const auto words = click::split_words(rule.text);
    uint16_t next = 0;
    if (words.empty()) {
      arguments.error(rule, "a rule such as 'allow 1-100' or '1 all'");
      continue;
    }
    if (words[0] == "deny" || words[0] == "drop") {
      next = kDenied;
    } else if (words[0] != "allow" && (!click::parse(words[0], next) || next >= outputs)) {
      arguments.error_at(rule, "action '" + std::string(words[0]) + "' is not allow, deny, drop or one of " +
                                   std::to_string(outputs) + " connected outputs");
      continue;
    }
    if (words.size() == 1)
      arguments.error_at(rule, "no aggregates behind '" + std::string(words[0]) + "'; expected some, or all");
    for (size_t i = 1; i < words.size(); ++i) {
      AggregateRange range{0, UINT32_MAX};
      const bool all = words.size() == 2 && (words[1] == "all" || words[1] == "-");
      if (!all && !parse(words[i], range)) {
        arguments.error_at(
            rule, "'" + std::string(words[i]) + "' is not an aggregate from 0 to 4294967295 or a range such as 10-98");
      } else {
        decide(range.first, range.last, next);
      }
    }
  }
}

void AggregateFilter::decide(uint64_t first, uint64_t last, uint16_t next) {
  std::vector<Range> all;
  const auto add = [&all](uint64_t from, uint16_t to) {
    if (all.empty() || all.back().next != to) all.push_back({static_cast<uint32_t>(from), to});
  };
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const uint64_t from = ranges_[i].first, end = i + 1 < ranges_.size() ? ranges_[i + 1].first : uint64_t{1} << 32;
    const uint64_t inner = std::max(from, first), behind = std::min(end, last + 1);
    if (ranges_[i].next != kUndecided || inner >= behind) {
      add(from, ranges_[i].next);
      continue;
    }
    if (from < inner) add(from, kUndecided);
    add(inner, next);
    if (behind < end) add(behind, kUndecided);
  }
  ranges_ = std::move(all);
}

std::span<const char* const> AggregateFilter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"denied", "no_match"};
  return kReasons;
}

void AggregateFilter::run_cpu(Batch& batch) {
  const uint32_t* aggregate = batch.column(Column::aggregate);
  uint16_t* next = batch.next();
  for (int i = 0; i < batch.size(); ++i)
    next[i] = std::prev(std::upper_bound(ranges_.begin(), ranges_.end(), aggregate[i],
                                         [](uint32_t value, const Range& range) { return value < range.first; }))
                  ->next;
}

HEDDLE_ELEMENT(AggregateFilter);

}  // namespace heddle
