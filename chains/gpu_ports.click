// Frames go back to where they came from, and no CPU core works for them: the GPU drives the rings of a memif port. The
// peer is any program that speaks memif and polls; here it is another Heddle, through DPDK. Start the mirror first, for
// the capture is sent as soon as the other runs:
//
//     heddle run chains/gpu_ports.click --device gpu
//     heddle run -e 'FromDump(chains/traffic.pcap)
//                      -> ToDPDKDevice("net_memif0,role=server,socket-abstract=no,socket=/tmp/mirror.sock");
//                    FromDPDKDevice(net_memif0) -> ToDump(build/mirrored.pcap)'
//
// Without a GPU: --device simt, which is slow and for trying.

define($SOCKET /tmp/mirror.sock);

FromGPUPort(mirror, SOCKET $SOCKET) -> EtherMirror(DEVICE gpu) -> ToGPUPort(mirror);
