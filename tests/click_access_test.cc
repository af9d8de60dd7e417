// What the elements of an IP router and their like read and write is what they declare; that headers lie about their
// lengths, and packets end anywhere, harms nobody.

#include "tests/support/access.h"

namespace heddle::test {
namespace {

struct ClickCase {
  const char* element;
  int outputs = 1;
};
void PrintTo(const ClickCase& it, std::ostream* out) { *out << it.element; }

class ClickAccess : public testing::TestWithParam<ClickCase> {};

INSTANTIATE_TEST_SUITE_P(
    All, ClickAccess,
    testing::Values(
        ClickCase{"FixIPSrc(10.0.0.1)"}, ClickCase{"IPGWOptions(10.0.0.1)", 2}, ClickCase{"ICMPPingResponder", 2},
        ClickCase{"StoreIPAddress(10.0.0.1, src)"}, ClickCase{"StoreIPAddress(dst)"}, ClickCase{"StoreIPAddress(20)"},
        ClickCase{"SetIPAddress(1.2.3.4)"}, ClickCase{"CheckPaint(3)", 2}, ClickCase{"HostEtherFilter(2:0:0:0:0:1)", 2},
        ClickCase{"DropBroadcasts"}, ClickCase{"SetIPDSCP(7)"}, ClickCase{"SetIPECN(ect1)"},
        ClickCase{"EraseIPPayload"}, ClickCase{"MarkIPCE"}, ClickCase{"MarkIPCE(true)"}, ClickCase{"SetUDPChecksum"},
        ClickCase{"SetTCPChecksum(true)"}, ClickCase{"CheckUDPHeader", 2}, ClickCase{"CheckTCPHeader", 2},
        ClickCase{"CheckICMPHeader", 2}, ClickCase{"StoreData(30, \\<ff00>, \\<0ff0>)"}, ClickCase{"Align(4, 2)"},
        ClickCase{"PushNull"}, ClickCase{"ARPPrint(ACTIVE false)"}, ClickCase{"NumberPacket(20)"},
        ClickCase{"Bypass(true)", 2}, ClickCase{"AggregateIPFlows(ICMP true)", 2},
        ClickCase{"AggregateIPFlows(FRAGMENTS false)", 2}, ClickCase{"IPRateMonitor(BYTES, 1, 1)"},
        ClickCase{"FTPPortMapper(r, r, 0); Idle -> r :: IPRewriter(pass 0) -> Discard"}),
    [](const auto& info) { return "Case" + std::to_string(info.index); });

/** Something like a packet: often a header of a length that may be, of a protocol that somebody knows. */
void shape(Frame& frame, std::mt19937& random) {
  Bytes& bytes = frame.bytes;
  frame.column[static_cast<int>(Column::link)] = random() % 4;
  frame.column[static_cast<int>(Column::paint)] = random() % 6;
  frame.column[static_cast<int>(Column::fix_ip_src)] = random() % 2;
  frame.column[static_cast<int>(Column::input)] = 0;  // what the engine sets
  if (bytes.size() < 34) return;
  bytes[14] = static_cast<uint8_t>(0x40 | (random() % 3 == 0 ? random() % 16 : 5 + random() % 3));
  constexpr uint8_t kProtocols[] = {1, 6, 17, 89};
  bytes[23] = kProtocols[random() % 4];
  if (random() % 4 != 0) put_u16(bytes, 16, static_cast<unsigned>(bytes.size() - 14));
  if (random() % 4 != 0) put_u16(bytes, 20, 0);
  const size_t transport = 14 + (bytes[14] & 15) * 4u;
  if (bytes[23] == 1 && random() % 2 == 0) bytes[transport < bytes.size() ? transport : 0] = 8;
  if (bytes[23] == 6 && transport + 20 < bytes.size() && random() % 2 == 0) {  // of FTP
    constexpr char kCommand[] = "PORT 10,0,0,1,4,1\r\n";
    bytes[transport + 12] = 0x50;
    std::copy_n(kCommand, std::min(bytes.size() - transport - 20, sizeof kCommand - 1), bytes.begin() + transport + 20);
  }
}

TEST_P(ClickAccess, IsAsDeclared) {
  EXPECT_EQ(access_violations(GetParam().element, backends()[0], {.outputs = GetParam().outputs, .shape = shape}),
            std::vector<std::string>{});
}

// Copies of a packet share its bytes until somebody writes them.
TEST(ClickAccess, WritersLeaveOtherCopiesAlone) {
  std::vector<Frame> frames;
  for (uint32_t i = 0; i < 40; ++i) {
    frames.push_back(ip_frame(ip(10, 0, 0, 1) + i, ip(10, 1, 0, 1), 60 + i));
    frames.back().bytes[22] = static_cast<uint8_t>(i % 2);  // TTL
    set_ip_checksum(frames.back().bytes, 14);
  }
  for (const char* writer :
       {"SetIPDSCP(7)", "StoreIPAddress(1.2.3.4, dst)", "ICMPError(10.9.9.9, timeexceeded)", "VLANEncap(7)", "Pad(200)",
        "IPEncap(4, 1.1.1.1, 2.2.2.2)", "ARPResponder(0/0 2:0:0:0:0:1)"}) {
    const Result result =
        run(format("TestSource -> CheckIPHeader(14) -> t :: Tee; t[0] -> other :: TestSink; t[1] -> %s -> "
                   "Discard;",
                   writer),
            backends()[0], frames);
    ASSERT_EQ(result.at("other").size(), frames.size()) << writer;
    for (size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(result.at("other")[i].bytes, frames[i].bytes) << writer;
  }
}

}  // namespace
}  // namespace heddle::test
