// Thesis, section 4.4: CRC computation over the whole packet.
FromDPDKDevice(0) -> SetCRC32 -> ToDPDKDevice(0, BLOCKING false);
