// Foreign route files into ours. The MRT bytes are made here, field by field as RFC 6396 has them.

#include "convert/routes/convert.h"

#include <bzlib.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "convert/routes/mrt.h"
#include "core/error.h"

namespace heddle::ip_lookup {
namespace {

using Text = std::string;

Text number(uint64_t value, int bytes) {
  Text text;
  while (bytes-- > 0) text += static_cast<char>(value >> (8 * bytes));
  return text;
}
Text record(int type, int subtype, const Text& body) {
  return number(1700000000, 4) + number(static_cast<uint64_t>(type), 2) + number(static_cast<uint64_t>(subtype), 2) +
         number(body.size(), 4) + body;
}
Text attribute(int type, const Text& value, int flags = 0x40) {
  const int length_bytes = (flags & 0x10) != 0 ? 2 : 1;
  return number(static_cast<uint64_t>(flags), 1) + number(static_cast<uint64_t>(type), 1) +
         number(value.size(), length_bytes) + value;
}
Text sized(const Text& text) { return number(text.size(), 2) + text; }
Text next_hop(uint32_t address) { return attribute(3, number(address, 4)); }

const Text kOrigin = attribute(1, number(0, 1)), kLongPath = attribute(2, Text(300, 'p'), 0x50);

Text rib(uint32_t address, int length, const std::vector<Text>& entries, bool paths = false) {
  Text body = number(7, 4) + number(static_cast<uint64_t>(length), 1) +
              number(address, 4).substr(0, static_cast<size_t>(length + 7) / 8) + number(entries.size(), 2);
  for (const Text& attributes : entries)
    body += number(3, 2) + number(1700000000, 4) + (paths ? number(99, 4) : "") + sized(attributes);
  return record(13, paths ? 8 : 2, body);
}
Text old_dump(uint32_t address, int length, const Text& attributes) {
  return record(12, 1,
                number(0, 2) + number(1, 2) + number(address, 4) + number(static_cast<uint64_t>(length), 1) +
                    number(1, 1) + number(1700000000, 4) + number(0xc0000201, 4) + number(65000, 2) +
                    sized(attributes));
}

const Text kDump = record(13, 1, "peers, which nobody reads") +
                   rib(0x0a000000, 8, {kOrigin + kLongPath + next_hop(0xc0000201), next_hop(0xc0000202)}) +
                   rib(0x0a010000, 16, {kOrigin, next_hop(0xc0000202)}) +
                   rib(0x0a010000, 16, {next_hop(0xc0000203)}) +  // a duplicate
                   rib(0, 0, {next_hop(0xc0000201)}) + rib(0x0a0102ff, 25, {next_hop(0xc0000203)}, true) +
                   rib(0x0b000000, 8, {kOrigin}) + rib(0xffffffff, 32, {next_hop(0xc0000201)}) + record(13, 4, "IPv6") +
                   record(16, 4, "an update") + old_dump(0x0c000000, 7, next_hop(0xc0000204));
const Text kRoutes =
    "10.0.0.0/8 192.0.2.1 0\n10.1.0.0/16 192.0.2.2 1\n0.0.0.0/0 192.0.2.1 0\n10.1.2.128/25 192.0.2.3 2\n"
    "255.255.255.255/32 192.0.2.1 0\n12.0.0.0/7 192.0.2.4 3\n";

/** The routes and counts, or the error. */
Text converted(const Text& input, const Text& format = "auto", uint32_t outputs = 0) {
  const Text path = testing::TempDir() + "heddle_convert_test_" + std::to_string(getpid());
  std::ofstream(path, std::ios::binary) << input;
  char* text = nullptr;
  size_t size = 0;
  std::FILE* out = open_memstream(&text, &size);
  Text result;
  try {
    const auto counts = convert_routes({path, format, outputs}, out);
    std::fflush(out);
    result = Text(text, size) + heddle::format("%d %d %d %d", int(counts.routes), int(counts.duplicates),
                                               int(counts.outputs), int(counts.passed_over));
  } catch (const Error& error) {
    result = error.what();
    if (result.starts_with(path)) result = result.substr(path.size());
  }
  std::fclose(out);
  std::free(text);
  std::filesystem::remove(path);
  return result;
}

Text gzipped(const Text& text) {
  z_stream state{};
  deflateInit2(&state, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  Text out(text.size() + 1000, 0);
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = static_cast<unsigned>(text.size());
  state.next_out = reinterpret_cast<Bytef*>(out.data());
  state.avail_out = static_cast<unsigned>(out.size());
  deflate(&state, Z_FINISH);
  out.resize(state.total_out);
  deflateEnd(&state);
  return out;
}
Text bzipped(const Text& text) {
  Text out(text.size() + 1000, 0);
  auto size = static_cast<unsigned>(out.size());
  BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()), static_cast<unsigned>(text.size()), 9, 0,
                           0);
  return out.substr(0, size);
}

TEST(Convert, ReadsMrtPlainAndCompressed) {
  const Text expected = kRoutes + "6 1 4 4";
  EXPECT_EQ(converted(kDump), expected);
  EXPECT_EQ(converted(gzipped(kDump)), expected);
  EXPECT_EQ(converted(bzipped(kDump)), expected);
  const Text head = kDump.substr(0, 100), tail = kDump.substr(100);
  EXPECT_EQ(converted(gzipped(head) + gzipped(tail)), expected) << "several compressed streams in one file";
  EXPECT_EQ(converted(bzipped(head) + bzipped(tail)), expected);
}

TEST(Convert, DealsNextHopsOut) {
  const Text text = converted(kDump, "mrt", 2);
  EXPECT_NE(text.find("10.1.0.0/16 192.0.2.2 1\n"), Text::npos);
  EXPECT_NE(text.find("10.1.2.128/25 192.0.2.3 0\n"), Text::npos);
  EXPECT_NE(text.find("12.0.0.0/7 192.0.2.4 1\n6 1 2 4"), Text::npos);
}

TEST(Convert, SaysWhereMrtIsWrong) {
  const Text rib8 = rib(0x0a000000, 8, {next_hop(1)});
  EXPECT_EQ(converted(rib(0, 33, {}), "mrt"), ": byte 16: an IPv4 prefix length of 33; expected 0 to 32");
  EXPECT_EQ(converted(rib8 + rib8.substr(0, 7), "mrt"),
            heddle::format(": byte %zu: the file ends within a record's header of 12 bytes", rib8.size()));
  EXPECT_EQ(converted(rib8.substr(0, 20), "mrt"),
            heddle::format(": byte 12: the file ends within a record: 8 of its %zu bytes are there", rib8.size() - 12));
  EXPECT_EQ(converted(number(1, 4) + number(13, 2) + number(2, 2) + number(0xffffffff, 4), "mrt"),
            ": byte 12: a record of 4294967295 bytes; no MRT record has more than 16777216: is this an MRT file?");
  EXPECT_EQ(converted(rib(0x0a000000, 8, {attribute(3, "abc")}), "mrt"),
            ": byte 31: a NEXT_HOP attribute has 3 bytes; expected 4");
  EXPECT_EQ(converted(rib(0x0a000000, 8, {"\x40\x03\x7f" + Text("abcd")}), "mrt"),
            ": byte 31: a path attribute needs 127 bytes, but its record or list has 4 left");
  EXPECT_EQ(converted(record(13, 2, ""), "mrt"),
            ": byte 12: a sequence number needs 4 bytes, but its record or list has 0 left");
  // Which it need not be.
  EXPECT_EQ(converted(rib(0, 33, {}), "auto"),
            ": read as an MRT dump (--format says otherwise): byte 16: an IPv4 prefix length of 33; expected 0 to 32");
  EXPECT_EQ(converted(gzipped(kDump).substr(0, 60)), ": its gzip compression is broken or cut off");
  EXPECT_EQ(converted(bzipped(kDump).substr(0, 60)), ": its bzip2 compression is broken or cut off");
}

/** Every truncation and every changed byte ends in routes or an error, within the bytes (the sanitizers look). */
TEST(Convert, SurvivesDamagedMrt) {
  size_t errors = 0;
  const auto attempt = [&](const Text& text) {
    const auto copy = std::make_unique<uint8_t[]>(text.size());  // no room behind it
    std::copy(text.begin(), text.end(), copy.get());
    MemoryStream stream({copy.get(), text.size()});
    try {
      read_mrt(stream, [](const LearnedRoute& route) { ASSERT_LE(route.length, 32); });
    } catch (const Error&) {
      ++errors;
    }
  };
  for (size_t size = 0; size < kDump.size(); ++size) attempt(kDump.substr(0, size));
  EXPECT_GT(errors, kDump.size() - 20);
  for (size_t i = 0; i < kDump.size(); ++i)
    for (const int value : {0, 1, 0x7f, 0xff}) {
      Text damaged = kDump;
      damaged[i] = static_cast<char>(value);
      attempt(damaged);
    }
}

TEST(Convert, ReadsIpRoute) {
  EXPECT_EQ(converted("default via 192.0.2.1 dev eth0 proto dhcp metric 100 \n"
                      "10.0.0.0/8 via 192.0.2.2 dev eth1\n"
                      "blackhole 10.9.0.0/16\n"
                      "local 192.0.2.7 dev eth0 table local scope host\n"
                      "192.0.2.0/24 dev eth0 proto kernel scope link src 192.0.2.7 \n"
                      "198.51.100.9 via 192.0.2.3 dev eth1\n"
                      "default via 192.0.2.9 dev eth1 metric 200\n"
                      "172.16.0.0/12 proto static\n"
                      "\tnexthop via 192.0.2.4 dev eth2 weight 1\n"
                      "\tnexthop via 192.0.2.5 dev eth1 weight 1\n"
                      "2001:db8::/32 dev eth0\n"
                      "203.0.113.0/24 via inet6 fe80::1 dev eth0\n"),
            "0.0.0.0/0 192.0.2.1 0\n10.0.0.0/8 192.0.2.2 1\n192.0.2.0/24 0\n198.51.100.9/32 192.0.2.3 1\n"
            "172.16.0.0/12 192.0.2.4 2\n203.0.113.0/24 0\n6 1 3 3");
  // Of other tables, for one type of service, of IPv6.
  EXPECT_EQ(converted("default via 10.0.1.253 dev d1 table 100 \n"
                      "default via 10.0.0.254 dev d0 table main\n"
                      "10.6.0.0/16 tos 0x10 via 10.0.1.9 dev d1 \n"
                      "default dev d0 metric 1024 pref medium\n"
                      "10.6.0.0/16 via 10.0.0.9 dev d0 \n"),
            "0.0.0.0/0 10.0.0.254 0\n10.6.0.0/16 10.0.0.9 0\n2 0 1 3");
  const Text none = "this route has neither via nor dev, and no nexthop lines behind it";
  EXPECT_EQ(converted("10.0.0.0/8 dev a\n10.8.0.0/16 gw 1.2.3.5\n12.0.0.0/8 dev b\n", "iproute"), ": line 2: " + none);
  EXPECT_EQ(converted("10.0.0.0/8 dev a\n12.0.0.0/8\n", "iproute"), ": line 2: " + none);
  EXPECT_EQ(converted("10.0.0.0/8 dev a\nfoo dev b\n", "iproute").substr(0, 19), ": line 2: 'foo' is ");
}

TEST(Convert, ReadsCsv) {
  EXPECT_EQ(converted("# comment\n10.0.0.0/8,192.0.2.1,3\r\n10.1.0.0/16,,1\n\"10.2.0.0/16\" , - , 1\n10.0.0.0/8,,7"),
            "10.0.0.0/8 192.0.2.1 3\n10.1.0.0/16 1\n10.2.0.0/16 1\n3 1 2 0");
  EXPECT_EQ(converted("ASN,Next Hop,Network\n65000,192.0.2.1,10.0.0.0/8\n65001,192.0.2.2,10.1.0.0/16\n"),
            "10.0.0.0/8 192.0.2.1 0\n10.1.0.0/16 192.0.2.2 1\n2 0 2 0");
  EXPECT_EQ(converted("10.0.0.0/8,x,1\n", "csv").substr(0, 16), ": line 1: 'x' is");
  EXPECT_EQ(converted("10.0.0.0/8,,-1\n", "csv"), ": line 1: output '-1' is not a number");
  EXPECT_EQ(converted(Text(200000, 'x'), "csv"), ": line 1: longer than 65536 bytes");
  EXPECT_EQ(converted("destination,Netmask,gateway\n10.0.0.0,255.0.0.0,192.0.2.1\n", "csv"),
            ": the column 'Netmask' is not read: write masks behind the addresses, as 10.0.0.0/255.0.0.0");
}

}  // namespace
}  // namespace heddle::ip_lookup
