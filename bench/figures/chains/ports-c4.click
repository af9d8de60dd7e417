// Gaviss, section 5.1, chain C4: firewall, NIDS, router, IPsec gateway; here the GPU drives the rings of the ports by
// itself. What the NIDS's pattern stage suspects goes on like the rest: nobody confirms it. Between memif's rings, with
// heddle_bench --probe memif-peer as the other end: port="SOCKET /tmp/c4.sock".
define($port SOFTNIC net_null0, $queues 1, $warp_batch 0, $rules inputs/rules-1000.txt, $signatures inputs/signatures-147.rules, $keys inputs/associations-1000.txt,
	$routes inputs/routes-10000.txt);

FromGPUPort(wire, $port, QUEUES $queues, NDESC 4096, WARP_BATCH $warp_batch, BUFFER 10240)
	-> CheckIPHeader(14, DEVICE gpu)
	-> Firewall(RULES $rules, ACTION allow, DEFAULT allow)
	-> ids :: NIDS($signatures)
	-> rt :: DirectIPLookup(FILE $routes);
ids[1] -> rt;
rt[0], rt[1], rt[2], rt[3] -> IPsecSequence(esp, DEVICE gpu) -> esp :: IPsecEncap($keys, OFFSET 14) -> ToGPUPort(wire);
