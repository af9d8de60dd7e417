#include "elements/ip/ip_reassembler.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/packet_pool.h"
#include "elements/basic/rate.h"
#include "elements/ip/header.h"

namespace heddle {
namespace {

constexpr uint32_t kMore = 0x2000, kOffsetMask = 0x1fff;

class Locked {
 public:
  explicit Locked(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  }
  ~Locked() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag& flag_;
};

}  // namespace

void IPReassembler::configure(click::Arguments& arguments) {
  click::Duration timeout{timeout_ms_ * 1000};
  arguments.keyword("HIMEM", most_bytes_, uint64_t{0}, uint64_t{1} << 30).keyword("TIMEOUT", timeout);
  timeout_ms_ = timeout.microseconds / 1000;
}

Access IPReassembler::access(Processor) const {
  return {.reads = {kWholePacket, {Base::l3, 0, kToEnd}},
          .column_reads = columns(Column::l3),
          .column_writes = columns(Column::l4)};
}

std::span<const char* const> IPReassembler::drop_reasons() const {
  static constexpr const char* kReasons[] = {"timeout",  "no_header", "bad_fragment", "overlap",
                                             "too_many", "no_memory", "no_buffer",    "duplicate"};
  return kReasons;
}

void IPReassembler::start(const Environment& environment) {
  packets_ = environment.packets, large_packets_ = environment.large_packets;
  datagrams_ = std::make_unique<Datagram[]>(kDatagrams);
  given_up_.reserve(size_t{2 * kDatagrams} * kFragments);  // those that wait, and those that came since
}

IPReassembler::Datagram* IPReassembler::find(uint64_t addresses, uint32_t protocol_and_id) {
  Datagram* place = nullptr;
  for (int k = 0; k < kDatagrams; ++k) {
    Datagram& datagram = datagrams_[k];
    if (datagram.protocol_and_id == protocol_and_id && datagram.addresses == addresses) return &datagram;
    if (datagram.protocol_and_id == 0 && place == nullptr) place = &datagram;
  }
  if (place == nullptr) {
    give_up_oldest();
    return find(addresses, protocol_and_id);
  }
  place->addresses = addresses, place->protocol_and_id = protocol_and_id;
  place->since_ms = now_ms();
  place->total = place->bytes = 0, place->count = 0;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  return place;
}

bool IPReassembler::has(const Datagram& datagram, const Fragment& fragment, bool last) {
  const auto* const end = datagram.fragments.data() + datagram.count;
  const auto* const same =
      std::find_if(datagram.fragments.data(), end, [&](const Fragment& other) { return other.from == fragment.from; });
  if (same == end || same->bytes != fragment.bytes || last != (fragment.from + fragment.bytes == datagram.total))
    return false;
  const auto payload = [](const Fragment& of) { return ip4_header(of.packet, of.l3).behind(); };
  return std::memcmp(payload(*same), payload(fragment), fragment.bytes) == 0;
}

bool IPReassembler::insert(Datagram& datagram, const Fragment& fragment, bool last) {
  const uint32_t end = fragment.from + fragment.bytes;
  auto& all = datagram.fragments;
  int at = datagram.count;
  while (at > 0 && all[static_cast<size_t>(at) - 1].from > fragment.from) --at;
  const Fragment* before = at > 0 ? &all[static_cast<size_t>(at) - 1] : nullptr;
  const Fragment* behind = at < datagram.count ? &all[static_cast<size_t>(at)] : nullptr;
  if (before != nullptr && before->from + before->bytes > fragment.from) return false;
  if (behind != nullptr && end > behind->from) return false;
  if (datagram.total != 0 && (last ? end != datagram.total : end > datagram.total)) return false;
  if (last && behind != nullptr) return false;
  for (int k = datagram.count; k > at; --k) all[static_cast<size_t>(k)] = all[static_cast<size_t>(k) - 1];
  all[static_cast<size_t>(at)] = fragment;
  ++datagram.count;
  datagram.bytes += fragment.bytes;
  if (last) datagram.total = end;
  return true;
}

void IPReassembler::give_up(Datagram& datagram, int reason) {
  for (int k = 0; k < datagram.count; ++k) {
    const Fragment& fragment = datagram.fragments[static_cast<size_t>(k)];
    given_up_.push_back({fragment.packet, fragment.l3, static_cast<uint8_t>(reason), fragment.from == 0});
    bytes_ -= length(fragment.packet);
  }
  given_up_count_.store(given_up_.size(), std::memory_order_relaxed);
  datagram.protocol_and_id = 0;
  datagram.count = 0;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void IPReassembler::give_up_oldest() {
  Datagram* oldest = nullptr;
  for (int k = 0; k < kDatagrams; ++k) {
    Datagram& datagram = datagrams_[k];
    if (datagram.protocol_and_id != 0 && (oldest == nullptr || datagram.since_ms < oldest->since_ms))
      oldest = &datagram;
  }
  if (oldest != nullptr) give_up(*oldest, kNoMemory);
}

void IPReassembler::free_fragments(Datagram& datagram) {
  for (int k = 0; k < datagram.count; ++k) {
    Packet* packet = datagram.fragments[static_cast<size_t>(k)].packet;
    bytes_ -= length(packet);
    rte_pktmbuf_free(packet);
  }
  fragments_.fetch_sub(static_cast<uint64_t>(datagram.count), std::memory_order_relaxed);
  datagram.count = 0;
  datagram.protocol_and_id = 0;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

// Packet `i` of the batch becomes the whole one; it is among the fragments.
void IPReassembler::complete(Datagram& datagram, Batch& batch, int i) {
  const Fragment& first = datagram.fragments[0];
  const Ip4Header ip = ip4_header(first.packet, first.l3);
  const auto before = static_cast<uint32_t>(ip.at - data(first.packet));
  const uint32_t all = before + ip.bytes + datagram.total;
  PacketPool& pool = all <= packets_->data_bytes() ? *packets_ : *large_packets_;
  Packet* whole = nullptr;
  if (all > kMaxPacketBytes || ip.bytes + datagram.total > 65535 || !pool.allocate(&whole, 1)) {
    give_up(datagram, kNoBuffer);
    return batch.keep(i);
  }
  whole->data_len = static_cast<uint16_t>(all), whole->pkt_len = all;
  if (has_capture_info(first.packet)) set_capture_info(whole, {capture_info(first.packet).timestamp_ns, 0});
  uint8_t* to = data(whole);
  std::memcpy(to, data(first.packet), before + ip.bytes);
  for (int k = 0; k < datagram.count; ++k) {
    const Fragment& fragment = datagram.fragments[static_cast<size_t>(k)];
    const uint8_t* payload = ip4_header(fragment.packet, fragment.l3).behind();
    std::memcpy(to + before + ip.bytes + fragment.from, payload, fragment.bytes);
  }
  uint8_t* header = to + before;
  store_u16(header + 2, htons(static_cast<uint16_t>(ip.bytes + datagram.total)));
  store_u16(header + 6, static_cast<uint16_t>(load_u16(header + 6) & htons(0x4000)));
  set_ip4_header_checksum(header, ip.bytes);
  batch.packets()[i] = whole;
  batch.column(Column::l3)[i] = whole->data_off + before;
  batch.column(Column::l4)[i] = whole->data_off + before + ip.bytes;
  free_fragments(datagram);
  whole_.fetch_add(1, std::memory_order_relaxed);
}

void IPReassembler::take_in(Batch& batch, int i) {
  Packet* packet = batch.packet(i);
  const uint32_t l3 = batch.column(Column::l3)[i];
  const Ip4Header ip = ip4_header(packet, l3);
  const uint32_t word = ntohs(load_u16(ip.at + 6)), from = (word & kOffsetMask) * 8, bytes = ip.payload();
  const bool last = (word & kMore) == 0;
  if (bytes == 0 || (!last && bytes % 8 != 0) || from + bytes > kMaxPacketBytes) return batch.drop(i, kBadFragment);
  const uint64_t addresses = uint64_t{ip.source()} << 32 | ip.destination();
  const Locked lock(locked_);
  Datagram* datagram = find(addresses, (ip.at[9] + 1u) << 16 | ntohs(load_u16(ip.at + 4)));
  const Fragment fragment{packet, l3, from, bytes};
  if (has(*datagram, fragment, last)) return batch.drop(i, kDuplicate);
  if (datagram->count == kFragments || !insert(*datagram, fragment, last)) {
    const Reason reason = datagram->count == kFragments ? kTooMany : kOverlap;
    give_up(*datagram, reason);
    return batch.drop(i, reason);
  }
  bytes_ += length(packet);
  fragments_.fetch_add(1, std::memory_order_relaxed);
  if (datagram->total != 0 && datagram->bytes == datagram->total) return complete(*datagram, batch, i);
  batch.keep(i);
  while (bytes_ > most_bytes_) give_up_oldest();
}

void IPReassembler::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip)
      batch.drop(i, kNoHeader);
    else if (ip.fragment()) [[unlikely]]
      take_in(batch, i);
    else
      batch.column(Column::l4)[i] = l3[i] + ip.bytes;
  }
}

void IPReassembler::on_timer(int) {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  const uint64_t now = now_ms();
  if (now - looked_ms_.load(std::memory_order_relaxed) < 10) return;
  looked_ms_.store(now, std::memory_order_relaxed);
  const Locked lock(locked_);
  for (int k = 0; k < kDatagrams; ++k)
    if (datagrams_[k].protocol_and_id != 0 && now - datagrams_[k].since_ms > timeout_ms_)
      give_up(datagrams_[k], kTimeout);
}

void IPReassembler::emit(Batch& batch, bool ending) {
  if (!holds()) return;
  const Locked lock(locked_);
  for (int k = 0; ending && k < kDatagrams; ++k)
    if (datagrams_[k].protocol_and_id != 0) give_up(datagrams_[k], kTimeout);
  while (!given_up_.empty() && batch.size() < batch.capacity()) {
    const GivenUp one = given_up_.back();
    given_up_.pop_back();
    const int at = batch.size();
    batch.resize(at + 1);
    batch.packets()[at] = one.packet;
    each_column(carries, [&](Column which) {
      if (is_wide(which))
        batch.wide_column(which)[at] = 0;
      else
        batch.column(which)[at] = 0;
    });
    batch.column(Column::l3)[at] = one.l3;
    batch.column(Column::l4)[at] = one.l3 + ip4_header(one.packet, one.l3).bytes;
    if (one.reason == kTimeout && one.first && outputs > 1)
      batch.next()[at] = 1;
    else
      batch.drop(at, one.reason);
    fragments_.fetch_sub(1, std::memory_order_relaxed);
  }
  given_up_count_.store(given_up_.size(), std::memory_order_relaxed);
}

std::string IPReassembler::stop() {
  for (int k = 0; datagrams_ && k < kDatagrams; ++k)
    if (datagrams_[k].protocol_and_id != 0) free_fragments(datagrams_[k]);
  for (const GivenUp& one : given_up_) rte_pktmbuf_free(one.packet);
  given_up_.clear();
  return {};
}

void IPReassembler::handlers(Handlers& list) {
  list.read("waiting", [this] { return std::to_string(waiting_.load()); }).read("whole", [this] {
    return std::to_string(whole_.load());
  });
}

std::vector<std::pair<std::string, uint64_t>> IPReassembler::statistics() const {
  return {{"whole", whole_}, {"waiting", waiting_}};
}

HEDDLE_ELEMENT(IPReassembler);

}  // namespace heddle
