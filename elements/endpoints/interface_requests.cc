#include "elements/endpoints/interface_requests.h"

#include <arpa/inet.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace heddle {
namespace {

sockaddr inet(uint32_t address) {
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr.s_addr = htonl(address);
  sockaddr any{};
  std::memcpy(&any, &in, sizeof any);
  return any;
}

}  // namespace

bool parse(std::string_view text, InterfaceAddress& value) {
  click::Ipv4Address address;
  click::Ipv4Prefix prefix;
  const size_t slash = text.find('/');
  if (slash == text.npos || !click::parse(text.substr(0, slash), address) || !click::parse(text, prefix)) return false;
  value = {address, prefix.length};
  return true;
}
std::string expectation(InterfaceAddress) { return "an IPv4 address and its mask such as 192.0.2.1/24"; }

bool read_address(const click::Arguments& arguments, std::string_view text, InterfaceAddress& value) {
  if (parse(text, value)) return true;
  click::Ipv4Address address;
  click::Ipv4Prefix network;
  if (click::parse(text, network) || !arguments.read(text, address) || !arguments.read(text, network)) return false;
  value = {address, network.length};
  return true;
}

InterfaceRequests::InterfaceRequests(std::string interface)
    : interface_(std::move(interface)), socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {}

InterfaceRequests::~InterfaceRequests() {
  if (socket_ >= 0) close(socket_);
}

ifreq InterfaceRequests::named() const {
  ifreq request{};
  interface_.copy(request.ifr_name, sizeof request.ifr_name - 1);
  return request;
}

void InterfaceRequests::ask(unsigned long what, void* request, const char* thing) const {
  if (ioctl(socket_, what, request) != 0)
    throw Error(interface_ + ": cannot set " + thing + ": " + std::strerror(errno));
}

void InterfaceRequests::set_address(const InterfaceAddress& to) {
  ifreq request = named();
  request.ifr_addr = inet(to.address.value);
  ask(SIOCSIFADDR, &request, "its address");
  request.ifr_netmask = inet(to.mask());
  ask(SIOCSIFNETMASK, &request, "its network mask");
}

void InterfaceRequests::set_ethernet_address(const click::EthernetAddress& to) {
  ifreq request = named();
  request.ifr_hwaddr.sa_family = ARPHRD_ETHER;
  std::memcpy(request.ifr_hwaddr.sa_data, to.bytes.data(), to.bytes.size());
  ask(SIOCSIFHWADDR, &request, "its Ethernet address");
}

void InterfaceRequests::set_mtu(int mtu) {
  ifreq request = named();
  request.ifr_mtu = mtu;
  ask(SIOCSIFMTU, &request, "its MTU");
}

void InterfaceRequests::bring_up() {
  ifreq request = named();
  ask(SIOCGIFFLAGS, &request, "its flags");
  request.ifr_flags = static_cast<short>(request.ifr_flags | IFF_UP);
  ask(SIOCSIFFLAGS, &request, "its flags");
}

void InterfaceRequests::add_default_route(click::Ipv4Address gateway) {
  rtentry route{};
  route.rt_dst = route.rt_genmask = inet(0);
  route.rt_gateway = inet(gateway.value);
  route.rt_flags = RTF_UP | RTF_GATEWAY;
  route.rt_dev = interface_.data();
  ask(SIOCADDRT, &route, "the default route");
}

}  // namespace heddle
