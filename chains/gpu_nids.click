// Intrusion detection on the GPU alone, as a monitor on the wire: the GPU takes frames from the rings of a NIC, looks
// for the patterns of all rules in them, and sends them on without waiting. It tells the host of those in which a
// pattern occurs, and the host confirms them and writes alerts.
//
//     heddle run chains/gpu_nids.click --device gpu
//     tail -f build/gpu_nids_alerts.json
//
// It runs until it is interrupted. A soft NIC plays the chip's part, as in soft_nic.click; here its wire is a capture
// file. Without a GPU: --device simt, which is slow and for trying.

define($IN chains/traffic.pcap, $OUT build/gpu_nids, $SIGNATURES chains/gpu_nids.rules);

FromGPUPort(wire, SOFTNIC "net_pcap0,rx_pcap=$IN,tx_pcap=${OUT}_out.pcap")
	-> CheckIPHeader(14, DEVICE gpu)
	-> ids :: NIDS($SIGNATURES, EVE ${OUT}_alerts.json, DEVICE gpu)
	-> back :: EtherMirror(DEVICE gpu)
	-> ToGPUPort(wire);
