#include "click/values.h"

#include <gtest/gtest.h>

#include <limits>

#include "click/quoting.h"

namespace heddle::click {
namespace {

/** The value of a text, or `otherwise`, which is what parse() must leave alone, if it has none. */
template <class T, class... Limits>
T value_of(std::string_view text, T otherwise, Limits... limits) {
  const T before = otherwise;
  if (!parse(text, otherwise, limits...)) {
    EXPECT_EQ(otherwise, before) << text;
  }
  return otherwise;
}

TEST(ValuesTest, Booleans) {
  for (const char* text : {"true", "yes", "1"}) EXPECT_TRUE(value_of(text, false));
  for (const char* text : {"false", "no", "0"}) EXPECT_FALSE(value_of(text, true));
  bool value = true;
  for (const char* text : {"", "TRUE", "2", "truex", " 1"}) EXPECT_FALSE(parse(text, value)) << text;
}

TEST(ValuesTest, Integers) {
  EXPECT_EQ(value_of<int>("42", -1), 42);
  EXPECT_EQ(value_of<int>("-42", 1), -42);
  EXPECT_EQ(value_of<int>("+7", 1), 7);
  EXPECT_EQ(value_of<int>("0x1F", 1), 31);
  EXPECT_EQ(value_of<int>("010", 1), 8);
  EXPECT_EQ(value_of<int>("0", 1), 0);
  EXPECT_EQ(value_of<uint8_t>("255", 1), 255);
  EXPECT_EQ(value_of<int8_t>("-128", 1), -128);
  EXPECT_EQ(value_of<uint64_t>("18446744073709551615", 1), UINT64_MAX);
  EXPECT_EQ(value_of<int64_t>("-9223372036854775808", 1), INT64_MIN);
  EXPECT_EQ(value_of<uint16_t>("-0", 1), 0);
  EXPECT_EQ(value_of<int>("5", 1, 5, 9), 5);
  EXPECT_EQ(value_of<int>("9", 1, 5, 9), 9);

  for (const char* text : {"", "-", "x", "1x", "1 ", " 1", "0x", "0x-1", "--1", "+-1", "08", "1.5", "2147483648"})
    EXPECT_EQ(value_of<int>(text, 77), 77) << text;
  for (const char* text : {"256", "-1"}) EXPECT_EQ(value_of<uint8_t>(text, 77), 77) << text;
  for (const char* text : {"4", "10"}) EXPECT_EQ(value_of<int>(text, 77, 5, 9), 77) << text;
  EXPECT_EQ(value_of<uint64_t>("18446744073709551616", 77u), 77u);
  EXPECT_EQ(value_of<int64_t>("9223372036854775808", 77), 77);
}

TEST(ValuesTest, RealNumbers) {
  EXPECT_EQ(value_of("1.5", 0.0), 1.5);
  EXPECT_EQ(value_of("-2e3", 0.0), -2000.0);
  EXPECT_EQ(value_of("0.5", 9.0, 0, 1), 0.5);
  EXPECT_EQ(value_of("1.5", 9.0, 0, 1), 9.0);
  for (const char* text : {"", "-", "inf", "nan", "1,5", "1e999", "--1", "+-1"})
    EXPECT_EQ(value_of(text, 9.0), 9.0) << text;
}

TEST(ValuesTest, Strings) {
  EXPECT_EQ(value_of<std::string>("eth0", "?"), "eth0");
  EXPECT_EQ(value_of<std::string>("a\"b c\"'d\\n'", "?"), "ab cd\\n");
  EXPECT_EQ(value_of<std::string>("\"\"", "?"), "");
  for (const char* text : {"", "two words"}) EXPECT_EQ(value_of<std::string>(text, "?"), "?");
  EXPECT_EQ(value_of<std::filesystem::path>("'my file'", "?"), "my file");
  for (const char* text : {"", "''", "a b", "\"\\0\""}) EXPECT_EQ(value_of<std::filesystem::path>(text, "?"), "?");
}

TEST(ValuesTest, Unquote) {
  EXPECT_EQ(unquote("plain \\ text"), "plain \\ text");
  EXPECT_EQ(unquote(R"("\a\b\t\n\v\f\r\\\"\q\$")"), "\a\b\t\n\v\f\r\\\"q$");
  EXPECT_EQ(unquote(R"("\101\60x\x41\x00042\xZ")"), "A0xABxZ");
  EXPECT_EQ(unquote(R"("<\< 48 45 4c4C 4f >>")"), "<HELLO>");
  EXPECT_EQ(unquote(R"(\<48 4>x'\<48>')"), std::string("H@x\\<48>"));
  EXPECT_EQ(unquote("\\<48 // face >\n 45 /* ab > */ 4c>\"\\<4f // 4f\n 4f>\""), "HELOO");
  EXPECT_EQ(unquote("\"a\\\nb\\\r\nc\""), "abc");
  EXPECT_EQ(unquote("it's \"open"), "it's \"open");
}

TEST(ValuesTest, SplitWords) {
  using Words = std::vector<std::string_view>;
  EXPECT_EQ(split_words("  10.0.0.0/8\t1 "), (Words{"10.0.0.0/8", "1"}));
  EXPECT_EQ(split_words("a\"b c\"d 'e f' \\<00 11>"), (Words{"a\"b c\"d", "'e f'", "\\<00 11>"}));
  EXPECT_EQ(split_words("a 'open b"), (Words{"a", "'open b"}));
  EXPECT_EQ(split_words(" "), Words{});
}

TEST(ValuesTest, LeadingKeyword) {
  EXPECT_EQ(leading_keyword("BURST 32"), "BURST");
  EXPECT_EQ(leading_keyword("IP_2\t'x'"), "IP_2");
  for (const char* text :
       {"", "BURST", "Burst 3", "bURST 3", "12 3", "_A 3", "BURST/3 4", "- x", "10.0.0.0/8 1", "\"A B\""})
    EXPECT_EQ(leading_keyword(text), "") << text;
}

TEST(ValuesTest, Ipv4) {
  EXPECT_EQ(value_of<Ipv4Address>("10.1.2.255", {}).value, 0x0a0102ffu);
  for (const char* text : {"", "10.1.2", "10.1.2.256", "10.1.2.3.4", "10..2.3", "10.1.2.-3", "10.1.2.3 ", "0010.1.2.3"})
    EXPECT_EQ(value_of<Ipv4Address>(text, {7}).value, 7u) << text;

  EXPECT_EQ(value_of<Ipv4Prefix>("10.0.0.0/8", {}), (Ipv4Prefix{0x0a000000, 8}));
  EXPECT_EQ(value_of<Ipv4Prefix>("10.1.2.3/255.255.0.0", {}), (Ipv4Prefix{0x0a010000, 16}));
  EXPECT_EQ(value_of<Ipv4Prefix>("1.2.3.4/32", {}), (Ipv4Prefix{0x01020304, 32}));
  EXPECT_EQ(value_of<Ipv4Prefix>("1.2.3.4/0", {1, 1}), (Ipv4Prefix{0, 0}));
  EXPECT_EQ(value_of<Ipv4Prefix>("1.2.3.4/0.0.0.0", {1, 1}), (Ipv4Prefix{0, 0}));
  EXPECT_EQ(value_of<Ipv4Prefix>("1.2.3.4/255.255.255.255", {1, 1}), (Ipv4Prefix{0x01020304, 32}));
  EXPECT_EQ(value_of<Ipv4Prefix>("18.26.4/24", {}), (Ipv4Prefix{0x121a0400, 24})) << "as in click(5)";
  EXPECT_EQ(value_of<Ipv4Prefix>("10/8", {}), (Ipv4Prefix{0x0a000000, 8}));
  for (const char* text : {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/255.0.255.0", "/8",
                           "10/9", "10/255.0.0.0", "10./8", ".10/8", "1.2.3.4.5/8"})
    EXPECT_EQ(value_of<Ipv4Prefix>(text, {1, 1}), (Ipv4Prefix{1, 1})) << text;

  using List = std::vector<Ipv4Address>;
  EXPECT_EQ(value_of<List>(" 0.0.0.1  0.0.0.2", {}), (List{{1}, {2}}));
  for (const char* text : {"", "0.0.0.1 x"}) EXPECT_EQ(value_of<List>(text, {{9}}), List{{9}}) << text;
}

TEST(ValuesTest, Durations) {
  EXPECT_EQ(value_of<Duration>("200us", {}).microseconds, 200u);
  EXPECT_EQ(value_of<Duration>("1.5ms", {}).microseconds, 1500u);
  EXPECT_EQ(value_of<Duration>("2 s", {}).microseconds, 2000000u);
  EXPECT_EQ(value_of<Duration>("0s", {7}).microseconds, 0u);
  // The units of Click's click(5); a number alone is in seconds.
  EXPECT_EQ(value_of<Duration>("1", {}).microseconds, 1000000u);
  EXPECT_EQ(value_of<Duration>("0.5", {}).microseconds, 500000u);
  EXPECT_EQ(value_of<Duration>("10sec", {}).microseconds, 10000000u);
  EXPECT_EQ(value_of<Duration>("1500ns", {}).microseconds, 2u);
  EXPECT_EQ(value_of<Duration>("2m", {}).microseconds, 120000000u);
  EXPECT_EQ(value_of<Duration>("2min", {}).microseconds, 120000000u);
  EXPECT_EQ(value_of<Duration>("1h", {}).microseconds, 3600000000u);
  EXPECT_EQ(value_of<Duration>("1hr", {}).microseconds, 3600000000u);
  for (const char* text : {"", "s", "-1s", "-1", "+1s", "1d", "1k", "inf", "infs", "nans", "1e300s", "1 s x"})
    EXPECT_EQ(value_of<Duration>(text, {7}).microseconds, 7u) << text;
}

TEST(ValuesTest, Expectations) {
  EXPECT_EQ(expectation(uint16_t{}), "an integer from 0 to 65535");
  EXPECT_EQ(expectation(int8_t{}), "an integer from -128 to 127");
  EXPECT_EQ(expectation(0, 1, 6), "an integer from 1 to 6");
  EXPECT_EQ(expectation(0.0, 0, 0.5), "a number from 0 to 0.5");
  EXPECT_EQ(expectation(0.0, -1e300, std::numeric_limits<double>::max()), "a number from -1e+300 to 1.79769e+308");
  EXPECT_EQ(expectation(Ipv4Prefix{}), "an IPv4 prefix such as 10.0.0.0/8");
}

TEST(ValuesTest, Ethernet) {
  const EthernetAddress address{{0x00, 0xa0, 0xc9, 0x9c, 0xfd, 0x09}};
  for (const char* text : {"0-a0-c9-9c-fd-9", "00:A0:C9:9C:FD:09", "0:a0:c9:9C:fd:9"})
    EXPECT_EQ(value_of<EthernetAddress>(text, {}), address) << text;
  const EthernetAddress other{{9}};
  for (const char* text :
       {"", "0", "0-1-2-3-4", "0-1-2-3-4-", "-0-1-2-3-4", "0-1-2-3-4-5-6", "0:1-2:3-4:5",
        "0:1:2:3:4:5:", "000:1:2:3:4:5", "0:1:2:3:4:g", "0::1:2:3:4", "0:1:2:3:4:-5", "0:1:2:3:4: 5", "00a0c99cfd09"})
    EXPECT_EQ(value_of<EthernetAddress>(text, other), other) << text;
}

TEST(ValuesTest, Bandwidths) {
  EXPECT_EQ(value_of<Bandwidth>("10Mbps", {}).bytes_per_second, 1250000u);
  EXPECT_EQ(value_of<Bandwidth>("1GBps", {}).bytes_per_second, 1000000000u);
  EXPECT_EQ(value_of<Bandwidth>("1.5kB/s", {}).bytes_per_second, 1500u);
  EXPECT_EQ(value_of<Bandwidth>("80 b/s", {}).bytes_per_second, 10u);
  EXPECT_EQ(value_of<Bandwidth>("384", {}).bytes_per_second, 384u) << "bytes, as in Click";
  for (const char* text : {"", "bps", "-1bps", "10mbps", "10Mb", "1e30", "10 M bps"})
    EXPECT_EQ(value_of<Bandwidth>(text, {7}).bytes_per_second, 7u) << text;
}

TEST(ValuesTest, TextIsClicks) {
  EXPECT_EQ(to_text(Ipv4Address{0x121a040f}), "18.26.4.15");
  EXPECT_EQ(to_text(Ipv4Prefix{0x0a000000, 8}), "10.0.0.0/8");
  EXPECT_EQ(to_text(EthernetAddress{{0x00, 0x1a, 0x2b, 3, 4, 0xff}}), "00-1A-2B-03-04-FF");
}

}  // namespace
}  // namespace heddle::click
