// The cuckoo table against a map, full, while it changes, and under concurrent readers.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "functions/cuckoo/table.h"
#include "tests/support/frames.h"
#include "tests/support/memory.h"
#include "tests/support/sanitizer.h"

namespace heddle::cuckoo {
namespace {

using Writer = CuckooTable::Writer;

uint32_t hash(const CuckooTable& table, uint64_t key) { return hash_of(table.image(), key); }

std::vector<uint64_t> found(const CuckooTable& table, const std::vector<uint64_t>& keys, const Form& form) {
  std::vector<uint32_t> hashes;
  for (const uint64_t key : keys) hashes.push_back(hash(table, key));
  std::vector<uint64_t> words(keys.size(), 1);
  table.lookup_bulk(form, hashes.data(), keys.data(), words.data(), static_cast<int>(keys.size()));
  return words;
}

void expect_same(const CuckooTable& table, const std::unordered_map<uint64_t, uint16_t>& map,
                 const std::vector<uint64_t>& keys) {
  for (const Form& form : forms()) {
    const auto words = found(table, keys, form);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto entry = map.find(keys[i]);
      ASSERT_EQ(words[i], entry == map.end() ? 0 : keys[i] | uint64_t{entry->second} << kValueShift)
          << keys[i] << ", " << form.name;
    }
  }
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto entry = map.find(keys[i]);
    const uint64_t wanted = entry == map.end() ? 0 : keys[i] | uint64_t{entry->second} << kValueShift;
    ASSERT_EQ(lookup(table.image(), hash(table, keys[i]), keys[i]), wanted);
    ASSERT_EQ(table.find(hash(table, keys[i]), keys[i]), wanted);
  }
  size_t entries = 0;
  table.each([&](uint64_t word) {
    ++entries;
    const auto entry = map.find(word & kKeyMask);
    ASSERT_NE(entry, map.end());
    ASSERT_EQ(entry->second, word >> kValueShift);
  });
  EXPECT_EQ(entries, map.size());
  EXPECT_EQ(table.size(), map.size());
}

// Forms are compared on memory that is there: an empty table would else be a page that is always cached.
TEST(Cuckoo, IsWholeWhenItsFormIsChosen) {
  if (test::kSanitized) GTEST_SKIP() << "all memory is written";
  CuckooTable table;
  table.reset(4'000'000, 1);
  const size_t before = test::written_bytes();
  table.choose_form();
  EXPECT_GT(test::written_bytes() - before, table.bytes().size() / 10 * 9);
  table.each([](uint64_t word) { ADD_FAILURE() << word; });
}

TEST(Cuckoo, IsAMap) {
  auto random = test::random_for("cuckoo");
  for (const size_t capacity : {1u, 7u, 100u, 5000u}) {
    CuckooTable table;
    table.reset(capacity, random());
    std::unordered_map<uint64_t, uint16_t> map;
    std::vector<uint64_t> keys = {0, kKeyMask};
    while (keys.size() < capacity * 2) keys.push_back((uint64_t{random()} << 32 | random()) & kKeyMask);
    for (int step = 0; step < 20000; ++step) {
      const uint64_t key = keys[random() % keys.size()];
      Writer writer(table);
      if (random() % 3 == 0) {
        EXPECT_EQ(writer.remove(hash(table, key), key), map.erase(key) > 0);
      } else {
        const auto value = static_cast<uint16_t>(1 + random() % 65535);
        const bool room = map.contains(key) || map.size() < capacity;
        EXPECT_EQ(writer.set(hash(table, key), key, value), room) << "of " << capacity;
        if (room) map[key] = value;
      }
    }
    expect_same(table, map, keys);
    Writer(table).remove_if(0, table.image().buckets, [](uint64_t word) { return (word >> kValueShift) % 2 == 0; });
    std::erase_if(map, [](const auto& entry) { return entry.second % 2 == 0; });
    expect_same(table, map, keys);
  }
}

// All of the capacity can be used, and what is in the table stays when no more fits.
TEST(Cuckoo, CanBeFull) {
  auto random = test::random_for("full cuckoo");
  CuckooTable table;
  table.reset(50000, 7);
  std::unordered_map<uint64_t, uint16_t> map;
  std::vector<uint64_t> keys;
  for (int i = 0; i < 60000; ++i) {
    const uint64_t key = (uint64_t{random()} << 32 | random()) & kKeyMask;
    keys.push_back(key);
    if (Writer(table).set(hash(table, key), key, 9)) map[key] = 9;
  }
  EXPECT_EQ(map.size(), 50000u);
  expect_same(table, map, keys);
}

// More keys with the same two buckets than these hold: refused, and nothing is lost.
TEST(Cuckoo, RefusesKeysThatCrowd) {
  CuckooTable table;
  table.reset(1000, 7);
  std::unordered_map<uint64_t, uint16_t> map;
  std::vector<uint64_t> keys;
  uint64_t refused = 0;
  for (uint64_t key = 0; keys.size() < 40; ++key) {
    const uint32_t first = first_bucket(table.image(), hash(table, key));
    if (first > 1 || other_bucket(table.image(), first, key) > 1) continue;
    keys.push_back(key);
    if (Writer(table).set(hash(table, key), key, 1))
      map[key] = 1;
    else
      ++refused;
  }
  EXPECT_EQ(map.size(), 16u);
  EXPECT_EQ(refused, 24u);
  expect_same(table, map, keys);
}

/** A copy that applies what it is told, words that come together in the other order. */
class Follower {
 public:
  explicit Follower(CuckooTable& table) : bytes_(table.bytes().size()), memory_(map_huge_pages(bytes_)) {
    std::ranges::copy(table.bytes(), memory_.get());
    table.add_copy({.patch = [this](size_t offset, std::span<const std::byte> bytes) { put(offset, bytes); },
                    .patch_words = [this](std::span<const TableWord> words) { put(words); }});
  }
  const Image& image() const { return *reinterpret_cast<const Image*>(memory_.get()); }
  bool is(const CuckooTable& table) const {
    return std::ranges::equal(std::span<const std::byte>(memory_.get(), bytes_), table.bytes());
  }
  std::function<void()> changed;  ///< called after each change
  size_t most_together = 0;

 private:
  void put(size_t offset, std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, memory_.get() + offset);
    if (changed) changed();
  }
  void put(std::span<const TableWord> words) {
    std::set<uint64_t> places;
    for (size_t left = words.size(); left-- > 0;) {
      const TableWord& word = words[left];
      EXPECT_TRUE(places.insert(word.offset).second) << "a place twice, in no order";
      put(word.offset, std::as_bytes(std::span(&word.value, 1)).first(word.bytes));
    }
    most_together = std::max(most_together, words.size());
  }

  size_t bytes_;
  HugePages memory_;
};

// Copies are the same table whenever a Writer that waits has gone, and others have published.
TEST(Cuckoo, TellsCopies) {
  auto random = test::random_for("cuckoo copies");
  CuckooTable table;
  table.reset(300, 7);
  Follower copy(table);
  for (int i = 0; i < 2000; ++i) {
    const uint64_t key = random() % 400;
    Writer writer(table);
    if (random() % 4 == 0)
      writer.remove(hash(table, key), key);
    else
      writer.set(hash(table, key), key, static_cast<uint16_t>(i + 1));
    if (i % 50 == 0) writer.set_owner(static_cast<uint32_t>(i));
    { const Writer ends(std::move(writer)); }
    ASSERT_TRUE(copy.is(table)) << i;
  }
}

// Changes of packet threads go together, and an entry that is there all the time can be found in the copy all the time.
TEST(Cuckoo, TellsCopiesManyAtOnce) {
  auto random = test::random_for("cuckoo gathered");
  CuckooTable table;
  table.reset(3000, 7);
  std::vector<uint64_t> stay;
  for (uint64_t key = 1; key <= 1500; ++key) {
    stay.push_back(key);
    ASSERT_TRUE(Writer(table).set(hash(table, key), key, 5));
  }
  Follower copy(table);
  size_t searched = 0;
  copy.changed = [&] {
    if (copy.image().moves % 2 != 0) return;  // a reader searches again
    const uint64_t key = stay[++searched % stay.size()];
    ASSERT_EQ(lookup(copy.image(), hash_of(copy.image(), key), key) & kKeyMask, key);
  };
  for (int i = 0; i < 30000; ++i) {
    const uint64_t key = 10000 + random() % 4000;
    auto writer = Writer::if_free(table);
    ASSERT_TRUE(writer);
    if (random() % 2 == 0)
      writer->remove(hash(table, key), key);
    else
      writer->set(hash(table, key), key, static_cast<uint16_t>(1 + random() % 9));
    if (i % 700 != 0) continue;
    writer->publish();
    ASSERT_TRUE(copy.is(table)) << i;
  }
  Writer::if_free(table)->publish();
  EXPECT_TRUE(copy.is(table));
  EXPECT_GT(searched, stay.size());
  EXPECT_GT(copy.most_together, 100u);
}

// Entries that stay are found whatever moves around them.
TEST(ConcurrentCuckoo, FindsWhatMoves) {
  auto random = test::random_for("cuckoo readers");
  CuckooTable table;
  table.reset(2000, 7);
  std::vector<uint64_t> stay;
  for (uint64_t key = 1; key <= 900; ++key) {
    stay.push_back(key);
    ASSERT_TRUE(Writer(table).set(hash(table, key), key, 5));
  }
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> laps{0}, missed{0};
  std::thread reader([&] {
    while (!stop) {
      const Form& form = forms()[laps % forms().size()];
      for (const uint64_t word : found(table, stay, form)) missed += word >> kValueShift == 5 ? 0 : 1;
      ++laps;
    }
  });
  std::vector<uint64_t> come_and_go;
  for (int step = 0; step < 100000 || laps < 20; ++step) {
    if (come_and_go.size() < 1100) {
      const uint64_t key = 1000 + random();
      if (Writer(table).set(hash(table, key), key, 6)) come_and_go.push_back(key);
    } else {
      for (const uint64_t key : come_and_go) Writer(table).remove(hash(table, key), key);
      come_and_go.clear();
    }
  }
  stop = true;
  reader.join();
  EXPECT_EQ(missed, 0u);
}

}  // namespace
}  // namespace heddle::cuckoo
