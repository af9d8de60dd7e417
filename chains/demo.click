// Reads a capture, drops what is not valid IPv4, routes the rest by destination, sends the inside's packets back to
// where they came from, and writes a capture per output.
//
//     heddle run chains/demo.click
//     heddle run chains/demo.click OUT=/tmp/mine --device gpu

define($IN chains/traffic.pcap, $ROUTES chains/routes.txt, $OUT build/demo);

FromDump($IN)
    -> received :: Counter
    -> CheckIPHeader(14)
    -> valid :: Counter
    -> routes :: DirectIPLookup(FILE $ROUTES);

routes[0] -> EtherMirror -> inside :: Counter -> ToDump(${OUT}_inside.pcap);
routes[1] -> servers :: Counter -> ToDump(${OUT}_servers.pcap);
routes[2] -> others :: Counter -> ToDump(${OUT}_others.pcapng);
