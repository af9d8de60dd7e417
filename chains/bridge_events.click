// The event-driven model (Schramm 2022, 5.2) of chains/bridge.click, with the same policy: a thread takes packets from the port and starts
// their classification, without waiting for it; what is done is handed to a thread that sends it to the tap.
//
//     heddle run chains/bridge_events.click PORT=net_af_packet0,iface=eth0 -j 2 SENDER=1 --device gpu --launch async

define($PORT "net_af_packet0,iface=eth0", $TAP fw0, $RULES chains/firewall.rules, $DEFAULT deny, $ENGINE auto, $BURST 64,
       $SENDER 0);

sender :: Pipeliner -> to_tap :: ToHost($TAP, BURST $BURST);

port :: FromDPDKDevice("$PORT", BURST $BURST) -> from_port :: Counter -> kind :: Classifier(12/0800, 12/0806, -);

kind[0] -> ip :: CheckIPHeader(14) -> tiny :: Classifier(20/0001%1fff 23/06, -);
tiny[0] -> Discard;
tiny[1] -> fw :: Firewall(RULES $RULES, DEFAULT $DEFAULT, ENGINE $ENGINE) -> sender;
kind[1] -> arp :: Counter -> sender;
kind[2] -> other :: Counter -> Discard;

host :: FromHost($TAP, BURST $BURST) -> from_host :: Counter -> ToDPDKDevice("$PORT", BURST $BURST);

StaticThreadSched(port 0, host $SENDER, sender $SENDER);
