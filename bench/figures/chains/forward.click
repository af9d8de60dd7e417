// Thesis, section 4.3: the baseline, which sends back what it receives.
FromDPDKDevice(0) -> ToDPDKDevice(0, BLOCKING false);
