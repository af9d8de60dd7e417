#include "elements/endpoints/udp_frames.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"

namespace heddle {
namespace {

constexpr double kMostFrames = 1e9;  // a second

void put16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8), at[1] = static_cast<uint8_t>(value);
}

}  // namespace

void UdpFrames::configure_frames(click::Arguments& arguments, Ports* ports) {
  double rate = 0;
  int64_t limit = -1;
  click::EthernetAddress source, destination;
  click::Ipv4Address from, to;
  click::Port sport{.protocol = click::Port::kUdp}, dport = sport;
  arguments.required("RATE", rate, 0.0, kMostFrames).required("LIMIT", limit);
  arguments.required("LENGTH", frame_bytes_, 60u, 9216u).required("SRCETH", source).required("SRCIP", from);
  if (ports != nullptr) arguments.required("SPORT", sport);
  arguments.required("DSTETH", destination).required("DSTIP", to);
  if (ports != nullptr) arguments.required("DPORT", dport);
  if (ports != nullptr) *ports = {sport.number, dport.number};
  limit_ = limit;
  bucket_.set_rate(rate);

  uint8_t* const ether = headers_.data();
  std::copy(destination.bytes.begin(), destination.bytes.end(), ether);
  std::copy(source.bytes.begin(), source.bytes.end(), ether + 6);
  put16(ether + 12, 0x0800);
  uint8_t* const ip = ether + 14;
  ip[0] = 0x45;
  put16(ip + 2, frame_bytes_ - 14);
  ip[8] = 250, ip[9] = IPPROTO_UDP;
  const uint32_t addresses[] = {htonl(from.value), htonl(to.value)};
  std::memcpy(ip + 12, addresses, sizeof addresses);
  set_ip4_checksum(ip, 20);
  put16(ip + 24, frame_bytes_ - 34);  // UDP's length
}

void UdpFrames::configure_checksum(click::Arguments& arguments) { arguments.optional("CHECKSUM", checksum_); }

Access UdpFrames::access(Processor) const { return {.column_writes = columns(Column::dst, Column::l3, Column::l4)}; }

UdpFrames::Headers UdpFrames::headers_with(Ports ports) const {
  Headers headers = headers_;
  uint8_t* const ip = headers.data() + 14;
  put16(ip + 20, ports.source);
  put16(ip + 22, ports.destination);
  // The payload is zero, so the headers are all that there is to sum.
  if (checksum_) put16(ip + 26, transport_checksum(ip, ip + 20, 8, frame_bytes_ - 34));
  return headers;
}

int UdpFrames::append_empty(Batch& batch) {
  int wanted = batch.room() - batch.size();
  const bool rated = bucket_.rate_per_s() > 0;  // a handler may change that any time
  if (rated) wanted = std::min(wanted, bucket_.available());
  const int n = append_packets(batch, allowed(wanted), frame_bytes_);
  if (rated) bucket_.take(n);
  return n;
}

void UdpFrames::fill(Batch& batch, int i, const Headers& headers) {
  uint8_t* const frame = batch.frame(i);
  std::memcpy(frame, headers.data(), kHeaderBytes);
  std::memset(frame + kHeaderBytes, 0, frame_bytes_ - kHeaderBytes);
  batch.column(Column::dst)[i] = load_u32(headers.data() + 30);
  batch.column(Column::l3)[i] = batch.packet(i)->data_off + 14u;
  batch.column(Column::l4)[i] = batch.packet(i)->data_off + 34u;
}

void UdpFrames::handlers(Handlers& list) {
  Generator::handlers(list);
  list.read("rate", [this] { return format("%.15g", bucket_.rate_per_s()); })
      .write("rate",
             [this](const std::string& value) { bucket_.set_rate(click::value_of<double>(value, 0.0, kMostFrames)); })
      .read("length", [this] { return std::to_string(frame_bytes_); });
}

}  // namespace heddle
