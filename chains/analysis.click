// Counts the packets of a capture by destination, their bytes by network and protocol, how often each length and each
// port occurs; and makes a capture of the first packet of each flow within some time, with other addresses.
//
//     heddle run chains/analysis.click
//     heddle run chains/analysis.click IN=my.pcap OUT=/tmp/my AFTER=0 INTERVAL=1h SEED=true

define($IN chains/traffic.pcap, $OUT build/analysis, $AFTER 5ms, $INTERVAL 10ms, $SEED 2026);

FromDump($IN)
    -> CheckIPHeader(14)
    -> range :: TimeRange
    -> AggregateIP(ip dst)
    -> destinations :: AggregateCounter
    -> AggregateIP(ip src/16)
    -> AggregateIP(ip proto, INCREMENTAL true)  // the network's 16 bits, and the protocol's 8 behind them
    -> networks :: AggregateCounter(BYTES true, IP_BYTES true)
    -> AggregateLength(IP true)
    -> lengths :: AggregateCounter
    -> by_port :: AggregateIP(dport)
    -> ports :: AggregateCounter
    -> some :: TimeFilter(START_AFTER $AFTER, INTERVAL $INTERVAL)
    -> AggregateIPFlows
    -> first :: AggregateFirst
    -> AnonymizeIPAddr(SEED $SEED)
    -> flows :: Counter
    -> ToDump(${OUT}_flows.pcap);

by_port[1] -> others :: Counter -> Discard;  // have no ports
some[1] -> Discard;
first[1] -> Discard;

DriverManager(
    wait_stop,
    print >${OUT}_range.txt $(range.range),
    write destinations.write_ip_file ${OUT}_destinations.txt,
    write networks.write_text_file ${OUT}_networks.txt,
    write ports.write_file ${OUT}_ports.bin,
    write lengths.counts_pdf,
    write lengths.write_text_file ${OUT}_lengths.txt,
    stop);
