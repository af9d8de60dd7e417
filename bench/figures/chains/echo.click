// G-Opt, section 4: every packet to one of four ports at random.
FromDPDKDevice(0) -> e :: Echo;
e[0], e[1], e[2], e[3] -> ToDPDKDevice(0, BLOCKING false);
