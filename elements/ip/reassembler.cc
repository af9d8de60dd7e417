#include "elements/ip/reassembler.h"

#include <algorithm>
#include <cstring>

#include "click/arguments.h"
#include "core/packet_pool.h"
#include "elements/basic/rate.h"
#include "elements/ip/marked_header.h"

namespace heddle {
namespace {

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

void Reassembler::configure(click::Arguments& arguments) {
  click::Duration timeout{timeout_ms_ * 1000};
  arguments.keyword("HIMEM", most_bytes_, uint64_t{0}, uint64_t{1} << 30).keyword("TIMEOUT", timeout);
  timeout_ms_ = timeout.microseconds / 1000;
}

Access Reassembler::access(Processor) const {
  return {.reads = {kWholePacket, {Base::l3, 0, kToEnd}},
          .column_reads = columns(Column::l3),
          .column_writes = columns(Column::l4)};
}

std::span<const char* const> Reassembler::drop_reasons() const {
  static constexpr const char* kReasons[] = {"timeout",   "no_header", "bad_fragment", "overlap",   "too_many",
                                             "no_memory", "no_buffer", "duplicate",    "mixed_ecn", "header_chain"};
  return kReasons;
}

void Reassembler::start(const Environment& environment) {
  packets_ = environment.packets, large_packets_ = environment.large_packets;
  goes_on_in_ = environment.goes_on_in;
  hash_key_ = {environment.seed_of(*this, 0), environment.seed_of(*this, 1)};
  datagrams_ = std::make_unique<Datagram[]>(kDatagrams);
  given_up_.reserve(2 * kDatagrams * kFragments);  // those that wait, and those that came since
}

size_t Reassembler::find(const Key& key) {
  const uint64_t hash = sip_hash(hash_key_, key) | 1;
  size_t free = kDatagrams;
  for (size_t at = 0; at < kDatagrams; ++at) {
    if (places_[at].hash == hash && datagrams_[at].key == key) return at;
    if (places_[at].hash == 0 && free == kDatagrams) free = at;
  }
  if (free == kDatagrams) {
    give_up_oldest();
    return find(key);
  }
  places_[free] = {hash, next_number_++, now_ms()};
  Datagram& datagram = datagrams_[free];
  datagram.key = key;
  datagram.total = datagram.bytes = 0, datagram.count = 0;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  return free;
}

bool Reassembler::has(const Datagram& datagram, const Fragment& fragment, bool last) {
  const auto* const end = datagram.fragments.data() + datagram.count;
  const auto* const same =
      std::find_if(datagram.fragments.data(), end, [&](const Fragment& other) { return other.from == fragment.from; });
  if (same == end || same->bytes != fragment.bytes || last != (fragment.from + fragment.bytes == datagram.total))
    return false;
  const auto part = [](const Fragment& of) { return marked_header(of.packet, of.l3) + of.part_at; };
  return std::memcmp(part(*same), part(fragment), fragment.bytes) == 0;
}

bool Reassembler::insert(Datagram& datagram, const Fragment& fragment, bool last) {
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

Reassembler::Codepoints Reassembler::codepoints_of(std::span<const Fragment> fragments) {
  constexpr uint8_t kNotEct = 0, kCe = 3;
  Codepoints found;
  for (const Fragment& fragment : fragments) {
    found.ce |= fragment.ecn == kCe;
    found.mixed |= (fragment.ecn == kNotEct) != (fragments[0].ecn == kNotEct);
  }
  return found;
}

void Reassembler::give_up(size_t at, int reason) {
  Datagram& datagram = datagrams_[at];
  for (int k = 0; k < datagram.count; ++k) {
    const Fragment& fragment = datagram.fragments[static_cast<size_t>(k)];
    given_up_.push_back({fragment.packet, fragment.l3, static_cast<uint8_t>(reason), fragment.from == 0});
    bytes_ -= length(fragment.packet);
  }
  given_up_count_.store(given_up_.size(), std::memory_order_relaxed);
  places_[at].hash = 0;
  datagram.count = 0;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

void Reassembler::give_up_oldest() {
  size_t oldest = kDatagrams;
  for (size_t at = 0; at < kDatagrams; ++at)
    if (places_[at].hash != 0 && (oldest == kDatagrams || places_[at].number < places_[oldest].number)) oldest = at;
  if (oldest != kDatagrams) give_up(oldest, kNoMemory);
}

void Reassembler::free_fragments(size_t at) {
  Datagram& datagram = datagrams_[at];
  for (int k = 0; k < datagram.count; ++k) {
    Packet* packet = datagram.fragments[static_cast<size_t>(k)].packet;
    bytes_ -= length(packet);
    rte_pktmbuf_free(packet);
  }
  fragments_.fetch_sub(static_cast<uint64_t>(datagram.count), std::memory_order_relaxed);
  datagram.count = 0;
  places_[at].hash = 0;
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

Packet* Reassembler::put_together(std::span<const Fragment> fragments) const {
  const Fragment& first = fragments.front();
  const uint8_t* const ip = marked_header(first.packet, first.l3);
  const auto before = static_cast<uint32_t>(ip - data(first.packet));
  const uint32_t headers = before + first.header_bytes;
  const uint32_t bytes = fragments.back().from + fragments.back().bytes, all = headers + bytes;
  PacketPool& pool = all <= packets_->data_bytes() ? *packets_ : *large_packets_;
  Packet* whole = nullptr;
  if (all > kMaxPacketBytes || !pool.allocate(&whole, 1)) return nullptr;
  whole->data_len = static_cast<uint16_t>(all), whole->pkt_len = all;
  whole->port = first.packet->port;  // where it came from, which says whether there is capture information
  if (has_capture_info(first.packet)) set_capture_info(whole, {capture_info(first.packet).timestamp_ns, 0});
  const uint32_t stripped = std::min(whole->data_off, first.packet->data_off);  // as much as may have been
  std::memcpy(data(whole) - stripped, data(first.packet) - stripped, stripped + headers);
  for (const Fragment& fragment : fragments) {
    const uint8_t* const part = marked_header(fragment.packet, fragment.l3) + fragment.part_at;
    std::memcpy(data(whole) + headers + fragment.from, part, fragment.bytes);
    if (goes_on_in_) goes_on_in_(fragment.packet, whole);
  }
  make_whole(data(whole) + before, ip, first.header_bytes, bytes, codepoints_of(fragments).ce);
  return whole;
}

void Reassembler::become(Batch& batch, int i, Packet* whole, const Fragment& first) {
  const uint32_t l3 = whole->data_off + (first.l3 - first.packet->data_off);
  batch.packets()[i] = whole;
  batch.column(Column::l3)[i] = l3;
  batch.column(Column::l4)[i] = l3 + transport_at(marked_header(whole, l3));
}

// Packet `i` of the batch becomes the whole one; it is among the fragments.
void Reassembler::complete(size_t at, Batch& batch, int i) {
  const Datagram& datagram = datagrams_[at];
  const std::span fragments(datagram.fragments.data(), static_cast<size_t>(datagram.count));
  const bool mixed = codepoints_of(fragments).mixed;
  Packet* const whole = mixed ? nullptr : put_together(fragments);
  if (whole == nullptr) {
    give_up(at, mixed ? kMixedEcn : kNoBuffer);
    return batch.keep(i);
  }
  become(batch, i, whole, datagram.fragments[0]);
  free_fragments(at);
  whole_.fetch_add(1, std::memory_order_relaxed);
}

void Reassembler::take_alone(Batch& batch, int i, const Fragment& fragment) {
  Packet* const whole = put_together({&fragment, 1});
  if (whole == nullptr) return batch.drop(i, kNoBuffer);
  become(batch, i, whole, fragment);
  rte_pktmbuf_free(fragment.packet);
  whole_.fetch_add(1, std::memory_order_relaxed);
}

void Reassembler::take_in(Batch& batch, int i, const Key& key, const Fragment& fragment, bool last) {
  if (fragment.bytes == 0 || (!last && fragment.bytes % 8 != 0) ||
      fragment.header_bytes + fragment.from + fragment.bytes > kMaxPacketBytes)
    return batch.drop(i, kBadFragment);
  const Locked lock(locked_);
  const size_t at = find(key);
  Datagram& datagram = datagrams_[at];
  if (has(datagram, fragment, last)) return batch.drop(i, kDuplicate);
  if (datagram.count == kFragments || !insert(datagram, fragment, last)) {
    const Reason reason = datagram.count == kFragments ? kTooMany : kOverlap;
    give_up(at, reason);
    return batch.drop(i, reason);
  }
  bytes_ += length(fragment.packet);
  fragments_.fetch_add(1, std::memory_order_relaxed);
  if (datagram.total != 0 && datagram.bytes == datagram.total) return complete(at, batch, i);
  batch.keep(i);
  while (bytes_ > most_bytes_) give_up_oldest();
}

void Reassembler::on_timer(int) {
  if (waiting_.load(std::memory_order_relaxed) == 0) return;
  const uint64_t now = now_ms();
  if (now - looked_ms_.load(std::memory_order_relaxed) < 10) return;
  looked_ms_.store(now, std::memory_order_relaxed);
  const Locked lock(locked_);
  for (size_t at = 0; at < kDatagrams; ++at)
    if (places_[at].hash != 0 && now - places_[at].since_ms > timeout_ms_) give_up(at, kTimeout);
}

void Reassembler::emit(Batch& batch, bool ending) {
  if (!holds()) return;
  const Locked lock(locked_);
  for (size_t at = 0; ending && at < kDatagrams; ++at)
    if (places_[at].hash != 0) give_up(at, kTimeout);
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
    batch.column(Column::l4)[at] = one.l3 + transport_at(marked_header(one.packet, one.l3));
    if (one.reason == kTimeout && one.first && outputs > 1)
      batch.next()[at] = 1;
    else
      batch.drop(at, one.reason);
    fragments_.fetch_sub(1, std::memory_order_relaxed);
  }
  given_up_count_.store(given_up_.size(), std::memory_order_relaxed);
}

std::string Reassembler::stop() {
  for (size_t at = 0; datagrams_ && at < kDatagrams; ++at)
    if (places_[at].hash != 0) free_fragments(at);
  for (const GivenUp& one : given_up_) rte_pktmbuf_free(one.packet);
  given_up_.clear();
  return {};
}

void Reassembler::handlers(Handlers& list) {
  list.read("waiting", [this] { return std::to_string(waiting_.load()); }).read("whole", [this] {
    return std::to_string(whole_.load());
  });
}

std::vector<std::pair<std::string, uint64_t>> Reassembler::statistics() const {
  return {{"whole", whole_}, {"waiting", waiting_}};
}

}  // namespace heddle
