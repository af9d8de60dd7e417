// GPU-Ether, section V.F: the GPU drives the rings of the ports by itself, and is an IPsec gateway, which takes numbers
// in the order in which packets came.
define($queues 1, $warp_batch 0, $keys inputs/associations-1000.txt);

FromGPUPort(wire, SOFTNIC net_null0, QUEUES $queues, NDESC 4096, WARP_BATCH $warp_batch, BUFFER 10240)
	-> CheckIPHeader(14, DEVICE gpu) -> IPsecSequence(esp, DEVICE gpu) -> esp :: IPsecEncap($keys, OFFSET 14) -> ToGPUPort(wire);
