// An IPv6 router of two networks: checks and forwards by destination, counts down the hop limit, writes the next hop's
// Ethernet addresses.
//
//     heddle run chains/router6.click
//     heddle run chains/router6.click IN=my.pcap ROUTES=my.routes OUT=/tmp/my --device gpu

define($IN chains/traffic6.pcap, $ROUTES chains/router6.routes, $OUT build/router6);

elementclass Port6 { $out, $mac, $next |
    input -> limit :: DecIP6HLIM -> Unstrip(14) -> EtherRewrite($mac, $next) -> sent :: Counter -> ToDump($out);
    limit[1] -> expired :: Counter -> Discard;
};

FromDump($IN)
    -> kind :: Classifier(12/86dd, -)
    -> Strip(14)
    -> CheckIP6Header
    -> valid :: Counter
    -> routes :: LookupIP6Route(FILE $ROUTES);
kind[1] -> other :: Counter -> Discard;

routes[0] -> Port6(${OUT}_customers.pcap, 02:00:00:00:01:00, 02:00:00:00:00:01);
routes[1] -> Port6(${OUT}_peers.pcap, 02:00:00:00:02:00, 02:00:00:00:00:02);
routes[2] -> unroutable :: Counter -> Discard;
