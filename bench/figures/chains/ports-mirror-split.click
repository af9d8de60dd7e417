// GPU-Ether, section V.D: ports-mirror.click by the paper's three kernels a ring pair, to receive, for the application
// and to transmit.
define($queues 1, $warp_batch 448, $buffer 2048);

FromGPUPort(wire, SOFTNIC net_null0, QUEUES $queues, NDESC 4096, WARP_BATCH $warp_batch, KERNELS split, BUFFER $buffer)
	-> EtherMirror -> ToGPUPort(wire);
