// GPU-Ether, section V.F: IP lookup by DIR-24-8 in a table of $routes routes, in batches of $minimum packets and up to
// a burst more.
define($minimum 480, $routes 474319);

FromDPDKDevice(0) -> MinBatch($minimum) -> GetIPAddress(30) -> rt :: DirectIPLookup(FILE inputs/routes-${routes}.txt);
rt[0], rt[1], rt[2], rt[3] -> ToDPDKDevice(0, BLOCKING false);
