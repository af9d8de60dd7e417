#include "functions/classifier/key_reader.h"

#include <arpa/inet.h>

namespace heddle::classifier {
namespace {

constexpr uint32_t kIp6Bytes = 40, kIp6NextHeader = 6, kIp6Source = 8, kIp6Destination = 24;  // RFC 8200, section 3

/** The number in `length` bytes, of which there are `there`; 0 if it is not whole. */
uint32_t number_at(const uint8_t* start, uint32_t there, uint32_t offset, uint32_t length) {
  if (offset + length > there) return 0;
  uint32_t value = 0;
  for (uint32_t i = 0; i < length; ++i) value = value << 8 | start[offset + i];
  return value;
}

/** Sets the ports; false if they are not there. */
bool read_ports(const PacketView& packet, uint32_t* values, size_t stride) {
  if (packet.bytes - packet.transport < kPortBytes) return false;
  const uint32_t ports = load_u32(packet.frame + packet.transport);
  values[kSourcePort * stride] = source_port(ports);
  values[kDestinationPort * stride] = destination_port(ports);
  return true;
}

}  // namespace

KeyReader::KeyReader(Layout layout) : layout_(std::move(layout)), versions_(versions_of(layout_)) {}

bool KeyReader::read_ip4(const PacketView& packet, uint32_t* values, size_t stride, bool& later_fragment) const {
  const uint8_t* header = packet.frame + packet.network;
  const uint32_t control = load_u16(header + 6) | static_cast<uint32_t>(header[9]) << 24;
  values[kSource * stride] = ntohl(load_u32(header + 12));
  values[kDestination * stride] = ntohl(load_u32(header + 16));
  values[kProtocol * stride] = protocol_of(control);
  later_fragment = (control & 0xff1f) != 0;
  return !has_ports(control) || read_ports(packet, values, stride);
}

bool KeyReader::read_ip6(const PacketView& packet, uint32_t* values, size_t stride) const {
  if (packet.bytes - packet.network < kIp6Bytes) return false;
  const uint8_t* header = packet.frame + packet.network;
  values[kSource * stride] = ntohl(load_u32(header + kIp6Source));
  values[kDestination * stride] = ntohl(load_u32(header + kIp6Destination));
  values[kProtocol * stride] = header[kIp6NextHeader];
  return !has_ports(static_cast<uint32_t>(header[kIp6NextHeader]) << 24) || read_ports(packet, values, stride);
}

void KeyReader::read_more(const PacketView& packet, bool later_fragment, uint32_t* values, size_t stride) const {
  const uint32_t network_bytes = packet.bytes - packet.network,
                 transport_bytes = later_fragment ? 0 : packet.bytes - packet.transport;
  const uint8_t* network = packet.frame + packet.network;
  const bool is_ip6 = versions_ == Versions::both && network[0] >> 4 == 6;
  const uint32_t* key = values;
  values += kFields * stride;
  for (const auto& [kind, length, offset] : layout_) {
    uint32_t value = 0;
    switch (kind) {
      case Place::field:
        value = key[offset * stride];
        break;
      case Place::version:
        value = network[0] >> 4;
        break;
      case Place::source6:
      case Place::destination6:
        if (is_ip6)
          value =
              number_at(network, network_bytes, (kind == Place::source6 ? kIp6Source : kIp6Destination) + offset, 4);
        break;
      case Place::vlan:
        value = packet.vlan & 0xfff;
        break;
      case Place::paint:
        value = packet.paint & 0xff;
        break;
      case Place::frame:
        value = number_at(packet.frame, packet.bytes, offset, length);
        break;
      case Place::network:
        value = number_at(network, network_bytes, offset, length);
        break;
      case Place::transport:
        value = number_at(packet.frame + packet.transport, transport_bytes, offset, length);
        break;
    }
    *values = value;
    values += stride;
  }
}

Reading KeyReader::read(const PacketView& packet, uint32_t* values, size_t stride) const {
  for (size_t f = 0; f < this->values(); ++f) values[f * stride] = 0;
  if (packet.bytes - packet.network < kNetworkBytes) return Reading::too_short;
  bool later_fragment = false;
  const unsigned version = packet.frame[packet.network] >> 4;
  if (version != 4 && versions_ == Versions::ip4) return Reading::not_ip4;
  const bool whole = version == 4                                  ? read_ip4(packet, values, stride, later_fragment)
                     : version == 6 && versions_ == Versions::both ? read_ip6(packet, values, stride)
                                                                   : true;
  if (!whole)
    for (size_t f = 0; f < kFields; ++f) values[f * stride] = 0;
  else if (!layout_.empty())
    read_more(packet, later_fragment, values, stride);
  return whole ? Reading::whole : Reading::too_short;
}

Access KeyReader::access() const {
  using enum heddle::Base;
  Access access{.reads = {{l3, 0, 1}, {l3, 6, 8}, {l3, 9, 10}, {l3, 12, 20}, {l4, 0, 4}},
                .column_reads = columns(Column::l3, Column::l4)};
  if (versions_ == Versions::both) access.reads.push_back({l3, 6, 40});
  for (const auto& [kind, length, offset] : layout_) {
    const int from = offset, to = offset + length;
    if (kind == Place::vlan) access.column_reads |= columns(Column::vlan);
    if (kind == Place::paint) access.column_reads |= columns(Column::paint);
    if (kind == Place::frame) access.reads.push_back({head, from, to});
    if (kind == Place::network) access.reads.push_back({l3, from, to});
    if (kind == Place::transport) access.reads.push_back({l4, from, to});
  }
  return access;
}

}  // namespace heddle::classifier
