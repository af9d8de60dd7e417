// A router with three ports, on the GPU alone: it checks the headers of what comes from any of them, looks up where it
// goes, and sends it by the port of its next hop. The CPU sees no packet.
//
//     heddle run chains/gpu_ip_router.click --device gpu
//
// The ports are memifs, of any programs that speak memif and call at /tmp/lan.sock, /tmp/inside.sock and
// /tmp/servers.sock, with one ring to the router and three from it: one for what comes from each port. A port whose
// ring is full, or that has no peer, drops what it cannot send, and the others go on. Without a GPU: --device simt,
// which is slow and for trying.

define($SOCKETS /tmp, $ROUTES chains/routes.txt);

ip :: CheckIPHeader(14, DEVICE gpu)
	-> rt :: DirectIPLookup(FILE $ROUTES, DEVICE gpu);

FromGPUPort(lan, SOCKET $SOCKETS/lan.sock, ROLE server) -> ip;
FromGPUPort(inside, SOCKET $SOCKETS/inside.sock, ROLE server) -> ip;
FromGPUPort(servers, SOCKET $SOCKETS/servers.sock, ROLE server) -> ip;

rt[0] -> inside :: ToGPUPort(inside);
rt[1] -> servers :: ToGPUPort(servers);
rt[2] -> lan :: ToGPUPort(lan);
