#include "elements/analysis/aggregate_table.h"

#include <gtest/gtest.h>

#include <map>

#include "tests/support/frames.h"

namespace heddle::test {
namespace {

std::vector<std::pair<uint32_t, uint64_t>> list_of(const std::map<uint32_t, uint64_t>& map) {
  return {map.begin(), map.end()};
}

TEST(AggregateTable, IsAMapOfFixedSize) {
  auto random = random_for("aggregate table");
  for (const uint32_t capacity : {1u, 2u, 7u, 100u}) {
    AggregateTable table;
    table.make(capacity);
    std::map<uint32_t, uint64_t> model;
    for (int i = 0; i < tries(20'000, 1'000'000); ++i) {
      const auto aggregate = static_cast<uint32_t>(random() % (2 * capacity) * (i % 2 == 0 ? 1 : 0x1000193));
      uint64_t* number = table.find(aggregate);
      ASSERT_EQ(number != nullptr, model.contains(aggregate));
      if (number != nullptr) {
        ASSERT_EQ(*number, model[aggregate]);
      }
      const unsigned what = random() % 8;
      if (number == nullptr && what < 4) {
        uint64_t* added = table.add(aggregate);
        ASSERT_EQ(added != nullptr, model.size() < capacity);
        if (added != nullptr) {
          ASSERT_EQ(*added, 0u);
          model[aggregate] = 0;
        }
      } else if (number != nullptr && what < 4) {
        AggregateTable::set(*number, model[aggregate] = random());
      } else if (number != nullptr && what < 7) {
        table.remove(aggregate);
        model.erase(aggregate);
      } else if (what == 7 && random() % 50 == 0) {
        table.clear();
        model.clear();
      }
      ASSERT_EQ(table.size(), model.size());
      if (i % 97 == 0) {
        ASSERT_EQ(table.entries(), list_of(model));
      }
    }
  }
}

}  // namespace
}  // namespace heddle::test
