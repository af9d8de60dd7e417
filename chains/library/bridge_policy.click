// The policy of chains/bridge.click and chains/bridge_events.click: what they give from_port comes to their element
// passed if it may.
//
// What becomes of packets from the port:
//   IPv4           by the first rule that matches; if none does, by DEFAULT, `allow` or `deny`
//   fragments      a later one has no ports, nor TCP flags: they count as 0. One of TCP with the offset 1, which could
//                  change the flags of a header that a rule has let pass, is dropped (RFC 1858, 3.2.2: `tiny`); and
//                  net_af_packet gives fragments put together, of which those longer than fw0's MTU are dropped
//   short headers  dropped: an IPv4 header that is cut or wrong (`ip`), fewer than 4 bytes behind it where there ought
//                  to be ports (`fw`)
//   ARP            passes, or nobody could talk
//   others         dropped (`other`): IPv6, VLANs, spanning trees, whatever no rule speaks of

from_port :: Counter -> kind :: Classifier(12/0800, 12/0806, -);

kind[0] -> ip :: CheckIPHeader(14) -> tiny :: Classifier(20/0001%1fff 23/06, -);
tiny[0] -> Discard;
tiny[1] -> fw :: Firewall(RULES $RULES, DEFAULT $DEFAULT, ENGINE $ENGINE) -> passed;
kind[1] -> arp :: Counter -> passed;
kind[2] -> other :: Counter -> Discard;
