// Network address and port translation, as at the edge of a house or an office: many inside share one address outside.
// TCP, UDP and pings are rewritten, and ICMP errors about them; nothing from outside gets in that nobody inside has
// asked for.
//
//     heddle run chains/nat.click
//     heddle run chains/nat.click IN=my.pcap OUT=/tmp/my
//
// A recording of a wire plays the inside, and what a second one says (by default none) comes from outside. For real
// interfaces, put FromDevice(eth0) and FromDevice(eth1) where captures are read and ToDevice where they are written,
// and ARPQuerier where EtherEncap is (chains/ip_router.click shows how).

define($IN chains/captures/curl.pcap, $BACK chains/captures/dig.pcap, $OUT build/nat, $PUBLIC 198.51.100.1,
       $INSIDE 02:00:00:00:00:01, $OUTSIDE 02:00:00:00:00:02, $MINE 02:00:00:00:01:00);

elementclass Packets {
    // IPv4 packets without Ethernet header.
    input -> kind :: Classifier(12/0800, -) -> Strip(14) -> CheckIPHeader -> output;
    kind[1] -> other :: Counter -> Discard;
};

IPRewriterPatterns(shared $PUBLIC 1024-65535# - -);  // in turn; without #, ports that nobody can guess
ports :: IPRewriter(shared 0 1, drop);
pings :: ICMPPingRewriter(shared 0 1, drop);
errors :: ICMPRewriter(ports pings);

FromDump($IN) -> Packets -> from_inside :: IPClassifier(tcp or udp, icmp type echo or icmp type echo-reply, icmp, -);
from_inside[0] -> [0]ports;
from_inside[1] -> [0]pings;
from_inside[2] -> to_outside :: Null;             // an error of someone inside about a packet from outside
from_inside[3] -> untranslatable :: Counter -> Discard;

FromDump($BACK) -> Packets -> to_us :: IPFilter(allow dst host $PUBLIC, deny all)
    -> from_outside :: IPClassifier(tcp or udp, icmp type echo or icmp type echo-reply, icmp, -);
from_outside[0] -> [1]ports;
from_outside[1] -> [1]pings;
from_outside[2] -> errors;
from_outside[3] -> Discard;

ports[0] -> to_outside; pings[0] -> to_outside;
ports[1] -> to_inside :: Null; pings[1] -> to_inside; errors -> to_inside;
to_outside -> EtherEncap(0x0800, $MINE, $OUTSIDE) -> sent :: Counter -> out1 :: ToDump(${OUT}_outside.pcap);
to_inside -> EtherEncap(0x0800, $MINE, $INSIDE) -> back :: Counter -> out0 :: ToDump(${OUT}_inside.pcap);
