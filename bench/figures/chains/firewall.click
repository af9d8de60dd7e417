// Schramm's thesis, figures 4.4 and 4.6: packets are classified, and go nowhere.
define($kind random, $set 1, $rules 64, $engine auto, $burst 64);

FromDPDKDevice(0, BURST $burst)
    -> CheckIPHeader(14)
    -> Firewall(RULES inputs/rules-${kind}-${set}-${rules}.txt, ACTION allow, DEFAULT allow, ENGINE $engine)
    -> Discard;
