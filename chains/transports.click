// Three functions on a GPU, and three ways of the packets to it: lists that the copy engine follows, regions that the
// CPU packs side by side, launched as CUDA graphs, and whole packets that a resident kernel gathers. Without a GPU, the
// same on the CPU.
//
//     heddle run chains/transports.click
//     heddle run chains/transports.click IN=my.pcap OUT=/tmp/my --device gpu
//     heddle plan chains/transports.click --device gpu

define($IN chains/traffic.pcap, $OUT build/transports);

FromDump($IN)
	-> EtherMirror(TRANSPORT commlist, LAUNCH async, LISTS_PER_CORE 2)
	-> CheckLength(1514)
	-> SetCRC32(TRANSPORT coalescent, LAUNCH graph)
	-> CheckLength(1518)
	-> XOR(90, TRANSPORT gather, LAUNCH persistent)
	-> ToDump(${OUT}.pcap);
