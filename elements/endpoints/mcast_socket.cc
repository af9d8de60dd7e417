#include "elements/endpoints/mcast_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "click/arguments.h"

namespace heddle {
namespace {

void check(int result, const char* what) {
  if (result != 0) throw Error(std::string(what) + ": " + std::strerror(errno));
}

int datagram_socket() {
  const int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) check(-1, "cannot make a socket");
  return descriptor;
}

}  // namespace

void McastSocket::configure(click::Arguments& arguments) {
  click::Ipv4Address group, source;
  click::Port port{.protocol = click::Port::kUdp, .number = 1}, source_port{.protocol = click::Port::kUdp};
  arguments.required("MCASTIP", group).required("MCASTPORT", port);
  arguments.optional("SOURCEIP", source).optional("SOURCEPORT", source_port);
  arguments.keyword("LOOP", loop_);
  read_options(arguments);
  if (group.value >> 28 != 14) arguments.error("MCASTIP", "an address of 224.0.0.0/4");
  if (port.number == 0) arguments.error("MCASTPORT", "a port; expected one from 1 to 65535");
  if (inputs == 0 && outputs == 0) arguments.error("neither input nor output is connected");
  address_ = inet(group.value, port.number);
  if (source.value != 0 || source_port.number != 0) local_ = inet(source.value, source_port.number);
  last_ = address_, answers_ = false;
}

void McastSocket::open() {
  if (outputs > 0) join();
  if (inputs == 0) return;
  peer_ = datagram_socket();
  set_options(peer_);
  const int loop = loop_ ? 1 : 0, one = 1;
  check(setsockopt(peer_, IPPROTO_IP, IP_MULTICAST_LOOP, &loop, sizeof loop), "cannot set LOOP");
  if (local_.bytes == 0) return;
  setsockopt(peer_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  check(setsockopt(peer_, IPPROTO_IP, IP_MULTICAST_IF, &local_.at.inet.sin_addr, sizeof(in_addr)),
        "no interface has SOURCEIP");
  check(bind(peer_, &local_.at.any, local_.bytes), "cannot bind the socket to its source");
  // The port that the kernel has chosen, if none was given.
  check(getsockname(peer_, &local_.at.any, &local_.bytes), "cannot find out the source port");
}

void McastSocket::join() {
  socket_ = datagram_socket();
  set_options(socket_);
  const int one = 1, none = 0;
  setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  check(bind(socket_, &address_.at.any, address_.bytes), "cannot bind the socket to the group");
  // Only what comes to the group by this membership, not by others of this host.
  check(setsockopt(socket_, IPPROTO_IP, IP_MULTICAST_ALL, &none, sizeof none), "cannot choose the group");
  ip_mreqn membership{address_.at.inet.sin_addr, local_.at.inet.sin_addr, 0};
  if (local_.bytes == 0) membership.imr_address.s_addr = INADDR_ANY;
  check(setsockopt(socket_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership), "cannot join the group");
}

bool McastSocket::is_own(const Address& from) const {
  return local_.bytes != 0 && from.at.inet.sin_port == local_.at.inet.sin_port &&
         from.at.inet.sin_addr.s_addr == local_.at.inet.sin_addr.s_addr;
}

HEDDLE_ELEMENT(McastSocket);

}  // namespace heddle
