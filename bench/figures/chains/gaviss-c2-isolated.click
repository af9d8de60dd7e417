// Gaviss, section 5.2, chain C2 of its baseline: each function parses headers for itself, on the CPU, and so transfers
// packets for itself, too. Otherwise as gaviss-c2.click.
define($rules inputs/rules-1000.txt, $signatures inputs/signatures-147.rules, $keys inputs/associations-1000.txt,
	$routes inputs/routes-10000.txt, $open false);

FromDPDKDevice(0) -> IPsecSequence(esp)
	-> CheckIPHeader(14) -> ids :: NIDS($signatures);
ids[0] -> CheckIPHeader(14) -> rt :: DirectIPLookup(FILE $routes);
rt[0], rt[1], rt[2], rt[3] -> CheckIPHeader(14) -> esp :: IPsecEncap($keys, OFFSET 14)
	-> back :: Bypass($open) -> out :: ToDPDKDevice(0, BLOCKING false);
ids[1] -> NIDSConfirm(ids) -> late :: DirectIPLookup(FILE $routes, DEVICE cpu);
late[0], late[1], late[2], late[3] -> IPsecEncap($keys, OFFSET 14, DEVICE cpu) -> back;
// In the place of the tunnels' other end, so that heddle bench knows its packets again.
back[1] -> IPsecDecap($keys, OFFSET 14, DEVICE cpu) -> out;
