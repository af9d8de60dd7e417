// An NDN forwarder without state: Interests by the longest prefix of their names, Data packets to those who asked,
// which are all behind one port.
//
//     heddle run chains/ndn.click
//     heddle run chains/ndn.click IN=my.pcap NAMES=my.names OUT=/tmp/my --device gpu

define($IN chains/ndn.pcap, $NAMES chains/ndn.names, $OUT build/ndn);

FromDump($IN)
    -> kind :: Classifier(12/8624, -)
    -> names :: NDNLookup(FILE $NAMES, DATA 2);
kind[1] -> other :: Counter -> Discard;

names[0] -> campus :: Counter -> ToDump(${OUT}_campus.pcap);
names[1] -> provider :: Counter -> ToDump(${OUT}_provider.pcap);
names[2] -> data :: Counter -> ToDump(${OUT}_data.pcap);
