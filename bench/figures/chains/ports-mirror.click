// Thesis, section 4.7 and 4.10; GPU-Ether, section V: the GPU drives the rings of the ports by itself, and swaps the
// addresses. $queues ring pairs; $warp_batch packets of a pair at a time; packets of up to $buffer bytes.
define($queues 1, $warp_batch 448, $buffer 2048);

FromGPUPort(wire, SOFTNIC net_null0, QUEUES $queues, NDESC 4096, WARP_BATCH $warp_batch, BUFFER $buffer)
	-> EtherMirror -> ToGPUPort(wire);
