#include "elements/endpoints/fast_tcp_flows.h"

#include "click/arguments.h"

namespace heddle {
namespace {

constexpr uint8_t kFin = 0x01, kSyn = 0x02, kPush = 0x08, kAck = 0x10;

}  // namespace

void FastTCPFlows::configure(click::Arguments& arguments) {
  int flows = 1;
  bool active = true;
  configure_frames(arguments, nullptr);
  arguments.required("FLOWS", flows, 1, 1 << 20).required("FLOWSIZE", flow_size_, 3u, UINT32_MAX);
  arguments.optional("ACTIVE", active);
  configure_end(arguments);
  active_ = active;
  flows_.resize(static_cast<size_t>(flows));
}

void FastTCPFlows::start(const Environment& environment) {
  FlowFrames::start(environment);
  random_.seed(static_cast<uint32_t>(environment.seed_of(*this, 0)));
}

FlowFrames::Headers FastTCPFlows::next() {
  Flow& flow = flows_[random_() % flows_.size()];
  if (flow.packets == 0) {
    flow.ports = ports_of(random_());
    flow.data = headers_with(flow.ports, kPush | kAck);
  }
  if (++flow.packets == 1) return headers_with(flow.ports, kSyn);
  if (flow.packets < flow_size_) return flow.data;
  flow.packets = 0;
  return headers_with(flow.ports, kFin);
}

void FastTCPFlows::receive(Batch& batch) {
  append_frames(batch, [this](uint64_t) { return next(); });
}

HEDDLE_ELEMENT(FastTCPFlows);

}  // namespace heddle
