// Splits a capture by protocol; nothing is lost.
//
//     heddle run chains/split.click IN=my.pcap OUT=/tmp/my

define($IN chains/traffic.pcap, $OUT build/split);

FromDump($IN) -> kind :: Classifier(
    12/0800 23/06,                     // IPv4: TCP
    12/0800 23/11,                     // UDP
    12/0800 23/01,                     // ICMP
    12/0806,                           // ARP
    -);                                // the rest
kind[0] -> tcp :: Counter -> ToDump(${OUT}_tcp.pcap);
kind[1] -> udp :: Counter -> ToDump(${OUT}_udp.pcap);
kind[2] -> icmp :: Counter -> ToDump(${OUT}_icmp.pcap);
kind[3] -> arp :: Counter -> ToDump(${OUT}_arp.pcap);
kind[4] -> rest :: Counter -> ToDump(${OUT}_rest.pcap);
