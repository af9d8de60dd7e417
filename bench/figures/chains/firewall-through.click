// Schramm's thesis, figure 4.5: what has been classified leaves by the port that stands for the tap.
define($kind random, $set 1, $rules 64, $engine auto, $burst 64);

FromDPDKDevice(0, BURST $burst)
    -> CheckIPHeader(14)
    -> Firewall(RULES inputs/rules-${kind}-${set}-${rules}.txt, ACTION allow, DEFAULT allow, ENGINE $engine)
    -> ToDPDKDevice(1, BLOCKING false);
