// A router that the kernel steers: whatever sets the kernel's routes (`ip route`, BIRD, FRR) sets this router's, IPv4
// and IPv6, while packets go on. Each port has a tap of the same Ethernet address. The kernel has its addresses there,
// and gets what is for it: packets for its own addresses and for groups (OSPF's hellos), BGP's connections, ARP,
// neighbour discovery. It forwards nothing itself; transit packets never see it.
//
//     heddle run chains/control_plane.click PORT0=net_af_packet0,iface=eth0 PORT1=net_af_packet1,iface=eth1
//     ip address add 2001:db8::1/64 dev tap0 nodad; ip address add 2001:db8:0:1::1/64 dev tap1 nodad
//
// PORT0, PORT1: as for FromDPDKDevice. A kernel that has an interface of its own at such a port should be silent there
// (ip link set eth0 arp off; sysctl net.ipv6.conf.eth0.disable_ipv6=1). Needs root.

define($PORT0 "net_af_packet0,iface=eth0", $TAP0 tap0, $ETH0 02:00:00:00:00:10,
       $IP0 10.0.0.1, $LENGTH0 24, $SIX0 2001:db8::1,
       $PORT1 "net_af_packet1,iface=eth1", $TAP1 tap1, $ETH1 02:00:00:00:00:11,
       $IP1 10.0.1.1, $LENGTH1 24, $SIX1 2001:db8:0:1::1);

elementclass Port { $port, $tap, $eth, $ip, $length, $six, $number |
    // Inputs: IPv4 and IPv6 packets that leave by the port, frames for the kernel. Outputs: what comes, IPv4 and IPv6.
    out :: ToDPDKDevice($port);
    kernel :: ToHost($tap); FromHost($tap, $ip/$length, ETHER $eth) -> out;
    arp :: ARPQuerier($ip/$length, $eth) -> out; KernelNeighbours(arp, $tap);
    nd :: IP6NDSolicitor($six, $eth) -> out; KernelIP6Neighbours(nd, $tap);

    FromDPDKDevice($port) -> kind :: Classifier(12/0806 20/0002, 12/86dd 20/3aff 54/88, 12/0800, 12/86dd, -);
    kind[0] -> replies :: Tee -> kernel; replies[1] -> [1]arp;
    kind[1] -> advertisements :: Tee -> kernel; advertisements[1] -> [1]nd;
    kind[2] -> Paint($number) -> Strip(14) -> CheckIPHeader -> [0]output;
    kind[3] -> Paint($number) -> Strip(14) -> CheckIP6Header -> [1]output;
    kind[4] -> kernel;

    input[0] -> ttl :: DecIPTTL -> arp; ttl[1] -> ICMPError($ip, timeexceeded) -> [0]output;
    input[1] -> hops :: DecIP6HLIM -> nd; hops[1] -> ICMP6Error($six, timeexceeded, transit) -> [1]output;
    input[2] -> kernel;
};

port0 :: Port("$PORT0", $TAP0, $ETH0, $IP0, $LENGTH0, $SIX0, 0);
port1 :: Port("$PORT1", $TAP1, $ETH1, $IP1, $LENGTH1, $SIX1, 1);

routes :: DirectIPLookup(224.0.0.0/4 2); k :: KernelRoutes(routes, $TAP0 0, $TAP1 1, PUNT 2);
routes6 :: LookupIP6Route(ff00::/8 2, fe80::/10 2); k6 :: KernelIP6Routes(routes6, $TAP0 0, $TAP1 1, PUNT 2);
port0[0], port1[0] -> routes; routes[0] -> [0]port0; routes[1] -> [0]port1;
port0[1], port1[1] -> routes6; routes6[0] -> [1]port0; routes6[1] -> [1]port1;

// What is for the kernel goes to the tap of the port by which it came, as it came.
routes[2], routes6[2] -> Unstrip(14) -> came_by :: PaintSwitch; came_by[0] -> [2]port0; came_by[1] -> [2]port1;
