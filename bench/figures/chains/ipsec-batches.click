// GPU-Ether, section V.F: an IPsec gateway, in batches of $minimum packets and up to a burst more.
define($minimum 480, $keys inputs/associations-1000.txt);

FromDPDKDevice(0) -> CheckIPHeader(14) -> IPsecSequence(esp) -> MinBatch($minimum) -> esp :: IPsecEncap($keys, OFFSET 14)
	-> ToDPDKDevice(0, BLOCKING false);
