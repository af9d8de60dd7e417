// Chain C3 of Gaviss (Guo, Zhang, Wang, TPDS 2022) on the GPU alone: firewall, NIDS, IPsec gateway.
// It takes frames from the rings of a NIC and sends them on as ESP, numbered in the order in which they came. The
// NIDS is a monitor: packets go on at once, and the host confirms what the GPU suspects and writes alerts. One that can
// stop packets takes the CPU's help: c3.click.
//
//     install -m 600 chains/ipsec.keys build/ipsec.keys
//     heddle run chains/gpu_c3.click --device gpu
//
// It runs until it is interrupted. A soft NIC plays the chip's part, as in soft_nic.click; here its wire is a capture
// file. Without a GPU: --device simt, which is slow and for trying.

define($IN chains/traffic.pcap, $KEYS build/ipsec.keys, $SIGNATURES chains/gpu_nids.rules,
       $RULES chains/firewall.rules, $OUT build/gpu_c3);

FromGPUPort(wire, SOFTNIC "net_pcap0,rx_pcap=$IN,tx_pcap=${OUT}_tunnel.pcap")
	-> ip :: CheckIPHeader(14, DEVICE gpu)
	-> fw :: Firewall(RULES $RULES, DEFAULT allow, DEVICE gpu)
	-> ids :: NIDS($SIGNATURES, EVE ${OUT}_alerts.json, DEVICE gpu)
	-> number :: IPsecSequence(esp, DEVICE gpu)
	-> esp :: IPsecEncap($KEYS, OFFSET 14, DEVICE gpu) -> ToGPUPort(wire);
