// Two IPv6 routers in a row, each of two networks, which find their neighbours' Ethernet addresses by neighbour
// discovery:
//
//     network 0 -- first -- the link between -- second -- network 1
//
//     heddle run chains/ip6_router.click
//     heddle run chains/ip6_router.click IN=my.pcap OUT=/tmp/my --device gpu
//
// Packets that cannot go on are answered: their hop limit is used up, there is no route, nobody has the address, or
// they are longer than the next link takes, which IPv6 routers leave to the sender to mend.
//
// A capture plays network 0. For real interfaces, put FromDevice(eth0) and FromDevice(eth1) where the sources stand and
// ToDevice where frames are written, and leave the Script out: it says what neighbour discovery would find out.

define($IN chains/traffic6.pcap, $OUT build/ip6_router, $MTU 1500, $RATE 100,  // errors a second
       $NET0 2001:db8:ffff::/63, $IP0 2001:db8:ffff:1::fe, $ETH0 02:00:00:00:01:00,
       $LINK0 2001:db8:ffff:2::1, $LETH0 02:00:00:00:02:01, $LINK1 2001:db8:ffff:2::2, $LETH1 02:00:00:00:02:02,
       $NET1 2001:db8:ffff:3::/64, $IP1 2001:db8:ffff:3::fe, $ETH1 02:00:00:00:03:00,
       $HOST0 2001:db8:ffff::1, $MAC0 02:00:00:00:00:01, $HOST1 2001:db8:ffff:3::1, $MAC1 02:00:00:00:00:02);

elementclass Input6 { $ip, $eth |
    // Outputs: advertisements for others, of others, and packets without Ethernet header.
    input -> kind :: Classifier(12/86dd 20/3aff 54/87, 12/86dd 20/3aff 54/88, 12/86dd, -);
    kind[0] -> IP6NDAdvertiser($ip $eth) -> [0]output;
    kind[1] -> [1]output;
    kind[2] -> Strip(14) -> CheckIP6Header -> [2]output;
    kind[3] -> other :: Counter -> Discard;
};

elementclass Output6 { $ip |
    // Output 0: what leaves. Output 1: errors from the address $ip, which are routed like any packet.
    input -> limit :: DecIP6HLIM -> fits :: CheckLength($MTU) -> [0]output;
    limit[1] -> ICMP6Error($ip, timeexceeded, transit, RATE $RATE) -> [1]output;
    fits[1] -> ICMP6Error($ip, packettoobig, PMTU $MTU, RATE $RATE) -> [1]output;
};

elementclass Router6 { $ip0, $eth0, $ip1, $eth1, $route0, $route1, $route2 |
    // What is for the router itself, or for nobody beyond the link, ends here. To addresses of other sites (RFC 4193)
    // there is no route.
    in0 :: Input6($ip0, $eth0); in1 :: Input6($ip1, $eth1);
    nd0 :: IP6NDSolicitor($ip0, $eth0); nd1 :: IP6NDSolicitor($ip1, $eth1);
    input[0] -> in0; in0[0] -> [0]output; in0[1] -> [1]nd0;
    input[1] -> in1; in1[0] -> [1]output; in1[1] -> [1]nd1;
    routes :: LookupIP6Route($ip0/128 2, $ip1/128 2, ff00::/8 2, fe80::/10 2, fc00::/7 3, $route0, $route1, $route2);
    in0[2] -> routes; in1[2] -> routes;
    // An error has the address of the interface that the packet has, but for detours, come by.
    routes[0] -> out0 :: Output6($ip1) -> nd0 -> [0]output; out0[1] -> routes;
    routes[1] -> out1 :: Output6($ip0) -> nd1 -> [1]output; out1[1] -> routes;
    nd0[1] -> [0]output; nd0[2] -> MarkIP6Header -> ICMP6Error($ip1, unreachable, address, RATE $RATE) -> routes;
    nd1[1] -> [1]output; nd1[2] -> MarkIP6Header -> ICMP6Error($ip0, unreachable, address, RATE $RATE) -> routes;
    routes[2] -> mine :: Counter -> Discard;
    routes[3] -> ICMP6Error($ip0, unreachable, noroute, RATE $RATE) -> routes;
};

first :: Router6($IP0, $ETH0, $LINK0, $LETH0, $NET0 0, 2001:db8:ffff:2::/64 1, ::/0 $LINK1 1);
second :: Router6($LINK1, $LETH1, $IP1, $ETH1, $NET0 $LINK0 0, $NET1 1, ::/0 $HOST1 1);
in0 :: FromDump($IN, ACTIVE false) -> [0]first[0] -> to0 :: Counter -> ToDump(${OUT}_0.pcap);
in1 :: Idle -> [1]second[1] -> to1 :: Counter -> ToDump(${OUT}_1.pcap);
first[1] -> Pipeliner -> [0]second[0] -> Pipeliner -> [1]first;
Script(write first/nd0.insert $HOST0 $MAC0, write first/nd1.insert $LINK1 $LETH1, write second/nd0.insert $LINK0 $LETH0,
       write second/nd1.insert $HOST1 $MAC1, write in0.active true);
