// Chain C3 of Gaviss (Guo, Zhang, Wang, TPDS 2022) on the GPU alone: firewall, NIDS, IPsec gateway.
// It takes frames from the rings of a NIC and sends them on as ESP, numbered in the order in which they came. What the
// NIDS's pattern stage suspects is counted and goes on like the rest: nobody confirms it. With the CPU's help:
// c3.click.
//
//     install -m 600 chains/ipsec.keys build/ipsec.keys
//     heddle run chains/gpu_c3.click --device gpu
//
// It runs until it is interrupted. A soft NIC plays the chip's part, as in soft_nic.click; here its wire is a capture
// file. Without a GPU: --device simt, which is slow and for trying.

define($IN chains/traffic.pcap, $KEYS build/ipsec.keys, $SIGNATURES chains/nids.rules,
       $RULES chains/firewall.rules, $OUT build/gpu_c3);

FromGPUPort(wire, SOFTNIC "net_pcap0,rx_pcap=$IN,tx_pcap=${OUT}_tunnel.pcap")
	-> ip :: CheckIPHeader(14, DEVICE gpu)
	-> fw :: Firewall(RULES $RULES, DEFAULT allow, DEVICE gpu)
	-> ids :: NIDS($SIGNATURES, DEVICE gpu)
	-> number :: IPsecSequence(esp, DEVICE gpu)
	-> esp :: IPsecEncap($KEYS, OFFSET 14, DEVICE gpu) -> ToGPUPort(wire);
ids[1] -> suspects :: Counter -> number;
