// G-Opt, section 4: an IPv4 router with $routes routes, DIR-24-8.
define($routes 527961);

FromDPDKDevice(0) -> CheckIPHeader(14) -> DecIPTTL -> rt :: DirectIPLookup(FILE inputs/routes-${routes}.txt);
rt[0], rt[1], rt[2], rt[3] -> EtherRewrite(02:00:00:00:01:00, 02:00:00:00:00:01) -> ToDPDKDevice(0, BLOCKING false);
