// Chain C1 of Gaviss (Guo, Zhang, Wang, TPDS 2022): NIDS, IPsec gateway.
// With --device gpu its functions are one segment, so that packets cross the bus once. Candidates of the NIDS leave it
// and are confirmed on the CPU, where functions of their own take them the rest of the way; where both ways meet again
// packets go on in their order of arrival. Numbers of ESP are taken before, so both ways have the same ones. For a
// gateway alone, put ToDevice or ToDump where the counter `tunnel` is; what follows is the tunnel's other end.
//
//     install -m 600 chains/ipsec.keys build/ipsec.keys
//     heddle run chains/c1.click
//     heddle run chains/c1.click OUT=/tmp/my --device gpu

define($IN chains/traffic.pcap, $KEYS build/ipsec.keys, $SIGNATURES chains/nids.rules, $OUT build/c1);

FromDump($IN)
    -> CheckIPHeader(14)
    -> IPsecSequence(esp)
    -> ids :: NIDS($SIGNATURES);

ids[0] -> esp :: IPsecEncap($KEYS, OFFSET 14) -> tunnel :: Counter;
ids[1] -> confirm :: NIDSConfirm(ids, EVE ${OUT}_alerts.json)
    -> esp_late :: IPsecEncap($KEYS, OFFSET 14, DEVICE cpu)
    -> tunnel;

tunnel -> IPsecDecap($KEYS, OFFSET 14) -> ToDump(${OUT}_out.pcap);
