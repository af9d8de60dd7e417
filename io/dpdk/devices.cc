#include "io/dpdk/devices.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "core/error.h"

namespace heddle::dpdk {
namespace {

/** Asks the kernel about an interface; false with errno. */
bool ask(const std::string& interface, unsigned long what, ifreq& request) {
  if (interface.size() >= IFNAMSIZ) {
    errno = ENODEV;
    return false;
  }
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (any < 0) return false;
  const int result = ioctl(any, what, &request), error = errno;
  close(any);
  errno = error;
  return result == 0;
}

}  // namespace

std::string name_of(const std::string& device) { return device.substr(0, device.find(',')); }

std::string argument_of(const std::string& device, const std::string& argument) {
  const size_t at = device.find("," + argument + "=");
  if (at == device.npos) return {};
  const size_t value = at + argument.size() + 2;
  return device.substr(value, device.find(',', value) - value);
}

bool is_number(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool is_pci(const std::string& name) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  int end = 0;
  if (std::sscanf(name.c_str(), "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &end) == 4)
    return static_cast<size_t>(end) == name.size();
  return std::sscanf(name.c_str(), "%x:%x.%x%n", &bus, &device, &function, &end) == 3 &&
         static_cast<size_t>(end) == name.size();
}

bool is_virtual(const std::string& name) { return name.starts_with("net_") || name.starts_with("eth_"); }

Link link_of(const std::string& interface) {
  ifreq request{};
  if (!ask(interface, SIOCGIFFLAGS, request)) return errno == ENODEV ? Link::gone : Link::down;
  return (request.ifr_flags & IFF_UP) != 0 && (request.ifr_flags & IFF_RUNNING) != 0 ? Link::up : Link::down;
}

std::optional<int> mtu_of(const std::string& interface) {
  ifreq request{};
  if (!ask(interface, SIOCGIFMTU, request)) return std::nullopt;
  return request.ifr_mtu;
}

bool set_mtu(const std::string& interface, int mtu) {
  ifreq request{};
  request.ifr_mtu = mtu;
  return ask(interface, SIOCSIFMTU, request);
}

uint32_t ring_frame_bytes(uint32_t frame_bytes) {
  constexpr uint32_t kRingHeaderBytes = 128, kUnit = 2048;  // tpacket2_hdr, sockaddr_ll, padding
  return (frame_bytes + kRingHeaderBytes + kUnit - 1) / kUnit * kUnit;
}

std::string with_composed_arguments(const std::string& device, int queues, uint32_t frame_bytes) {
  const std::string name = name_of(device);
  std::string result = device;
  if (!name.starts_with("net_af_packet")) return result;
  if (queues > 1 && argument_of(device, "qpairs").empty()) result += format(",qpairs=%d", queues);
  if (frame_bytes > 0 && argument_of(device, "framesz").empty() && argument_of(device, "blocksz").empty()) {
    // Two frames a block are whole pages.
    const uint32_t bytes = ring_frame_bytes(frame_bytes);
    result += format(",framesz=%u,blocksz=%u", bytes, 2 * bytes);
    if (argument_of(device, "framecnt").empty()) result += ",framecnt=512";
  }
  return result;
}

}  // namespace heddle::dpdk
