// Gaviss, section 5.3, table 1: the firewall alone.
define($rules inputs/rules-1000.txt);

FromDPDKDevice(0) -> CheckIPHeader(14) -> Firewall(RULES $rules, ACTION allow, DEFAULT allow) -> out :: ToDPDKDevice(0, BLOCKING false);
