// Thesis, section 4.4: Ethernet mirroring.
FromDPDKDevice(0) -> EtherMirror -> ToDPDKDevice(0, BLOCKING false);
