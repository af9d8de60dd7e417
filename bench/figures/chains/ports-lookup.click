// Thesis, section 4.10: the GPU drives the rings of the ports by itself, and looks up where packets go in a table of
// $routes routes, one after another.
define($queues 1, $routes 100);

FromGPUPort(wire, SOFTNIC net_null0, QUEUES $queues, NDESC 4096)
	-> GetIPAddress(30) -> rt :: LinearIPLookup(FILE inputs/routes-${routes}.txt);
rt[0], rt[1], rt[2], rt[3] -> ToGPUPort(wire);
