// Master and workers, as the thesis writes it (section 2.2.2, figure 2.3): threads that do the I/O give their packets
// to one that has the GPU, and get them back from it. Each worker's packets stay in order and return to it. The option
// --workers does the same with any chain, with several segments and ways through them as well, and keeps the order
// where ways meet: heddle run chains/xor.click -j 3 --workers --device gpu. (Without a master, every thread has slots
// of its own on the GPU: -j 2.)
//
//     heddle run chains/master_workers.click
//     heddle run chains/master_workers.click -j 3 SECOND=1 MASTER=2 --device gpu
//     heddle plan chains/master_workers.click --device gpu

define($FIRST_IN chains/switch0.pcap, $SECOND_IN chains/switch1.pcap, $OUT build/master_workers, $SECOND 0, $MASTER 0);

in0 :: FromDump($FIRST_IN) -> Paint(0) -> master :: Pipeliner;
in1 :: FromDump($SECOND_IN) -> Paint(1) -> master;

master -> EtherMirror -> XOR(90) -> back :: PaintSwitch;

back[0] -> to0 :: Pipeliner -> ToDump(${OUT}0.pcap);
back[1] -> to1 :: Pipeliner -> ToDump(${OUT}1.pcap);

StaticThreadSched(in0 0, to0 0, in1 $SECOND, to1 $SECOND, master $MASTER);
