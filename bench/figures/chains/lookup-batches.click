// Thesis, sections 4.4 to 4.9: IP lookup in a table of $routes routes, one after another, in batches of $minimum
// packets and up to a burst more, or what has come within $timer microseconds (-1: for ever), $lists lists a core.
define($minimum 992, $lists 1, $timer -1, $routes 100);

FromDPDKDevice(0) -> MinBatch($minimum, $timer) -> GetIPAddress(30)
	-> rt :: LinearIPLookup(FILE inputs/routes-${routes}.txt, LISTS_PER_CORE $lists);
rt[0], rt[1], rt[2], rt[3] -> ToDPDKDevice(0, BLOCKING false);
