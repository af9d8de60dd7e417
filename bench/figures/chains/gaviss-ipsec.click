// Gaviss, section 5.3, table 1: the IPsec gateway alone.
define($keys inputs/associations-1000.txt);

FromDPDKDevice(0) -> CheckIPHeader(14) -> IPsecSequence(esp) -> esp :: IPsecEncap($keys, OFFSET 14) -> out :: ToDPDKDevice(0, BLOCKING false);
