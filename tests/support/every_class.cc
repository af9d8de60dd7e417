#include "tests/support/every_class.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"

namespace heddle::test {

void PrintTo(const ClassInChain& it, std::ostream* out) { *out << it.name; }

std::string ClassInChain::chain() const {
  if (text.find("TestSource") != std::string::npos) return text;
  std::string all = "it :: " + (text.empty() ? name : text) + "; " + beside;
  for (int i = 0; i < inputs; ++i) all += format(" TestSource -> %s[%d]it;", before.c_str(), i);
  for (int i = 0; i < outputs; ++i) all += format(" it[%d] -> %sTestSink;", i, after.c_str());
  return all;
}

namespace {

/** What tests have added. */
std::vector<ClassInChain>& added() {
  static std::vector<ClassInChain> list;
  return list;
}

std::vector<ClassInChain> listed() {
  // Whether headers were marked unseen or checked makes a difference to what comes behind.
  const std::string l3 = "Strip(14) -> MarkIPHeader -> ", l3v6 = "Strip(14) -> MarkIP6Header -> ",
                    marked = "MarkIPHeader(14) -> ", marked6 = "MarkIP6Header(14) -> ",
                    tcp = l3 + "IPFilter(allow tcp) -> ", udp = l3 + "IPFilter(allow udp) -> ",
                    icmp = l3 + "IPFilter(allow icmp) -> ", queue = "Queue(100000) -> ", pull = "Unqueue -> ",
                    routes = "(10.0.0.0/8 0, 192.0.2.0/24 10.0.0.7 1, 0.0.0.0/0 1)",
                    pattern = "(pattern 198.51.100.1 1024-65535 - - 0 1, drop)",
                    rule = "(@10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF ", to_flow = marked + "flows -> ",
                    tee = "TestSource -> t :: Tee(2) -> TestSink; t[1] -> TestSink;";
  // With `tee`, run() does not expect to see all packets again: some are made into more or fewer.
  return {
      {"ARPPrint", "ARPPrint(ACTIVE false)"},
      {"ARPQuerier",
       "TestSource -> t :: Tee(2); t[0] -> GetIPAddress(30) -> Strip(14) -> "
       "q :: ARPQuerier(10.0.0.9, 2:0:0:0:0:1, CAPACITY 64); t[1] -> [1]q; q -> TestSink; q[1] -> TestSink; q[2] -> "
       "TestSink;"},
      {"ARPResponder", "ARPResponder(10.0.0.0/8 2:0:0:0:0:1)", 2},
      {"AdjustTimestamp", "AdjustTimestamp(1.5, ALL true)"},
      {"AdaptiveRED", "AdaptiveRED(25, 0.02)", 1, 1, "", "Queue -> Unqueue -> "},
      {"AggregateCounter", "AggregateCounter(BYTES true, IP_BYTES true, CAPACITY 7)", 2, 2,
       marked + "AggregateIP(ip src) -> "},
      {"AggregateFilter", "AggregateFilter(0 0-99, 1 100-3232235520, drop 3232235521)", 2, 1,
       marked + "AggregateIP(ip src) -> "},
      {"AggregateFirst", "AggregateFirst(CAPACITY 7)", 2, 1, marked + "AggregateIP(ip tos) -> "},
      {"AggregateIP", "AggregateIP(data{4-35})", 2, 1, marked},
      {"AggregateIPAddrPair", "", 2, 1, marked},
      {"AggregateIPFlows", "AggregateIPFlows(ICMP true)", 2, 1, marked},
      {"AggregateLast", "AggregateLast(CAPACITY 7)", 2, 1, marked + "AggregateIP(ip tos) -> "},
      {"AggregateLength", "AggregateLength(IP true)", 2, 1, marked},
      {"AggregatePaint", "AggregatePaint(3, INCREMENTAL true)", 1, 1, "Paint(5) -> "},
      {"AhoCorasick", "AhoCorasick($patterns)", 2, 1, marked},
      {"Align", "Align(4, 2)"},
      {"AnonymizeIPAddr", "AnonymizeIPAddr(CLASS 2, PRESERVE_8 10, SEED 7)", 2, 1, marked},
      {"AverageCounter"},
      {"AverageCounterIMP"},
      {"AverageCounterMP"},
      {"BandwidthMeter", "BandwidthMeter(1Mbps)", 2},
      {"BandwidthRatedSplitter", "BandwidthRatedSplitter(1Mbps)", 2},
      {"BandwidthRatedUnqueue", "BandwidthRatedUnqueue(100Gbps)", 1, 1, queue},
      {"BandwidthShaper", "BandwidthShaper(100Gbps)", 1, 1, queue, pull},
      {"BitVectorClassifier", "BitVectorClassifier" + rule + "1, DEFAULT 0)", 2, 1, marked},
      {"Bypass", "Bypass(true)", 2},
      {"Burster", "Burster(1us, 1000)", 1, 1, queue},
      {"CPUPaint"},
      {"CPUSwitch", "", 2},
      {"CheckICMPHeader", "", 2, 1, marked},
      {"CheckIP6Header", "CheckIP6Header(OFFSET 14)", 2},
      {"CheckIPHeader", "CheckIPHeader(14)", 2},
      {"CheckLength", "CheckLength(60)", 2},
      {"CheckPaint", "CheckPaint(3)", 2, 1, "Paint(3) -> "},
      {"CheckTCPHeader", "", 2, 1, marked},
      {"CheckUDPHeader", "", 2, 1, marked},
      {"Classifier", "Classifier(12/0800 23/06%0f, 12/86dd 54/88, 12/0806 20/0001, 100/00, -)", 5},
      {"Clipboard", "Clipboard(0/4, 20/8)", 2, 2},
      {"Counter"},
      {"CounterAtomic"},
      {"CounterMP"},
      {"CycleCountAccum", "", 1, 1, "SetCycleCount -> "},
      {"DRRSched", "", 1, 2, queue, pull},
      {"DecIP6HLIM", "", 2, 1, marked6},
      {"DecIPTTL", "", 2, 1, marked},
      {"DirectIPLookup", "DirectIPLookup" + routes, 2, 1, marked + "GetIPAddress(30) -> "},
      {"DelayShaper", "DelayShaper(0)", 1, 1, queue, pull},
      {"Discard", "", 0},
      {"DropBroadcasts", "", 1, 1, "HostEtherFilter(2:0:0:0:0:1) -> "},
      {"DynamicUDPIPEncap", "DynamicUDPIPEncap(198.51.100.1, 1000, 10.0.0.2, 2000, true, 3)"},
      {"ECMP", "ECMP(1 10.0.0.7 0 10.1.0.7 1)", 2, 1, marked + "GetIPAddress(30) -> "},
      {"EtherEncap", "EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2)"},
      {"EnsureDPDKBuffer"},
      {"EnsureEther", "", 1, 1, marked + "Strip(14) -> "},
      {"EtherRewrite", "EtherRewrite(2:0:0:0:0:1, 2:0:0:0:0:2)"},
      {"EtherSwitch", "", 2, 2},
      {"EtherVLANEncap", "EtherVLANEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2, 7, 3)"},
      {"EtherVlanEncap", "EtherVlanEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2, 7, 3)"},
      {"FTPPortMapper", "FTPPortMapper(r, r, 0)", 0, 1, tcp, "",
       "r :: IPRewriter" + pattern + "; it -> r -> TestSink; r[1] -> TestSink; Idle -> [1]r;"},
      {"Firewall", "Firewall" + rule + "deny, DEFAULT allow)", 2, 1, marked},
      {"FixIPSrc", "FixIPSrc(198.51.100.9)", 1, 1, l3 + "ICMPError(198.51.100.9, unreachable) -> "},
      {"FlowCounter", "FlowCounter(flows)", 1, 1, to_flow, "", "flows :: FlowTable;"},
      {"FlowTable", "", 1, 1, marked},
      {"ForceICMP", "ForceICMP(unreachable, host)", 1, 1, marked},
      {"ForceIP"},
      {"ForceTCP", "ForceTCP(0, true, 2)", 1, 1, marked},
      {"ForceUDP", "", 1, 1, marked},
      {"FrontDropQueue", "", 1, 1, "", pull},
      {"FullNoteQueue", "", 1, 1, "", pull},
      {"GetIPAddress", "GetIPAddress(30)"},
      {"GetIP6Address", "GetIP6Address(38)", 1, 1, marked6},
      {"MarkMACHeader", "MarkMACHeader(0, 14)"},
      {"HashSwitch", "HashSwitch(26, 8)", 2},
      {"HostEtherFilter", "HostEtherFilter(2:0:0:0:0:1)", 2},
      {"Hub", "", 2, 2},
      {"ICMP6Error", "ICMP6Error(2001:db8::fe, timeexceeded)", 1, 1, l3v6},
      {"ICMPError", "ICMPError(198.51.100.9, parameterproblem)", 1, 1, l3 + "IPGWOptions(10.0.0.1) -> "},
      {"ICMPIPEncap", "ICMPIPEncap(198.51.100.1, 10.0.0.2, 3, 1)"},
      {"ICMPPingEncap", "ICMPPingEncap(198.51.100.1, 10.0.0.2, IDENTIFIER 7)"},
      {"ICMPPingResponder", "", 2, 1, l3 + "GetIPAddress(16) -> "},
      {"ICMPPingRewriter", "ICMPPingRewriter" + pattern, 2, 2, icmp},
      {"ICMPRewriter", "ICMPRewriter(r)", 2, 1, icmp + "GetIPAddress(16) -> ", "",
       "r :: IPRewriter(pattern 198.51.100.1 1024-65535 - - 0 1); TestSource -> " + l3 +
           "IPFilter(allow tcp or udp) -> r -> TestSink; r[1] -> TestSink;"},
      {"IP6Encap", "IP6Encap(ip6, 2001:db8::1, DST_ANNO)", 1, 1, "SetIP6Address(2001:db8::7) -> "},
      {"IP6Fragmenter", "IP6Fragmenter(68)", 2, 1, l3v6, "", tee},
      {"IP6Mirror", "", 1, 1, marked6},
      {"IP6NDAdvertiser", "IP6NDAdvertiser(2001:db8::/32 2:0:0:0:0:1)"},
      {"NDAdv", "NDAdv(2001:db8::/32 2:0:0:0:0:1)"},
      {"ARPResponder6", "ARPResponder6(2001:db8:: ffff:ffff:: 2:0:0:0:0:1)"},
      {"IP6NDSolicitor",
       "TestSource -> t :: Tee(2); t[0] -> Strip(14) -> CheckIP6Header -> LookupIP6Route(2001:db8:1::/48 0, ::/0 "
       "2001:db8::7 0) -> q :: IP6NDSolicitor(2001:db8::9, 2:0:0:0:0:1, CAPACITY 64); t[1] -> [1]q; q -> TestSink; "
       "q[1] -> TestSink; q[2] -> TestSink;"},
      {"NDSol",
       "TestSource -> t :: Tee(2); t[0] -> Strip(14) -> CheckIP6Header -> LookupIP6Route(::/0 2001:db8::7 0) -> q :: "
       "NDSol(2001:db8::9, 2:0:0:0:0:1); t[1] -> [1]q; q -> TestSink;"},
      {"ARPQuerier6",
       "TestSource -> t :: Tee(2); t[0] -> Strip(14) -> CheckIP6Header -> LookupIP6Route(::/0 2001:db8::7 0) -> q :: "
       "ARPQuerier6(2001:db8::9, 2:0:0:0:0:1); t[1] -> [1]q; q -> TestSink;"},
      {"IP6Reassembler", "", 1, 1, l3v6, "", tee},
      {"IP6Print", "IP6Print(x, CONTENTS true, ACTIVE false)", 1, 1, marked6},
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
      {"IPMirror", "", 1, 1, marked},
      {"IPPrint", "IPPrint(x, CONTENTS HEX, OUTFILE /dev/null)", 1, 1, marked},
      {"IPRateMonitor", "IPRateMonitor(BYTES, 1, 1)", 1, 1, marked},
      {"IPReassembler", "", 1, 1, l3, "", tee},
      {"IPRewriter", "IPRewriter" + pattern, 2, 2, l3 + "IPFilter(allow tcp or udp) -> "},
      {"IPsecDecap", "IPsecDecap($keys, OFFSET 14)"},
      {"IPsecEncap", "IPsecEncap($keys, OFFSET 14)", 1, 1, marked + "IPsecSequence(it) -> "},
      {"IPsecReplay", "IPsecReplay(d)", 1, 1, "d -> ", "", "d :: IPsecDecap($keys, OFFSET 14);"},
      {"IPsecSequence", "IPsecSequence(esp, MTU 1500)", 0, 1, marked, "",
       "esp :: IPsecEncap($keys, OFFSET 14); it -> esp -> TestSink; it[1] -> TestSink;"},
      {"InputSwitch", "InputSwitch(1)", 1, 2},
      {"Idle", "", 0},
      {"L2Switch", "L2Switch(2:0:0:0:0:2 1, CAPACITY 64)", 3, 1, "Paint(0) -> "},
      {"LinearIPLookup", "LinearIPLookup" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"LoadBalancer", "LoadBalancer(flows, 10.0.0.3, 10.0.0.4)", 1, 1, to_flow, "", "flows :: FlowTable;"},
      {"LookupIPRoute", "LookupIPRoute" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"LookupIPRouteMP", "LookupIPRouteMP" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"LookupIP6Route", "LookupIP6Route(2001:db8::/32 0, ::/0 2001:db8::7 1)", 2, 1, marked6},
      {"MarkIP6Header", "MarkIP6Header(14)"},
      {"MarkIPCE", "MarkIPCE(true)", 1, 1, marked},
      {"LinkUnqueue", "LinkUnqueue(0, 100Gbps)", 1, 1, queue},
      {"MarkIPHeader", "MarkIPHeader(14)"},
      {"Meter", "Meter(1000)", 2},
      {"MSQueue", "", 1, 1, "", pull},
      {"MergeByTimestamp", "", 1, 2, queue, pull},
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
      {"PullSwitch",
       "it :: PullSwitch(1); Idle -> Queue -> [0]it; TestSource -> Queue(100000) -> [1]it; it -> Unqueue -> TestSink;"},
      {"PullTee", "it :: PullTee(2); TestSource -> Queue(100000) -> it -> Unqueue -> TestSink; it[1] -> TestSink;"},
      {"PushNull"},
      {"Queue", "", 1, 1, "", pull},
      {"QuickNoteQueue", "", 1, 1, "", pull},
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
      {"Resize", "Resize(-4, 4)"},
      {"RoundRobinSched", "", 1, 2, queue, pull},
      {"RoundRobinSwitch", "", 2},
      {"SetAnnoByte", "SetAnnoByte(PAINT, 3)"},
      {"SetCycleCount"},
      {"SetIP6Address", "SetIP6Address(2001:db8::7)"},
      {"SetIP6DSCP", "SetIP6DSCP(46)", 1, 1, marked6},
      {"SetIPAddress", "SetIPAddress(10.0.0.2)"},
      {"SetIPChecksum", "", 1, 1, marked},
      {"SetIPDSCP", "SetIPDSCP(46)", 1, 1, marked},
      {"SetIPECN", "SetIPECN(ce)", 1, 1, marked},
      {"SetPacketType", "SetPacketType(OTHERHOST)"},
      {"SetRandIPAddress", "SetRandIPAddress(10.0.0.0/8, 100)"},
      {"SetTCPChecksum", "", 1, 1, marked},
      {"SetTimestamp"},
      {"SetTimestampDelta"},
      {"SetUDPChecksum", "", 1, 1, marked},
      {"SetVLANAnno", "SetVLANAnno(7)"},
      {"SetVlanAnno", "SetVlanAnno(7)"},
      {"Shaper", "Shaper(100000000)", 1, 1, queue, pull},
      {"SimplePrioSched", "", 1, 2, queue, pull},
      {"SimplePullSwitch",
       "it :: SimplePullSwitch(1); Idle -> Queue -> [0]it; TestSource -> Queue(100000) -> [1]it; it -> Unqueue -> "
       "TestSink;"},
      {"SimpleQueue", "SimpleQueue(100000)", 1, 1, "", pull},
      {"SortedIPLookup", "SortedIPLookup" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"StaticPullSwitch",
       "it :: StaticPullSwitch(1); Idle -> Queue -> [0]it; TestSource -> Queue(100000) -> [1]it; it -> Unqueue -> "
       "TestSink;"},
      {"StaticIPLookup", "StaticIPLookup" + routes, 2, 1, "GetIPAddress(30) -> "},
      {"StaticSwitch", "StaticSwitch(1)", 2},
      {"StoreData", "StoreData(30, \\<ff00ff>)"},
      {"StoreIPAddress", "StoreIPAddress(10.0.0.1, src)", 1, 1, marked},
      {"StoreTimestamp", "StoreTimestamp(4)"},
      {"StrideSched", "StrideSched(3, 1)", 1, 2, queue, pull},
      {"Strip", "Strip(14)"},
      {"Suppressor", "", 2, 2},
      {"StripEtherVLANHeader", "StripEtherVLANHeader(-1)", 2},
      {"StripEtherVlanHeader"},
      {"StripIPHeader", "", 1, 1, marked},
      {"StripTCPHeader", "", 1, 1, tcp},
      {"StripTransportHeader", "", 1, 1, marked},
      {"StripToNetworkHeader", "", 1, 1, marked},
      {"Switch", "Switch(1)", 2},
      {"TCPFragmenter", "TCPFragmenter(60)", 1, 1, l3, "", tee},
      {"TCPReset", "", 1, 1, marked},
      {"TCPRewriter", "TCPRewriter" + pattern, 2, 2, tcp},
      {"Tee", "Tee(2)", 2},
      {"ThreadSafeQueue", "", 1, 1, "", pull},
      {"TimeFilter", "TimeFilter(1, END 2)", 2},
      {"TimeRange"},
      {"TimeSortedSched", "", 1, 2, queue, pull},
      {"TimedSink", "TimedSink(1us)", 0, 1, queue},
      {"TimedUnqueue", "TimedUnqueue(1us, 1000)", 1, 1, queue},
      {"TimestampDiff", "TimestampDiff(r, OFFSET 14)", 1, 1, "r -> ", "", "r :: RecordTimestamp(500, OFFSET 14);"},
      {"ToDPDKDevice", "ToDPDKDevice(net_null0)", 0},
      {"ToDump", "ToDump(/dev/null)", 0},
      {"ToIPFlowDumps", "ToIPFlowDumps(/dev/null, TCP_OPT true, TCP_WINDOW true, IP_ID true)", 0, 1,
       marked + "AggregateIP(ip tos) -> Paint(1) -> "},
      {"ToIPSummaryDump",
       "ToIPSummaryDump(/dev/null, BAD_PACKETS true, FIELDS timestamp eth_src ip_src ip_dst ip_tos ip_ttl ip_proto "
       "ip_id "
       "ip_sum ip_frag ip_fragoff ip_len ip_capture_len ip_hl ip_v sport dport tcp_seq tcp_ack tcp_off tcp_flags "
       "tcp_win "
       "tcp_sum tcp_urp udp_len udp_sum icmp_type icmp_code payload_len payload wire_len)",
       0, 1, marked},
      {"TimestampAccum"},
      {"Truncate", "Truncate(40)"},
      {"TruncateIPPayload", "TruncateIPPayload(4)", 1, 1, marked},
      {"EraseIPPayload", "", 1, 1, marked},
      {"RandomBitErrors", "RandomBitErrors(0.1)"},
      {"UDPIP6Encap", "UDPIP6Encap(2001:db8::1, 1000, 2001:db8::2, 2000)"},
      {"UDPIPEncap", "UDPIPEncap(198.51.100.1, 1000, 10.0.0.2, 2000)"},
      {"UDPRewriter", "UDPRewriter" + pattern, 2, 2, udp},
      {"Unqueue", "", 1, 1, queue},
      {"Unqueue2", "Unqueue2(0)", 1, 1, queue, "Queue -> Unqueue -> "},
      {"Unstrip", "Unstrip(14)"},
      {"UnstripTCPHeader", "", 1, 1, tcp + "StripTCPHeader -> "},
      {"UnstripIPHeader", "", 1, 1, marked + "StripIPHeader -> "},
      {"VLANDecap"},
      {"VLANEncap", "VLANEncap(7, 3)"},
  };
}

}  // namespace

const std::vector<ClassInChain>& classes_in_chains() {
  static const std::vector<ClassInChain> list = [] {
    std::vector<ClassInChain> all = listed();
    all.insert(all.end(), added().begin(), added().end());
    return all;
  }();
  return list;
}

bool add_class_in_chain(ClassInChain it) {
  added().push_back(std::move(it));
  return true;
}

const std::set<std::string>& classes_apart() {
  static const std::set<std::string> list = {"ARPTable",
                                             "AddressInfo",
                                             "AlignmentInfo",
                                             "ClickyInfo",
                                             "ControlSocket",
                                             "DPDKInfo",
                                             "DriverManager",
                                             "FastUDPFlows",
                                             "FastTCPFlows",
                                             "FastUDPSource",
                                             "FastUDPSourceIP6",
                                             "FromDPDKDevice",
                                             "FromDevice",
                                             "FromDump",
                                             "FromGPUPort",
                                             "FromHost",
                                             "FromIPSummaryDump",
                                             "FromLinux",
                                             "FromTcpdump",
                                             "ICMPPingSource",
                                             "ICMPSendPings",
                                             "IPRewriterPatterns",
                                             "InfiniteSource",
                                             "KernelIP6Neighbours",
                                             "KernelIP6Routes",
                                             "KernelNeighbours",
                                             "KernelRoutes",
                                             "KernelTap",
                                             "KernelTun",
                                             "McastSocket",
                                             "Message",
                                             "MultiReplayUnqueue",
                                             "PeekHandlers",
                                             "PokeHandlers",
                                             "PollDevice",
                                             "PortInfo",
                                             "RIPSend",
                                             "RandomSeed",
                                             "RandomSource",
                                             "RatedSource",
                                             "ReplayUnqueue",
                                             "RoundRobinIPMapper",
                                             "ScheduleInfo",
                                             "Script",
                                             "Socket",
                                             "SourceIPHashMapper",
                                             "StaticThreadSched",
                                             "TCPIPSend",
                                             "TimedSource",
                                             "ToDevice",
                                             "ToGPUPort",
                                             "ToHost",
                                             "ToHostSniffers",
                                             "ToLinux",
                                             "ToLinuxSniffers"};
  return list;
}

namespace {

std::string file(const char* name, const char* text) {
  const std::string path = testing::TempDir() + std::to_string(getpid()) + name;
  std::ofstream(path) << text;
  ::chmod(path.c_str(), 0600);
  return path;
}

}  // namespace

FilesOfElements::FilesOfElements()
    : keys_(file("every_element.keys",
                 "src 192.0.2.1 dst 10.0.0.1\n\tproto esp spi 0x00001001 reqid 1 mode tunnel\n"
                 "\taead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128\n")),
      signatures_(file("every_element.rules",
                       "alert tcp any any -> any any (content:\"PORT\"; pcre:\"/PORT \\d+/\"; sid:1;)\n"
                       "alert udp any any -> any any (content:\"|00 00 00|\"; sid:2;)\n")),
      patterns_(file("every_element.patterns",
                     "tcp 21 PORT\ntcp 80 HTTP/1.\nudp any |00 00 00|\nicmp any ing\nip any |5a 5a|\n")) {}

FilesOfElements::~FilesOfElements() {
  for (const std::string* path : {&keys_, &signatures_, &patterns_}) std::filesystem::remove(*path);
}

std::string FilesOfElements::definitions() const {
  return format("define($keys %s, $signatures %s, $patterns %s); ", keys_.c_str(), signatures_.c_str(),
                patterns_.c_str());
}

}  // namespace heddle::test
