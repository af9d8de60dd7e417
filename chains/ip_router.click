// A router of two networks with everything that RFC 1812 asks of it, as the one in Click's documentation: ARP both
// ways, options, redirects, fragments, and ICMP errors to those whose packets cannot go on.
//
//     heddle run chains/ip_router.click
//     heddle run chains/ip_router.click IN=my.pcap OUT=/tmp/my
//
// A recording of both sides of a wire plays the two networks: frames of one host come in at port 0, those of the other
// at port 1. For real interfaces, put FromDevice(eth0) and FromDevice(eth1) where the capture is read and ToDevice
// where it is written, and leave the Script out: it says what ARP would find out.

define($IN chains/captures/curl.pcap, $OUT build/ip_router, $MTU 1500,
       $IP0 10.1.0.254, $NET0 10.1.0.0/16, $ETH0 02:00:00:00:01:00, $HOST0 10.1.0.1, $MAC0 02:00:00:00:00:01,
       $IP1 10.2.0.254, $ETH1 02:00:00:00:02:00, $HOST1 10.2.0.1, $MAC1 02:00:00:00:00:02);

elementclass Input { $color |
    // Outputs: ARP requests, ARP replies, valid IPv4 packets without Ethernet header.
    input -> kind :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
    kind[0] -> [0]output;
    kind[1] -> [1]output;
    kind[2] -> Paint($color) -> Strip(14) -> CheckIPHeader(INTERFACES $IP0/16 $IP1/16) -> [2]output;
    kind[3] -> other :: Counter -> Discard;
};

elementclass Output { $color, $ip |
    // Output 0: what leaves, for ARPQuerier. Output 1: errors, which are routed like any packet.
    input -> DropBroadcasts
        -> same :: PaintTee($color)                 // it leaves as it came: its sender knows a worse way than it could
        -> options :: IPGWOptions($ip)
        -> FixIPSrc($ip)
        -> ttl :: DecIPTTL
        -> fits :: IPFragmenter($MTU)
        -> [0]output;
    same[1] -> ICMPError($ip, redirect, host) -> [1]output;
    options[1] -> ICMPError($ip, parameterproblem) -> [1]output;
    ttl[1] -> ICMPError($ip, timeexceeded, transit) -> [1]output;
    fits[1] -> ICMPError($ip, unreachable, needfrag, PMTU $MTU) -> [1]output;
};

wire :: FromDump($IN, ACTIVE false) -> side :: Classifier(6/020000000001, 6/020000000002, -);
side[2] -> Discard;
side[0] -> in0 :: Input(1);
side[1] -> in1 :: Input(2);
to0 :: Counter -> out0 :: ToDump(${OUT}_0.pcap);
to1 :: Counter -> out1 :: ToDump(${OUT}_1.pcap);

arp0 :: ARPQuerier($IP0, $ETH0) -> to0;
arp1 :: ARPQuerier($IP1, $ETH1) -> to1;
arp0[1] -> to0; arp0[2] -> MarkIPHeader -> ICMPError($IP0, unreachable, host) -> routes;    // nobody has the address
arp1[1] -> to1; arp1[2] -> MarkIPHeader -> ICMPError($IP1, unreachable, host) -> routes;
in0[0] -> ARPResponder($IP0 $ETH0) -> to0;
in1[0] -> ARPResponder($IP1 $ETH1) -> to1;
in0[1] -> [1]arp0;
in1[1] -> [1]arp1;
Script(write arp0.insert $HOST0 $MAC0, write arp1.insert $HOST1 $MAC1, write wire.active true);

routes :: StaticIPLookup($IP0/32 0, $IP1/32 0, $NET0 $HOST0 1, 192.168.1.0/24 $HOST0 1, 0.0.0.0/0 $HOST1 2);
in0[2] -> routes;
in1[2] -> routes;
routes[0] -> me :: ICMPPingResponder -> Pipeliner -> routes;     // the router itself answers pings, and refuses the
                                                                 // rest
me[1] -> ICMPError($IP0, unreachable, protocol) -> routes;
routes[1] -> forward0 :: Output(1, $IP0) -> [0]arp0;
routes[2] -> forward1 :: Output(2, $IP1) -> [0]arp1;
forward0[1] -> routes;
forward1[1] -> routes;
