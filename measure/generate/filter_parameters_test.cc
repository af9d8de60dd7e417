#include "measure/generate/filter_parameters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "measure/generate/data.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/test_support.h"
#include "measure/generate/text.h"

namespace heddle::bench {
namespace {

constexpr const char* kFilters =
    "# three\n"
    "@10.0.0.0/8\t10.1.0.0/16\t0 : 65535\t80 : 80\t0x06/0xFF\t0x0000/0x0200\t\n"
    "@10.1.2.3/32\t11.1.0.0/16\t1024 : 65535\t20 : 21\t0x06/0xFF\t0x0000/0x0000\t\n"
    "@0.0.0.0/0\t0.0.0.0/0\t0 : 65535\t0 : 65535\t0x00/0x00\t0x0000/0x0000\t\n";

TEST(Filters, AreReadAndWritten) {
  const auto filters = parse_filters("set", kFilters);
  ASSERT_EQ(filters.size(), 3u);
  EXPECT_EQ(to_text(filters), std::string(kFilters).substr(8));
  EXPECT_EQ(filters[0].source, 0x0a000000u);
  EXPECT_EQ(filters[0].flags_mask, 0x0200);
  EXPECT_TRUE(filters[0].protocol_exact);
  EXPECT_EQ(filters[2].headers(), 0x1p+120);
  // The flags, and what DPDK's example leaves out, may be missing.
  EXPECT_EQ(parse_filters("old", "@1.2.3.4/32 5.6.7.8/32 0 : 65535 1526 : 1526 0x00/0x00\n").size(), 1u);
}

TEST(Filters, MatchHeaders) {
  const Filter filter = parse_filters("one", "@10.0.0.0/8 10.1.0.0/16 5 : 7 80 : 80 0x06/0xFF 0x0200/0x1200")[0];
  const Header inside = {0x0a123456, 0x0a01ffff, 6, 80, 6, 0x0200};
  EXPECT_TRUE(filter.matches(inside));
  const auto without = [&](auto change) {
    Header header = inside;
    change(header);
    return filter.matches(header);
  };
  EXPECT_FALSE(without([](Header& header) { header.source = 0x0b000000; }));
  EXPECT_FALSE(without([](Header& header) { header.destination = 0x0a020000; }));
  EXPECT_FALSE(without([](Header& header) { header.source_port = 8; }));
  EXPECT_FALSE(without([](Header& header) { header.destination_port = 79; }));
  EXPECT_FALSE(without([](Header& header) { header.protocol = 17; }));
  EXPECT_FALSE(without([](Header& header) { header.flags = 0x1200; }));
  EXPECT_TRUE(without([](Header& header) { header.flags = 0x0201; }));
}

TEST(Filters, ReportMistakes) {
  const std::pair<const char*, const char*> cases[] = {
      {"1.2.3.4/32", "set:1: expected @SOURCE/LENGTH"},
      {"\n@1.2.3.4/33 0.0.0.0/0 0 : 1 0 : 1 0x06/0xFF", "set:2: '1.2.3.4/33' is not an IPv4 prefix"},
      {"@1.2.3.4/24 0.0.0.0/0 0 : 1 0 : 1 0x06/0xFF", "set:1: '1.2.3.4/24' is not an IPv4 prefix"},
      {"@1.2.3.4/32 0.0.0.0/0 2 : 1 0 : 1 0x06/0xFF", "set:1: '2 : 1' is not a port range"},
      {"@1.2.3.4/32 0.0.0.0/0 0 : 65536 0 : 1 0x06/0xFF", "set:1: '0 : 65536' is not a port range"},
      {"@1.2.3.4/32 0.0.0.0/0 0 : 1 0 : 1 6/0xFF", "set:1: '6/0xFF' is not a value and mask"},
      {"@1.2.3.4/32 0.0.0.0/0 0 : 1 0 : 1 0x06/0x0F", "set:1: the mask of a protocol is 0x00 or 0xFF"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_EQ(error_of([&, text = text] { parse_filters("set", text); }).substr(0, std::string(expected).size()),
              expected);
}

TEST(FilterParameters, AreThoseOfTheFilters) {
  const auto parameters = parameters_of(parse_filters("set", kFilters));
  EXPECT_EQ(parameters.scale, 3u);
  ASSERT_EQ(parameters.protocols.size(), 2u);
  EXPECT_EQ(parameters.protocols[0].number, 0);
  EXPECT_NEAR(parameters.protocols[1].probability, 2.0 / 3, 1e-12);
  EXPECT_EQ(parameters.protocols[1].port_pairs[13], 0.5);  // wc_em
  EXPECT_EQ(parameters.protocols[1].port_pairs[11], 0.5);  // hi_ar
  EXPECT_EQ(parameters.lengths[13].total[24], 1);
  EXPECT_EQ(parameters.lengths[13].source[24][8], 1);
  EXPECT_EQ(parameters.destination_ranges.at(0).range, (PortRange{20, 21}));
  EXPECT_EQ(parameters.source.nesting, 3);
  // Of two filters, one is equal in all of its first 8 bits, the other differs in the eighth.
  EXPECT_EQ(parameters.correlation[7], 1);
  EXPECT_EQ(parameters.correlation[8], 0.5);
  EXPECT_EQ(parameters.correlation[9], 0);
}

TEST(FilterParameters, AreReadAndWritten) {
  for (const char* like : {"acl", "fw", "ipc"}) {
    const auto text = data_file(std::string(like) + ".parameters");
    EXPECT_EQ(to_text(parse_parameters(like, text)), text);
  }
}

// A file as ClassBench's own and ClassBench-ng's are: other blanks, no pcorr, sections that we do not know.
TEST(FilterParameters, AreReadInOtherForms) {
  const auto parameters = parse_parameters(
      "ng",
      "-scale\n10\n#\n-prots\n6\t1.0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t1.0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\n#\n-"
      "flags\n"
      "6\t0x0000/0x0200,0.25000000\t0x1000/0x1000,0.75000000\t\n#\n-extra\n0\n#\n-dpem\n1.0\t80:80\n#\n"
      "-wc_em\n64,0.99\t\t32,1.0\n40,0.01\t20,0.5\t8,0.5\n#\n-em_em\n#\n-snest\n2\n#\n-sskew\n0\t0.0\t1.0\t0.95\n#\n-"
      "dnest\n1\n#\n"
      "-dskew\n0 1.0 0.0 0.0\n#\n-openflow\n---\nin_port:\n  '71': 2\n#\n");
  EXPECT_EQ(parameters.flags.at(6).size(), 2u);
  EXPECT_EQ(parameters.lengths[13].source[40][8], 0.5);
  EXPECT_EQ(parameters.source.levels[0].skew, 0.95);
  EXPECT_EQ(generate_filters(parameters, {.count = 10}).size(), 10u);
}

TEST(FilterParameters, ReportMistakes) {
  const std::string good(data_file("acl.parameters"));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return error_of([&] { parse_parameters("p", text.replace(at, from.size(), to)); });
  };
  EXPECT_EQ(with("-scale\n1000", "-scale\nmany"), "p:2: 'many' is not a number of filters");
  EXPECT_EQ(with("-scale\n1000\n#\n", ""), "p:284: section -scale is missing");
  EXPECT_EQ(with("-extra\n0", "-extra\n2"),
            "p:" +
                std::to_string(1 + std::count(good.begin(),
                                              good.begin() + static_cast<ptrdiff_t>(good.find("-extra\n")) + 7, '\n')) +
                ": extra fields are not supported; 0 would be right");
  EXPECT_NE(with("\n6\t0.", "\n6\t1.").find("is not a share of 0 to 1"), std::string::npos);
  EXPECT_NE(with("\n6\t0.", "\n256\t0.").find("'256' is not a protocol number"), std::string::npos);
  EXPECT_NE(with("80:80", "80").find("'80' is not a port range such as 20:23"), std::string::npos);
  EXPECT_NE(with("\n64,", "\n65,").find("'65' is not a total prefix length"), std::string::npos);
  EXPECT_NE(with("-snest\n", "-snest\n-").find("is not a nesting threshold"), std::string::npos);
  EXPECT_NE(with("-scale", "scale").find("p:1: 'scale' where a section such as -scale must begin"), std::string::npos);
  EXPECT_NE(
      error_of([&] { parse_parameters("p", good.substr(0, good.size() - 2)); }).find("the last section has no end"),
      std::string::npos);
  EXPECT_NE(error_of([] { parse_parameters("p", "-scale\n1\n#\n"); }).find("section -prots is missing"),
            std::string::npos);
  // What protocols use must be there: all destination ports removed.
  std::string without = good;
  const size_t begin = without.find("-dpem\n") + 6;
  without.erase(begin, without.find('#', begin) - begin);
  EXPECT_NE(error_of([&] { parse_parameters("p", without); }).find("uses wc_em, but section -dpem is empty"),
            std::string::npos);
  EXPECT_NE(error_of([] { parameters_like("nothing"); }).find("neither a parameter file nor one of acl, fw and ipc"),
            std::string::npos);
}

TEST(FilterParameters, NumbersAreFinite) {
  double value = 0;
  for (const char* text : {"nan", "inf", "-inf", "1e999"}) EXPECT_FALSE(parse_number(text, value)) << text;
  EXPECT_TRUE(parse_number("0.5", value));
}

// From real sets: what is generated from their parameters has the same protocols, ports and lengths.
TEST(FilterParameters, OfRealSetsGiveSetsLikeThem) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  const std::string folder = std::string(data ? data : "") + "/classbench/";
  if (data == nullptr || !std::filesystem::exists(folder)) GTEST_SKIP() << "no filter sets in $HEDDLE_TEST_DATA";
  int sets = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename();
    if (!name.ends_with("_1k")) continue;
    const auto real = parameters_of(parse_filters(name, read_file(file.path())));
    const auto made = parameters_of(generate_filters(real, {.count = real.scale}));
    EXPECT_EQ(made.scale, real.scale) << name;
    double difference = 0;
    for (const auto& protocol : real.protocols)
      for (const auto& other : made.protocols)
        if (other.number == protocol.number) difference += std::abs(other.probability - protocol.probability) / 2;
    EXPECT_LT(difference, 0.1) << name;
    ++sets;
  }
  EXPECT_GE(sets, 10);
}

}  // namespace
}  // namespace heddle::bench
