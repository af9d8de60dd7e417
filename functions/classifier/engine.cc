#include "functions/classifier/engine.h"

#include <algorithm>

#include "core/error.h"
#include "functions/classifier/acl_engine.h"
#include "functions/classifier/split_engine.h"
#include "functions/classifier/table.h"
#include "functions/classifier/tuple_engine.h"

namespace heddle::classifier {
namespace {

class BitVectorEngine : public RuleEngine {
 public:
  explicit BitVectorEngine(const Limits& limits) : limits_(limits) {
    table_.load(std::span<const SetRule>{}, limits_.no_match, SIZE_MAX, limits_.layout, limits_.form);
  }
  void load(std::span<const SetRule> rules) override {
    table_.load(rules, limits_.no_match, limits_.most_bytes, limits_.layout, limits_.form);
  }
  void classify(const uint32_t* const* keys, Outcome* outcomes, int n) const override {
    constexpr int kGroup = 64;
    const Image& image = table_.image();
    uint32_t places[kGroup];
    for (int base = 0; base < n; base += kGroup) {
      const int count = std::min(kGroup, n - base);
      lookup_bulk(image, keys, base, places, count);
      for (int i = 0; i < count; ++i) outcomes[base + i] = image.outcome(places[i]);
    }
  }
  size_t bytes() const override { return table_.bytes().size(); }
  Table* table() override { return &table_; }
  bool has_retired() const override { return table_.has_retired(); }
  void reclaim() override { table_.reclaim(); }

 private:
  Limits limits_;
  BitVectorTable table_;
};

}  // namespace

std::string_view name_of(EngineKind kind) {
  constexpr std::string_view kNames[] = {"bitvector", "acl", "tuple", "hypersplit"};
  return kNames[static_cast<int>(kind)];
}

std::unique_ptr<RuleEngine> make_engine(EngineKind kind, const RuleEngine::Limits& limits) {
  switch (kind) {
    case EngineKind::acl:
      return std::make_unique<AclEngine>(limits);
    case EngineKind::tuple:
      return std::make_unique<TupleEngine>(limits);
    case EngineKind::hypersplit:
      return std::make_unique<SplitEngine>(limits);
    case EngineKind::bitvector:
      break;
  }
  return std::make_unique<BitVectorEngine>(limits);
}

}  // namespace heddle::classifier
