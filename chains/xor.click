// Changes every byte of every packet; a copy is changed back, so that it equals the input.
//
//     heddle run chains/xor.click --device gpu

define($IN chains/traffic.pcap, $OUT build/xor);

FromDump($IN) -> XOR(165) -> copies :: Tee;
copies[0] -> ToDump(${OUT}_changed.pcap);
copies[1] -> XOR(165) -> ToDump(${OUT}_back.pcap);
