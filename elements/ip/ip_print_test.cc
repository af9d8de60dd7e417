// IPPrint, line by line as Click's prints them.

#include "tests/support/harness.h"

namespace heddle::test {
namespace {

const uint32_t kFrom = ip(10, 0, 0, 1), kTo = ip(10, 0, 0, 2);

std::string printed(const Frame& frame, const std::string& arguments = "TIMESTAMP false") {
  testing::internal::CaptureStderr();
  const Result result = run(
      "TestSource(SETS paint) -> MarkIPHeader(14) -> IPPrint(" + arguments + ") -> sink :: TestSink;", cpu(), {frame});
  EXPECT_TRUE(same(result.bytes(), {frame.bytes}));
  return testing::internal::GetCapturedStderr();
}

Frame with(uint8_t protocol, const Bytes& behind) {
  Frame frame = ip_frame(kFrom, kTo, behind.size());
  frame.bytes[23] = protocol;
  std::copy(behind.begin(), behind.end(), frame.bytes.begin() + 34);
  set_ip_checksum(frame.bytes, 14);
  return frame;
}

// Ports 80 and 1024, sequence number 17, acknowledgement 5, window 8192, then the payload.
Frame tcp(unsigned flags, const std::string& payload = "") {
  Bytes bytes(20);
  put_u16(bytes, 0, 80), put_u16(bytes, 2, 1024), put_u32(bytes, 4, 17), put_u32(bytes, 8, 5), put_u16(bytes, 14, 8192);
  bytes[12] = 5 << 4, bytes[13] = static_cast<uint8_t>(flags);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return with(6, bytes);
}
Frame udp(const std::string& payload = "") {
  Bytes bytes(8);
  put_u16(bytes, 0, 53), put_u16(bytes, 2, 1024), put_u16(bytes, 4, static_cast<unsigned>(8 + payload.size()));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return with(17, bytes);
}
Frame icmp(uint8_t type, uint8_t code, Bytes rest = {0, 7, 0, 9}) {
  rest.insert(rest.begin(), {type, code, 0, 0});
  return with(1, rest);
}

TEST(IPPrint, ShowsTcp) {
  EXPECT_EQ(printed(tcp(0x18, "0123456789")), "10.0.0.1.80 > 10.0.0.2.1024: P 17:27(10,64,50) ack 5 win 8192\n");
  EXPECT_EQ(printed(tcp(2)), "10.0.0.1.80 > 10.0.0.2.1024: S 17:18(1,54,40) win 8192\n");
  EXPECT_EQ(printed(tcp(0x12)), "10.0.0.1.80 > 10.0.0.2.1024: S 17:18(1,54,40) ack 5 win 8192\n");
  EXPECT_EQ(printed(tcp(0x10)), "10.0.0.1.80 > 10.0.0.2.1024: . 17:17(0,54,40) ack 5 win 8192\n");
  EXPECT_EQ(printed(tcp(0x15)), "10.0.0.1.80 > 10.0.0.2.1024: FR 17:18(1,54,40) ack 5 win 8192\n");
}

TEST(IPPrint, ShowsUdpIcmpAndOthers) {
  EXPECT_EQ(printed(udp("abc")), "10.0.0.1.53 > 10.0.0.2.1024: udp 11\n");
  EXPECT_EQ(printed(icmp(8, 0)), "10.0.0.1 > 10.0.0.2: icmp echo (7, 9)\n");
  EXPECT_EQ(printed(icmp(8, 0), "TIMESTAMP false, SWAP false"), "10.0.0.1 > 10.0.0.2: icmp echo (1792, 2304)\n");
  EXPECT_EQ(printed(icmp(0, 0)), "10.0.0.1 > 10.0.0.2: icmp echo-reply (7, 9)\n");
  EXPECT_EQ(printed(icmp(11, 1)), "10.0.0.1 > 10.0.0.2: icmp timeexceeded reassembly\n");
  EXPECT_EQ(printed(icmp(12, 7)), "10.0.0.1 > 10.0.0.2: icmp parameterproblem code 7\n");
  EXPECT_EQ(printed(icmp(18, 0)), "10.0.0.1 > 10.0.0.2: icmp maskreq-reply\n");
  EXPECT_EQ(printed(icmp(77, 0)), "10.0.0.1 > 10.0.0.2: icmp type 77\n");
  EXPECT_EQ(printed(with(50, {1, 2})), "10.0.0.1 > 10.0.0.2: ip-proto-50\n");
}

TEST(IPPrint, ShowsWhatWasUnreachable) {
  const auto unreachable = [](uint8_t code, const Frame& lost, unsigned mtu = 0) {
    Bytes rest = {0, 0, static_cast<uint8_t>(mtu >> 8), static_cast<uint8_t>(mtu)};
    rest.insert(rest.end(), lost.bytes.begin() + 14, lost.bytes.end());
    return printed(icmp(3, code, rest));
  };
  const std::string begin = "10.0.0.1 > 10.0.0.2: icmp ";
  EXPECT_EQ(unreachable(3, udp()), begin + "10.0.0.2 unreachable port udp/1024\n");
  EXPECT_EQ(unreachable(3, with(99, {0, 0, 0, 5})), begin + "10.0.0.2 unreachable port protocol 99/5\n");
  EXPECT_EQ(unreachable(2, with(99, {})), begin + "10.0.0.2 unreachable protocol 99\n");
  EXPECT_EQ(unreachable(1, udp()), begin + "10.0.0.2 unreachable host\n");
  EXPECT_EQ(unreachable(4, udp(), 1400), begin + "10.0.0.2 unreachable needfrag (mtu 1400)\n");
  EXPECT_EQ(unreachable(15, udp()), begin + "10.0.0.2 unreachable precedencecutoff\n");
  EXPECT_EQ(unreachable(16, udp()), begin + "10.0.0.2 unreachable code 16\n");
  EXPECT_EQ(printed(icmp(3, 1)), begin + "unreachable host truncated-icmp\n");
}

TEST(IPPrint, ShowsFragments) {
  Frame first = udp("abc"), last = tcp(2);
  put_u16(first.bytes, 18, 99), put_u16(first.bytes, 20, 0x2000);
  put_u16(last.bytes, 18, 99), put_u16(last.bytes, 20, 3);
  EXPECT_EQ(printed(first), "10.0.0.1.53 > 10.0.0.2.1024: udp 11 (frag 99:11@0+)\n");
  EXPECT_EQ(printed(last), "10.0.0.1 > 10.0.0.2: tcp (frag 99:20@24)\n");
}

TEST(IPPrint, ShowsWhatEndsTooEarly) {
  const auto cut = [](Frame frame, size_t bytes) {
    put_u16(frame.bytes, 16, static_cast<unsigned>(bytes));
    return printed(frame);
  };
  EXPECT_EQ(cut(udp(), 23), "10.0.0.1 > 10.0.0.2: truncated-udp\n");
  EXPECT_EQ(cut(udp(), 24), "10.0.0.1.53 > 10.0.0.2.1024: truncated-udp\n");
  EXPECT_EQ(cut(tcp(2), 10), "10.0.0.1 > 10.0.0.2: truncated-tcp\n");
  EXPECT_EQ(cut(tcp(2), 33), "10.0.0.1.80 > 10.0.0.2.1024: truncated-tcp\n");
  EXPECT_EQ(cut(icmp(8, 0), 21), "10.0.0.1 > 10.0.0.2: truncated-icmp\n");
  EXPECT_EQ(cut(icmp(8, 0), 27), "10.0.0.1 > 10.0.0.2: icmp echo truncated-icmp\n");
  testing::internal::CaptureStderr();
  run("TestSource -> MarkIPHeader(14) -> Truncate(33) -> IPPrint(x, TIMESTAMP no) -> TestSink;", cpu(), {udp()});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "x: truncated-ip\n");
}

TEST(IPPrint, ShowsFieldsInOrder) {
  Frame frame = udp();
  frame.timestamp_ns = 1414141414000001000;
  frame.column[static_cast<int>(Column::paint)] = 6;
  frame.bytes[15] = 4;
  put_u16(frame.bytes, 18, 321);
  EXPECT_EQ(printed(frame, "in, ID true, TTL true, TOS true, LENGTH true, PAINT true, ETHER true"),
            "in: 1414141414.000001: paint 6: 02-00-00-00-00-02 > 02-00-00-00-00-01: id 321 ttl 64 tos 4 length 28 "
            "10.0.0.1.53 > 10.0.0.2.1024: udp 8\n");
  EXPECT_EQ(printed(frame, "ACTIVE false"), "");
}

TEST(IPPrint, ShowsContents) {
  const std::string line = "10.0.0.1.53 > 10.0.0.2.1024: udp 68";
  const Frame frame = udp("The quick brown fox\njumps over the lazy dog, 60 bytes in all");
  EXPECT_EQ(printed(frame, "TIMESTAMP false, PAYLOAD ASCII"),
            line + "\n  The quic k brown  fox.jump s over t he lazy  dog, 60 \n  bytes in  all\n");
  EXPECT_EQ(printed(frame, "TIMESTAMP false, PAYLOAD HEX, MAXLENGTH 26"),
            line + "\n  54686520 71756963 6b206272 6f776e20 666f780a 6a756d70\n  7320\n");
  EXPECT_EQ(printed(frame, "TIMESTAMP false, CONTENTS true, MAXLENGTH 6"), line + "\n  02000000 0001\n");
  EXPECT_EQ(printed(tcp(0x10, "ab"), "TIMESTAMP false, PAYLOAD HEX"),
            "10.0.0.1.80 > 10.0.0.2.1024: . 17:19(2,56,42) ack 5 win 8192\n  6162\n");
  EXPECT_EQ(printed(with(50, {1, 2}), "TIMESTAMP false, PAYLOAD HEX"), "10.0.0.1 > 10.0.0.2: ip-proto-50\n  0102\n");
  EXPECT_NE(mistakes("TestSource -> CheckIPHeader -> IPPrint(PAYLOAD HEX, CONTENTS HEX) -> TestSink;").find("not both"),
            std::string::npos);
}

TEST(IPPrint, PassesPacketsWithoutAHeaderInSilence) {
  testing::internal::CaptureStderr();
  const Result result = run("TestSource -> k :: CheckIPHeader(14) -> Discard; k[1] -> IPPrint -> sink :: TestSink;",
                            cpu(), {Frame{Bytes(20)}});
  EXPECT_EQ(result.at("sink").size(), 1u);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(IPPrint, NeedsAMark) {
  EXPECT_NE(mistakes("TestSource -> IPPrint -> TestSink;").find("reads the l3 annotation"), std::string::npos);
}

}  // namespace
}  // namespace heddle::test
