#include "core/epoch.h"

#include <gtest/gtest.h>

#include <vector>

namespace heddle {
namespace {

// Readers that are no packet threads: what they have found stays valid while they read. (Run by tsan as well.)
TEST(EpochConcurrent, ReadersHoldWhatTheyFound) {
  Epochs epochs;
  struct Version {
    std::atomic<bool> retired{false};
  };
  std::vector<Version> versions(300);
  std::atomic<Version*> current{&versions[0]};
  std::atomic<bool> done{false};
  std::atomic<uint64_t> wrong{0}, reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      while (!done) {
        const Epochs::Reader reader(epochs);
        const Version* found = current;
        for (int look = 0; look < 50; ++look) wrong += found->retired;
        ++reads;
      }
    });
  for (size_t next = 1; next < versions.size(); ++next) {
    const uint64_t had = reads;
    Version* before = current.exchange(&versions[next]);
    epochs.wait_for_readers(0, [] { return false; });
    before->retired = true;
    while (reads == had) std::this_thread::yield();
  }
  done = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0u);
}

TEST(Epoch, AWriterWaitsForAReader) {
  Epochs epochs;
  std::atomic<bool> reading{true}, early{false};
  std::thread writer;
  {
    const Epochs::Reader reader(epochs);
    const uint64_t before = epochs.current();
    writer = std::thread([&] {
      epochs.wait_for_readers(0, [] { return false; });
      early = reading.load();
    });
    while (epochs.current() == before) std::this_thread::yield();
    reading = false;
  }
  writer.join();
  EXPECT_FALSE(early);
  epochs.wait_for_readers(0, [] { return false; });
}

TEST(Epoch, MoreReadersThanPlacesTakeTurns) {
  Epochs epochs;
  std::atomic<int> reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2 * Epochs::kMaxReaders; ++i)
    readers.emplace_back([&] {
      const Epochs::Reader reader(epochs);
      ++reads;
    });
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(reads, 2 * Epochs::kMaxReaders);
}

}  // namespace
}  // namespace heddle
