#include "core/fastest.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace heddle {
namespace {

volatile uint64_t spun;
void spin(uint64_t times) {
  for (uint64_t i = 0; i < times; ++i) spun = i;
}

TEST(Fastest, TakesTheLeastWork) {
  constexpr std::array<uint64_t, 4> kWork = {1000000, 3000000, 1000, 2000000};
  std::array<int, 4> calls{};
  EXPECT_EQ(fastest(kWork.size(),
                    [&](size_t way) {
                      ++calls[way];
                      spin(kWork[way]);
                    }),
            2u);
  EXPECT_EQ(calls, (std::array<int, 4>{6, 6, 6, 6}));
}

TEST(Fastest, TakesTheOnlyWay) {
  EXPECT_EQ(fastest(1, [](size_t) {}), 0u);
}

}  // namespace
}  // namespace heddle
