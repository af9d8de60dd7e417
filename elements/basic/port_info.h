#pragma once

#include "core/element.h"

namespace heddle {

/** PortInfo: gives names to ports.
 *
 *      PortInfo(NAME PORT[/PROTOCOL] [NAME ...], ...)
 *
 *  No inputs, no outputs. Each argument gives one or more NAMEs to a PORT, 0 to 65535, of PROTOCOL, tcp or udp, or
 *  without that of both; it is a line of /etc/services, with a comment behind # or without. Of two ports at one
 *  protocol for the same name, the last one counts.
 *
 *  Other elements' arguments may then have the name in place of a port: patterns of IPFilter, IPClassifier and the
 *  rewriters, UDPIPEncap, FastUDPSource, UDPGen, Socket, McastSocket, ControlSocket. Where the port is one of TCP or
 *  UDP, either, a name that means different ports at the two is none. Names of a PortInfo within a compound element
 *  hold there and in the compound elements within it.
 *
 *  A name that no PortInfo explains may be that of a well-known service (http, domain, ntp, ...), the same on every
 *  host, or else one of the host's /etc/services.
 *
 *  It is an error if an argument has no port, or another protocol.
 *
 *  Example:
 *
 *      PortInfo(web 8080/tcp, game 27015 play);
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPFilter(allow dst port web or game) -> ToDump(allowed.pcap);
 */
class PortInfo : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
};

}  // namespace heddle
