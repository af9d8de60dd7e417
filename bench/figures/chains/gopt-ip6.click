// G-Opt, section 4: an IPv6 router with $routes routes.
define($routes 200000);

FromDPDKDevice(0) -> CheckIP6Header(OFFSET 14) -> DecIP6HLIM -> rt :: LookupIP6Route(FILE inputs/routes6-${routes}.txt);
rt[0], rt[1], rt[2], rt[3] -> EtherRewrite(02:00:00:00:01:00, 02:00:00:00:00:01) -> ToDPDKDevice(0, BLOCKING false);
