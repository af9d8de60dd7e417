// GPU-Ether, section II: packets that come through a UDP socket of the kernel, go to the GPU and back by copies, and
// leave through the socket. Its client stands between it and the wire: what lies behind a frame's headers is a
// datagram, so that the kernel carries as many bytes as the frame has, and what comes back goes to the wire. The GPU
// swaps a datagram's bytes 0 to 5 and 6 to 11, and the client swaps them back, for the generator knows its packets by
// their payload. The server runs on the second packet thread.
define($port 9000, $minimum 1);

FromDPDKDevice(0) -> Strip(42) -> client :: Socket(UDP, 127.0.0.1, $port, CLIENT true)
	-> EtherMirror(DEVICE cpu) -> ToDPDKDevice(0, BLOCKING false);
server :: Socket(UDP, 127.0.0.1, $port) -> MinBatch($minimum) -> EtherMirror -> server;
StaticThreadSched(server 1);
