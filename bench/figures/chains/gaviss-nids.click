// Gaviss, section 5.3, table 1: the NIDS alone.
define($signatures inputs/signatures-147.rules);

FromDPDKDevice(0) -> CheckIPHeader(14) -> ids :: NIDS($signatures) -> out :: ToDPDKDevice(0, BLOCKING false);
ids[1] -> NIDSConfirm(ids) -> out;
