// Four functions that share a table of flows: packets and bytes are counted by flow, a flow may send 100 packets a
// second, clients share the address 192.0.2.1, and their flows are dealt out to three servers.
//
//     heddle run chains/stateful.click
//     heddle run chains/stateful.click IN=my.pcap OUT=/tmp/my

define($IN chains/traffic.pcap, $OUT build/stateful);

FromDump($IN)
    -> CheckIPHeader(14)
    -> valid :: Counter
    -> flows :: FlowTable(TIMESTAMPS true, TIMEOUT 30s)
    -> bytes :: FlowCounter(flows)
    -> limit :: RateLimiter(flows, 100, BURST 10)
    -> nat :: NAT(flows, 192.0.2.1);

nat[0] -> LoadBalancer(flows, 10.9.0.1, 10.9.0.2, 10.9.0.3) -> out :: Counter -> ToDump(${OUT}_out.pcap);
nat[1] -> back :: Counter -> ToDump(${OUT}_back.pcap);
