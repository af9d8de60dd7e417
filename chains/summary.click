// Writes a line of text for every IP packet of a capture, and makes a capture of the lines again.
//
//     heddle run chains/summary.click IN=my.pcap OUT=/tmp/my

define($IN chains/captures/dig.pcap, $OUT build/summary);

FromDump($IN, FORCE_IP true)
    -> packets :: Counter
    -> ToIPSummaryDump(${OUT}_packets.txt,
                       FIELDS timestamp ip_src sport ip_dst dport ip_proto ip_len ip_ttl ip_id ip_fragoff tcp_flags);
