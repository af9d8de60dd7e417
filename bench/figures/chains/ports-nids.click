// GPU-Ether, section V.F: the GPU drives the rings of the ports by itself, and looks for $signatures in payloads. What
// may have one goes on like the others: nobody confirms it. Packets of up to $buffer bytes.
define($queues 1, $buffer 2048, $signatures inputs/signatures-147.rules);

FromGPUPort(wire, SOFTNIC net_null0, QUEUES $queues, NDESC 4096, BUFFER $buffer)
	-> CheckIPHeader(14, DEVICE gpu) -> ids :: NIDS($signatures) -> out :: ToGPUPort(wire);
ids[1] -> out;
