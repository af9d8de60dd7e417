#include "elements/nat/ip_mappers.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {
namespace {

constexpr int kMaxOutputs = 256;  // which there are, the rewriter knows

class ByTurns : public nat::MapperChoice {
 public:
  int choose(const nat::FlowKey&, int attempt, int patterns) override {
    if (attempt == patterns) return -1;
    return static_cast<int>(turn_.fetch_add(1, std::memory_order_relaxed) % static_cast<uint32_t>(patterns));
  }

 private:
  std::atomic<uint32_t> turn_{0};
};

/** A number in which each bit depends on all of those of `number` (D. Stafford's variant of MurmurHash3's end). */
uint64_t mixed(uint64_t number) {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

class ByAddress : public nat::MapperChoice {
 public:
  ByAddress(uint32_t nodes, uint32_t seed, const std::vector<uint16_t>& ids) : seed_(mixed(seed)) {
    for (size_t i = 0; i < ids.size(); ++i)
      for (uint32_t node = 0; node < nodes; ++node)
        ring_.push_back({mixed(seed_ ^ (uint64_t{ids[i]} << 32 | node)), static_cast<int>(i)});
    std::ranges::sort(ring_);
  }
  int choose(const nat::FlowKey& flow, int attempt, int) override {
    if (attempt > 0) return -1;
    // Apart from the places of patterns, whose numbers have no bit beyond 48.
    const std::pair place{mixed(seed_ ^ (uint64_t{1} << 63 | flow.source)), 0};
    const auto next = std::ranges::lower_bound(ring_, place);
    return (next == ring_.end() ? ring_.front() : *next).second;
  }

 private:
  uint64_t seed_;
  std::vector<std::pair<uint64_t, int>> ring_;  // places, and whose they are
};

}  // namespace

void IPMapper::read_pattern(click::Arguments& arguments, const click::Argument& argument, const std::string& pattern,
                            const char* form) {
  std::string mistake;
  specs_.push_back(nat::read_input_spec(arguments.names(), "pattern " + pattern, kMaxOutputs, mistake));
  if (!mistake.empty()) arguments.error(argument, std::string(form) + " (" + mistake + ")");
}

void RoundRobinIPMapper::configure(click::Arguments& arguments) {
  for (const auto& argument : arguments.rest())
    read_pattern(arguments, argument, argument.text, "SADDR SPORT DADDR DPORT OUT BACK");
  if (specs_.empty()) arguments.error("expected patterns: SADDR SPORT DADDR DPORT OUT BACK, ...");
  choice_ = std::make_shared<ByTurns>();
}

void SourceIPHashMapper::configure(click::Arguments& arguments) {
  constexpr const char* kForm = "SADDR SPORT DADDR DPORT OUT BACK ID";
  const std::vector<click::Argument> given = arguments.rest();
  if (given.size() < 2) return arguments.error(format("expected NODES SEED, and patterns: %s, ...", kForm));
  uint32_t nodes = 1, seed = 0;
  const auto numbers = click::split_words(given[0].text);
  if (numbers.size() != 2 || !click::parse(numbers[0], nodes, 1u, 10'000u) || !click::parse(numbers[1], seed))
    arguments.error(given[0], "NODES SEED, numbers from 1 to 10000 and from 0 to 4294967295");
  std::vector<uint16_t> ids;
  for (size_t i = 1; i < given.size(); ++i) {
    const std::string& text = given[i].text;
    const auto words = click::split_words(text);
    uint16_t id = 0;
    if (words.size() < 2 || !click::parse(words.back(), id)) {
      arguments.error(given[i], std::string(kForm) + ", with an ID from 0 to 65535 at its end");
      continue;
    }
    if (std::ranges::find(ids, id) != ids.end()) arguments.error(given[i], "of another ID than those before");
    ids.push_back(id);
    const auto pattern = std::string_view(text).substr(0, static_cast<size_t>(words.back().data() - text.data()));
    read_pattern(arguments, given[i], std::string(click::trim(pattern)), kForm);
  }
  if (!ids.empty()) choice_ = std::make_shared<ByAddress>(nodes, seed, ids);
}

HEDDLE_ELEMENT(RoundRobinIPMapper);
HEDDLE_ELEMENT(SourceIPHashMapper);

}  // namespace heddle
