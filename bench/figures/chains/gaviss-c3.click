// Gaviss, section 5.1, chain C3: firewall, NIDS, IPsec gateway. Rules, signatures, routes and associations are
// generated (gaviss.py). Candidates of the NIDS are confirmed on the CPU, where functions of their own take them the
// rest of the way.
define($rules inputs/rules-1000.txt, $signatures inputs/signatures-147.rules, $keys inputs/associations-1000.txt,
	$routes inputs/routes-10000.txt, $open false);

FromDPDKDevice(0) -> CheckIPHeader(14) -> IPsecSequence(esp)
	-> Firewall(RULES $rules, ACTION allow, DEFAULT allow)
	-> ids :: NIDS($signatures);
ids[0] -> esp :: IPsecEncap($keys, OFFSET 14)
	-> back :: Bypass($open) -> out :: ToDPDKDevice(0, BLOCKING false);
ids[1] -> NIDSConfirm(ids) -> IPsecEncap($keys, OFFSET 14, DEVICE cpu) -> back;
// In the place of the tunnels' other end, so that heddle bench knows its packets again.
back[1] -> IPsecDecap($keys, OFFSET 14, DEVICE cpu) -> out;
