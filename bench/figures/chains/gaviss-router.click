// Gaviss, section 5.3, table 1: the router alone.
define($routes inputs/routes-10000.txt);

FromDPDKDevice(0) -> CheckIPHeader(14) -> rt :: DirectIPLookup(FILE $routes) -> out :: ToDPDKDevice(0, BLOCKING false);
rt[1], rt[2], rt[3] -> out;
