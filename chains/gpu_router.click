// A firewall and a router on the GPU alone: it takes frames from the rings of a NIC, checks their headers, sorts them
// by rules, looks up where they go, and sends them back with their addresses swapped. The CPU sees no packet.
//
//     heddle run chains/gpu_router.click --device gpu
//
// It runs until it is interrupted, and its report then says how many frames each route had. A soft NIC plays the chip's
// part, as in soft_nic.click; here its wire is a capture file. Without a GPU: --device simt, which is slow and for
// trying.

define($IN chains/traffic.pcap, $OUT build/gpu_router, $RULES chains/firewall.rules, $ROUTES chains/routes.txt);

FromGPUPort(wire, SOFTNIC "net_pcap0,rx_pcap=$IN,tx_pcap=${OUT}_out.pcap")
	-> ip :: CheckIPHeader(14, DEVICE gpu)
	-> fw :: Firewall(RULES $RULES, DEFAULT deny, DEVICE gpu)
	-> rt :: DirectIPLookup(FILE $ROUTES, DEVICE gpu);
rt[0] -> inside :: Counter -> back :: EtherMirror(DEVICE gpu) -> ToGPUPort(wire);
rt[1] -> servers :: Counter -> back;
rt[2] -> host :: Counter -> back;
