// Thesis, section 4.5, figure 2.3: Ethernet mirroring by a master that has the GPU, for 2 workers with a port each.
define($minimum 992);

in0 :: FromDPDKDevice(0) -> Paint(0) -> master :: Pipeliner(8192);
in1 :: FromDPDKDevice(1) -> Paint(1) -> master;

master -> MinBatch($minimum) -> EtherMirror -> back :: PaintSwitch;
back[0] -> to0 :: Pipeliner(8192) -> ToDPDKDevice(0, BLOCKING false);
back[1] -> to1 :: Pipeliner(8192) -> ToDPDKDevice(1, BLOCKING false);

StaticThreadSched(master 2, in0 0, to0 0, in1 1, to1 1);
