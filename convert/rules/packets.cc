#include "convert/rules/packets.h"

#include <algorithm>

#include "core/error.h"
#include "io/capture/reader.h"

namespace heddle::classifier {
namespace {

// https://www.tcpdump.org/linktypes.html; IEEE 802.3, 3.2; IEEE 802.1Q, 9.6.
constexpr uint32_t kEthernet = 1, kRawIp = 101, kIp4Only = 228, kIp6Only = 229;
constexpr unsigned kVlanTag = 0x8100, kServiceTag = 0x88a8, kIp4Type = 0x0800, kIp6Type = 0x86dd;
constexpr uint32_t kIp6Bytes = 40;
constexpr uint32_t kMostOriginal = 1 << 18;  // of which no IP packet has more, whatever a capture says
constexpr const char* kCut = "cut off before the IP header";

/** For which of its lengths CheckIPHeader and CheckIP6Header would drop it, or "". Cuts what lies behind the IP packet.
 *  `whole`: nothing is missing at the end of the capture's bytes. */
std::string check_lengths(PacketView& view, bool whole) {
  const uint8_t* header = view.frame + view.network;
  const uint32_t room = view.bytes - view.network;
  const bool is_ip6 = header[0] >> 4 == 6;
  if ((!is_ip6 && header[0] >> 4 != 4) || room < (is_ip6 ? kIp6Bytes : kNetworkBytes)) return "";
  const uint32_t least = is_ip6 ? kIp6Bytes : (header[0] & 15u) * 4,
                 total = is_ip6 ? kIp6Bytes + header[4] * 256u + header[5] : header[2] * 256u + header[3];
  if (least < kNetworkBytes) return format("its IP header says that it has %u bytes itself, fewer than 20", least);
  if (total < least)
    return format("its IP header says that it has %u bytes in all, fewer than the header's %u", total, least);
  if (whole && total > room) return format("its IP header says that it has %u bytes, and there are %u", total, room);
  view.bytes = std::min(view.bytes, view.network + total);
  return "";
}

CapturedPacket packet_of(const uint8_t* data, uint32_t bytes, bool ethernet, bool whole) {
  CapturedPacket packet{{data, bytes, bytes, bytes, 0, 0}, "", nullptr, bytes, bytes};
  uint32_t at = 0;
  if (ethernet) {
    const auto type_at = [&](uint32_t offset) {
      return offset + 2 <= bytes ? data[offset] * 256u + data[offset + 1] : 0;
    };
    unsigned type = type_at(12);
    for (at = 14; type == kVlanTag || type == kServiceTag; at += 4) {
      packet.view.vlan = type_at(at) & 0xfff;
      type = type_at(at + 2);
    }
    if (at > bytes && !whole) return packet.problem = kCut, packet;
    if (type != kIp4Type && type != kIp6Type) return packet.problem = "no IP packet", packet;
  }
  if (at >= bytes) return packet.problem = whole ? "no IP packet" : kCut, packet;
  packet.view.network = at;
  const uint32_t header = data[at] >> 4 == 6 ? 40 : (data[at] & 15u) * 4;
  packet.problem = check_lengths(packet.view, whole);
  packet.view.transport = std::min(at + header, packet.view.bytes);
  return packet;
}

/** The same as read_captured(), of the bytes that are there. */
std::string read_view(const KeyReader& reader, const CapturedPacket& packet, std::vector<uint32_t>& values) {
  values.assign(reader.values(), 0);
  if (!packet.problem.empty()) return packet.problem;
  const Reading reading = reader.read(packet.view, values.data(), 1);
  return reading == Reading::not_ip4     ? "no IPv4 packet, and the rules look at no others"
         : reading == Reading::too_short ? "short"
                                         : "";
}

}  // namespace

std::string read_captured(const KeyReader& reader, const CapturedPacket& packet, std::vector<uint32_t>& values) {
  const std::string problem = read_view(reader, packet, values);
  if (packet.completed == nullptr) return problem;
  std::vector<uint32_t> others;
  const std::string other = read_view(reader, *packet.completed, others);
  if (problem != kCut && problem == other && values == others) return problem;
  return format("the capture has only %u of its %u bytes; the rules ask for bytes behind them", packet.captured,
                packet.original);
}

std::string each_packet(const std::string& path, const std::function<void(const CapturedPacket&)>& visit) {
  capture::Reader reader(path);
  capture::Record record;
  std::vector<uint8_t> bytes;
  while (reader.next(record)) {  // an interface of a pcapng each
    const uint32_t link = record.link_type;
    if (link != kEthernet && link != kRawIp && link != kIp4Only && link != kIp6Only)
      throw Error(format("'%s' has packets of link type %u; there are Ethernet (1) and IP (101, 228, 229)",
                         path.c_str(), link));
    const bool whole = record.captured >= record.original;
    CapturedPacket packet = packet_of(record.data, record.captured, link == kEthernet, whole), completed;
    if (!whole) {
      bytes.assign(record.data, record.data + record.captured);
      bytes.resize(std::max(record.captured, std::min(record.original, kMostOriginal)), 0xff);
      completed = packet_of(bytes.data(), static_cast<uint32_t>(bytes.size()), link == kEthernet, false);
      packet.completed = &completed;
      packet.original = record.original;
    }
    visit(packet);
  }
  return reader.damage();
}

}  // namespace heddle::classifier
