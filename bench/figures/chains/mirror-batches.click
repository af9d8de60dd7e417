// Thesis, sections 4.4 to 4.9: Ethernet mirroring in batches of $minimum packets and up to a burst more, $lists lists a
// core.
define($minimum 992, $lists 1);

FromDPDKDevice(0) -> MinBatch($minimum) -> EtherMirror(LISTS_PER_CORE $lists) -> ToDPDKDevice(0, BLOCKING false);
