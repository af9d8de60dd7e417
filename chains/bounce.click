// Sends every packet back to the port that it came from, with its addresses swapped. With net_null this measures the
// program itself; for a network interface (root):
//
//     heddle run chains/bounce.click --time 1
//     heddle run chains/bounce.click PORT=net_af_packet0,iface=eth0

define($PORT net_null0);

FromDPDKDevice("$PORT") -> frames :: Counter -> EtherMirror -> ToDPDKDevice("$PORT");
