// GPU-Ether, section V.F: the GPU drives the rings of the ports by itself, and looks up where packets go by DIR-24-8.
// Packets of up to $buffer bytes.
define($queues 1, $buffer 2048, $routes 474319);

FromGPUPort(wire, SOFTNIC net_null0, QUEUES $queues, NDESC 4096, BUFFER $buffer)
	-> GetIPAddress(30) -> rt :: DirectIPLookup(FILE inputs/routes-${routes}.txt);
rt[0], rt[1], rt[2], rt[3] -> ToGPUPort(wire);
