// The firewall of Schramm, Offloading network packet classification to GPUs (2022), 3.1.2: a bridge on layer 2 between a port and
// the tap fw0, behind which the host is. What comes from the port is sorted by rules; what the host sends goes out as it is.
//
//     heddle run chains/bridge.click PORT=net_af_packet0,iface=eth0
//     heddle run chains/bridge.click PORT=0000:03:00.0 RULES=my.rules DEFAULT=allow BURST=1024 -j 2
//     heddle run chains/bridge.click PORT=net_af_packet0,iface=eth0 --device gpu --launch async
//
// The thesis' launch types are --launch sync (on demand), async and persistent; its queues are -j, one of the port and one of the tap
// for each thread; its bursts are BURST, 64 to 1024, of which a launch takes all. PORT: as for FromDPDKDevice. The host gives fw0 an
// address when it is there (ip address add 192.0.2.2/24 dev fw0). Needs root.
//
// What becomes of packets from the port:
//   IPv4           by the first rule that matches; if none does, by DEFAULT, `allow` or `deny`
//   fragments      a later one has no ports, nor TCP flags: they count as 0. One of TCP with the offset 1, which could change the flags of
//                  a header that a rule has let pass, is dropped (RFC 1858, 3.2.2: `tiny`);
//                  and net_af_packet gives fragments put together, of which those longer than fw0's MTU are dropped
//   short headers  dropped: an IPv4 header that is cut or wrong (`ip`), fewer than 4 bytes behind it where there ought to be ports (`fw`)
//   ARP            passes, or nobody could talk
//   others         dropped (`other`): IPv6, VLANs, spanning trees, whatever no rule speaks of

define($PORT "net_af_packet0,iface=eth0", $TAP fw0, $RULES chains/firewall.rules, $DEFAULT deny, $ENGINE auto, $BURST 64);

to_tap :: ToHost($TAP, BURST $BURST);

FromDPDKDevice("$PORT", BURST $BURST) -> from_port :: Counter -> kind :: Classifier(12/0800, 12/0806, -);

kind[0] -> ip :: CheckIPHeader(14) -> tiny :: Classifier(20/0001%1fff 23/06, -);
tiny[0] -> Discard;
tiny[1] -> fw :: Firewall(RULES $RULES, DEFAULT $DEFAULT, ENGINE $ENGINE) -> to_tap;
kind[1] -> arp :: Counter -> to_tap;
kind[2] -> other :: Counter -> Discard;

FromHost($TAP, BURST $BURST) -> from_host :: Counter -> ToDPDKDevice("$PORT", BURST $BURST);
