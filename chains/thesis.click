// The three functions of the thesis under its own element names, each in a chain as it prints them (3.1 to 3.3), with
// packets gathered before the GPU: lists that the copy engine follows, destinations that the CPU packs side by side,
// and whole packets packed so. Each has a copy of the capture. They run on a GPU and nowhere else:
//
//     heddle run chains/thesis.click --device gpu
//     heddle plan chains/thesis.click --device gpu
//
// Without one: --device simt. Between ports, as in the thesis: FromDPDKDevice(0) -> MinBatch(992) -> ... ->
// ToDPDKDevice(0), with MAX_BATCH 1024.

define($IN chains/traffic.pcap, $TABLES chains, $OUT build/thesis);

FromDump($IN, BURST 32) -> copies :: Tee;

copies[0] -> MinBatch(224) -> GPUEtherMirrorCommList(MAX_BATCH 256) -> ToDump(${OUT}_mirror.pcap);
copies[1] -> MinBatch(224) -> GPUIPLookupWithCopy(TABLE 1, FOLDER $TABLES, MAX_BATCH 256) -> ToDump(${OUT}_lookup.pcap);
copies[2] -> MinBatch(224) -> GPUSetCRC32Coalescent(MAX_PKT_SIZE 1514, MAX_BATCH 256) -> ToDump(${OUT}_crc32.pcap);
