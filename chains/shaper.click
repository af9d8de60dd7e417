// Lets packets through at a steady rate: a burst fills the queue, which is emptied at the rate that RatedSource gives
// the other side; what does not fit is dropped and counted.
//
//     heddle run chains/shaper.click
//     heddle run chains/shaper.click RATE=20000 OUT=/tmp/my

define($RATE 5000, $PACKETS 2000, $OUT build/shaper);

RatedSource(LENGTH 200, RATE $RATE, LIMIT $PACKETS)
    -> offered :: Counter
    -> queue :: Queue(100)
    -> Unqueue(BURST 8)
    -> sent :: Counter
    -> ToDump(${OUT}_sent.pcap);
