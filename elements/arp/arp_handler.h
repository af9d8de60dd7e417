#pragma once

#include "core/compound.h"

namespace heddle {

/** ARPHandler: ARP for one interface, both ways.
 *
 *      ARPHandler(IP, ETH)
 *
 *  As in FastClick. IP, ETH: addresses of the interface. Input 0: frames that the device has received. Output 0: frames
 *  for it: IPv4 packets with their Ethernet header, ARP requests and answers. Output 1: frames with IPv4 packets that
 *  have come in. Input 1: IPv4 packets without Ethernet header, to the next hop that the annotation dst says. Other
 *  frames are dropped. Its parts are called `classes`, `querier` (ARPQuerier) and `responder` (ARPResponder), with the
 *  handlers of their classes.
 *
 *  Example:
 *
 *      FromDevice(eth0) -> arp :: ARPHandler(10.0.0.1, 2:0:0:0:0:1) -> ToDevice(eth0);
 *      arp[1] -> Strip(14) -> CheckIPHeader -> ICMPPingResponder -> Queue -> Unqueue -> [1]arp;
 */
class ARPHandler : public Compound {
 public:
  static constexpr const char* kText = R"({
    $ip, $mac |
    input -> classes :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800);
    input[1] -> querier :: ARPQuerier($ip, $mac) -> output;
    classes[0] -> responder :: ARPResponder($ip $mac) -> output;
    classes[1] -> [1]querier;
    classes[2] -> [1]output
  })";
};

}  // namespace heddle
