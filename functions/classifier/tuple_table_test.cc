// What a GPU has of hash tables while they change, word by word in any order: whoever has taken a moment finds what the
// set of that moment has, until nobody can have it any more.

#include "functions/classifier/tuple_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "core/huge_pages.h"
#include "functions/classifier/engine_for_test.h"
#include "functions/classifier/tuple_engine.h"
#include "tests/support/frames.h"
#include "tests/support/sanitizer.h"

namespace heddle::classifier {
namespace {

/** What a reader has taken when it began. */
struct Reader {
  const Image* image;
  uint32_t version;
  uint64_t tables;

  explicit Reader(const Image& of) : image(&of), version(of.now().number), tables(of.tables) {}

  /** The number of the rule that the key hits. */
  uint32_t find(const Key& key) const {
    uint32_t best = kNoRule;
    const auto* way = image->at<ImageWay>(image->ways) + static_cast<uint32_t>(tables);
    for (auto left = static_cast<uint32_t>(tables >> 32); left > 0 && way->best < best; --left, ++way) {
      const uint64_t hash = hash_of(words_of(key[0], key[1], key[2], key[3], key[4]) & way->mask);
      const uint64_t head = image->at<uint64_t>(way->heads)[hash >> way->shift];
      if (!may_have(head, hash)) continue;
      for (auto next = static_cast<uint32_t>(head); next != 0;) {
        const TupleEntry& rule = image->at<TupleEntry>(image->entries)[next - 1];
        if (rule.low[kNumber] >= best) break;
        bool matches = version - rule.low[kVersion] <= rule.span[kVersion];
        for (size_t f = 0; f < kFields; ++f) matches = matches && key[f] - rule.low[f] <= rule.span[f];
        if (matches) best = rule.low[kNumber];
        next = rule.span[way->link];
      }
    }
    return best;
  }
};

/** A copy of an engine's table, as a device has it. */
class Device {
 public:
  /** `look` is called whenever a word of it has changed. */
  Device(Table& table, std::mt19937& random, std::function<void()> look)
      : table_(table), random_(random), look_(std::move(look)) {
    take();
    table.add_copy({.patch =
                        [this](size_t offset, std::span<const std::byte> bytes) {
                          std::memcpy(images_.back().get() + offset, bytes.data(), bytes.size());
                          look_();
                        },
                    .patch_words = [this](std::span<const TableWord> words) { change(words); },
                    .replace =
                        [this] {
                          take();
                          ++replaced;
                          look_();
                        }});
  }
  const Image& image() const { return *reinterpret_cast<const Image*>(images_.back().get()); }
  /** Nobody reads in images before the present one. */
  void reclaim() { images_.erase(images_.begin(), images_.end() - 1); }

  size_t replaced = 0;

 private:
  void take() {
    const auto bytes = table_.bytes();
    images_.push_back(map_huge_pages(bytes.size()));
    std::memcpy(images_.back().get(), bytes.data(), bytes.size());
  }
  void change(std::span<const TableWord> words) {
    std::vector<TableWord> order(words.begin(), words.end());
    std::shuffle(order.begin(), order.end(), random_);
    for (const auto& [offset, value, bytes] : order) {
      std::memcpy(images_.back().get() + offset, &value, bytes);
      look_();
    }
  }

  Table& table_;
  std::mt19937& random_;
  std::function<void()> look_;
  std::deque<HugePages> images_;
};

/** Changes a set of rules from `pool`, with numbers below `numbers`, at random; readers look keys near them up. */
void expect_whole_sets(std::mt19937& random, const std::vector<Rule>& pool, uint32_t numbers, uint32_t changes) {
  constexpr size_t kKeys = 48, kMaxReaders = 6;
  const auto keys = keys_near(random, pool, kKeys);
  Subject subject(EngineKind::tuple);
  subject.load({pool.begin(), pool.begin() + numbers / 13}, 7);
  std::vector<std::array<uint32_t, kKeys>> wanted;  // numbers of the rules that keys hit, by version
  const auto note = [&] {
    auto& now = wanted.emplace_back();
    for (size_t k = 0; k < kKeys; ++k) {
      const auto hit = std::ranges::find_if(subject.wanted,
                                            [&](const auto& rule) { return first_match({rule.second}, keys[k]) == 0; });
      now[k] = hit == subject.wanted.end() ? kNoRule : hit->first;
    }
  };
  note();
  std::vector<Reader> readers;
  size_t wrong = 0, looks = 0;
  const auto look = [&](const Image& image) {
    if (readers.size() < kMaxReaders && random() % 8 == 0) readers.emplace_back(image);
    const auto check = [&](const Reader& reader) {
      for (int i = 0; i < 3; ++i, ++looks) {
        const size_t k = random() % kKeys;
        wrong += reader.find(keys[k]) != wanted.at(reader.version)[k] ? 1 : 0;
      }
    };
    for (const Reader& reader : readers) check(reader);
    check(Reader(image));
  };
  const Device* begun = nullptr;
  Device device(*subject.engine->table(), random, [&] {
    if (begun != nullptr) look(begun->image());
  });
  begun = &device;
  for (uint32_t change = 0; change < changes; ++change) {
    std::map<uint32_t, std::optional<Rule>> next;
    for (uint32_t count = 1 + random() % 4 + (change % 50 == 49 ? numbers / 60 : 0); count > 0; --count) {
      const auto number = static_cast<uint32_t>(random() % numbers);
      if (random() % 5 < 3)
        next[number] = pool[random() % pool.size()];
      else if (const auto at = subject.wanted.lower_bound(number); at != subject.wanted.end())
        next[at->first] = std::nullopt;
    }
    std::vector<RuleChange> list;
    for (const auto& [number, rule] : next) {
      list.push_back({number, rule});
      subject.wanted.erase(number);
      if (rule) subject.wanted[number] = *rule;
    }
    note();  // before readers can see it
    subject.set.change(list, *subject.engine);
    ASSERT_EQ(device.image().now().number, wanted.size() - 1);
    if (random() % 4 != 0 && !subject.engine->has_retired()) continue;
    std::erase_if(readers, [&](const Reader& reader) {
      return reader.image != &device.image() || reader.version + 1 != wanted.size();
    });
    device.reclaim();
    subject.reclaim();
  }
  for (size_t k = 0; k < kKeys; ++k) EXPECT_EQ(Reader(device.image()).find(keys[k]), wanted.back()[k]);
  EXPECT_EQ(wrong, 0u) << "of " << looks << " looks";
  EXPECT_GT(looks, 20u * changes);
  subject.expect_right(keys);
}

constexpr uint32_t kChanges = test::kSanitized ? 300 : 1500;

TEST(TupleTable, HasTheWholeSetOfEachMomentWhileItChanges) {
  auto random = test::random_for("tuple table");
  expect_whole_sets(random, random_rules(random, 1200), 4000, kChanges);
}

// Few rules, so that tables come and go.
TEST(TupleTable, HasTheWholeSetOfEachMomentWhileTablesComeAndGo) {
  auto random = test::random_for("tuple table tables");
  std::vector<Rule> pool(64);
  for (uint32_t i = 0; i < pool.size(); ++i) {  // each looks at other bits
    const uint32_t host = ~0u >> (1 + i % 31);
    const Field field = i % 2 == 0 ? kSource : kDestination;
    pool[i].low[field] = i * 2654435761u & ~host;
    pool[i].high[field] = pool[i].low[field] | host;
  }
  expect_whole_sets(random, pool, 8, 4 * kChanges);
}

// Rules and tables that there was no room for, which is found again and again; and sets that are replaced.
TEST(TupleTable, IsReplacedWhereThereIsNoRoom) {
  auto random = test::random_for("tuple table room");
  const auto pool = random_rules(random, 12'000);
  const auto keys = keys_near(random, pool, 300);
  Subject subject(EngineKind::tuple);
  subject.load({}, 1);
  Device device(*subject.engine->table(), random, [] {});
  const auto expect_same = [&] {
    const auto outcomes = subject.classify(keys, 97);
    for (size_t k = 0; k < keys.size(); ++k)
      ASSERT_EQ(Reader(device.image()).find(keys[k]), outcomes[k].number) << text_of(keys[k]);
  };
  for (uint32_t i = 0; i < pool.size(); ++i) {
    subject.change({{(i * 2654435761u) % 100'003, pool[i]}});
    if (subject.engine->has_retired()) device.reclaim(), subject.reclaim();
    if (i % 500 == 0) expect_same();
  }
  expect_same();
  subject.expect_right({keys.begin(), keys.begin() + 50});
  EXPECT_GE(device.replaced, 2u);
  EXPECT_LE(device.replaced, 30u) << "room is taken for more than is there";
  for (const size_t count : {20u, 3000u}) {
    subject.load({pool.begin(), pool.begin() + static_cast<std::ptrdiff_t>(count)}, 3);
    expect_same();
    subject.change({{1, pool[7]}, {0, std::nullopt}});
    expect_same();
    device.reclaim(), subject.reclaim();
    subject.expect_right({keys.begin(), keys.begin() + 50});
  }
}

TEST(TupleTable, HasWhatThereIsWhenItIsAskedFor) {
  auto random = test::random_for("tuple table asked for");
  const auto rules = random_rules(random, 200);
  Subject subject(EngineKind::tuple);
  subject.load(rules, 2);
  subject.change({{1, rules[3]}, {4, std::nullopt}});
  const auto keys = keys_near(random, rules, 300);
  Device device(*subject.engine->table(), random, [] {});
  subject.change({{3, rules[9]}, {6, std::nullopt}});
  subject.reclaim();
  const auto outcomes = subject.classify(keys, 97);
  for (size_t k = 0; k < keys.size(); ++k) EXPECT_EQ(Reader(device.image()).find(keys[k]), outcomes[k].number);
}

TEST(TupleTable, IsNoneWithMoreFieldsThanAGpuReads) {
  RuleEngine::Limits limits{kNoMatch, size_t{1} << 30};
  for (uint16_t byte = 0; byte < kMaxDimensions - kFields; ++byte) limits.layout.push_back({Place::frame, 1, byte});
  EXPECT_NE(make_engine(EngineKind::tuple, limits)->table(), nullptr);
  limits.layout.push_back({Place::frame, 1, 100});
  EXPECT_EQ(make_engine(EngineKind::tuple, limits)->table(), nullptr);
}

}  // namespace
}  // namespace heddle::classifier
