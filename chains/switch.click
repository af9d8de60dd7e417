// An Ethernet switch of three ports. Entries of the file stay; with LEARN=true it learns the others, too.
//
//     heddle run chains/switch.click
//     heddle run chains/switch.click LEARN=true
//     heddle run chains/switch.click IN=my OUT=/tmp/my --device gpu     reads my0.pcap to my2.pcap
//
// For real interfaces, put FromDevice(eth0) ... where the captures are read and ToDevice where they are written.

define($IN chains/switch, $ADDRESSES chains/switch.addresses, $CAPACITY 65536, $LEARN false, $OUT build/switch);

sw :: L2Switch(FILE $ADDRESSES, CAPACITY $CAPACITY, LEARN $LEARN);

FromDump(${IN}0.pcap) -> Paint(0) -> sw;
FromDump(${IN}1.pcap) -> Paint(1) -> sw;
FromDump(${IN}2.pcap) -> Paint(2) -> sw;

out0 :: Counter -> ToDump(${OUT}_0.pcap);
out1 :: Counter -> ToDump(${OUT}_1.pcap);
out2 :: Counter -> ToDump(${OUT}_2.pcap);

sw[0] -> out0;
sw[1] -> out1;
sw[2] -> out2;

// What is flooded goes to every port but the one by which it came.
sw[3] -> flooded :: Counter -> flood :: Tee(3);
flood[0] -> not0 :: PaintSwitch; not0[0] -> Discard; not0[1] -> out0; not0[2] -> out0;
flood[1] -> not1 :: PaintSwitch; not1[0] -> out1; not1[1] -> Discard; not1[2] -> out1;
flood[2] -> not2 :: PaintSwitch; not2[0] -> out2; not2[1] -> out2; not2[2] -> Discard;
