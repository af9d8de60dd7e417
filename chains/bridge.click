// The firewall of Schramm, Offloading network packet classification to GPUs (2022), 3.1.2: a bridge on layer 2 between
// a port and the tap fw0, behind which the host is. What comes from the port is sorted by rules; what the host sends
// goes out as it is.
//
//     heddle run chains/bridge.click PORT=net_af_packet0,iface=eth0
//     heddle run chains/bridge.click PORT=0000:03:00.0 RULES=my.rules DEFAULT=allow BURST=1024 -j 2
//     heddle run chains/bridge.click PORT=net_af_packet0,iface=eth0 --device gpu --launch async
//
// The thesis' launch types are --launch sync (on demand), async and persistent; its queues are -j, one of the port and
// one of the tap for each thread; its bursts are BURST, 64 to 1024, of which a launch takes all. PORT: as for
// FromDPDKDevice. The host gives fw0 an address when it is there (ip address add 192.0.2.2/24 dev fw0). Needs root.
// What becomes of packets from the port is in chains/library/bridge_policy.click.

require(library library/bridge_policy.click);

define($PORT "net_af_packet0,iface=eth0", $TAP fw0, $RULES chains/firewall.rules, $DEFAULT deny, $ENGINE auto, $BURST 64);

FromDPDKDevice("$PORT", BURST $BURST) -> from_port;
passed :: ToHost($TAP, BURST $BURST);

FromHost($TAP, BURST $BURST) -> from_host :: Counter -> ToDPDKDevice("$PORT", BURST $BURST);
