// Gaviss, sections 2.2 and 5.2: Two functions that go over the whole packet, each by itself on the GPU, for the CPU
// looks at packets behind each. XOR leaves the bytes as they are.
FromDPDKDevice(0)
	-> XOR(0) -> CheckLength(9216)
	-> XOR(0) -> CheckLength(9216)
	-> ToDPDKDevice(0, BLOCKING false);
