// Thesis, section 4.5, figure 2.3: Ethernet mirroring by a master that has the GPU, for 1 worker with a port each.
define($minimum 992);

in0 :: FromDPDKDevice(0) -> Paint(0) -> master :: Pipeliner(8192);

master -> MinBatch($minimum) -> EtherMirror -> back :: PaintSwitch;
back[0] -> to0 :: Pipeliner(8192) -> ToDPDKDevice(0, BLOCKING false);

StaticThreadSched(master 1, in0 0, to0 0);
