#include "functions/ip_lookup/route_file.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "functions/ip_lookup/direct_table.h"

namespace heddle::ip_lookup {
namespace {

/** A file that lives as long as the object. */
struct TemporaryFile {
  explicit TemporaryFile(const std::string& text) { std::ofstream(path, std::ios::binary) << text; }
  ~TemporaryFile() { std::remove(path.c_str()); }
  std::string path = testing::TempDir() + "heddle_" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST(RouteFile, ReadsEveryForm) {
  const TemporaryFile file(
      "# comment\n"
      "\n"
      "10.0.0.0/8 1\n"
      "10.1.0.0/255.255.0.0\t192.0.2.1\t2 ; trailing comment\r\n"
      "  10.1.2.3   3\n"
      "default 192.0.2.254 4294967295\n"
      "0/0 - 0# comment\n"
      "1.0.4.0/24\t56203\n"
      ";0.0.0.0/0 9\n"
      "0.0.0.0/0.0.0.0 0.0.0.0 5\n"
      "255.255.255.255/32 7");
  std::vector<std::string> errors;
  const std::vector<Route> routes = read_route_file(file.path, errors);
  EXPECT_TRUE(errors.empty()) << errors[0];
  const std::vector<Route> expected = {{0x0a000000, 8, {0, 1}},  {0x0a010000, 16, {inet_addr("192.0.2.1"), 2}},
                                       {0x0a010203, 32, {0, 3}}, {0, 0, {inet_addr("192.0.2.254"), 4294967295}},
                                       {0, 0, {0, 0}},           {0x01000400, 24, {0, 56203}},
                                       {0, 0, {0, 5}},           {0xffffffff, 32, {0, 7}}};
  EXPECT_EQ(routes, expected);
}

TEST(RouteFile, ReportsEveryBadLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"10.0.0.0/8", "expected PREFIX [GATEWAY] PORT"},
      {"10.0.0.0/8 1.2.3.4 5 6", "'6' is left over after PREFIX GATEWAY PORT"},
      {"10.0.0.0 255.0.0.0 1.2.3.4 5",
       "'5' is left over after PREFIX GATEWAY PORT; a mask is written behind a slash: 10.0.0.0/255.0.0.0"},
      {"10.0.0.0/33 1", "'33' is not a prefix length of 0 to 32 nor a mask such as 255.255.255.0"},
      {"10.0.0.0/ 1", "'' is not a prefix length of 0 to 32 nor a mask such as 255.255.255.0"},
      {"10.0.0.0/-1 1", "'-1' is not a prefix length of 0 to 32 nor a mask such as 255.255.255.0"},
      {"10.0.0.0/255.0.255.0 1", "'255.0.255.0' is not a prefix length of 0 to 32 nor a mask such as 255.255.255.0"},
      {"10.1/24 1", "'10.1/24' has 2 of the 3 numbers that its length needs"},
      {"10/255.255.0.0 1", "'10/255.255.0.0' has 1 of the 2 numbers that its length needs"},
      {"10 1", "'10' is not an IPv4 prefix such as 192.0.2.0/24"},
      {"10./8 1", "'10./8' is not an IPv4 prefix such as 192.0.2.0/24"},
      {"server:ip 1", "'server:ip' is not an IPv4 prefix such as 192.0.2.0/24"},
      {"10.0.0.256/32 1", "'10.0.0.256/32' is not an IPv4 prefix such as 192.0.2.0/24"},
      {"10.0.0.0.0/24 1", "'10.0.0.0.0/24' is not an IPv4 prefix such as 192.0.2.0/24"},
      {"010.0.0.0/8 1", "'010.0.0.0/8' is not an IPv4 prefix such as 192.0.2.0/24"},
      {"2001:db8::/32 1", "'2001:db8::/32' looks like IPv6, and this table holds IPv4 only"},
      {"10.0.0.0/8 gw 1", "'gw' is not the IPv4 address of a gateway"},
      {"10.0.0.0/8 1.2.3.4", "'1.2.3.4' is not a port number of 0 to 4294967295"},
      {"10.0.0.0/8 4294967296", "'4294967296' is not a port number of 0 to 4294967295"},
      {"10.0.0.0/8 -1", "'-1' is not a port number of 0 to 4294967295"},
      {"\x01\x7f x", "'\\x01\\x7f' is not an IPv4 prefix such as 192.0.2.0/24"},
  };
  std::string text = "1.0.0.0/8 1\n";
  for (const auto& [line, reason] : cases) text += std::string(line) + "\r\n";
  const TemporaryFile file(text + "2.0.0.0/8 1\n");
  std::vector<std::string> errors;
  EXPECT_EQ(read_route_file(file.path, errors).size(), 2u);
  ASSERT_EQ(errors.size(), std::size(cases));
  for (size_t i = 0; i < errors.size(); ++i) {
    const std::string line = cases[i].first[0] == '\x01' ? "\\x01\\x7f x" : cases[i].first;
    EXPECT_EQ(errors[i],
              format("%s:%zu: '%s' is not a route: %s", file.path.c_str(), i + 2, line.c_str(), cases[i].second));
  }
}

TEST(RouteFile, BoundsTheReport) {
  std::string text;
  for (int i = 0; i < 250; ++i) text += std::string(5000, 'x') + "\n";
  const TemporaryFile file(text);
  std::vector<std::string> errors = {"kept"};
  EXPECT_TRUE(read_route_file(file.path, errors).empty());
  ASSERT_EQ(errors.size(), 102u);
  EXPECT_EQ(errors.front(), "kept");
  EXPECT_EQ(errors.back(), file.path + ": ... and 150 more");
  for (const std::string& error : errors) EXPECT_LT(error.size(), 500u);
}

TEST(RouteFile, UnreadableFileIsAnError) {
  std::vector<std::string> errors;
  for (const char* path : {"/nonexistent/routes", "/"}) {
    try {
      read_route_file(path, errors);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(format("cannot read the route file '%s': ", path)), std::string::npos);
    }
  }
  const TemporaryFile empty("");
  EXPECT_TRUE(read_route_file(empty.path, errors).empty());
  EXPECT_TRUE(errors.empty());
}

TEST(RouteFile, ParsesOneRouteOfAnArgument) {
  Route route;
  EXPECT_EQ(parse_route("192.0.2.0/24 198.51.100.1 3", route), "");
  EXPECT_EQ(route, (Route{0xc0000200, 24, {inet_addr("198.51.100.1"), 3}}));
  EXPECT_EQ(parse_route("", route), "expected PREFIX [GATEWAY] PORT");
}

// As Click takes them.
TEST(RouteFile, ShortAndUncleanPrefixes) {
  const std::pair<const char*, Route> cases[] = {
      {"10.1.0.1/16 1", {0x0a010000, 16, {0, 1}}},
      {"10.2/16 1", {0x0a020000, 16, {0, 1}}},
      {"10/8 1", {0x0a000000, 8, {0, 1}}},
      {"10.0.0/24 1", {0x0a000000, 24, {0, 1}}},
      {"10.2.3/9 1", {0x0a000000, 9, {0, 1}}},
      {"10.1.2.3/255.255.255.0 1", {0x0a010200, 24, {0, 1}}},
      {"1.2.3.4/0 1", {0, 0, {0, 1}}},
  };
  for (const auto& [text, wanted] : cases) {
    Route route{};
    EXPECT_EQ(parse_route(text, route), "") << text;
    EXPECT_EQ(route, wanted) << text;
  }
}

TEST(RouteFile, NamesOfAddresses) {
  click::AddressNames names;
  names.element = "outer/rt";
  EXPECT_EQ(names.book.add("AddressInfo@1", "server 192.0.2.7/24"), "");
  EXPECT_EQ(names.book.add("AddressInfo@1", "lan 10/8"), "");
  EXPECT_EQ(names.book.add("outer/AddressInfo@1", "router 198.51.100.1"), "");
  const std::pair<const char*, Route> cases[] = {
      {"server 1", {0xc0000207, 32, {0, 1}}},
      {"lan 1", {0x0a000000, 8, {0, 1}}},
      {"server:bcast 1", {0xc00002ff, 32, {0, 1}}},
      {"server:ip 1", {0xc0000207, 32, {0, 1}}},
      {"server:net router 1", {0xc0000200, 24, {inet_addr("198.51.100.1"), 1}}},
      {"router server:ip 1", {0xc6336401, 32, {inet_addr("192.0.2.7"), 1}}},
  };
  for (const auto& [text, wanted] : cases) {
    Route route{};
    EXPECT_EQ(parse_route(text, route, names), "") << text;
    EXPECT_EQ(route, wanted) << text;
  }
  Route route{};
  EXPECT_EQ(parse_route("nobody:ip 1", route, names), "'nobody:ip' is not an IPv4 prefix such as 192.0.2.0/24");
}

TEST(RouteFile, FullBgpTableAnswersAsPublished) {
  const char* data = std::getenv("HEDDLE_TEST_DATA");
  if (data == nullptr) GTEST_SKIP() << "HEDDLE_TEST_DATA is not set: the folder with routing/ipasn_20140513_v12.dat.gz";
  const std::string folder = std::string(data) + "/routing/", copy = testing::TempDir() + "heddle_ipasn.txt";
  gzFile packed = gzopen((folder + "ipasn_20140513_v12.dat.gz").c_str(), "rb");
  ASSERT_NE(packed, nullptr);
  std::ofstream unpacked(copy, std::ios::binary);
  char buffer[65536];
  for (int got; (got = gzread(packed, buffer, sizeof buffer)) > 0;) unpacked.write(buffer, got);
  gzclose(packed);
  unpacked.close();

  std::vector<std::string> errors;
  const std::vector<Route> routes = read_route_file(copy, errors);
  std::remove(copy.c_str());
  EXPECT_TRUE(errors.empty()) << errors[0];
  EXPECT_EQ(routes.size(), 512490u);
  DirectTable table;
  EXPECT_EQ(table.load(routes), 0u);

  std::ifstream samples(folder + "sample_10000_expected.tsv");
  size_t lines = 0;
  uint32_t address;
  for (std::string asn; samples >> address >> asn; ++lines) {
    const std::optional<Hop> hop = table.lookup(address);
    ASSERT_EQ(hop ? std::to_string(hop->port) : "None", asn) << "address " << address;
  }
  EXPECT_EQ(lines, 10000u);

  DirectTable grown;
  for (const Route& route : routes) grown.add(route);
  for (uint32_t i = 0; i < 1 << 20; ++i) ASSERT_EQ(grown.lookup(i * 4099), table.lookup(i * 4099)) << i * 4099;
  for (const Route& route : routes) ASSERT_TRUE(grown.remove(route.address, route.length));
  EXPECT_EQ(grown.blocks_used() + grown.hops_used() + grown.size(), 0u);
  for (uint32_t i = 0; i < 1 << 24; ++i) ASSERT_EQ(grown.image().tbl24[i], 0) << i;
}

}  // namespace
}  // namespace heddle::ip_lookup
