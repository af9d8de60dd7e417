// Chain C2 of Gaviss (Guo, Zhang, Wang, TPDS 2022): NIDS, router, IPsec gateway.
// With --device gpu its functions are one segment, so that packets cross the bus once. Candidates of the NIDS leave it
// and are confirmed on the CPU, where functions of their own take them the rest of the way; where both ways meet again
// packets go on in their order of arrival. Numbers of ESP are taken before, so both ways have the same ones. For a
// gateway alone, put ToDevice or ToDump where the counter `tunnel` is; what follows is the tunnel's other end.
//
//     install -m 600 chains/ipsec.keys build/ipsec.keys
//     heddle run chains/c2.click
//     heddle run chains/c2.click OUT=/tmp/my --device gpu

define($IN chains/traffic.pcap, $KEYS build/ipsec.keys, $SIGNATURES chains/nids.rules,
       $ROUTES chains/routes.txt, $OUT build/c2);

FromDump($IN)
    -> CheckIPHeader(14)
    -> DecIPTTL
    -> IPsecSequence(esp)
    -> ids :: NIDS($SIGNATURES);

// The colour is the router's output.
ids[0] -> rt :: DirectIPLookup(FILE $ROUTES);
rt[0] -> Paint(0) -> esp :: IPsecEncap($KEYS, OFFSET 14) -> tunnel :: Counter;
rt[1] -> Paint(1) -> esp;
rt[2] -> Paint(2) -> esp;

ids[1] -> confirm :: NIDSConfirm(ids, EVE ${OUT}_alerts.json) -> rt_late :: DirectIPLookup(FILE $ROUTES, DEVICE cpu);
rt_late[0] -> Paint(0) -> esp_late :: IPsecEncap($KEYS, OFFSET 14, DEVICE cpu) -> tunnel;
rt_late[1] -> Paint(1) -> esp_late;
rt_late[2] -> Paint(2) -> esp_late;

tunnel -> IPsecDecap($KEYS, OFFSET 14) -> output :: PaintSwitch;
output[0] -> ToDump(${OUT}_inside.pcap);
output[1] -> ToDump(${OUT}_servers.pcap);
output[2] -> ToDump(${OUT}_others.pcap);
