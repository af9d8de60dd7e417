// A gateway of two IPsec tunnels and its other end: packets to 192.0.2.0/24 enter the first tunnel, all others the
// second, and come out as they were. The keys are for demonstration; their file must be its owner's alone:
//
//     install -m 600 chains/ipsec.keys build/ipsec.keys
//     heddle run chains/ipsec.click
//     heddle run chains/ipsec.click OUT=/tmp/mine --device gpu
//
// With --device gpu both ends do their cryptography there, and the CPU takes numbers and judges replays. For a gateway
// alone, put ToDevice or ToDump where the counter `tunnel` is.

define($IN chains/traffic.pcap, $KEYS build/ipsec.keys, $OUT build/ipsec);

FromDump($IN)
    -> CheckIPHeader(14)
    -> plain :: Counter
    -> IPsecSequence(esp)
    -> esp :: IPsecEncap($KEYS, OFFSET 14)
    -> tunnel :: Counter
    -> out :: IPsecDecap($KEYS, OFFSET 14)
    -> IPsecReplay(out)
    -> back :: Counter
    -> ToDump(${OUT}_back.pcap);
