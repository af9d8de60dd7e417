#include "io/dpdk/devices.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <vector>

#include "core/error.h"
#include "io/dpdk/memif_buffers.h"

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

bool is_packet_socket_on(int descriptor, unsigned interface) {
  int domain = 0;
  socklen_t bytes = sizeof domain;
  if (getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) != 0 || domain != AF_PACKET) return false;
  sockaddr_ll address{};
  bytes = sizeof address;
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &bytes) == 0 &&
         address.sll_ifindex == static_cast<int>(interface);
}

std::vector<int> packet_sockets_on(const std::string& interface) {
  std::vector<int> list;
  const unsigned index = if_nametoindex(interface.c_str());
  for (auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    if (const int descriptor = std::stoi(entry.path().filename()); is_packet_socket_on(descriptor, index))
      list.push_back(descriptor);
  return list;
}

/** A classic BPF program for limit_packet_sockets. */
std::vector<sock_filter> frame_filter(bool outbound, uint16_t protocol) {
  const auto load = [](int what) {
    return sock_filter(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(SKF_AD_OFF + what)));
  };
  constexpr sock_filter drop = BPF_STMT(BPF_RET | BPF_K, 0), pass = BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
  std::vector<sock_filter> program;
  if (!outbound)
    program.insert(program.end(),
                   {load(SKF_AD_PKTTYPE), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1), drop});
  if (protocol != 0)
    program.insert(program.end(), {load(SKF_AD_PROTOCOL), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, protocol, 1, 0), drop});
  program.push_back(pass);
  return program;
}

}  // namespace

std::string name_of(const std::string& device) { return device.substr(0, device.find(',')); }

std::string argument_of(const std::string& device, const std::string& argument) {
  const size_t at = device.find("," + argument + "=");
  if (at == device.npos) return {};
  const size_t value = at + argument.size() + 2;
  return device.substr(value, device.find(',', value) - value);
}

bool is_memif_client(const std::string& device) {
  const std::string role = argument_of(device, "role");
  return device.starts_with("net_memif") && (role == "client" || role == "slave") &&
         argument_of(device, "zero-copy") != "yes";
}

uint64_t null_frame_bytes(const std::string& device) {
  constexpr uint64_t kDefault = 64;
  const std::string size = argument_of(device, "size");
  return size.empty() ? kDefault : std::strtoull(size.c_str(), nullptr, 0);  // as the driver reads it
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

bool limit_packet_sockets(const std::string& interface, bool outbound, uint16_t protocol) {
  std::vector<sock_filter> program = frame_filter(outbound, protocol);
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  for (const int descriptor : packet_sockets_on(interface))
    if (setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0) return false;
  return true;
}

uint64_t packet_socket_drops(const std::string& interface) {
  static std::mutex mutex;
  static std::map<std::string, uint64_t> all;
  const std::lock_guard lock(mutex);
  uint64_t& drops = all[interface];
  for (const int descriptor : packet_sockets_on(interface)) {
    tpacket_stats stats{};  // the kernel's count begins again at 0
    socklen_t bytes = sizeof stats;
    if (getsockopt(descriptor, SOL_PACKET, PACKET_STATISTICS, &stats, &bytes) == 0) drops += stats.tp_drops;
  }
  return drops;
}

uint32_t ring_frame_bytes(uint32_t frame_bytes) {
  constexpr uint32_t kRingHeaderBytes = 128, kUnit = 2048;  // tpacket2_hdr, sockaddr_ll, padding
  return (frame_bytes + kRingHeaderBytes + kUnit - 1) / kUnit * kUnit;
}

std::string with_composed_arguments(const std::string& device, int queues, uint32_t frame_bytes) {
  const std::string name = name_of(device);
  std::string result = device;
  if (is_memif_client(device) && argument_of(device, "bsize").empty()) result += format(",bsize=%u", kMemifBufferBytes);
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
