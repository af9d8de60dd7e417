// A device whose copy of a table cannot follow a change.

#include <gtest/gtest.h>

#include <vector>

#include "engine/gpu_segment.h"
#include "simt/loss.h"
#include "tests/support/harness.h"

namespace heddle::test {
namespace {

class NumberList : public Table {
 public:
  std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(numbers_)); }
  void set(size_t i, uint32_t number) {
    numbers_[i] = number;
    changed(i * sizeof number, std::as_bytes(std::span(&numbers_[i], 1)));
  }
  void replace(std::vector<uint32_t> numbers) {
    numbers_ = std::move(numbers);
    replaced();
  }

 private:
  std::vector<uint32_t> numbers_{1, 2, 3, 4};
};

TEST(TableCopy, WhatIsReplacedLiesThereTwiceUntilNobodyNeedsIt) {
  const auto device = gpu::open_device("simt");
  NumberList table;
  table.replace(std::vector<uint32_t>(1'000'000, 5));
  TableCopy copy(table, *device);
  const size_t before = simt::free_memory();
  table.replace(std::vector<uint32_t>(2'000'000, 6));
  EXPECT_EQ(before - simt::free_memory(), 8'000'000u);
  EXPECT_TRUE(copy.has_retired());
  copy.reclaim();
  wait_while([&] { return before - simt::free_memory() != 4'000'000; });
}

// The host's table has the whole change; the device, which would answer by the old one, serves no more.
TEST(TableCopy, WhatCannotFollowEndsItsDevice) {
  const auto device = gpu::open_device("simt");
  NumberList table;
  TableCopy copy(table, *device);
  const gpu::TableId before = copy.id();
  table.set(1, 7);
  EXPECT_EQ(device->failure(), "");
  {
    const simt::NoMemoryLeft full;
    table.replace(std::vector<uint32_t>(1'000'000, 5));
  }
  EXPECT_NE(device->failure().find("could not follow a change"), std::string::npos) << device->failure();
  EXPECT_NE(device->failure().find("out of memory: 4.0 MB more are wanted, and 0.0 of 8589.9 MB are free"),
            std::string::npos)
      << device->failure();
  EXPECT_EQ(table.bytes().size(), 4'000'000u);
  EXPECT_EQ(copy.id(), before) << "half a change";
  EXPECT_FALSE(copy.has_retired());
  const std::string failure = device->failure();
  table.set(999, 6);
  table.replace({8});
  EXPECT_EQ(device->failure(), failure) << "later changes are the host's alone";
  EXPECT_EQ(copy.id(), before);
}

}  // namespace
}  // namespace heddle::test
