#include "elements/endpoints/link_types.h"

#include <utility>

#include "core/error.h"
#include "core/load.h"
#include "io/capture/record.h"

namespace heddle {
namespace {

constexpr uint32_t kNull = 0, kRaw = 101, kLoop = 108, kCooked = 113, kIpv4 = 228;

struct KnownLink {
  const char* name;
  uint32_t number;
  int header_bytes;  // before IP; -1: not known
};
constexpr KnownLink kLinkTypes[] = {
    {"ETHER", capture::kLinkTypeEthernet, 14},
    {"IP", kRaw, 0},
    {"IP", kIpv4, 0},
    {"IP", 12, 0},
    {"NULL", kNull, 4},
    {"LOOP", kLoop, 4},
    {"SLL", kCooked, 16},
    {"PPP", 9, -1},
    {"FDDI", 10, -1},
    {"802_11", 105, -1},
    {"802_11_RADIO", 127, -1},
    {"FR", 107, -1},
};

/** LINKTYPE_ names of www.tcpdump.org/linktypes.html. */
constexpr std::pair<uint32_t, const char*> kLinkTypeNames[] = {
    {kNull, "NULL"},
    {1, "ETHERNET"},
    {9, "PPP"},
    {12, "RAW"},
    {kRaw, "RAW"},
    {104, "C_HDLC"},
    {105, "IEEE802_11"},
    {107, "FRELAY"},
    {kLoop, "LOOP"},
    {kCooked, "LINUX_SLL"},
    {127, "IEEE802_11_RADIOTAP"},
    {187, "BLUETOOTH_HCI_H4"},
    {189, "USB_LINUX"},
    {195, "IEEE802_15_4_WITHFCS"},
    {220, "USB_LINUX_MMAPPED"},
    {kIpv4, "IPV4"},
    {229, "IPV6"},
    {239, "NFLOG"},
    {249, "USBPCAP"},
    {253, "NETLINK"},
    {276, "LINUX_SLL2"},
};

uint32_t type_at(const uint8_t* at) { return static_cast<uint32_t>(at[0] << 8 | at[1]); }
bool is_vlan(uint32_t type) { return type == 0x8100 || type == 0x88a8; }

}  // namespace

bool is_ip_link(uint32_t link_type) {
  for (const KnownLink& known : kLinkTypes)
    if (known.number == link_type) return known.header_bytes >= 0;
  return false;
}

int ip_offset(uint32_t link_type, const uint8_t* packet, uint32_t bytes) {
  uint32_t at = 0;
  for (const KnownLink& known : kLinkTypes)
    if (known.number == link_type) at = static_cast<uint32_t>(known.header_bytes);
  if (bytes < at + 20) return -1;
  if (link_type == capture::kLinkTypeEthernet || link_type == kCooked) {
    uint32_t type = type_at(packet + at - 2);
    while (is_vlan(type)) {
      at += 4;
      if (bytes < at + 20) return -1;
      type = type_at(packet + at - 2);
    }
    if (type != 0x0800) return -1;
  }
  const uint8_t* const header = packet + at;
  const uint32_t header_bytes = (header[0] & 15u) * 4, length = type_at(header + 2);
  if (header[0] >> 4 != 4 || header_bytes < 20 || bytes < at + header_bytes || length < header_bytes) return -1;
  return static_cast<int>(at);
}

void annotate_ip(Batch& batch, int i, uint32_t at) {
  const uint8_t* const header = batch.frame(i) + at;
  const uint32_t start = batch.packet(i)->data_off + at;
  batch.column(Column::dst)[i] = load_u32(header + 16);
  batch.column(Column::l3)[i] = start;
  batch.column(Column::l4)[i] = start + (header[0] & 15u) * 4;
}

std::string link_type_name(uint32_t link_type) {
  for (const KnownLink& known : kLinkTypes)
    if (known.number == link_type) return known.name;
  return std::to_string(link_type);
}

std::string link_type_for_people(uint32_t link_type) {
  for (const auto& [number, name] : kLinkTypeNames)
    if (number == link_type) return format("%u (%s)", number, name);
  return std::to_string(link_type);
}

std::optional<uint32_t> link_type_of_name(const std::string& name) {
  for (const KnownLink& known : kLinkTypes)
    if (name == known.name) return known.number;
  return std::nullopt;
}

std::string link_type_names() {
  std::string names, last;
  for (const KnownLink& known : kLinkTypes)
    if (known.name != last) names += (names.empty() ? "" : ", ") + (last = known.name);
  return names;
}

}  // namespace heddle
