// Frames of a DPDK port go to GPU memory and back, and the GPU drives the rings: those of a NIC, with the descriptors,
// done bits and tails of Intel's 82599. A soft NIC plays the chip's part; here its wire is a capture file.
//
//     heddle run chains/soft_nic.click --device gpu
//
// It runs until it is interrupted. Without a GPU: --device simt, which is slow and for trying. A port of the machine is
// given by its name as FromDPDKDevice takes it, for example SOFTNIC 0000:03:00.0.

define($IN chains/traffic.pcap, $OUT build/soft_nic);

FromGPUPort(wire, SOFTNIC "net_pcap0,rx_pcap=$IN,tx_pcap=${OUT}_mirrored.pcap") -> EtherMirror(DEVICE gpu) -> ToGPUPort(wire);
