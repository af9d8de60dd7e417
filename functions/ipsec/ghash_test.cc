#include "functions/ipsec/ghash.h"

#include <gtest/gtest.h>

#include <random>

#include "functions/ipsec/keys.h"

namespace heddle::ipsec {
namespace {

bool operator==(const Polynomial& a, const Polynomial& b) { return a.high == b.high && a.low == b.low; }

/** As SP 800-38D, 6.3, Algorithm 1, writes it: bit by bit. */
Polynomial slow_product(const Polynomial& x, Polynomial v) {
  Polynomial z{0, 0};
  for (int i = 0; i < 128; ++i) {
    if (((i < 64 ? x.high >> (63 - i) : x.low >> (127 - i)) & 1) != 0) z = z ^ v;
    const bool carry = (v.low & 1) != 0;
    v = {v.high >> 1, v.low >> 1 | v.high << 63};
    if (carry) v.high ^= 0xe100000000000000;
  }
  return z;
}

constexpr Polynomial kOne{uint64_t{1} << 63, 0}, kX{uint64_t{1} << 62, 0};

TEST(Ghash, MultipliesAsTheStandardSays) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    // Few bits, many, and all: what is carried must not meet what is not.
    const auto number = [&] {
      switch (random() % 4) {
        case 0:
          return random() & random() & random();
        case 1:
          return ~uint64_t{0};
        default:
          return random();
      }
    };
    const Polynomial a{number(), number()}, b{number(), number()};
    ASSERT_TRUE(product(a, divided_by_x(b)) == slow_product(a, b)) << i;
    ASSERT_TRUE(slow_product(divided_by_x(a), kX) == a) << i;
  }
  EXPECT_TRUE(product(kOne, divided_by_x(kOne)) == kOne);
}

// The Galois/Counter Mode of Operation (McGrew, Viega), appendix B, test cases 2 and 4.
TEST(Ghash, SumsUpAsPublished) {
  struct {
    uint8_t key[16];
    std::vector<Polynomial> blocks;
    Polynomial key_of_hash, sum;
  } const cases[] = {{{},
                      {{0x0388dace60b6a392, 0xf328c2b971b2fe78}, {0, 128}},
                      {0x66e94bd4ef8a2c3b, 0x884cfa59ca342b2e},
                      {0xf38cbb1ad69223dc, 0xc3457ae5b6b0f885}},
                     {{0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08},
                      {{0xfeedfacedeadbeef, 0xfeedfacedeadbeef},
                       {0xabaddad200000000, 0},
                       {0x42831ec221777424, 0x4b7221b784d0d49c},
                       {0xe3aa212f2c02a4e0, 0x35c17e2329aca12e},
                       {0x21d514b25466931c, 0x7d8f6a5aac84aa05},
                       {0x1ba30b396a0aac97, 0x3d58e09100000000},
                       {160, 480}},
                      {0xb83b533708bf535d, 0x0aa6e52980d53b78},
                      {0x698e57f70e6ecc7f, 0xd9463b7260a9ae5f}}};
  for (auto& c : cases) {
    Association sa{};
    expand_key(c.key, sa);
    start_ghash(sa);
    EXPECT_TRUE(slow_product(sa.powers[0], kX) == c.key_of_hash);
    // By Horner's rule, and with powers, as lanes do it.
    Polynomial sum{0, 0}, by_powers{0, 0};
    for (auto& block : c.blocks) sum = product(sum ^ block, sa.powers[0]);
    for (size_t b = 0; b < c.blocks.size(); ++b)
      by_powers = by_powers ^ product(c.blocks[b], sa.powers[c.blocks.size() - b - 1]);
    EXPECT_TRUE(sum == c.sum);
    EXPECT_TRUE(by_powers == c.sum);
  }
  Association sa{};
  expand_key(cases[1].key, sa);
  start_ghash(sa);
  Polynomial power = cases[1].key_of_hash;
  for (auto& of : sa.powers) {
    EXPECT_TRUE(slow_product(of, kX) == power);
    power = slow_product(power, cases[1].key_of_hash);
  }
}

}  // namespace
}  // namespace heddle::ipsec
