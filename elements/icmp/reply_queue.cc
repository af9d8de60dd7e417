#include "elements/icmp/reply_queue.h"

namespace heddle {

void ReplyQueue::start(const Environment& environment) {
  Queue::start(environment);
  const auto threads = static_cast<size_t>(environment.threads);
  refused_ = std::make_unique<Refused[]>(threads);
  for (size_t thread = 0; thread < threads; ++thread)
    refused_[thread].packets.reserve(static_cast<size_t>(environment.batch_size));
}

// Where packets are pulled, nobody would take what has waited. Nor does what has waited go there and back, should the
// new configuration fail behind this.
void ReplyQueue::take_state(Element& old) {
  if (!pulled[0] && !old.pulled[0]) Queue::take_state(old);
}

void ReplyQueue::run_cpu(Batch& batch) {
  if (pulled[0]) {
    for (int i = 0; i < batch.size(); ++i)
      if (const int reason = turn(batch, i); reason > 0) batch.drop(i, reason);
    return;
  }
  auto& refused = refused_[static_cast<size_t>(batch.thread)].packets;
  refused.clear();
  const int n = batch.size();
  int made = 0;  // those come together at the front, with their columns
  for (int i = 0; i < n; ++i) {
    batch.resize(n);
    if (const int reason = turn(batch, i); reason > 0) {
      refused.emplace_back(batch.packet(i), reason);
      continue;
    }
    batch.resize(made);
    batch.append(batch, i, carries);
    made = batch.size();
  }
  batch.resize(made);
  drop_from(batch, keep(batch, 0));
  for (const auto& [packet, reason] : refused) {
    const int at = batch.size();
    batch.resize(at + 1);
    batch.packets()[at] = packet;
    batch.drop(at, reason);
  }
}

}  // namespace heddle
