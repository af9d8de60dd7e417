"""What every element must have: arguments that it refuses by line, element and value, and a manual whose example
passes."""

import re

import pytest
from whole import captures, ipsec
from whole.program import ROOT, mistakes

BAD_ARGUMENTS = {
    "AhoCorasick": ["", "none", "/dev/null, 1", "/dev/null, PATTERNS x", "/dev/null, DEVICE 7"],
    "AggregateIPAddrPair": ["1", "TIMEOUT x", "CAPACITY 0", "REAP x", "TCP_TIMEOUT 1"],
    "AggregateIPFlows": ["1", "TCP_TIMEOUT x", "CAPACITY 0", "ICMP 2", "FRAGMENTS x"],
    "AggregateCounter": [
        "1",
        "BYTES 2",
        "CAPACITY 0",
        "CAPACITY 134217729",
        "AGGREGATE_FREEZE -1",
        "AGGREGATE_FREEZE 1, AGGREGATE_STOP 1",
        "COUNT_STOP 1, COUNT_CALL 1 stop",
        "COUNT_CALL stop",
        "BANNER a, b",
    ],
    "AggregateFilter": ["", "allow", "5 all", "pass 1", "0 x", "0 9-8", "0 4294967296", "0 1 all", "-1 all"],
    "AggregateFirst": ["1", "CAPACITY 0", "CAPACITY x", "NOTIFIER x"],
    "AggregateIP": [
        "",
        "src",
        "ip",
        "ip seq",
        "tcp[x]",
        "tcp[0:5]",
        "tcp[2-1]",
        "ip src/33",
        "ip src/0",
        "ip src & 0x500",
        "ip tos & 0x100",
        "ip src garbage",
        "ip proto 256[0]",
        "ip src, INCREMENTAL true",
        "ip tos, 1",
    ],
    "AggregateLast": ["1", "CAPACITY 0", "CAPACITY 1048577", "STOP_AFTER_CLEAR 2", "NOTIFIER x"],
    "AggregateLength": ["1", "IP 2"],
    "AggregatePaint": ["0", "9", "x", "1, 2", "INCREMENTAL 3"],
    "AnonymizeIPAddr": [
        "1",
        "CLASS 33",
        "CLASS -1",
        "PRESERVE_8 256",
        "PRESERVE_8 x",
        "SPECIAL 2",
        "SEED x",
        "SEED -1",
    ],
    "CycleCountAccum": ["1"],
    "FTPPortMapper": ["", "a, b", "nobody, nobody, 0", "x, x, 0", "a, b, -1", "a, b, 0, 1", "x, x, drop"],
    "IPRateMonitor": [
        "",
        "PACKETS, 1",
        "BITS, 1, 1",
        "PACKETS, 0, 1",
        "PACKETS, 2, 1",
        "BYTES, 1, x",
        "BYTES, 1, 1, 99",
        "BYTES, 1, 1, 100, 2",
    ],
    "SetCycleCount": ["1"],
    "AdjustTimestamp": ["", "x", "--1", "1, ALL 2", "1, 2", "99999999999"],
    "TimeFilter": [
        "x",
        "1, 2, 3",
        "1, START_AFTER 2",
        "END 1, INTERVAL 1",
        "STOP true, END_CALL stop",
        "STOP 2",
        "END -1",
    ],
    "TimeRange": ["1", "SIMPLE 2"],
    "TimeSortedSched": ["1", "STOP x", "BUFFER 0", "BUFFER 65537"],
    "AddressInfo": ["host", "host 10.0.0", "host 10.0.0.256", "host 1.2.3.4 0:1:2:3:4:g"],
    "AverageCounter": ["x", "-1", "0, 2", "MAX -1", "0, true, 3"],
    "BitVectorClassifier": [
        "x",
        "10/8",
        "RULES none",
        "FORMAT ipfilter",
        "ACTION 1",
        "DEFAULT allow",
        "MEMORY 0",
        "DEVICE 7",
    ],
    "CPUPaint": ["21", "PAINT, 1"],
    "CPUSwitch": ["1"],
    "CheckIPHeader": [
        "-1",
        "x",
        "16385",
        "14, BADSRC 1.2.3",
        "14, CHECKSUM maybe",
        "14, 15",
        "14, NONE 1",
        "14, INTERFACES 1.2.3.4",
    ],
    "CheckIP6Header": ["-1", "x", "10.0.0.1", "14, 15", "::1, 14, 15", "BADADDRS ::x", "OFFSET 16385"],
    "Classifier": ["", "12", "12/", "12/0", "12/zz", "-1/00", "12/0800%ff", "12/08 x", "99999/00"],
    "Counter": ["1", "A 1"],
    "DirectIPLookup": ["x", "1.2/24 0", "10.0.0.0/8", "10.0.0.0/8 1", "10.0.0.0/8 x 0", "FILE none", "0/0 -1"],
    "DecIP6HLIM": ["1", "ACTIVE 2"],
    "DecIPTTL": ["1", "ACTIVE 2", "MULTICAST x"],
    "Discard": ["1", "ACTIVE 2", "BURST -1"],
    "EtherEncap": [
        "",
        "0x800",
        "x, 1:2:3:4:5:6, 1:2:3:4:5:6",
        "65536, 1:2:3:4:5:6, 1:2:3:4:5:6",
        "1, 1:2:3:4:5, 1:2:3:4:5:6",
    ],
    "EtherRewrite": ["", "1:2:3:4:5:6", "1:2:3:4:5:6, 1:2:3:4:5:g", "1:2:3:4:5:6, 1:2:3:4:5:6, 1"],
    "Firewall": ["", "DEFAULT 0", "x, DEFAULT deny", "RULES none, DEFAULT deny", "DEFAULT deny, ACTION pass"],
    "FlowCounter": ["", "nobody", "x", "x, 1"],
    "FlowTable": ["1", "CAPACITY 0", "CAPACITY 16777217", "TIMEOUT 0", "TIMEOUT 1h", "TIMESTAMPS x"],
    "ForceICMP": ["x", "256", "unreachable, x", "echo, 256", "8, 0, 0"],
    "ForceIP": ["1"],
    "ForceTCP": ["x", "-2", "65536", "80, x", "0, true, 256", "80, true, 2, 1"],
    "ForceUDP": ["x", "-2", "65536", "53, 1"],
    "GetIP6Address": ["", "x", "8", "16", "40", "24, 38"],
    "GetIPAddress": ["", "x", "-1", "16385", "1, 2", "IP 16", "IP dst, 16"],
    "KernelIP6Neighbours": ["", "q", "q, interface_name_too_long", "1, 2, 3"],
    "KernelNeighbours": ["", "q", "q, interface_name_too_long", "1, 2, 3"],
    "KernelRoutes": [
        "",
        "rt",
        "rt, d0",
        "rt, d0 x",
        "rt, d0 -1",
        "rt, d0 0, d0 1",
        "rt, d0 0, PUNT x",
        "rt, d0 0, TABLE 0",
    ],
    "KernelIP6Routes": ["", "rt", "rt, d0", "rt, d0 x", "rt, d0 0, d0 1", "rt, d0 0, PUNT x", "rt, d0 0, TABLE 0"],
    "LinearIPLookup": ["x", "1.2/24 0", "10.0.0.0/8 1", "10.0.0.0/8 x 0", "FILE none"],
    "L2Switch": ["x", "1:2:3:4:5:6 0", "2:0:0:0:0:1 9", "CAPACITY 0", "TIMEOUT x", "LEARN 2", "FILE none"],
    "LookupIP6Route": [
        "x",
        "::/129 0",
        "::/0",
        "::/0 1",
        "::/0 x 0",
        "10/8 0",
        "FILE none",
        "::/0 -1",
        "ENGINE x",
        "MEMORY 0",
    ],
    "MarkMACHeader": ["-1", "x", "0, 16385", "0, 14, 1"],
    "MarkIP6Header": ["-1", "x", "16385", "14, 15"],
    "NDNLookup": ["x", "/a", "/a 9", "/a 0 0", "/% 0", "FILE none", "CAPACITY 0", "OFFSET -1", "DATA 9"],
    "RadixIPLookup": ["x", "1.2/24 0", "10.0.0.0/8 1", "10.0.0.0/8 x 0", "FILE none"],
    "HashSwitch": ["", "0", "0, 0", "x, 1", "-1, 1", "0, 16385", "0, 1, 2"],
    "IP6Fragmenter": ["", "x", "55", "65536", "1280, 1"],
    "IP6Reassembler": ["1", "HIMEM -1", "TIMEOUT x"],
    "IP6NDAdvertiser": ["", "x", "::1", "2:0:0:0:0:1", "::1/129 2:0:0:0:0:1", "::1 x 2:0:0:0:0:1"],
    "IP6NDSolicitor": ["", "::1", "x, 1:2:3:4:5:6", "::1, x", "::1, 1:2:3:4:5:6, CAPACITY 0", "::1, 1:2:3:4:5:6, 7"],
    "IP6Print": ["a, b", "CONTENTS 7", "NBYTES -2", "ACTIVE x"],
    "IPClassifier": ["", "tcp port", "ip proto nonsense", "10.0.0", "src port 65536", "tcp or", "ip[0:5] 1", "-, -"],
    "IPFilter": ["tcp", "allow tcp port", "1 all", "permit all", "-1 all", "deny ip vers 16"],
    "IPsecDecap": ["", "none", "/dev/null", "none, OFFSET -1", "none, OFFSET 65", "none, DEVICE 7"],
    "IPsecReplay": ["", "nobody", "x", "x, y"],
    "IPsecEncap": ["", "none", "/dev/null", "none, OFFSET -1", "none, OFFSET 65", "none, DEVICE 7"],
    "IPsecSequence": ["", "nobody", "x", "x, SPI y", "x, SPI -1", "x, BY colour"],
    "Idle": ["1", "ACTIVE false"],
    "IPPrint": ["a, b", "CONTENTS 7", "MAXLENGTH -2", "CONTENTS HEX, PAYLOAD HEX", "TTL 2"],
    "LoadBalancer": ["", "x", "nobody, 10.0.0.1", "x, 10.0.0"],
    "MarkIPHeader": ["-1", "x", "16385", "1, 2"],
    "MinBatch": ["0", "x", "1, x", "1, -2", "1, 1, 1"],
    "NAT": ["", "nobody, 10.0.0.1", "x", "x, 10.0.0", "x, 10.0.0.1, PORTS 5", "x, 10.0.0.1, PORTS 9-8"],
    "NIDS": ["", "none", "none, SKIP_UNSUPPORTED x", "/dev/null, VARIABLES none", "/dev/null, DEVICE 7"]
    + ["/dev/null, CLASSIFICATION none"],
    "NIDSConfirm": ["", "nobody", "x", "x, EVE"],
    "TCPReset": ["1", "x, y"],
    "Null": ["1"],
    "Paint": ["", "256", "-1", "1, 21", "1, PAINT, 1"],
    "PaintSwitch": ["21", "PAINT, 1"],
    "Pipeliner": ["0", "-1", "x", "1048577", "1, 2", "SIZE 0", "BLOCKING x"],
    "Print": ["a, x", "a, -2", "a, 65536", "CONTENTS 7", "a, 1, 2"],
    "Queue": ["0", "-1", "x", "1048577", "1, 2", "CAPACITY x"],
    "RateLimiter": ["", "nobody, 1", "x", "x, 0", "x, 1000001", "x, 1, BURST 0"],
    "RoundRobinSwitch": ["1"],
    "SetRandIPAddress": ["", "x", "10.0.0/33", "10.0.0.0/8, x", "10.0.0.0/8, 1048577", "10.0.0.0/8, 1, 2"],
    "SetIPChecksum": ["1"],
    "Suppressor": ["1"],
    "StaticSwitch": ["", "x", "0, 1"],
    "Strip": ["", "x", "-1", "16385", "1, 2"],
    "Switch": ["x", "1", "0, 1"],
    "Tee": ["0", "x", "2", "257"],
    "Truncate": ["", "-1", "x", "65536", "1, 2", "1, EXTRA_LENGTH 2"],
    "Unqueue": ["x", "1.5", "1, 2", "ACTIVE 2", "LIMIT x"],
    "Unstrip": ["", "x", "-1", "129"],
    "ARPPrint": ["a, b", "a, TIMESTAMP 2", "ETHER x"],
    "ARPQuerier": [
        "",
        "1.2.3.4",
        "x, 1:2:3:4:5:6",
        "1.2.3.4, x",
        "1.2.3.4, 1:2:3:4:5:6, CAPACITY 0",
        "1.2.3.4, 1:2:3:4:5:6, TIMEOUT x",
        "1.2.3.4, 1:2:3:4:5:6, TABLE none",
    ],
    "ARPResponder": [
        "10.0.0.1 2:0:0:0:0:1 2:0:0:0:0:2",
        "x",
        "10.0.0.1",
        "2:0:0:0:0:1",
        "10.0.0.1 2:0:0:0:0",
        "10.0.0.1 x 2:0:0:0:0:1",
    ],
    "DelayShaper": ["", "x", "1, 2"],
    "LinkUnqueue": ["", "1", "1, 0", "1, x", "x, 1", "1, 2, 3"],
    "EtherVLANEncap": [
        "",
        "0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2",
        "0x0800, 1:1:1:1:1, 2:2:2:2:2:2, 1",
        "0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 4095",
        "0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 1, 8",
        "0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, ANNO, NATIVE_VLAN 4096",
    ],
    "Clipboard": ["", "1", "16385/1", "0/0", "0/4097", "0/1, x"],
    "Hub": ["1"],
    "ICMPIPEncap": [
        "",
        "1.2.3.4",
        "1.2.3.4, x",
        "1.2.3.4, 1.2.3.5, 256",
        "1.2.3.4, 1.2.3.5, CODE 256",
        "1.2.3.4, 1.2.3.5, IDENTIFIER 65536",
        "1.2.3.4, 1.2.3.5, SEQUENCE x",
    ],
    "Resize": ["x", "129", "0, 9001", "+-1", "1, 2, 3"],
    "SetVLANAnno": ["", "x", "ANNO", "65536", "VLAN_ID 4096", "1, 8"],
    "StripToNetworkHeader": ["1"],
    "TimedSink": ["x", "1, 2"],
    "UnstripIPHeader": ["1"],
    "ICMPPingEncap": ["", "1.2.3.4", "1.2.3.4, x", "1.2.3.4, 1.2.3.5, 7", "1.2.3.4, 1.2.3.5, IDENTIFIER 65536"],
    "InputSwitch": ["x", "1", "0, 1"],
    "PullSwitch": ["x", "1", "0, 1"],
    "PullTee": ["0", "x", "2", "257"],
    "StripTCPHeader": ["1"],
    "StripTransportHeader": ["1"],
    "AdaptiveRED": ["", "5", "1, 0.5", "5, 2", "5, 0.5, 1", "5, 0.5, STABILITY 17", "5, 0.5, QUEUES nobody"],
    "EnsureDPDKBuffer": ["1"],
    "ReplayUnqueue": ["1", "STOP x", "LIMIT 0", "MEMORY 0", "BURST 0", "TIMING 50", "STOP_TIME x", "LINE 1"],
    "MultiReplayUnqueue": ["1", "LIMIT 0"],
    "TimedUnqueue": ["", "0", "x", "1, 0", "1, 1, 1"],
    "Burster": ["", "1", "0, 1", "x, 1", "1, 0", "1, 1, 1"],
    "EnsureEther": ["65536", "0x0800, x", "0x0800, 1:1:1:1:1:1, 2:2", "0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2, 1"],
    "MergeByTimestamp": ["1", "STOP 2", "NULL_IS_DEAD x", "BUFFER 2"],
    "SetAnnoByte": ["", "PAINT", "19, 1", "PAINT, 256", "20, 1, 1"],
    "SetPacketType": ["", "x", "host", "HOST, 1"],
    "StaticPullSwitch": ["", "x", "1", "0, 1"],
    "StoreTimestamp": ["", "x", "-1", "16385", "4, TAIL true", "TAIL false"],
    "Unqueue2": ["x", "1, 2", "ACTIVE true"],
    "UnstripTCPHeader": ["1"],
    "EraseIPPayload": ["1"],
    "TimestampAccum": ["1"],
    "TruncateIPPayload": ["-1", "x", "65536", "1, 2", "1, EXTRA_LENGTH 2"],
    "RandomBitErrors": ["", "x", "1.1", "-0.1", "1, turn", "1, flip, 2"],
    "Align": ["", "4", "4, 4", "0, 0", "4, x"],
    "BandwidthMeter": ["", "fast"],
    "BandwidthRatedSplitter": ["", "fast"],
    "BandwidthRatedUnqueue": ["", "fast", "1, 2"],
    "BandwidthShaper": ["", "fast", "1, 2"],
    "CheckICMPHeader": ["1", "CHECKSUM x"],
    "CheckPaint": ["", "256", "x", "1, 21"],
    "CheckLength": ["", "x", "1, 2", "-1"],
    "CheckTCPHeader": ["1", "CHECKSUM x"],
    "CheckUDPHeader": ["1", "VERBOSE x"],
    "DropBroadcasts": ["1"],
    "ECMP": ["x", "1", "0 - 0", "65536 - 0", "1 x 0", "1 - 9", "1 - 0 -"],
    "EtherSwitch": ["x", "TIMEOUT x"],
    "FixIPSrc": ["", "x", "1.2.3", "1.2.3.4, 1"],
    "FrontDropQueue": ["0", "-1", "x", "1048577", "1, 2"],
    "HostEtherFilter": ["", "x", "1:2:3:4:5:6, x", "1:2:3:4:5:6, true, 7", "1:2:3:4:5:6, OFFSET -1"],
    "ICMPError": [
        "",
        "1.2.3.4",
        "x, unreachable",
        "1.2.3.4, 8",
        "1.2.3.4, nonsense",
        "1.2.3.4, unreachable, wrong",
        "1.2.3.4, redirect, host, 1.2",
        "1.2.3.4, unreachable, MTU 9",
    ],
    "ICMP6Error": [
        "",
        "::1",
        "1.2.3.4, unreachable",
        "::1, 5",
        "::1, packettoobig, PMTU 1279",
        "::1, timeexceeded, noroute",
        "::1, unreachable, port, 1.2",
        "::1, unreachable, MTU 80",
        "::1, unreachable, BURST 0",
    ],
    "ICMPPingResponder": ["1"],
    "ICMPPingRewriter": ["", "pattern 1.2.3.4 x - - 0 0", "pattern 1.2.3.4 - - 7 0 0"],
    "ICMPRewriter": ["", "nobody"],
    "IPAddrPairRewriter": [
        "",
        "nonsense",
        "pattern 1.2.3.4 - 0",
        "pattern x - 0 0",
        "pattern 1.2.3.4 - 0 9",
        "keep 0 0, keep 0 0",
        "pattern 1.2.3.4 7 - - 0 0",
        "pattern 1.2.3.4 - 1.2.3.5 7 0 0",
    ],
    "IPAddrRewriter": [
        "",
        "nonsense",
        "pattern 1.2.3.4-1.2.3.3 - 0 0",
        "pattern 1.2.3.4 1.2.3.5 0 0",
        "pattern 1.2.3.4 7 - - 0 0",
        "keep 0 0, TIMEOUT x",
    ],
    "IPEncap": [
        "",
        "6",
        "6, 1.2.3.4",
        "6, x, 1.2.3.4",
        "256, 1.2.3.4, 1.2.3.4",
        "6, 1.2.3.4, x",
        "6, 1.2.3.4, 1.2.3.5, TTL 256",
    ],
    "IPFragmenter": ["", "67", "x", "65536", "576, x", "576, HONOR_DF 7"],
    "IPGWOptions": ["", "x", "1.2.3.4, x", "1.2.3.4, 1.2.3.5, 1"],
    "IPMirror": ["1"],
    "IPReassembler": ["1", "HIMEM -1", "TIMEOUT x"],
    "IPRewriter": [
        "",
        "drop it",
        "pass 1",
        "pattern 1.2.3.4 0-x - - 0 0",
        "pattern 1.2.3.4 5-1 - - 0 0",
        "pattern - - - 1-2 0 0",
        "nobody 0 0",
        "drop, drop",
        "drop, CAPACITY 0",
        "drop, UDP_TIMEOUT x",
    ],
    "MarkIPCE": ["x", "true, 1"],
    "Meter": ["", "x", "2, 1"],
    "Pad": ["x", "9001", "1, -1", "1, ZERO 2"],
    "Bypass": ["x", "true, 1", "INLINE 2"],
    "MixedQueue": ["0", "-1", "x", "1048577", "1, 2"],
    "RED": ["", "5", "5, 10", "10, 5, 0.5", "5, 10, 2", "5, 10, 0.5, STABILITY 17", "5, 10, 0.5, QUEUES nobody"],
    "PaintTee": ["", "256", "x", "1, 21"],
    "DRRSched": ["1"],
    "PrioSched": ["1"],
    "ProtocolTranslator64": ["1"],
    "NumberPacket": ["x", "-1", "OFFSET 16385", "1, 2", "NET_ORDER 2"],
    "RecordTimestamp": ["0", "x", "1, 2", "OFFSET -1"],
    "TimestampDiff": ["", "nobody", "x", "x, N 0", "x, 1"],
    "PullNull": ["1"],
    "PushNull": ["1"],
    "RandomSample": ["", "2", "x", "0.5, DROP 0.5", "DROP -1"],
    "RandomSwitch": ["1"],
    "RatedSplitter": ["", "x", "-1"],
    "RatedUnqueue": ["", "x", "-1", "1, 2"],
    "RoundRobinSched": ["1"],
    "SetIPAddress": ["", "x", "1.2.3.4, PAINT"],
    "SetIPECN": ["", "4", "x", "1, 2"],
    "SetIPDSCP": ["", "64", "x", "1, 2"],
    "SetTCPChecksum": ["x", "true, 1"],
    "SetTimestamp": ["x", "-1", "1, 2"],
    "SetTimestampDelta": ["1", "TYPE FIRST"],
    "SetUDPChecksum": ["1"],
    "Shaper": ["", "x", "-1"],
    "StoreData": ["", "x, a", "-1, a", "1", "1, ab, a"],
    "StoreIPAddress": ["", "x", "16385", "1.2.3, src", "1.2.3.4, 1, 2"],
    "StrideSched": ["", "x", "1, 2", "2147483648"],
    "StripEtherVLANHeader": ["x", "-2", "4096", "1, 2"],
    "StripIPHeader": ["1"],
    "TCPFragmenter": ["", "40", "x", "65536", "1500, 1"],
    "TCPRewriter": ["", "nonsense"],
    "UDPIPEncap": ["", "1.2.3.4", "1.2.3.4, 1, x, 2", "1.2.3.4, 65536, 1.2.3.4, 2", "1.2.3.4, 1, 1.2.3.4, 2, x"],
    "DynamicUDPIPEncap": [
        "",
        "1.2.3.4",
        "1.2.3.4, 1, x, 2",
        "1.2.3.4, 1, 1.2.3.4, 2, true, -1",
        "1.2.3.4, 1, 1.2.3.4, 2, 1, 1, 1",
    ],
    "IP6Encap": [
        "",
        "4, ::1",
        "256, ::1, ::2",
        "x, ::1, ::2",
        "4, 1.2.3.4, ::2",
        "4, ::1, x",
        "4, ::1, ::2, HLIM 256",
        "4, ::1, ::2, 1",
    ],
    "IP6Mirror": ["1"],
    "SetIP6Address": ["", "x", "1.2.3.4", "::1, 1"],
    "SetIP6DSCP": ["", "64", "x", "1, 2"],
    "UDPIP6Encap": ["", "::1", "::1, 1, x, 2", "::1, 65536, ::2, 2", "::1, 1, ::2, 2, true"],
    "UDPRewriter": ["", "nonsense"],
    "VLANDecap": ["x", "ETHERTYPE 65536"],
    "VLANEncap": ["x", "65536", "VLAN_ID 4096", "1, 8", "1, NATIVE_VLAN 4096"],
}
SOURCES = {
    "FastTCPFlows",
    "FastUDPFlows",
    "FastUDPSource",
    "FastUDPSourceIP6",
    "ICMPPingSource",
    "RIPSend",
    "RandomSource",
    "InfiniteSource",
    "RatedSource",
    "TCPIPSend",
    "TimedSource",
}
FLOWS = "0, -1, %s, 2:0:0:0:0:1, 10.0.0.1, %s, 10.0.0.2, 4, %s"
FLOW = "0, -1, %s, 2:0:0:0:0:1, 10.0.0.1, %s, %s, 10.0.0.2, 4%s"
BAD_ENDS = {
    "DPDKInfo": ["1", "x", "MBUF_SIZE 1", "MBUF_CACHE_SIZE 513", "NOPE 1", "1000, 2"],
    "FastUDPFlows": [
        "",
        "1, 2",
        FLOWS % (59, "2:0:0:0:0:2", -1),
        FLOWS % (60, "2:0", -1),
        FLOWS % (60, "2:0:0:0:0:2", "x"),
    ],
    "FastTCPFlows": [
        "",
        "1, 2",
        FLOWS % (59, "2:0:0:0:0:2", 3),
        FLOWS % (60, "2:0:0:0:0:2", 2),
        FLOWS % (60, "2:0", 3),
    ],
    "FastUDPSourceIP6": [
        "",
        "1, 2",
        "0, -1, 61, 2:0:0:0:0:1, ::1, 1, 2:0:0:0:0:2, ::2, 4",
        "0, -1, 62, 2:0:0:0:0:1, 1.2.3.4, 1, 2:0:0:0:0:2, ::2, 4",
        "0, -1, 62, 2:0:0:0:0:1, ::1, 1, 2:0:0:0:0:2, ::2, 4, true, x",
    ],
    "FastUDPSource": [
        "",
        "1, 2",
        FLOW % (59, 1, "2:0:0:0:0:2", ""),
        FLOW % (60, 65536, "2:0:0:0:0:2", ""),
        FLOW % (60, 1, "2:0", ""),
        FLOW % (60, 1, "2:0:0:0:0:2", ", true, x"),
        FLOW % (60, 1, "2:0:0:0:0:2", ", true, 0, true, 1"),
    ],
    "FromDPDKDevice": ["", "eth0", "net_null0, BURST 0", "net_null0, BURST 1025", "net_null0, NDESC 1", "1, x"],
    "FromDevice": [
        "",
        "a/b",
        "2:2:3:4:5:6",  # nobody's
        "eth0, METHOD x",
        "eth0, SNIFFER false",
        "eth0, SNAPLEN 1",
        "eth0, MTU 9217",
        "eth0, x",
        "eth0, 1, 65535, 1",
    ],
    "FromGPUPort": [
        "",
        "a, SOCKET x, ROLE peer",
        "a, SOCKET x, NDESC 100",
        "a, SOCKET x, QUEUES 0",
        "a, ID 1",
        "a, b",
        "a, SOFTNIC x",
        f"a, SOCKET /{107 * 's'}",
    ],
    "FromDump": [
        "",
        "x, BURST 0",
        "x, BURST 16385",
        "x, STOP 9",
        "x, y",
        "x, TIMING no way",
        "x, SAMPLE 2",
        "x, END soon",
    ],
    "FromTcpdump": ["", "x, FIELDS ip_src", "x, PROTO 6", "x, SAMPLE -1", "x, CHECKSUM 2", "x, y"],
    "FromIPSummaryDump": ["", "x, CONTENTS y", "x, PROTO 256", "x, SAMPLE -1", "x, CHECKSUM 2", "x, y"],
    "McastSocket": [
        "",
        "239.0.0.1",
        "1.2.3.4, 5",
        "239.0.0.1, 0",
        "239.0.0.1, 5, x",
        "239.0.0.1, 5, 127.0.0.1, 6, LOOP 2",
        "239.0.0.1, 5, SNAPLEN 0",
    ],
    "FromHost": ["", "a/b", "tap0, 1.2.3.4", "tap0, 1.2.3.4/24, 1.2.4.1", "tap0, MTU 9217", "tap0, ETHER 1:2"],
    "KernelTap": ["", "1.2.3.4", "1.2.3.4/24, 1.2.4.1", "1.2.3.4/24, ETHER 1:2", "1.2.3.4/24, MTU 65504"],
    "KernelTun": [
        "",
        "1.2.3.4",
        "1.2.3.4/24, 1.2.4.1",
        "1.2.3.4/24, MTU 67",
        "1.2.3.4/24, DEVNAME a_name_that_is_too_long",
    ],
    "Socket": [
        "",
        "SCTP, 1.2.3.4, 5",
        "TCP, 1.2.3.4",
        "UDP, 1.2.3, 5",
        "UNIX",
        "UDP, 1.2.3.4, 5, SNAPLEN 0",
        "UNIX, a, CLIENT x",
    ],
    "ToHost": ["a/b", "tap0, NDESC 1", "tap0, 1"],
    "ToHostSniffers": ["a/b", "tap0, NDESC 1", "tap0, 1"],
    "ICMPPingSource": ["", "1.2.3.4", "x, 1.2.3.4", "1.2.3.4, 1.2.3.5, x", "1.2.3.4, 1.2.3.5, LIMIT x"],
    "InfiniteSource": ["a, x", "a, 1, 0", "a, 1, 1, 2", "LENGTH 65408", "LENGTH -2", "BURST 0", "a, 1, 1, true, 1"],
    "RandomSource": ["", "x", "65408", "-1", "64, x", "64, 1, 0", "64, 1, 1, 2", "64, 1, 1, true, 1"],
    "RatedSource": ["a, -1", "a, x", "BANDWIDTH fast", "LENGTH 70000", "a, 1, x", "a, 1, 1, 2"],
    "TimedSource": ["x", "1, a, x", "1, LENGTH 65408", "1, a, 1, true, 1"],
    "RIPSend": [
        "",
        "x",
        "1.2.3.4, 1.2.3.5, 10/8",
        "1.2.3.4, 1.2.3.5, 10/33, 1",
        "1.2.3.4, 1.2.3.5, 10/8, 17",
        "1.2.3.4, 1.2.3.5, 10/8, 1, 1",
    ],
    "TCPIPSend": ["1"],
    "ToDPDKDevice": ["", "eth0", "net_null0, NDESC x", "net_null0, BLOCKING 3"],
    "ToDevice": ["", "a/b", "eth0, METHOD x", "eth0, NDESC 1", "eth0, 1"],
    "ToGPUPort": ["", "a, SOCKET x, BUFFER 63", "a, SOCKET x, NDESC 65536", "a, QUEUES 2", "a, b"],
    "ToDump": ["", "x, SNAPLEN -1", "x, SNAPLEN 262145", "x, NANO 3", "x, FORMAT gif", "x, y", "x, ENCAP TOKEN"],
    "ToIPFlowDumps": ["", "x, 1", "%q", "%.6n", "%.4s", "x%", "x, MINCOUNT 100001", "x, CAPACITY 0", "x, NOTIFIER y"],
    "ToIPSummaryDump": ["", "x, FIELDS y", "x, HEADER 2", "x, y", "x, FIELDS ip_src ip_nonsense"],
}


# Elements without ports.
BAD_ALONE = {
    "ARPTable": ["x", "TIMEOUT x", "ENTRY_CAPACITY -1", "CAPACITY -1"],
    "AddressInfo": ["x 1.2.3.4.5"],
    "AlignmentInfo": ["sink 4", "sink 4 x"],
    "ClickyInfo": ["sink", "COLOR red"],
    "ControlSocket": [
        "",
        "tcp",
        "tcp, 0",
        "tcp, x",
        "unix",
        'unix, ""',
        "pipe, 1",
        "tcp, 7777, RETRIES x",
        "tcp, 1, 2",
    ],
    "PortInfo": ["x", "x 65536", "x 80/sctp"],
    "IPRewriterPatterns": ["x", "x 1.2.3.4 1 -", "x 1.2.3.4 y - -", "x - - - -, x - - - -"],
    "RoundRobinIPMapper": ["", "x", "- - 1.2.3.4 - 0", "- - 1.2.3.4 - 0 256", "1.2.3.4 1-0 - - 0 0", "- - - - 0 0, -"],
    "SourceIPHashMapper": [
        "",
        "1 2",
        "1, - - 1.2.3.4 - 0 0 1",
        "0 1, - - 1.2.3.4 - 0 0 1",
        "1 x, - - 1.2.3.4 - 0 0 1",
        "1 2, x",
        "1 2, - - 1.2.3.4 - 0 0",
        "1 2, - - 1.2.3.4 - 0 256 1",
        "1 2, - - 1.2.3.4 - 0 0 65536",
        "1 2, - - 1.2.3.4 - 0 0 1, - - 1.2.3.5 - 0 0 1",
    ],
    "Message": ["", "a, b", "a, ERROR, 1"],
    "DriverManager": ["bogus", "wait x", "pause -1", "goto nowhere", "stop 1", "TYPE SIGNAL", "TYPE NONE"],
    "PeekHandlers": ["x", "sink.count 1", "1 2", "wait 1"],
    "PokeHandlers": ["x", "sink", "1 2", "quit now"],
    "ScheduleInfo": ["sink", "sink x", "sink -1", "sink 33", "sink 1 2", "nobody 1"],
    "Script": [
        "bogus 1",
        "set",
        "set x",
        "label",
        "label a b",
        "goto",
        "write",
        "read",
        "save x",
        "loop 1",
        "TYPE PACKET",
        "TYPE SIGNAL NONE",
        "TYPE SIGNAL KILL",
        "TYPE PROXY now",
    ],
    "RandomSeed": ["x", "-1", "4294967296", "1, 2"],
    "StaticThreadSched": ["nobody 0", "sink", "sink x", "sink -1", "sink 128", "sink 0 0"],
}


def second_name(element):
    """Whether it is another name of a class, such as CounterMP of Counter, whose manual says so."""
    name, title = element["name"], element["manual"].split(": ")[0]
    return title != name and re.search(rf"\b{name}\b", element["manual"]) is not None


def refusing_by_their_tests():
    """The classes whose own test, beside them, says what they refuse; every_element_test.cc tries that."""
    tests = [*ROOT.glob("functions/**/*_test.cc"), *ROOT.glob("elements/**/*_test.cc")]
    line = re.compile(r"^HEDDLE_TESTED_WITH_ALL\((\w+),[^;]*\.refuses = \{\s*\"", re.MULTILINE)
    return {name for test in tests for name in line.findall(test.read_text(encoding="utf-8"))}


def test_bad_arguments_cover_every_element(heddle):
    elements = heddle.ok("elements", "--json").json
    names = {e["name"] for e in elements if not second_name(e) and e["runs_on"] != "compound"}  # see test_gpu_forms.py
    listed = {*BAD_ARGUMENTS, *BAD_ENDS, *BAD_ALONE}
    assert listed <= names
    assert not listed & refusing_by_their_tests()
    missing = sorted(names - listed - refusing_by_their_tests())
    assert not missing, (
        f"what do they refuse? A line in the own test of each: HEDDLE_TESTED_WITH_ALL({missing[0]}, ...)"
    )


@pytest.mark.parametrize("element", [*BAD_ARGUMENTS, *BAD_ENDS])
def test_bad_arguments(heddle, element):
    for arguments in (BAD_ARGUMENTS | BAD_ENDS)[element]:
        it = f"\n x :: {element}({arguments})"
        before = "" if element.startswith("From") or element in SOURCES else "FromDump(a) ->"
        after = "" if element.startswith("To") or element == "Discard" else "-> Discard"
        found = mistakes(heddle, f"{before} {it} {after}")
        assert found[0][0] == 2, (arguments, found)
        assert f"{element} 'x'" in found[0][2], (arguments, found)


@pytest.mark.parametrize("element", BAD_ALONE)
def test_bad_arguments_without_ports(heddle, element):
    for arguments in BAD_ALONE[element]:
        found = mistakes(heddle, f"FromDump(a) -> sink :: Discard;\n x :: {element}({arguments})")
        assert found[0][0] == 2, (arguments, found)
        assert f"{element} 'x'" in found[0][2], (arguments, found)


def test_every_element_has_a_manual_with_an_example_that_passes(heddle, tmp_path):
    write_inputs(tmp_path)
    elements = heddle.ok("elements", "--json").json
    assert len(elements) >= 16
    for element in elements:
        name, manual = element["name"], element["manual"]
        if second_name(element) or element["runs_on"] == "compound":
            continue
        assert manual.startswith(f"{name}: "), name
        assert heddle.ok("elements", name).out == manual
        assert re.search(rf"^\s+{name}", manual, re.MULTILINE), f"{name}: no synopsis"
        parts = re.split(r"^\s*Example.*:$", manual, flags=re.MULTILINE)
        if len(parts) == 1 and name == "Discard":
            continue
        assert len(parts) == 2, f"{name}: no example"
        check_example(heddle, name, parts[1], tmp_path)


FAILS = "InfiniteSource(LIMIT 1) -> MinBatch(4096) -> Discard;"


@pytest.mark.parametrize("place", ["before", "behind"])
def test_every_element_bears_that_another_does_not_start(heddle, tmp_path, place):
    write_inputs(tmp_path)
    for element in heddle.ok("elements", "--json").json:
        example = re.split(r"^\s*Example.*:$", element["manual"], flags=re.MULTILINE)[-1]
        if "Example" not in element["manual"] or second_name(element) or element["runs_on"] == "compound":
            continue
        chain = re.sub(r"\b(From|To)(DPDK)?Device\([^)]*\)", r"\1DPDKDevice(net_null0)", with_outputs(example))
        chain = f"{FAILS} {chain}" if place == "before" else f"{chain} {FAILS}"
        result = heddle("run", "-e", chain, "--packets", 1024, cwd=tmp_path)
        assert result.code == 1 and "heddle: " in result.err, f"{element['name']}\n{result}"


def write_inputs(folder):
    """The files that examples name."""
    captures.write(folder / "in.pcap", [])
    captures.write(folder / "esp.pcap", [])
    ipsec.write(folder / "tunnels.keys", [ipsec.Association(0x1001)])
    (folder / "local.rules").write_text('alert tcp any any -> any 80 (content:"GET"; sid:1;)\n')
    (folder / "my.patterns").write_text("tcp 80 GET |2f|\n")


def with_outputs(text):
    return text + ("" if "rt ::" not in text or "rt[" in text else "rt[0] -> Discard; rt[1] -> Discard;")


def check_example(heddle, name, text, folder):
    result = heddle("check", "-e", with_outputs(text), cwd=folder)
    assert result.code == 0, f"{name}\n{result}"
