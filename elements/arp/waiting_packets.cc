#include "elements/arp/waiting_packets.h"

namespace heddle {

WaitingPackets::WaitingPackets(uint32_t capacity, ColumnSet columns)
    : columns_(columns), packets_(capacity), next_(capacity), bytes_(capacity * columns_.bytes()) {
  for (uint32_t i = 0; i < capacity; ++i) next_[i] = free_, free_ = static_cast<int>(i);
}

WaitingPackets::~WaitingPackets() {
  for (Packet* packet : packets_)
    if (packet != nullptr) rte_pktmbuf_free(packet);
}

bool WaitingPackets::add(List& list, Batch& batch, int i) {
  if (free_ < 0) return false;
  const int at = free_;
  free_ = next_[static_cast<size_t>(at)];
  save(static_cast<size_t>(at), batch, i);
  append(list, at);
  ++size_;
  return true;
}

void WaitingPackets::replace_first(List& list, Batch& batch, int i) {
  const int at = list.first;
  const auto slot = static_cast<size_t>(at);
  Packet* const first = packets_[slot];
  list.first = next_[slot];
  save(slot, batch, i);
  append(list, at);
  batch.packets()[i] = first;
}

void WaitingPackets::save(size_t slot, Batch& batch, int i) {
  packets_[slot] = batch.packet(i);
  columns_.save(batch, i, bytes_.data() + slot * columns_.bytes());
}

void WaitingPackets::append(List& list, int at) {
  next_[static_cast<size_t>(at)] = -1;
  (list.empty() ? list.first : next_[static_cast<size_t>(list.last)]) = at;
  list.last = at;
}

void WaitingPackets::take(List& list, Batch& batch) {
  const int at = list.first;
  const auto slot = static_cast<size_t>(at);
  const int to = batch.size();
  batch.resize(to + 1);
  batch.packets()[to] = packets_[slot];
  columns_.load(batch, to, bytes_.data() + slot * columns_.bytes());
  packets_[slot] = nullptr;
  list.first = next_[slot];
  if (list.first < 0) list.last = -1;
  next_[slot] = free_, free_ = at;
  --size_;
}

}  // namespace heddle
