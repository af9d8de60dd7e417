// Lets packets through at a steady rate: what comes faster than RATE waits in the queue, and what does not fit there is
// dropped and counted.
//
//     heddle run chains/shaper.click
//     heddle run chains/shaper.click RATE=20000 OUT=/tmp/my

define($OFFERED 20000, $RATE 5000, $PACKETS 2000, $OUT build/shaper);

RatedSource(LENGTH 200, RATE $OFFERED, LIMIT $PACKETS)
    -> offered :: Counter
    -> queue :: Queue(100)
    -> RatedUnqueue($RATE)
    -> sent :: Counter
    -> ToDump(${OUT}_sent.pcap);
