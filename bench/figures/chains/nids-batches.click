// GPU-Ether, section V.F: the pattern stage of the NIDS, in batches of $minimum packets and up to a burst more.
define($minimum 480, $signatures inputs/signatures-147.rules);

FromDPDKDevice(0) -> CheckIPHeader(14) -> MinBatch($minimum) -> ids :: NIDS($signatures) -> out :: ToDPDKDevice(0, BLOCKING false);
ids[1] -> out;
