// Thesis, section 4.10: the GPU drives the rings of the ports by itself, and computes the CRC of the whole packet.
define($queues 1);

FromGPUPort(wire, SOFTNIC net_null0, QUEUES $queues, NDESC 4096) -> SetCRC32 -> ToGPUPort(wire);
