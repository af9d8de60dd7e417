#include "elements/endpoints/fast_udp_flows.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "elements/endpoints/checksums.h"

namespace heddle {
namespace {

void put16(uint8_t* at, uint32_t value) {
  at[0] = static_cast<uint8_t>(value >> 8), at[1] = static_cast<uint8_t>(value);
}

}  // namespace

void FastUDPFlows::configure(click::Arguments& arguments) {
  double rate = 0;
  int64_t limit = -1;
  click::EthernetAddress source, destination;
  click::Ipv4Address from, to;
  int flows = 1;
  bool active = true;
  arguments.required("RATE", rate, 0.0, 1e9).required("LIMIT", limit).required("LENGTH", frame_bytes_, 60u, 9216u);
  arguments.required("SRCETH", source).required("SRCIP", from).required("DSTETH", destination).required("DSTIP", to);
  arguments.required("FLOWS", flows, 1, 1 << 20).required("FLOWSIZE", flow_size_);
  arguments.optional("CHECKSUM", checksum_).optional("ACTIVE", active).keyword("FLOWBURST", burst_, 1, 1 << 20);
  arguments.keyword("SEQUENTIAL", sequential_).keyword("DURATION", duration_s_, -1.0, 1e9);
  configure_end(arguments);
  limit_ = limit, active_ = active;
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
  flows_.resize(static_cast<size_t>(flows));
  for (Flow& flow : flows_) renew(flow);
}

Access FastUDPFlows::access(Processor) const { return {.column_writes = columns(Column::l3, Column::l4)}; }

void FastUDPFlows::renew(Flow& flow) {
  flow.headers = headers_;
  flow.packets = 0;
  uint8_t* const ip = flow.headers.data() + 14;
  const uint32_t ports = random_();
  put16(ip + 20, std::max(1u, ports >> 16));
  put16(ip + 22, std::max(1u, ports & 0xffff));
  if (!checksum_) return;
  const uint32_t bytes = frame_bytes_ - 34;
  // The payload is zero, so the headers are all that there is to sum.
  put16(ip + 26, transport_checksum(ip, ip + 20, 8, bytes));
}

FastUDPFlows::Flow& FastUDPFlows::next_flow() {
  if (burst_left_ == 0) {
    flow_ = sequential_ ? (flow_ + 1) % flows_.size() : random_() % flows_.size();
    burst_left_ = burst_;
  }
  --burst_left_;
  return flows_[flow_];
}

void FastUDPFlows::receive(Batch& batch) {
  const int first = batch.size();
  int wanted = batch.room() - first;
  const bool rated = bucket_.rate_per_s() > 0;  // a handler may change that any time
  if (rated) wanted = std::min(wanted, bucket_.available());
  if (duration_s_ > 0) {
    if (ends_at_ == RouterClock::time_point{})
      ends_at_ = RouterClock::now() + std::chrono::microseconds(static_cast<int64_t>(duration_s_ * 1e6));
    if (RouterClock::reached(ends_at_)) {
      if (!over_.exchange(true)) end_now();
      return;
    }
  }
  const int n = append_packets(batch, allowed(wanted), frame_bytes_);
  if (rated) bucket_.take(n);
  for (int i = first; i < first + n; ++i) {
    Flow& flow = next_flow();
    uint8_t* const frame = batch.frame(i);
    std::memcpy(frame, flow.headers.data(), kHeaderBytes);
    std::memset(frame + kHeaderBytes, 0, frame_bytes_ - kHeaderBytes);
    batch.column(Column::l3)[i] = batch.packet(i)->data_off + 14u;
    batch.column(Column::l4)[i] = batch.packet(i)->data_off + 34u;
    if (flow_size_ >= 0 && ++flow.packets >= flow_size_) renew(flow);
  }
}

void FastUDPFlows::handlers(Handlers& list) {
  Generator::handlers(list);
  list.read("rate", [this] { return format("%.15g", bucket_.rate_per_s()); })
      .write("rate", [this](const std::string& value) { bucket_.set_rate(click::value_of<double>(value, 0.0, 1e9)); })
      .read("length", [this] { return std::to_string(frame_bytes_); });
}

HEDDLE_ELEMENT(FastUDPFlows);

}  // namespace heddle
