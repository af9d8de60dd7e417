// A firewall: lets through what a rule file allows, and writes a capture of what passed and one of what was denied.
//
//     heddle run chains/firewall.click
//     heddle run chains/firewall.click IN=my.pcap RULES=my.rules OUT=/tmp/my --device gpu
//     heddle run chains/firewall.click ENGINE=tuple

define($IN chains/traffic.pcap, $RULES chains/firewall.rules, $ENGINE auto, $OUT build/firewall);

FromDump($IN)
    -> CheckIPHeader(14)
    -> valid :: Counter
    -> fw :: Firewall(RULES $RULES, DEFAULT deny, ENGINE $ENGINE);

fw[0] -> allowed :: Counter -> ToDump(${OUT}_allowed.pcap);
fw[1] -> denied :: Counter -> ToDump(${OUT}_denied.pcap);
