// Sends every packet to one of four ports at random: the router that others are compared with, because it only
// receives, decides and sends.
//
//     heddle run chains/echo.click
//     heddle run chains/echo.click IN=my.pcap OUT=/tmp/my --device gpu

define($IN chains/traffic.pcap, $OUT build/echo);

FromDump($IN) -> all :: Counter -> e :: Echo;

e[0] -> c0 :: Counter -> ToDump(${OUT}_0.pcap);
e[1] -> c1 :: Counter -> ToDump(${OUT}_1.pcap);
e[2] -> c2 :: Counter -> ToDump(${OUT}_2.pcap);
e[3] -> c3 :: Counter -> ToDump(${OUT}_3.pcap);
