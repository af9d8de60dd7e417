// Every element class meets packets that lie: headers whose lengths are wrong, packets that end anywhere, protocols
// inside protocols. Each frame ends where its memory ends, so that AddressSanitizer sees who reads behind it.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "click/arguments.h"
#include "core/element.h"
#include "tests/support/failing.h"
#include "tests/support/harness.h"
#include "tests/support/lab.h"
#include "tests/support/sanitizer.h"

namespace heddle::test {
namespace {

/** How a class is put into a chain. */
struct ClassInChain {
  const char* name;
  std::string text{};  ///< the element, if it wants arguments; or a whole chain, from TestSources to TestSinks
  int outputs = 1, inputs = 1;
  std::string before{};  ///< elements between the source and each input, "Queue -> "
  std::string after{};   ///< and between each output and its sink, "Unqueue -> "
  std::string beside{};  ///< further statements
};
void PrintTo(const ClassInChain& it, std::ostream* out) { *out << it.name; }

std::string chain_of(const ClassInChain& it) {
  if (it.text.find("TestSource") != std::string::npos) return it.text;
  std::string text = "it :: " + (it.text.empty() ? it.name : it.text) + "; " + it.beside;
  for (int i = 0; i < it.inputs; ++i) text += format(" TestSource -> %s[%d]it;", it.before.c_str(), i);
  for (int i = 0; i < it.outputs; ++i) text += format(" it[%d] -> %sTestSink;", i, it.after.c_str());
  return text;
}

const std::vector<ClassInChain>& cases() {
  // Whether headers were marked unseen or checked makes a difference to what comes behind.
  static const std::string l3 = "Strip(14) -> MarkIPHeader -> ", l3v6 = "Strip(14) -> MarkIP6Header -> ",
                           marked = "MarkIPHeader(14) -> ", marked6 = "MarkIP6Header(14) -> ",
                           tcp = l3 + "IPFilter(allow tcp) -> ", udp = l3 + "IPFilter(allow udp) -> ",
                           icmp = l3 + "IPFilter(allow icmp) -> ", queue = "Queue(100000) -> ", pull = "Unqueue -> ",
                           routes = "(10.0.0.0/8 0, 192.0.2.0/24 10.0.0.7 1, 0.0.0.0/0 1)",
                           pattern = "(pattern 198.51.100.1 1024-65535 - - 0 1, drop)",
                           rule = "(@10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF ", to_flow = marked + "flows -> ",
                           tee = "TestSource -> t :: Tee(2) -> TestSink; t[1] -> TestSink;";
  // With `tee`, run() does not expect to see all packets again: some are made into more or fewer.
  static const std::vector<ClassInChain> list = {
      {"ARPPrint", "ARPPrint(ACTIVE false)"},
      {"ARPQuerier",
       "TestSource -> t :: Tee(2); t[0] -> GetIPAddress(30) -> Strip(14) -> "
       "q :: ARPQuerier(10.0.0.9, 2:0:0:0:0:1, CAPACITY 64); t[1] -> [1]q; q -> TestSink; q[1] -> TestSink; q[2] -> "
       "TestSink;"},
      {"ARPResponder", "ARPResponder(10.0.0.0/8 2:0:0:0:0:1)", 2},
      {"AggregateIPFlows", "AggregateIPFlows(ICMP true)", 2, 1, marked},
      {"AhoCorasick", "AhoCorasick($patterns)", 2, 1, marked},
      {"Align", "Align(4, 2)"},
      {"AverageCounter"},
      {"AverageCounterIMP"},
      {"AverageCounterMP"},
      {"BandwidthMeter", "BandwidthMeter(1Mbps)", 2},
      {"BandwidthRatedSplitter", "BandwidthRatedSplitter(1Mbps)", 2},
      {"BandwidthRatedUnqueue", "BandwidthRatedUnqueue(100Gbps)", 1, 1, queue},
      {"BandwidthShaper", "BandwidthShaper(100Gbps)", 1, 1, queue, pull},
      {"BitVectorClassifier", "BitVectorClassifier" + rule + "1, DEFAULT 0)", 2, 1, marked},
      {"Bypass", "Bypass(true)", 2},
      {"CPUPaint"},
      {"CPUSwitch", "", 2},
      {"CheckCRC32", "", 2},
      {"CheckICMPHeader", "", 2, 1, marked},
      {"CheckIP6Header", "CheckIP6Header(OFFSET 14)", 2},
      {"CheckIPHeader", "CheckIPHeader(14)", 2},
      {"CheckLength", "CheckLength(60)", 2},
      {"CheckPaint", "CheckPaint(3)", 2, 1, "Paint(3) -> "},
      {"CheckTCPHeader", "", 2, 1, marked},
      {"CheckUDPHeader", "", 2, 1, marked},
      {"Classifier", "Classifier(12/0800 23/06%0f, 12/86dd 54/88, 12/0806 20/0001, 100/00, -)", 5},
      {"Counter"},
      {"CounterAtomic"},
      {"CounterMP"},
      {"CycleCountAccum", "", 1, 1, "SetCycleCount -> "},
      {"DecIP6HLIM", "", 2, 1, marked6},
      {"DecIPTTL", "", 2, 1, marked},
      {"DirectIPLookup", "DirectIPLookup" + routes, 2, 1, marked + "GetIPAddress(30) -> "},
      {"Discard", "", 0},
      {"DropBroadcasts", "", 1, 1, "HostEtherFilter(2:0:0:0:0:1) -> "},
      {"ECMP", "ECMP(1 10.0.0.7 0 10.1.0.7 1)", 2, 1, marked + "GetIPAddress(30) -> "},
      {"Echo", "", 2},
      {"EtherEncap", "EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2)"},
      {"EtherMirror"},
      {"EtherRewrite", "EtherRewrite(2:0:0:0:0:1, 2:0:0:0:0:2)"},
      {"EtherSwitch", "", 2, 2},
      {"FTPPortMapper", "FTPPortMapper(r, r, 0)", 0, 1, tcp, "",
       "r :: IPRewriter" + pattern + "; it -> r -> TestSink; r[1] -> TestSink; Idle -> [1]r;"},
      {"Firewall", "Firewall" + rule + "deny, DEFAULT allow)", 2, 1, marked},
      {"FixIPSrc", "FixIPSrc(198.51.100.9)", 1, 1, l3 + "ICMPError(198.51.100.9, unreachable) -> "},
      {"FlowCounter", "FlowCounter(flows)", 1, 1, to_flow, "", "flows :: FlowTable;"},
      {"FlowTable", "", 1, 1, marked},
      {"FrontDropQueue", "", 1, 1, "", pull},
      {"GetIPAddress", "GetIPAddress(30)"},
      {"HashSwitch", "HashSwitch(26, 8)", 2},
      {"HostEtherFilter", "HostEtherFilter(2:0:0:0:0:1)", 2},
      {"ICMP6Error", "ICMP6Error(2001:db8::fe, timeexceeded)", 1, 1, l3v6},
      {"ICMPError", "ICMPError(198.51.100.9, parameterproblem)", 1, 1, l3 + "IPGWOptions(10.0.0.1) -> "},
      {"ICMPPingResponder", "", 2, 1, l3 + "GetIPAddress(16) -> "},
      {"ICMPPingRewriter", "ICMPPingRewriter" + pattern, 2, 2, icmp},
      {"ICMPRewriter", "ICMPRewriter(r)", 2, 1, icmp + "GetIPAddress(16) -> ", "",
       "r :: IPRewriter(pattern 198.51.100.1 1024-65535 - - 0 1); TestSource -> " + l3 +
           "IPFilter(allow tcp or udp) -> r -> TestSink; r[1] -> TestSink;"},
      {"IP6NDAdvertiser", "IP6NDAdvertiser(2001:db8::/32 2:0:0:0:0:1)"},
      {"IP6NDSolicitor",
       "TestSource -> t :: Tee(2); t[0] -> Strip(14) -> CheckIP6Header -> LookupIP6Route(2001:db8:1::/48 0, ::/0 "
       "2001:db8::7 0) -> q :: IP6NDSolicitor(2001:db8::9, 2:0:0:0:0:1, CAPACITY 64); t[1] -> [1]q; q -> TestSink; "
       "q[1] -> TestSink; q[2] -> TestSink;"},
      {"IPAddrPairRewriter", "IPAddrPairRewriter(pattern 198.51.100.1 10.0.0.9 0 1, drop)", 2, 2, l3},
      {"IPAddrRewriter", "IPAddrRewriter(pattern 198.51.100.1-198.51.100.99 - 0 1, drop)", 2, 2, l3},
      {"IPClassifier",
       "IPClassifier(dst tcp port 80 or 21, icmp type echo, ip frag, tcp opt syn and ip[8:2] < 77, udp, -)", 6, 1,
       marked},
      {"IPEncap", "IPEncap(4, 198.51.100.1, 10.0.0.2)"},
      {"IPFilter", "IPFilter(allow tcp src port > 1023, deny icmp type 3, allow ip ttl < 5 or ip tos 8, deny all)", 1,
       1, marked},
      {"IPFragmenter", "IPFragmenter(68)", 2, 1, l3, "", tee},
      {"IPGWOptions", "IPGWOptions(10.0.0.1)", 2, 1, l3},
      {"IPPrint", "IPPrint(x, CONTENTS HEX, OUTFILE /dev/null)", 1, 1, marked},
      {"IPRateMonitor", "IPRateMonitor(BYTES, 1, 1)", 1, 1, marked},
      {"IPReassembler", "", 1, 1, l3, "", tee},
      {"IPRewriter", "IPRewriter" + pattern, 2, 2, l3 + "IPFilter(allow tcp or udp) -> "},
      {"IPsecDecap", "IPsecDecap($keys, OFFSET 14)"},
      {"IPsecEncap", "IPsecEncap($keys, OFFSET 14)", 1, 1, marked + "IPsecSequence(it) -> "},
      {"IPsecReplay", "IPsecReplay(d)", 1, 1, "d -> ", "", "d :: IPsecDecap($keys, OFFSET 14);"},
      {"IPsecSequence", "IPsecSequence(esp, MTU 1500)", 0, 1, marked, "",
       "esp :: IPsecEncap($keys, OFFSET 14); it -> esp -> TestSink; it[1] -> TestSink;"},
      {"Idle", "", 0},
      {"L2Switch", "L2Switch(2:0:0:0:0:2 1, CAPACITY 64)", 3, 1, "Paint(0) -> "},
      {"LinearIPLookup", "LinearIPLookup" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"LoadBalancer", "LoadBalancer(flows, 10.0.0.3, 10.0.0.4)", 1, 1, to_flow, "", "flows :: FlowTable;"},
      {"LookupIP6Route", "LookupIP6Route(2001:db8::/32 0, ::/0 2001:db8::7 1)", 2, 1, marked6},
      {"MarkIP6Header", "MarkIP6Header(14)"},
      {"MarkIPCE", "MarkIPCE(true)", 1, 1, marked},
      {"MarkIPHeader", "MarkIPHeader(14)"},
      {"Meter", "Meter(1000)", 2},
      {"MinBatch", "MinBatch(100, 100)"},
      {"MixedQueue", "", 1, 2, "", pull},
      {"NAT", "NAT(flows, 198.51.100.1)", 2, 1, to_flow, "", "flows :: FlowTable;"},
      {"NDNLookup", "NDNLookup(/ 0, /8=a 1, /8=a/8=b 2)", 3},
      {"NIDS", "NIDS($signatures)", 2, 1, marked},
      {"NIDSConfirm",
       "ids :: NIDS($signatures); TestSource -> MarkIPHeader(14) -> ids -> TestSink; "
       "ids[1] -> NIDSConfirm(ids, EVE /dev/null) -> TestSink;"},
      {"NotifierQueue", "", 1, 1, "", pull},
      {"Null"},
      {"NumberPacket", "NumberPacket(OFFSET 20)"},
      {"Pad", "Pad(100)"},
      {"Paint", "Paint(1)"},
      {"PaintSwitch", "", 2, 1, "Paint(1) -> "},
      {"PaintTee", "PaintTee(1)", 2, 1, "Paint(1) -> "},
      {"Pipeliner", "Pipeliner(BLOCKING true)"},
      {"Print", "Print(x, -1, ACTIVE false)"},
      {"PrioSched", "", 1, 2, queue, pull},
      {"ProtocolTranslator64", "", 1, 1, l3v6},
      {"PullNull", "", 1, 1, queue, pull},
      {"PushNull"},
      {"Queue", "", 1, 1, "", pull},
      {"RED", "RED(5, 50, 0.02)", 1, 1, "", "Queue -> Unqueue -> "},
      {"RRSched", "", 1, 2, queue, pull},
      {"RadixIPLookup", "RadixIPLookup" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"RandomSample", "RandomSample(0.5)", 2},
      {"RandomSwitch", "", 2},
      {"RangeIPLookup", "RangeIPLookup" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"RateLimiter", "RateLimiter(flows, 1)", 2, 1, to_flow, "", "flows :: FlowTable;"},
      {"RatedSplitter", "RatedSplitter(1000)", 2},
      {"RatedUnqueue", "RatedUnqueue(100000000)", 1, 1, queue},
      {"RecordTimestamp", "RecordTimestamp(500)"},
      {"RoundRobinSched", "", 1, 2, queue, pull},
      {"RoundRobinSwitch", "", 2},
      {"SetCRC32"},
      {"SetCycleCount"},
      {"SetIPAddress", "SetIPAddress(10.0.0.2)"},
      {"SetIPChecksum", "", 1, 1, marked},
      {"SetIPDSCP", "SetIPDSCP(46)", 1, 1, marked},
      {"SetTCPChecksum", "", 1, 1, marked},
      {"SetTimestamp"},
      {"SetUDPChecksum", "", 1, 1, marked},
      {"Shaper", "Shaper(100000000)", 1, 1, queue, pull},
      {"SimpleQueue", "SimpleQueue(100000)", 1, 1, "", pull},
      {"StaticIPLookup", "StaticIPLookup" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"StaticSwitch", "StaticSwitch(1)", 2},
      {"StoreData", "StoreData(30, \\<ff00ff>)"},
      {"StoreIPAddress", "StoreIPAddress(10.0.0.1, src)", 1, 1, marked},
      {"StrideSched", "StrideSched(3, 1)", 1, 2, queue, pull},
      {"Strip", "Strip(14)"},
      {"StripIPHeader", "", 1, 1, marked},
      {"Switch", "Switch(1)", 2},
      {"TCPReset", "", 1, 1, marked},
      {"TCPRewriter", "TCPRewriter" + pattern, 2, 2, tcp},
      {"Tee", "Tee(2)", 2},
      {"ThreadSafeQueue", "", 1, 1, "", pull},
      {"TimeSortedSched", "", 1, 2, queue, pull},
      {"TimestampDiff", "TimestampDiff(r, OFFSET 14)", 1, 1, "r -> ", "", "r :: RecordTimestamp(500, OFFSET 14);"},
      {"ToDPDKDevice", "ToDPDKDevice(net_null0)", 0},
      {"ToDump", "ToDump(/dev/null)", 0},
      {"ToIPSummaryDump",
       "ToIPSummaryDump(/dev/null, BAD_PACKETS true, FIELDS timestamp eth_src ip_src ip_dst ip_tos ip_ttl ip_proto "
       "ip_id "
       "ip_sum ip_frag ip_fragoff ip_len ip_capture_len ip_hl ip_v sport dport tcp_seq tcp_ack tcp_off tcp_flags "
       "tcp_win "
       "tcp_sum tcp_urp udp_len udp_sum icmp_type icmp_code payload_len payload wire_len)",
       0, 1, marked},
      {"Truncate", "Truncate(40)"},
      {"UDPIPEncap", "UDPIPEncap(198.51.100.1, 1000, 10.0.0.2, 2000)"},
      {"UDPRewriter", "UDPRewriter" + pattern, 2, 2, udp},
      {"Unqueue", "", 1, 1, queue},
      {"Unstrip", "Unstrip(14)"},
      {"VLANDecap"},
      {"VLANEncap", "VLANEncap(7, 3)"},
      {"XOR", "XOR(3)"},
  };
  return list;
}

// Classes that no packet comes to from a chain, and those that want a network.
const std::set<std::string> kOthers = {"AddressInfo",
                                       "ControlSocket",
                                       "DPDKInfo",
                                       "DriverManager",
                                       "FastUDPFlows",
                                       "FromDPDKDevice",
                                       "FromDevice",
                                       "FromDump",
                                       "FromGPUPort",
                                       "FromHost",
                                       "FromIPSummaryDump",
                                       "ICMPPingSource",
                                       "IPRewriterPatterns",
                                       "InfiniteSource",
                                       "KernelIP6Neighbours",
                                       "KernelIP6Routes",
                                       "KernelNeighbours",
                                       "KernelRoutes",
                                       "KernelTun",
                                       "McastSocket",
                                       "Message",
                                       "RatedSource",
                                       "Script",
                                       "Socket",
                                       "StaticThreadSched",
                                       "TimedSource",
                                       "ToDevice",
                                       "ToGPUPort",
                                       "ToHost"};

Bytes join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}
Bytes bytes(std::string_view text) { return {text.begin(), text.end()}; }
Bytes ethernet(unsigned type) {
  return {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, static_cast<uint8_t>(type >> 8), static_cast<uint8_t>(type)};
}
Bytes ip4(unsigned protocol, const Bytes& payload, const Bytes& ip_options = {}, unsigned fragment = 0) {
  Bytes header = {0x45, 0, 0, 0, 0, 1, 0, 0, 64, static_cast<uint8_t>(protocol), 0, 0, 192, 0, 2, 1, 10, 0, 0, 1};
  header[0] = static_cast<uint8_t>(0x45 + ip_options.size() / 4);
  Bytes packet = join({header, ip_options, payload});
  put_u16(packet, 2, static_cast<unsigned>(packet.size()));
  put_u16(packet, 6, fragment);
  set_ip_checksum(packet, 0);
  return packet;
}
Bytes ip6(unsigned next, const Bytes& payload) {
  Bytes header = {0x60, 0,    0,    0,    0,    0,    static_cast<uint8_t>(next),
                  64,   0x20, 0x01, 0x0d, 0xb8, 0,    0,
                  0,    0,    0,    0,    0,    0,    0,
                  0,    0,    1,    0x20, 0x01, 0x0d, 0xb8,
                  0,    0,    0,    0,    0,    0,    0,
                  0,    0,    0,    0,    2};
  put_u16(header, 4, static_cast<unsigned>(payload.size()));
  return join({header, payload});
}
Bytes ports(unsigned source, unsigned destination) {
  return {static_cast<uint8_t>(source >> 8), static_cast<uint8_t>(source), static_cast<uint8_t>(destination >> 8),
          static_cast<uint8_t>(destination)};
}
Bytes udp(unsigned source, unsigned destination, const Bytes& payload) {
  Bytes length = {0, 0, 0, 0};
  put_u16(length, 0, static_cast<unsigned>(8 + payload.size()));
  return join({ports(source, destination), length, payload});
}
Bytes tcp(unsigned source, unsigned destination, unsigned flags, const Bytes& tcp_options, const Bytes& payload) {
  Bytes rest = {
      0, 0, 0, 1, 0, 0, 0, 2, static_cast<uint8_t>((5 + tcp_options.size() / 4) << 4), static_cast<uint8_t>(flags),
      1, 0, 0, 0, 0, 0};
  return join({ports(source, destination), rest, tcp_options, payload});
}

/** One of each kind that an element parses. */
std::vector<Bytes> right_packets() {
  const Bytes text = bytes("PORT 10,0,0,1,4,1\r\n"), request = bytes("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  const Bytes ping = {8, 0, 0, 0, 0, 1, 0, 1, 'p', 'i', 'n', 'g'}, echo6 = {128, 0, 0, 0, 0, 1, 0, 1};
  const Bytes quoted = ip4(17, udp(5000, 53, Bytes(8)));
  const Bytes mac = {1, 1, 2, 0, 0, 0, 0, 2};
  Bytes solicitation = {135, 0, 0, 0, 0, 0, 0, 0, 0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  solicitation = join({solicitation, mac});
  Bytes advertisement = solicitation;
  advertisement[0] = 136, advertisement[4] = 0x60, advertisement[24] = 2;
  const Bytes arp = {0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 2, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 1};
  Bytes reply = arp;
  reply[7] = 2;
  Bytes esp = {0, 0, 0x10, 0x01, 0, 0, 0, 1};
  esp.resize(72, 0x5a);
  const auto v4 = [](const Bytes& packet) { return join({ethernet(0x0800), packet}); };
  const auto v6 = [](const Bytes& packet) { return join({ethernet(0x86dd), packet}); };
  return {
      v4(ip4(6, tcp(40000, 21, 0x18, {}, text))),
      v4(ip4(6, tcp(40000, 80, 0x02, {2, 4, 5, 180, 3, 3, 7, 0}, {}))),
      v4(ip4(6, tcp(40001, 80, 0x18, {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2}, request))),
      v4(ip4(17, udp(5000, 53, Bytes(30)))),
      v4(ip4(1, ping)),
      v4(ip4(1, join({Bytes{3, 4, 0, 0, 0, 0, 1, 0}, quoted}))),
      v4(ip4(1, join({Bytes{5, 1, 0, 0, 10, 0, 0, 7}, ip4(6, tcp(40000, 21, 0x10, {}, {}))}))),
      v4(ip4(17, udp(5000, 53, Bytes(40)), {}, 0x2000)),                         // the first fragment
      v4(ip4(17, Bytes(40), {}, 6)),                                             // and one behind it
      v4(ip4(17, udp(5000, 53, Bytes(200)), {}, 0x4000)),                        // not to be fragmented
      v4(ip4(17, udp(1, 2, Bytes(9)), {7, 7, 4, 0, 0, 0, 0, 0})),                // record route
      v4(ip4(17, udp(1, 2, Bytes(9)), {68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0})),  // time stamps
      v4(ip4(17, udp(1, 2, Bytes(9)), {131, 7, 4, 10, 0, 0, 1, 0})),             // a source route
      v4(ip4(50, esp)),
      v4(ip4(17, udp(4500, 4500, esp))),
      v4(ip4(4, quoted)),
      v6(ip6(17, udp(5000, 53, Bytes(30)))),
      v6(ip6(6, tcp(40000, 80, 0x18, {}, request))),
      v6(ip6(58, echo6)),
      v6(ip6(58, solicitation)),
      v6(ip6(58, advertisement)),
      v6(ip6(0, join({Bytes{60, 0, 1, 4, 0, 0, 0, 0}, Bytes{44, 0, 1, 4, 0, 0, 0, 0}, Bytes{17, 0, 0, 1, 0, 0, 0, 9},
                      udp(1, 2, Bytes(16))}))),  // hop-by-hop and destination options, a fragment
      v6(ip6(43, join({Bytes{6, 2, 0, 1, 0, 0, 0, 0}, Bytes(16), tcp(1, 2, 2, {}, {})}))),  // a routing header
      join({ethernet(0x0806), arp, Bytes(18)}),
      join({ethernet(0x0806), reply, Bytes(18)}),
      join({ethernet(0x8100), Bytes{0, 7, 8, 0}, ip4(17, udp(5000, 53, Bytes(30)))}),
      join({ethernet(0x88a8), Bytes{0, 7, 0x81, 0, 0, 8, 8, 0}, ip4(17, udp(5000, 53, Bytes(30)))}),
      join({ethernet(0x8624), Bytes{5, 14, 7, 6, 8, 1, 'a', 8, 1, 'b', 10, 4, 1, 2, 3, 4}}),  // an NDN Interest
      {},
  };
}

/** The same, cut off anywhere, and with bytes that say something else. */
const std::vector<Frame>& hostile_frames() {
  static const std::vector<Frame> frames = [] {
    auto random = random_for("hostile frames");
    constexpr uint8_t kTelling[] = {0, 1, 4, 5, 6, 15, 0x3f, 0x40, 0x45, 0x4f, 0x60, 0x7f, 0x80, 0xfe, 0xff};
    std::vector<Frame> all;
    for (const Bytes& right : right_packets()) {
      all.push_back({right});
      for (size_t length = 0; length < right.size(); length += length < 80 ? 1 : 7)
        all.push_back({Bytes(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(length))});
      for (int i = 0; i < tries(60, 2000) && right.size() > 14; ++i) {
        Bytes wrong = right;
        for (unsigned changes = 1 + random() % 3; changes > 0; --changes) {
          const size_t at = 12 + random() % (std::min<size_t>(wrong.size(), 90) - 12);
          wrong[at] = random() % 4 == 0 ? static_cast<uint8_t>(random()) : kTelling[random() % std::size(kTelling)];
        }
        if (random() % 4 == 0) wrong.resize(14 + random() % (wrong.size() - 13));
        const size_t header = wrong.size() > 14 ? (wrong[14] & 15u) * 4 : 0;
        if (random() % 2 == 0 && header >= 20 && wrong.size() >= 14 + header) set_ip_checksum(wrong, 14);
        all.push_back({wrong});
      }
    }
    std::shuffle(all.begin(), all.end(), random);
    return all;
  }();
  return frames;
}

class EveryElement : public testing::TestWithParam<ClassInChain> {
 protected:
  ~EveryElement() override {
    for (const std::string* path : {&keys_, &signatures_, &patterns_}) std::filesystem::remove(*path);
  }
  /** Names the files that elements read, which say something for each kind of frame. */
  std::string definitions() const {
    return format("define($keys %s, $signatures %s, $patterns %s); ", keys_.c_str(), signatures_.c_str(),
                  patterns_.c_str());
  }

 private:
  static std::string file(const char* name, const char* text) {
    const std::string path = testing::TempDir() + std::to_string(getpid()) + name;
    std::ofstream(path) << text;
    ::chmod(path.c_str(), 0600);
    return path;
  }
  const std::string keys_ = file("every_element.keys",
                                 "src 192.0.2.1 dst 10.0.0.1\n\tproto esp spi 0x00001001 reqid 1 mode tunnel\n"
                                 "\taead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128\n");
  const std::string signatures_ = file("every_element.rules",
                                       "alert tcp any any -> any any (content:\"PORT\"; pcre:\"/PORT \\d+/\"; sid:1;)\n"
                                       "alert udp any any -> any any (content:\"|00 00 00|\"; sid:2;)\n");
  const std::string patterns_ =
      file("every_element.patterns", "tcp 21 PORT\ntcp 80 HTTP/1.\nudp any |00 00 00|\nicmp any ing\nip any |5a 5a|\n");
};
INSTANTIATE_TEST_SUITE_P(All, EveryElement, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

// run() checks that every packet arrives or is dropped with a reason, and comes back to its pool.
TEST_P(EveryElement, TakesPacketsThatLie) {
  Options options;
  options.guarded = true;
  options.batches = {32, 1, 64, 7};
  options.on_packet = [](const std::string&, const Received&) {};
  std::string chain = definitions() + chain_of(GetParam());
  for (int checked = 0; checked < 2; ++checked) {
    SCOPED_TRACE(chain);
    const Result result = run(chain, backends()[0], hostile_frames(), options);
    EXPECT_GE(result.received, hostile_frames().size());
    // Once more behind elements that have looked at the headers.
    const std::string from = "MarkIP", to = "CheckIP";
    const size_t at = chain.find(from, chain.find("TestSource"));
    if (at == std::string::npos) break;
    for (size_t next = at; next != std::string::npos; next = chain.find(from, next))
      chain.replace(next, from.size(), to);
  }
}

/** Reads the byte behind each packet. */
class TestReadsBehind : public Element {
 public:
  void run_cpu(Batch& batch) override {
    for (int i = 0; i < batch.size(); ++i) sum_ += batch.frame(i)[batch.length(i)];
  }

 private:
  unsigned sum_ = 0;
};
HEDDLE_ELEMENT(TestReadsBehind);

TEST(EveryElementDeathTest, ReadingBehindAPacketIsSeen) {
  if (!kSanitized) GTEST_SKIP() << "no sanitizer looks";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Options options;
  options.guarded = true;
  EXPECT_DEATH(run("TestSource -> TestReadsBehind -> TestSink", backends()[0], hostile_frames(), options),
               "heap-buffer-overflow");
}

/** What fails from the start of the first element on, until all is started. */
struct Fault {
  enum Kind { kNone, kAllocation, kDescriptor } kind = kNone;
  int number = 0;  ///< of the allocation, from 1; or how many descriptors can be opened
};
class TestFaults : public Element {
 public:
  static inline Fault fault;
  static inline uint64_t allocations = 0;  ///< that there have been

  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
  void start(const Environment&) override {
    if (fault.kind == Fault::kDescriptor)
      descriptors_.emplace(fault.number);
    else
      FailingAllocation::begin(static_cast<uint64_t>(fault.number));
  }
  static void end() {
    if (fault.kind != Fault::kDescriptor) allocations = FailingAllocation::end();
    descriptors_.reset();
  }

 private:
  static inline std::optional<FewDescriptors> descriptors_;
};
HEDDLE_ELEMENT(TestFaults);

/** Starts a chain, and ends it at once; returns what has failed. */
std::string start_with(const std::string& text, Fault fault) {
  static const std::vector<Frame> frames(8, Frame{Bytes(60)});
  click::Diagnostics diagnostics;
  // Elements without inputs are started in their order, and then the others.
  Chain chain = read("TestFaults;" + text, {"cpu", LaunchMode::persistent}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.text();
  if (!diagnostics.ok()) return diagnostics.text();
  Lab lab;
  lab.frames = &frames;
  lab.options.on_packet = [](const std::string&, const Received&) {};
  Lab::current() = &lab;
  std::string problem;
  {
    RunOptions run;
    run.batch_size = 64, run.packets = 4096;
    Engine engine(std::move(chain.router), std::move(chain.plan), run);
    TestFaults::fault = fault;
    try {
      engine.start();
      TestFaults::end();
      engine.stop();
      engine.wait();
    } catch (const std::exception& error) {
      TestFaults::end();
      problem = error.what();
    }
  }
  EXPECT_EQ(lab.not_returned, 0) << "packets that never came back to their pool";
  Lab::current() = nullptr;
  return problem;
}

/** Of classes that packets do not come to from a chain. */
const std::vector<std::pair<const char*, const char*>>& sources_and_others() {
  static const std::vector<std::pair<const char*, const char*>> list = {
      {"AddressInfo", "AddressInfo(a 10.0.0.1 2:0:0:0:0:1); TestSource -> TestSink;"},
      {"ControlSocket", "ControlSocket(unix, $out); TestSource -> TestSink;"},
      {"DPDKInfo", "DPDKInfo(NB_MBUF 1000); TestSource -> TestSink;"},
      {"DriverManager", "DriverManager(wait, stop); TestSource -> TestSink;"},
      {"FastUDPFlows", "FastUDPFlows(0, 10, 60, 2:0:0:0:0:1, 10.0.0.1, 2:0:0:0:0:2, 10.1.0.1, 4, -1) -> Discard;"},
      {"FromDPDKDevice", "FromDPDKDevice(net_null0) -> Discard;"},
      {"FromDevice", "FromDevice(lo) -> Discard;"},
      {"FromDump", "FromDump($capture) -> Discard;"},
      {"FromHost", "FromHost(hdstart0, 10.99.0.1/24) -> Discard;"},
      {"FromIPSummaryDump", "FromIPSummaryDump($summary) -> Discard;"},
      {"ICMPPingSource", "ICMPPingSource(10.0.0.1, 10.0.0.2) -> Discard;"},
      {"IPRewriterPatterns", "IPRewriterPatterns(p 1.0.0.1 1024-65535 - -); TestSource -> TestSink;"},
      {"InfiniteSource", "InfiniteSource(LIMIT 10) -> Discard;"},
      {"KernelNeighbours",
       "KernelNeighbours(q, lo); q :: ARPQuerier(10.0.0.9, 2:0:0:0:0:1); TestSource -> MarkIPHeader(14)"
       " -> GetIPAddress(30) -> q -> TestSink; Idle -> [1]q;"},
      {"KernelRoutes",
       "KernelRoutes(rt, lo 0); TestSource -> GetIPAddress(30) -> rt :: DirectIPLookup(0/0 0) -> TestSink;"},
      {"KernelTun", "KernelTun(10.99.0.1/24) -> Discard;"},
      {"McastSocket", "McastSocket(239.1.2.3, 9000) -> Discard;"},
      {"Message", "Message(starts); TestSource -> TestSink;"},
      {"RatedSource", "RatedSource(LIMIT 2) -> Discard;"},
      {"Script", "Script(set x $(add 1 2), wait 1us, end); TestSource -> TestSink;"},
      {"Socket", "Socket(UDP, 127.0.0.1, 0) -> Discard;"},
      {"StaticThreadSched", "s :: TestSource -> TestSink; StaticThreadSched(s 0);"},
      {"TimedSource", "TimedSource(1us, LIMIT 2) -> Discard;"},
      {"ToDevice", "TestSource -> ToDevice(lo);"},
      {"ToHost", "InfiniteSource(LIMIT 4) -> ToHost(hdstart1);"},
      {"ToDumpOfAFile", "TestSource -> ToDump($out);"},
      {"ToIPSummaryDumpOfAFile", "TestSource -> MarkIPHeader(14) -> ToIPSummaryDump($out);"},
  };
  return list;
}

/** Each of its allocations and descriptors fails once; a start that fails leaves nothing open. */
void expect_failures(const std::string& chain) {
  if (const std::string problem = start_with(chain, {}); !problem.empty()) GTEST_SKIP() << "not here: " << problem;
  const auto all = static_cast<int>(TestFaults::allocations);
  const int descriptors = open_descriptors();
  // The first ones, which are those of elements, and some of the others.
  const int first = tries(6, all), step = std::max(1, all / 6);
  int failures = 0;
  for (int number = 1; number <= all; number += number < first ? 1 : step) {
    const std::string problem = start_with(chain, {Fault::kAllocation, number});
    failures += problem.empty() ? 0 : 1;
    ASSERT_EQ(open_descriptors(), descriptors) << "allocation " << number << " of " << all << ": " << problem;
  }
  EXPECT_TRUE(failures > 0 || kSanitized);
  // UndefinedBehaviorSanitizer wants descriptors when it looks at objects.
  std::string problem = kSanitized ? "" : "none yet";
  for (int number = 0; !problem.empty() && number < 50; ++number) {
    problem = start_with(chain, {Fault::kDescriptor, number});
    ASSERT_EQ(open_descriptors(), descriptors) << "descriptor " << number << ": " << problem;
  }
  EXPECT_EQ(problem, "");
  EXPECT_EQ(start_with(chain, {}), "");
}

TEST_P(EveryElement, StartsOrSaysWhyNot) { expect_failures(definitions() + chain_of(GetParam())); }

class EverySource : public testing::TestWithParam<std::pair<const char*, const char*>> {};
INSTANTIATE_TEST_SUITE_P(All, EverySource, testing::ValuesIn(sources_and_others()),
                         [](const auto& info) { return std::string(info.param.first); });

TEST_P(EverySource, StartsOrSaysWhyNot) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + "every_source";
  std::ofstream(path + ".summary") << "!data ip_src ip_dst\n10.0.0.1 10.0.0.2\n";
  std::ofstream(path + ".capture") << std::string("\xd4\xc3\xb2\xa1\2\0\4\0\0\0\0\0\0\0\0\0\xff\xff\0\0\1\0\0\0", 24);
  std::string names;
  for (const char* name : {"out", "summary", "capture"}) names += format("$%s %s.%s, ", name, path.c_str(), name);
  expect_failures("define(" + names.substr(0, names.size() - 2) + "); " + GetParam().second);
  for (const char* end : {".out", ".summary", ".capture"}) std::filesystem::remove(path + end);
}

TEST(EveryElementClass, IsHere) {
  std::set<std::string> named = kOthers;
  for (const ClassInChain& it : cases()) EXPECT_TRUE(named.insert(it.name).second) << it.name;
  for (const std::string& name : Catalog::instance().names()) {
    const bool of_a_test = name.starts_with("Test") || name == "NoThreadsLeft";
    EXPECT_TRUE(of_a_test || named.erase(name) == 1) << name << " is not here";
  }
  EXPECT_TRUE(named.empty()) << *named.begin() << " is no element";
}

}  // namespace
}  // namespace heddle::test
