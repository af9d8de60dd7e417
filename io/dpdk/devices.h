#pragma once

#include <cstdint>
#include <optional>
#include <string>

/** What the name of a device says, and the kernel interfaces behind some of them. */
namespace heddle::dpdk {

/** Longest frame that a port with large frames takes, whatever its MTU: Ethernet header and VLAN tag included. */
constexpr uint32_t kMaxJumboBytes = 9216 + 18;

/** "net_af_packet0,iface=eth0" is called "net_af_packet0". */
std::string name_of(const std::string& device);
/** The value that a device gives to an argument ("iface" above: "eth0"), "" = none. */
std::string argument_of(const std::string& device, const std::string& argument);

/** Whether the device makes the buffers that it shares with another program over memif. */
bool is_memif_client(const std::string& device);

/** Bytes of the frames that a net_null device gives. */
uint64_t null_frame_bytes(const std::string& device);

bool is_number(const std::string& name);
bool is_pci(const std::string& name);  ///< [domain:]bus:device.function
bool is_virtual(const std::string& name);

enum class Link : uint8_t { up, down, gone };
Link link_of(const std::string& interface);
std::optional<int> mtu_of(const std::string& interface);
/** False, with errno, when the kernel refuses. */
bool set_mtu(const std::string& interface, int mtu);

/** Makes this program's packet sockets on `interface`, which a driver has opened, let fewer frames through: not those
 *  that the kernel itself sends there, unless `outbound`; only those of EtherType `protocol`, unless it is 0. False,
 *  with errno, when the kernel refuses. */
bool limit_packet_sockets(const std::string& interface, bool outbound, uint16_t protocol);

/** Frames that the kernel could not give to this program's packet sockets on `interface`, for want of room, so far. Any
 *  thread. */
uint64_t packet_socket_drops(const std::string& interface);

/** Bytes that a frame buffer of af_packet's ring has for frames of `frame_bytes`: the ring's header included. */
uint32_t ring_frame_bytes(uint32_t frame_bytes);

/** The device with the arguments that Heddle adds where the user gave none: queues for `threads`, room for frames of
 *  `frame_bytes` (0: ordinary ones), and memif buffers that hold any of them. */
std::string with_composed_arguments(const std::string& device, int queues, uint32_t frame_bytes);

}  // namespace heddle::dpdk
