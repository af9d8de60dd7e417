#include "click/arguments.h"

#include <gtest/gtest.h>

#include "click/parse_for_test.h"

namespace other {

struct Color {
  bool red = false;
};

bool parse(std::string_view text, Color& value) {
  value.red |= text == "red";
  return text == "red";
}
std::string expectation(const Color&) { return "a colour"; }

}  // namespace other

namespace heddle::click {
namespace {

enum class Policy { kDrop, kBlock };

class ArgumentsTest : public testing::Test {
 protected:
  /** The arguments of `q :: Queue(text)`. */
  Arguments arguments(const std::string& text) {
    graph_ = parse("q :: Queue(" + text + ")", "t", options_for_test(), diagnostics_);
    EXPECT_TRUE(diagnostics_.ok()) << diagnostics_.text();
    return Arguments(graph_.elements[0], diagnostics_);
  }

  std::string errors() { return std::exchange(diagnostics_, {}).text(); }

  Graph graph_;
  Diagnostics diagnostics_;
  int a_ = -1, b_ = -2, c_ = -3;
};

TEST_F(ArgumentsTest, TakesPositionalArgumentsInOrder) {
  arguments("5, 6").required("A", a_).optional("B", b_).optional("C", c_).finish();
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(std::tie(a_, b_, c_), std::make_tuple(5, 6, -3));
}

TEST_F(ArgumentsTest, TakesKeywordsAnywhere) {
  arguments("C 7, 5, A 6").required("A", a_).required("B", b_).keyword("C", c_).finish();
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(std::tie(a_, b_, c_), std::make_tuple(6, 5, 7));
}

TEST_F(ArgumentsTest, KeywordsAreNotPositional) {
  arguments("C 7").optional("A", a_).keyword("B", b_).keyword("C", c_).finish();
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(std::tie(a_, b_, c_), std::make_tuple(-1, -2, 7));
  arguments("5").keyword("A", a_).finish();
  EXPECT_EQ(errors(), "t:1:12: Queue 'q': '5' is one argument too many\n");
}

TEST_F(ArgumentsTest, KeywordsAreInCapitals) {
  arguments("1, b 5").required("A", a_).keyword("B", b_).finish();
  EXPECT_EQ(errors(), "t:1:15: Queue 'q': 'b 5' is one argument too many; did you mean 'B 5'?\n");
  arguments("1, d 5").required("A", a_).keyword("B", b_).finish();
  EXPECT_EQ(errors(), "t:1:15: Queue 'q': 'd 5' is one argument too many\n");
}

TEST_F(ArgumentsTest, TakesEveryType) {
  bool flag = false;
  uint16_t port = 0;
  double rate = 0;
  std::string text;
  std::filesystem::path file;
  Ipv4Address address;
  Ipv4Prefix prefix;
  std::vector<Ipv4Address> addresses;
  Duration wait;
  other::Color color;
  arguments("yes, 0xffff, 1.5, \"a, b\", 'dir/f', 10.0.0.1, 10.0.0.0/8, 1.1.1.1 2.2.2.2, 3ms, red")
      .required("FLAG", flag)
      .required("PORT", port)
      .required("RATE", rate)
      .required("TEXT", text)
      .required("FILE", file)
      .required("ADDRESS", address)
      .required("PREFIX", prefix)
      .required("ADDRESSES", addresses)
      .required("WAIT", wait)
      .required("COLOR", color)
      .finish();
  EXPECT_EQ(errors(), "");
  EXPECT_TRUE(flag);
  EXPECT_EQ(port, 0xffff);
  EXPECT_EQ(rate, 1.5);
  EXPECT_EQ(text, "a, b");
  EXPECT_EQ(file, "dir/f");
  EXPECT_EQ(address.value, 0x0a000001u);
  EXPECT_EQ(prefix, (Ipv4Prefix{0x0a000000, 8}));
  EXPECT_EQ(addresses.size(), 2u);
  EXPECT_EQ(wait.microseconds, 3000u);
  EXPECT_TRUE(color.red);
}

TEST_F(ArgumentsTest, ReportsValuesThatDoNotFit) {
  uint16_t port = 7;
  Ipv4Prefix prefix;
  other::Color color;
  arguments("70000,\n NET 10.0.0.0, A 9, COLOR blue, B")
      .required("PORT", port)
      .keyword("NET", prefix)
      .keyword("A", a_, 1, 8)
      .keyword("COLOR", color)
      .keyword("B", b_)
      .finish();
  EXPECT_EQ(errors(),
            "t:1:12: Queue 'q': PORT: '70000' is not an integer from 0 to 65535\n"
            "t:2:2: Queue 'q': NET: '10.0.0.0' is not an IPv4 prefix such as 10.0.0.0/8\n"
            "t:2:16: Queue 'q': A: '9' is not an integer from 1 to 8\n"
            "t:2:21: Queue 'q': COLOR: 'blue' is not a colour\n"
            "t:2:33: Queue 'q': B: '' is not an integer from -2147483648 to 2147483647\n");
  EXPECT_EQ(port, 7);
  EXPECT_EQ(a_, -1);
}

TEST_F(ArgumentsTest, ReportsMissingArguments) {
  arguments("").required("A", a_, 1, 8).optional("B", b_).finish();
  EXPECT_EQ(errors(), "t:1:1: Queue 'q': missing argument A; expected an integer from 1 to 8\n");
}

TEST_F(ArgumentsTest, ReportsWhatNobodyTook) {
  arguments("1, CAPACTIY 2, 3, BURST 4, BURST 5, XYZ 6").required("CAPACITY", a_).keyword("BURST", b_).finish();
  EXPECT_EQ(errors(),
            "t:1:15: Queue 'q': unknown keyword 'CAPACTIY'; did you mean 'CAPACITY'?\n"
            "t:1:27: Queue 'q': '3' is one argument too many\n"
            "t:1:39: Queue 'q': keyword 'BURST' is given twice\n"
            "t:1:48: Queue 'q': unknown keyword 'XYZ'\n");
  EXPECT_EQ(std::tie(a_, b_), std::make_tuple(1, 4));
  arguments("5, A 6").required("A", a_).finish();
  EXPECT_EQ(errors(), "t:1:12: Queue 'q': '5' is one argument too many\n");
}

TEST_F(ArgumentsTest, Choice) {
  Policy policy = Policy::kDrop;
  arguments("POLICY block").choice("POLICY", policy, {{"drop", Policy::kDrop}, {"block", Policy::kBlock}}).finish();
  EXPECT_EQ(errors(), "");
  EXPECT_EQ(policy, Policy::kBlock);
  arguments("").choice("POLICY", policy, {{"drop", Policy::kDrop}}).finish();
  arguments("POLICY tail").choice("POLICY", policy, {{"drop", Policy::kDrop}, {"block", Policy::kBlock}}).finish();
  EXPECT_EQ(errors(), "t:1:12: Queue 'q': POLICY: 'tail' is not one of drop, block\n");
  EXPECT_EQ(policy, Policy::kBlock);
}

TEST_F(ArgumentsTest, RestTakesPatternsAndRoutes) {
  Arguments taken = arguments("12/0800, BURST 5, -, 10.0.0.0/8 1, BURTS 6");
  taken.keyword("BURST", a_);
  const std::vector<Argument> rest = taken.rest();
  ASSERT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest[0].text, "12/0800");
  EXPECT_EQ(rest[1].text, "-");
  EXPECT_EQ(rest[2].text, "10.0.0.0/8 1");
  EXPECT_EQ(a_, 5);
  taken.finish();
  taken.error(rest[2], "a route");
  EXPECT_EQ(errors(),
            "t:1:33: Queue 'q': '10.0.0.0/8 1' is not a route\n"
            "t:1:47: Queue 'q': unknown keyword 'BURTS'; did you mean 'BURST'?\n");
  EXPECT_TRUE(taken.rest().empty());
}

TEST_F(ArgumentsTest, ReportsMistakesThatOnlyTheElementKnows) {
  Arguments taken = arguments("3, B 4");
  taken.required("A", a_).keyword("B", b_).keyword("C", c_);
  taken.error("A", "a power of two");
  taken.error("B", "more than C");
  taken.error("C", "more than B");
  taken.error("needs a file");
  EXPECT_EQ(errors(),
            "t:1:1: Queue 'q': C is not more than B\n"
            "t:1:1: Queue 'q': needs a file\n"
            "t:1:12: Queue 'q': A: '3' is not a power of two\n"
            "t:1:15: Queue 'q': B: '4' is not more than C\n");
}

}  // namespace
}  // namespace heddle::click
