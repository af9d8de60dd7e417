// Schramm's thesis, figure 4.3: what has been classified goes to the tap fw0. Needs root.
define($kind random, $set 1, $rules 64, $engine auto, $burst 64);

FromDPDKDevice(0, BURST $burst)
    -> CheckIPHeader(14)
    -> Firewall(RULES inputs/rules-${kind}-${set}-${rules}.txt, ACTION allow, DEFAULT allow, ENGINE $engine)
    -> ToHost(fw0);
