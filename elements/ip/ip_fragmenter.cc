#include "elements/ip/ip_fragmenter.h"

#include <cstdio>

#include "click/arguments.h"
#include "core/packet_pool.h"
#include "elements/ip/header.h"

namespace heddle {
namespace {

enum Reason : int { kDontFragment, kNoHeader, kBadLength, kFull, kNoBuffer };
constexpr uint16_t kDf = 0x4000, kMf = 0x2000, kOffset = 0x1fff;

/** Replaces the options that only the first fragment has by No Operation (1). */
void keep_copied_options(uint8_t* header, uint32_t bytes) {
  for (uint32_t at = 20; at < bytes;) {
    const uint8_t option = header[at];
    if (option == 0) return;
    const uint32_t size = option == 1 ? 1 : at + 1 < bytes ? header[at + 1] : 0;
    if (size == 0 || (option != 1 && size < 2) || at + size > bytes) return;
    if ((option & 0x80) == 0) std::memset(header + at, 1, size);
    at += size;
  }
}

}  // namespace

void IPFragmenter::configure(click::Arguments& arguments) {
  arguments.required("MTU", mtu_, 68u, 65535u).optional("HONOR_DF", honor_df_).optional("VERBOSE", verbose_);
}

Access IPFragmenter::access(Processor) const {
  return {.reads = {kWholePacket, {Base::l3, 0, kToEnd}},
          .writes = {{Base::l3, 0, kToEnd}},
          .column_reads = columns(Column::l3),
          .column_writes = columns(Column::l4)};
}

std::span<const char* const> IPFragmenter::drop_reasons() const {
  static constexpr const char* kReasons[] = {"dont_fragment", "no_header", "bad_length", "full", "no_buffer"};
  return kReasons;
}

void IPFragmenter::start(const Environment& environment) {
  packets_ = environment.packets, large_packets_ = environment.large_packets;
  threads_ = environment.threads;
  columns_ = ColumnPack(carries | columns(Column::l3));
  long_ = std::make_unique<Long[]>(static_cast<size_t>(threads_));
  for (int thread = 0; thread < threads_; ++thread) {
    long_[static_cast<size_t>(thread)].packets = std::make_unique<Packet*[]>(kMostWaiting);
    long_[static_cast<size_t>(thread)].columns = std::make_unique<std::byte[]>(kMostWaiting * columns_.bytes());
  }
}

void IPFragmenter::keep(Batch& batch, int i) {
  Long& here = long_[static_cast<size_t>(batch.thread)];
  const uint32_t count = here.count.load(std::memory_order_relaxed);
  if (count == kMostWaiting) return batch.drop(i, kFull);
  const uint32_t at = (here.first + count) % kMostWaiting;
  here.packets[at] = batch.packet(i);
  columns_.save(batch, i, &here.columns[at * columns_.bytes()]);
  here.count.store(count + 1, std::memory_order_relaxed);
  batch.keep(i);
}

void IPFragmenter::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  uint32_t* l4 = batch.column(Column::l4);
  const bool wants_l4 = (carries & columns(Column::l4)) != 0;
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t room = bytes_from(batch.packet(i), l3[i]);
    if (room <= mtu_ && room >= 20) [[likely]] {
      if (wants_l4) l4[i] = l3[i] + (marked_header(batch.packet(i), l3[i])[0] & 15u) * 4;
      continue;
    }
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip) {
      batch.drop(i, kNoHeader);
    } else if ((load_u16(ip.at + 6) & htons(kDf)) != 0 && honor_df_) {
      if (verbose_) std::fprintf(stderr, "%s: %u bytes, and it must not be fragmented\n", name.c_str(), ip.total());
      drops_.fetch_add(1, std::memory_order_relaxed);
      if (outputs > 1)
        l4[i] = l3[i] + ip.bytes, batch.next()[i] = 1;
      else
        batch.drop(i, kDontFragment);
    } else if (ip.total() != ip.room) {
      batch.drop(i, kBadLength);
    } else {
      keep(batch, i);
    }
  }
}

bool IPFragmenter::append_fragment(Long& from, Batch& batch, uint32_t l3) {
  Packet* whole = from.packets[from.first];
  const Ip4Header ip = ip4_header(whole, l3);
  const auto before = static_cast<uint32_t>(ip.at - data(whole));  // bytes before the header
  const uint32_t payload = ip.room - ip.bytes, step = (mtu_ - ip.bytes) / 8 * 8;
  const uint32_t bytes = std::min(payload - from.done, step), all = before + ip.bytes + bytes;
  const uint32_t offset = from.done / 8 + (ntohs(load_u16(ip.at + 6)) & kOffset);
  const int at = batch.size();
  PacketPool& pool = all <= packets_->data_bytes() ? *packets_ : *large_packets_;
  if (offset > kOffset || !pool.allocate(&batch.packets()[at], 1)) {
    whole->data_len = static_cast<uint16_t>(before + ip.bytes + payload - from.done);  // what is lost
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
  if (has_capture_info(whole)) set_capture_info(packet, {capture_info(whole).timestamp_ns, 0});
  uint8_t* frame = data(packet);
  std::memcpy(frame, data(whole), before + ip.bytes);
  std::memcpy(frame + before + ip.bytes, ip.behind() + from.done, bytes);

  uint8_t* header = frame + before;
  const bool more = from.done + bytes < payload || (ntohs(load_u16(ip.at + 6)) & kMf) != 0;
  if (from.done > 0) keep_copied_options(header, ip.bytes);
  store_u16(header + 2, htons(static_cast<uint16_t>(ip.bytes + bytes)));
  store_u16(header + 6, htons(static_cast<uint16_t>(offset | (more ? kMf : 0))));
  set_ip4_header_checksum(header, ip.bytes);

  columns_.load(batch, at, &from.columns[from.first * columns_.bytes()]);
  batch.column(Column::l3)[at] = packet->data_off + before;
  batch.column(Column::l4)[at] = packet->data_off + before + ip.bytes;
  from.done += bytes;
  return from.done < payload;
}

void IPFragmenter::finish(Long& from) {
  if (from.packets[from.first] != nullptr) rte_pktmbuf_free(from.packets[from.first]);
  from.first = (from.first + 1) % kMostWaiting;
  from.done = 0;
  from.count.store(from.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
}

void IPFragmenter::emit(Batch& batch, bool /*ending*/) {
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

uint64_t IPFragmenter::packets_held() const {
  uint64_t held = 0;
  for (int thread = 0; thread < threads_; ++thread)
    held += long_[static_cast<size_t>(thread)].count.load(std::memory_order_relaxed);
  return held;
}

std::string IPFragmenter::stop() {
  for (int thread = 0; thread < threads_ && long_ != nullptr; ++thread)
    for (Long& here = long_[static_cast<size_t>(thread)]; here.count.load() > 0;) finish(here);
  return {};
}

void IPFragmenter::handlers(Handlers& list) {
  list.read("drops", [this] { return std::to_string(drops_.load()); }).read("fragments", [this] {
    return std::to_string(fragments_.load());
  });
}

std::vector<std::pair<std::string, uint64_t>> IPFragmenter::statistics() const { return {{"fragments", fragments_}}; }

HEDDLE_ELEMENT(IPFragmenter);

}  // namespace heddle
