// The event-driven model (Schramm 2022, 5.2) of chains/bridge.click, with the same policy: a thread takes packets from
// the port and starts their classification, without waiting for it; what is done is handed to a thread that sends it to
// the tap.
//
//     heddle run chains/bridge_events.click PORT=net_af_packet0,iface=eth0 -j 2 SENDER=1 --device gpu --launch async

require(library library/bridge_policy.click);

define($PORT "net_af_packet0,iface=eth0", $TAP fw0, $RULES chains/firewall.rules, $DEFAULT deny, $ENGINE auto, $BURST 64,
       $SENDER 0);

port :: FromDPDKDevice("$PORT", BURST $BURST) -> from_port;
passed :: Pipeliner -> to_tap :: ToHost($TAP, BURST $BURST);

host :: FromHost($TAP, BURST $BURST) -> from_host :: Counter -> ToDPDKDevice("$PORT", BURST $BURST);

StaticThreadSched(port 0, host $SENDER, passed $SENDER);
