// A router of two networks, as Click's: checks and forwards IPv4 by destination, counts down the TTL, writes the next
// hop's Ethernet addresses, one subnet a port.
//
//     heddle run chains/router.click
//     heddle run chains/router.click IN=my.pcap OUT=/tmp/my
//
// For real interfaces, put FromDevice(eth0), FromDevice(eth1) where the capture is read and ToDevice where it is
// written.

define($IN chains/captures/curl.pcap, $OUT build/router);

elementclass Port { $out, $mac, $next |
    // What leaves by a port: one hop less to live, and the addresses of this port and of the host behind it.
    input -> ttl :: DecIPTTL -> Unstrip(14) -> EtherRewrite($mac, $next) -> sent :: Counter -> ToDump($out);
    ttl[1] -> expired :: Counter -> Discard;
};

FromDump($IN)
    -> kind :: Classifier(12/0800, 12/0806, -)
    -> Strip(14)
    -> CheckIPHeader
    -> valid :: Counter
    -> routes :: DirectIPLookup(10.1.0.0/16 0, 10.2.0.0/16 1, 10.3.0.0/16 1, 172.16.0.0/16 1, 192.168.1.0/24 0,
                                192.168.2.0/24 1, 0.0.0.0/0 2);
kind[1] -> arp :: Counter -> Discard;    // a router of captures answers nobody
kind[2] -> other :: Counter -> Discard;

routes[0] -> Port(${OUT}_clients.pcap, 02:00:00:00:01:00, 02:00:00:00:00:01);
routes[1] -> Port(${OUT}_servers.pcap, 02:00:00:00:02:00, 02:00:00:00:00:02);
routes[2] -> unroutable :: Counter -> Discard;
