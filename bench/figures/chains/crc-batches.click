// Thesis, sections 4.4 to 4.9: CRC computation in batches of $minimum packets and up to a burst more, or what
// has come within $timer microseconds (-1: for ever), $lists lists a core.
define($minimum 992, $lists 1, $timer -1);

FromDPDKDevice(0) -> MinBatch($minimum, $timer) -> SetCRC32(LISTS_PER_CORE $lists) -> ToDPDKDevice(0, BLOCKING false);
