#include "elements/ip/fragmenter.h"

#include <algorithm>

#include "core/packet_pool.h"
#include "elements/ip/marked_header.h"

namespace heddle {

Access Fragmenter::access(Processor) const {
  return {.reads = {kWholePacket, {Base::l3, 0, kToEnd}},
          .writes = {{Base::l3, 0, kToEnd}},
          .column_reads = columns(Column::l3),
          .column_writes = columns(Column::l4)};
}

std::span<const char* const> Fragmenter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"dont_fragment", "no_header", "bad_length",
                                             "full",          "no_buffer", "no_room"};
  return kReasons;
}

void Fragmenter::start(const Environment& environment) {
  packets_ = environment.packets, large_packets_ = environment.large_packets;
  threads_ = environment.threads;
  columns_ = ColumnPack(carries | columns(Column::l3));
  long_ = std::make_unique<Long[]>(static_cast<size_t>(threads_));
  for (int thread = 0; thread < threads_; ++thread) {
    long_[static_cast<size_t>(thread)].packets = std::make_unique<Packet*[]>(kMaxWaiting);
    long_[static_cast<size_t>(thread)].columns = std::make_unique<std::byte[]>(kMaxWaiting * columns_.bytes());
  }
}

void Fragmenter::keep(Batch& batch, int i) {
  Long& here = long_[static_cast<size_t>(batch.thread)];
  const uint32_t count = here.count.load(std::memory_order_relaxed);
  if (count == kMaxWaiting) return batch.drop(i, kFull);
  const uint32_t at = (here.first + count) % kMaxWaiting;
  here.packets[at] = batch.packet(i);
  columns_.save(batch, i, &here.columns[at * columns_.bytes()]);
  here.count.store(count + 1, std::memory_order_relaxed);
  batch.keep(i);
}

void Fragmenter::refuse(Batch& batch, int i, Drop reason) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  if (outputs > 1)
    batch.next()[i] = 1;
  else
    batch.drop(i, reason);
}

bool Fragmenter::append_fragment(Long& from, Batch& batch, uint32_t l3) {
  Packet* whole = from.packets[from.first];
  const uint8_t* const ip = marked_header(whole, l3);
  const auto before = static_cast<uint32_t>(ip - data(whole));  // bytes before the header
  if (from.done == 0) from.number = next_number_.fetch_add(1, std::memory_order_relaxed);
  const Division division = divide(ip, from.done);
  const uint32_t left = bytes_from(whole, l3) - division.payload_at - from.done;
  const uint32_t bytes = std::min(left, (mtu_ - division.header_bytes) / unit_ * unit_);
  const uint32_t all = before + division.header_bytes + bytes;
  const int at = batch.size();
  PacketPool& pool = all <= packets_->data_bytes() ? *packets_ : *large_packets_;
  if (!pool.allocate(&batch.packets()[at], 1)) {
    whole->data_len = static_cast<uint16_t>(before + division.payload_at + left);  // what is lost
    whole->pkt_len = whole->data_len;
    batch.packets()[at] = whole;
    batch.resize(at + 1);
    batch.drop(at, kNoBuffer);
    from.packets[from.first] = nullptr;
    return false;
  }
  batch.resize(at + 1);
  Packet* packet = batch.packet(at);
  packet->data_len = static_cast<uint16_t>(all), packet->pkt_len = all;
  packet->port = whole->port;  // where it came from, which says whether there is capture information
  if (has_capture_info(whole)) set_capture_info(packet, {capture_info(whole).timestamp_ns, 0});
  uint8_t* const frame = data(packet);
  std::memcpy(frame, data(whole), before);
  std::memcpy(frame + before + division.header_bytes, ip + division.payload_at + from.done, bytes);
  write_headers(frame + before, ip, division, {from.done, bytes, bytes == left, from.number});

  columns_.load(batch, at, &from.columns[from.first * columns_.bytes()]);
  batch.column(Column::l3)[at] = packet->data_off + before;
  batch.column(Column::l4)[at] = packet->data_off + before + transport_at(frame + before);
  from.done += bytes;
  return bytes < left;
}

void Fragmenter::finish(Long& from) {
  if (from.packets[from.first] != nullptr) rte_pktmbuf_free(from.packets[from.first]);
  from.first = (from.first + 1) % kMaxWaiting;
  from.done = 0;
  from.count.store(from.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void Fragmenter::emit(Batch& batch, bool /*ending*/) {
  Long& here = long_[static_cast<size_t>(batch.thread)];
  while (here.count.load(std::memory_order_relaxed) > 0 && batch.size() < batch.capacity()) {
    columns_.load(batch, batch.size(), &here.columns[here.first * columns_.bytes()]);
    const uint32_t l3 = batch.column(Column::l3)[batch.size()];
    const int before = batch.size();
    const bool more = append_fragment(here, batch, l3);
    if (here.packets[here.first] != nullptr) fragments_.fetch_add(static_cast<uint64_t>(batch.size() - before));
    if (!more) finish(here);
  }
}

uint64_t Fragmenter::packets_held() const {
  uint64_t held = 0;
  for (int thread = 0; thread < threads_; ++thread)
    held += long_[static_cast<size_t>(thread)].count.load(std::memory_order_relaxed);
  return held;
}

std::string Fragmenter::stop() {
  for (int thread = 0; thread < threads_ && long_ != nullptr; ++thread)
    for (Long& here = long_[static_cast<size_t>(thread)]; here.count.load() > 0;) finish(here);
  return {};
}

void Fragmenter::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(refused_.load()); }).read("fragments", [this] {
    return std::to_string(fragments_.load());
  });
}

std::vector<std::pair<std::string, uint64_t>> Fragmenter::statistics() const { return {{"fragments", fragments_}}; }

}  // namespace heddle
