// G-Opt, section 4: a switch with $macs addresses behind its ports 0 to 2. Packets come by port 3.
define($macs 1000000);

FromDPDKDevice(0) -> Paint(3) -> sw :: L2Switch(FILE inputs/macs-${macs}.txt, CAPACITY $macs, LEARN false);
sw[0], sw[1], sw[2], sw[3] -> ToDPDKDevice(0, BLOCKING false);
sw[4] -> Discard;
