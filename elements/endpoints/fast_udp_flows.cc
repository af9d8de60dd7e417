#include "elements/endpoints/fast_udp_flows.h"

#include <algorithm>

#include "click/arguments.h"

namespace heddle {

void FastUDPFlows::configure(click::Arguments& arguments) {
  int flows = 1;
  bool active = true;
  configure_frames(arguments, nullptr);
  arguments.required("FLOWS", flows, 1, 1 << 20).required("FLOWSIZE", flow_size_);
  configure_checksum(arguments);
  arguments.optional("ACTIVE", active).keyword("FLOWBURST", burst_, 1, 1 << 20);
  arguments.keyword("SEQUENTIAL", sequential_).keyword("DURATION", duration_s_, -1.0, 1e9);
  configure_end(arguments);
  active_ = active;
  flows_.resize(static_cast<size_t>(flows));
}

void FastUDPFlows::start(const Environment& environment) {
  FlowFrames::start(environment);
  random_.seed(static_cast<uint32_t>(environment.seed_of(*this, 0)));
  for (Flow& flow : flows_) renew(flow);
}

void FastUDPFlows::renew(Flow& flow) {
  flow.headers = headers_with(ports_of(random_()));
  flow.packets = 0;
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
  if (duration_s_ > 0) {
    if (ends_at_ == RouterClock::time_point{})
      ends_at_ = RouterClock::now() + std::chrono::microseconds(static_cast<int64_t>(duration_s_ * 1e6));
    if (RouterClock::reached(ends_at_)) {
      if (!over_.exchange(true)) end_now();
      return;
    }
  }
  append_frames(batch, [this](uint64_t) -> Headers {
    Flow& flow = next_flow();
    const Headers headers = flow.headers;
    if (flow_size_ >= 0 && ++flow.packets >= flow_size_) renew(flow);
    return headers;
  });
}

HEDDLE_ELEMENT(FastUDPFlows);

}  // namespace heddle
