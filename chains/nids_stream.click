// Intrusion detection over TCP connections: rules are looked for in what a connection says, however it is cut into
// segments, and in each packet. IPReassembler puts fragments together before. Packets that a rule with `drop` stops are
// counted.
//
//     heddle run chains/nids_stream.click
//     heddle run chains/nids_stream.click IN=my.pcap OUT=/tmp/my RULES=my.rules
//
// CHECKSUM=false is for captures taken where network cards were yet to fill in the checksums of TCP; else segments with
// a wrong one are dropped.

define($IN chains/captures/curl.pcap, $RULES chains/nids_stream.rules, $OUT build/nids_stream,
    $CHECKSUM true);

FromDump($IN)
    -> Strip(14) -> CheckIPHeader -> IPReassembler
    -> protocol :: IPClassifier(tcp, -);
protocol[0] -> CheckTCPHeader(CHECKSUM $CHECKSUM) -> checked :: Unstrip(14);
protocol[1] -> checked;

checked
    -> flows :: FlowTable(TIMESTAMPS true)
    -> ids :: NIDS($RULES, STREAM true);

ids[0] -> out :: ToDump(${OUT}_out.pcap);
ids[1] -> NIDSConfirm(ids, FLOWS flows, EVE ${OUT}_alerts.json, CHECKSUM $CHECKSUM) -> out;
