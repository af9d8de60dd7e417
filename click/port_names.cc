#include "click/port_names.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <array>

namespace heddle::click {
namespace {

/** -1: the protocol has no service of that name. */
struct Service {
  const char* name;
  int tcp, udp;
};
// IANA's services under the names that Click and /etc/services use.
constexpr Service kServices[] = {
    {"echo", 7, 7},
    {"discard", 9, 9},
    {"daytime", 13, 13},
    {"chargen", 19, 19},
    {"ftp-data", 20, 20},
    {"ftp", 21, 21},
    {"ssh", 22, 22},
    {"telnet", 23, 23},
    {"smtp", 25, 25},
    {"time", 37, 37},
    {"whois", 43, 43},
    {"tacacs", 49, 49},
    {"domain", 53, 53},
    {"dns", 53, 53},
    {"bootps", 67, 67},
    {"bootpc", 68, 68},
    {"tftp", 69, 69},
    {"gopher", 70, 70},
    {"finger", 79, 79},
    {"www", 80, 80},
    {"http", 80, 80},
    {"kerberos", 88, 88},
    {"pop3", 110, 110},
    {"sunrpc", 111, 111},
    {"auth", 113, 113},
    {"nntp", 119, 119},
    {"ntp", 123, 123},
    {"netbios-ns", 137, 137},
    {"netbios-dgm", 138, 138},
    {"netbios-ssn", 139, 139},
    {"imap2", 143, 143},
    {"imap", 143, 143},
    {"snmp", 161, 161},
    {"snmp-trap", 162, 162},
    {"bgp", 179, 179},
    {"irc", 194, 194},
    {"imap3", 220, 220},
    {"ldap", 389, 389},
    {"https", 443, 443},
    {"microsoft-ds", 445, 445},
    {"isakmp", 500, 500},
    {"exec", 512, -1},
    {"biff", -1, 512},
    {"login", 513, -1},
    {"who", -1, 513},
    {"shell", 514, -1},
    {"syslog", 514, 514},
    {"printer", 515, 515},
    {"rip", 520, 520},
    {"route", 520, 520},
    {"ldaps", 636, 636},
    {"imaps", 993, 993},
    {"pop3s", 995, 995},
    {"socks", 1080, 1080},
    {"openvpn", 1194, 1194},
    {"l2tp", 1701, 1701},
    {"radius", 1812, 1812},
    {"radius-acct", 1813, 1813},
    {"nfs", 2049, 2049},
    {"mysql", 3306, 3306},
    {"rdp", 3389, 3389},
    {"ipsec-nat-t", 4500, 4500},
    {"vxlan", -1, 4789},
    {"sip", 5060, 5060},
    {"postgresql", 5432, 5432},
    {"x11", 6000, -1},
    {"http-alt", 8080, 8080},
};

}  // namespace

std::optional<uint16_t> well_known_port(std::string_view service, bool udp) {
  for (const Service& known : kServices) {
    if (service != known.name) continue;
    const int port = udp ? known.udp : known.tcp;
    return port < 0 ? std::nullopt : std::optional(static_cast<uint16_t>(port));
  }
  return std::nullopt;
}

std::optional<uint16_t> port_of_host(std::string_view service, bool udp) {
  const std::string name(service);
  std::array<char, 4096> text;  // for the entry's names
  servent entry{}, *found = nullptr;
  if (getservbyname_r(name.c_str(), udp ? "udp" : "tcp", &entry, text.data(), text.size(), &found) != 0) return {};
  return found == nullptr ? std::nullopt : std::optional(ntohs(static_cast<uint16_t>(found->s_port)));
}

std::vector<std::string> well_known_services() {
  std::vector<std::string> names;
  for (const Service& known : kServices) names.emplace_back(known.name);
  return names;
}

}  // namespace heddle::click
