#include "elements/endpoints/flow_frames.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"
#include "elements/ip/transport.h"
#include "elements/ip6/addresses.h"

namespace heddle {
namespace {

constexpr double kMaxFrames = 1e9;  // a second

void put16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8), at[1] = static_cast<uint8_t>(value);
}

}  // namespace

void FlowFrames::configure_frames(click::Arguments& arguments, Ports* ports) {
  double rate = 0;
  int64_t limit = -1;
  click::EthernetAddress source, destination;
  click::Ipv4Address from, to;
  Ip6Argument from6, to6;
  const bool is_ip6 = kind_ == Kind::udp6;
  click::Port sport{.protocol = kind_ == Kind::tcp ? click::Port::kTcp : click::Port::kUdp}, dport = sport;
  frame_bytes_ = std::max(60u, header_bytes());
  arguments.required("RATE", rate, 0.0, kMaxFrames).required("LIMIT", limit);
  arguments.required("LENGTH", frame_bytes_, frame_bytes_, 9216u).required("SRCETH", source);
  is_ip6 ? arguments.required("SRCIP6", from6) : arguments.required("SRCIP", from);
  if (ports != nullptr) arguments.required("SPORT", sport);
  arguments.required("DSTETH", destination);
  is_ip6 ? arguments.required("DSTIP6", to6) : arguments.required("DSTIP", to);
  if (ports != nullptr) arguments.required("DPORT", dport);
  if (ports != nullptr) *ports = {sport.number, dport.number};
  limit_ = limit;
  bucket_.set_rate(rate);

  uint8_t* const ether = headers_.data();
  std::copy(destination.bytes.begin(), destination.bytes.end(), ether);
  std::copy(source.bytes.begin(), source.bytes.end(), ether + 6);
  uint8_t *const ip = ether + 14, *const behind = ip + ip_bytes();
  const uint32_t payload = frame_bytes_ - 14 - ip_bytes();  // of IP
  if (is_ip6) {
    put16(ether + 12, 0x86dd);
    ip[0] = 0x60;
    put16(ip + 4, payload);
    ip[6] = kUdp, ip[7] = 250;
    std::memcpy(ip + 8, from6.address.data(), 16);
    std::memcpy(ip + 24, to6.address.data(), 16);
    destination_ = ip6_gateways::number_of(to6.address);
  } else {
    put16(ether + 12, 0x0800);
    ip[0] = 0x45;
    put16(ip + 2, frame_bytes_ - 14);
    ip[8] = 250, ip[9] = kind_ == Kind::tcp ? kTcp : kUdp;
    const uint32_t addresses[] = {htonl(from.value), htonl(to.value)};
    std::memcpy(ip + 12, addresses, sizeof addresses);
    set_ip4_checksum(ip, 20);
    destination_ = addresses[1];
  }
  if (kind_ == Kind::tcp) {
    behind[12] = 0x50;
    put16(behind + 14, 65535);  // window
  } else {
    put16(behind + 4, payload);
  }
}

void FlowFrames::configure_checksum(click::Arguments& arguments) { arguments.optional("CHECKSUM", checksum_); }

Access FlowFrames::access(Processor) const { return {.column_writes = columns(Column::dst, Column::l3, Column::l4)}; }

FlowFrames::Headers FlowFrames::headers_with(Ports ports, uint8_t tcp_flags) const {
  Headers headers = headers_;
  uint8_t *const ip = headers.data() + 14, *const behind = ip + ip_bytes();
  put16(behind, ports.source);
  put16(behind + 2, ports.destination);
  if (kind_ == Kind::tcp) behind[13] = tcp_flags;
  if (!checksum_) return headers;
  // The payload is zero, so the headers are all that there is to sum.
  const uint32_t summed = header_bytes() - 14 - ip_bytes(), bytes = frame_bytes_ - 14 - ip_bytes();
  const uint32_t sum =
      kind_ == Kind::udp6 ? udp6_checksum(ip, behind, summed, bytes) : transport_checksum(ip, behind, summed, bytes);
  put16(behind + (kind_ == Kind::tcp ? 16 : 6), sum);
  return headers;
}

int FlowFrames::append_empty(Batch& batch) {
  int wanted = batch.room() - batch.size();
  const bool rated = bucket_.rate_per_s() > 0;  // a handler may change that any time
  if (rated) wanted = std::min(wanted, bucket_.available());
  const int n = append_packets(batch, allowed(wanted), frame_bytes_);
  if (rated) bucket_.take(n);
  return n;
}

void FlowFrames::fill(Batch& batch, int i, const Headers& headers) {
  uint8_t* const frame = batch.frame(i);
  const uint32_t bytes = header_bytes();
  std::memcpy(frame, headers.data(), bytes);
  std::memset(frame + bytes, 0, frame_bytes_ - bytes);
  batch.column(Column::dst)[i] = destination_;
  batch.column(Column::l3)[i] = batch.packet(i)->data_off + 14u;
  batch.column(Column::l4)[i] = batch.packet(i)->data_off + 14u + ip_bytes();
}

void FlowFrames::handlers(Handlers& list) {
  Generator::handlers(list);
  list.read("rate", [this] { return format("%.15g", bucket_.rate_per_s()); })
      .write("rate",
             [this](const std::string& value) { bucket_.set_rate(click::value_of<double>(value, 0.0, kMaxFrames)); })
      .read("length", [this] { return std::to_string(frame_bytes_); });
}

}  // namespace heddle
