// Thesis, sections 4.4 and 4.11: IP lookup in a table of $routes routes, with the thesis's own algorithm: one after
// another.
define($routes 100);

FromDPDKDevice(0) -> CheckIPHeader(14) -> rt :: LinearIPLookup(FILE inputs/routes-${routes}.txt);
rt[0], rt[1], rt[2], rt[3] -> ToDPDKDevice(0, BLOCKING false);
