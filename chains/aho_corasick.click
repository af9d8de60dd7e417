// A packet filter by patterns in payloads: those that a packet's protocol and port choose. The file is read again,
// while packets flow, by the handler `reload` or SIGHUP.
//
//     heddle run chains/aho_corasick.click -h search.matches
//     heddle run chains/aho_corasick.click IN=my.pcap PATTERNS=my.patterns OUT=/tmp/my --device gpu

define($IN chains/traffic.pcap, $PATTERNS chains/aho_corasick.patterns, $OUT build/aho_corasick);

FromDump($IN)
    -> CheckIPHeader(14)
    -> search :: AhoCorasick($PATTERNS);

search[0] -> clean :: Counter -> ToDump(${OUT}_clean.pcap);
search[1] -> matched :: Counter -> ToDump(${OUT}_matched.pcap);
