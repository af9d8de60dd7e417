#include "measure/wire/generator_thread.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mempool.h>

#include <algorithm>
#include <cstring>

namespace heddle::bench {
namespace {

constexpr double kTolerance_s = 10e-6;
constexpr uint32_t kMaxVain = 4096;  ///< frames in a row without signature, after which one in kVainStep is searched
constexpr uint32_t kVainStep = 64;
constexpr int kLastBursts = (1 << 20) / 64;  ///< as many as the largest ring holds
constexpr double kLateStart_s = 1;           ///< that a thread may come late on a busy machine

/** As a NIC's driver leaves a packet that it has received: without flags, tx_offload means nothing, and is on a line of
 *  its own. */
void reset(rte_mbuf* packet, uint16_t length) {
  packet->data_off = RTE_PKTMBUF_HEADROOM;
  packet->port = RTE_MBUF_PORT_INVALID;
  packet->ol_flags = 0;
  packet->packet_type = 0;
  packet->pkt_len = length;
  packet->data_len = length;
  packet->vlan_tci = packet->vlan_tci_outer = 0;
}

/** The checksum field for what adds up to `sum`: never 0, which would mean none in UDP. */
uint16_t checksum_of(uint64_t sum) {
  sum = (sum & 0xffffffff) + (sum >> 32);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  const auto result = static_cast<uint16_t>(~sum);
  return result == 0 ? 0xffff : result;
}

/** For the cache: a line that another core has had last is about to be written. */
void prefetch_to_write(const void* line) { asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line))); }

void raise(std::atomic<uint64_t>& counter, uint64_t by) {
  counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace

GeneratorThread::GeneratorThread(const Traffic& traffic, Sequences& sequences, PacketPool& pool)
    : traffic_(traffic), sequences_(sequences), pool_(pool.mempool()), sequence_(traffic.flows()) {}

void GeneratorThread::add_sender(uint16_t port, uint16_t queue, const Stream& stream) {
  if (!stream.frames.empty()) senders_.push_back({port, queue, &stream});
}

size_t GeneratorThread::frames() const {
  size_t sum = 0;
  for (auto& sender : senders_) sum += sender.stream->frames.size();
  return sum;
}

void GeneratorThread::run(const Schedule& schedule, const std::atomic<bool>& stopping, const std::atomic<bool>& over) {
  const auto hz = static_cast<double>(rte_get_tsc_hz());
  schedule_ = schedule;
  counts_ = {};
  sent_ = received_ = 0;
  duplicated_ = false;
  done_ = false;
  ns_per_tick_ = 1e9 / hz;
  late_ticks_ = 0;
  pace_ = schedule.pace;
  tolerance_ = std::max(static_cast<uint64_t>(kTolerance_s * hz), kBurst * pace_.step_ticks());
  if (!senders_.empty() && pace_.is_limited()) {
    Pace pace = pace_;
    pace.skip_to(offset_of(schedule.begin));
    counts_.intended = pace.skip_to(offset_of(schedule.end));
  }
  // What is due is sent, however late; but a rate that is beyond the generator's powers ends some time.
  const uint64_t latest = schedule.end + (schedule.end - schedule.start) + static_cast<uint64_t>(kLateStart_s * hz);
  while (rte_rdtsc() < schedule.start) rte_pause();
  uint64_t now = rte_rdtsc();
  while (!over.load(std::memory_order_relaxed)) {
    const uint64_t before = now;
    now = rte_rdtsc();
    begun_ = now >= schedule.begin;
    measuring_ = begun_ && now < schedule.end;
    if (!done()) {
      if (stopping.load(std::memory_order_relaxed) || senders_.empty() || now >= latest) {
        done_.store(true, std::memory_order_release);
      } else {
        const bool late = pace_.is_limited() ? send_at_rate(now) : send_all(now);
        if (late && measuring_) late_ticks_ += now - std::max(before, schedule.begin);
      }
    }
    receive();
  }
  // What lies there if it was this thread that was away; what a router makes by itself may have no end.
  for (int i = 0; i < kLastBursts && receive(); ++i) continue;
  for (auto& sender : senders_) {
    if (sender.pending != 0) rte_pktmbuf_free_bulk(sender.packets, sender.pending);
    sender.pending = 0;
  }
  counts_.behind =
      static_cast<double>(late_ticks_) / static_cast<double>(std::max<uint64_t>(1, schedule.end - schedule.begin));
}

/** The sender that is most behind its share. */
GeneratorThread::Sender& GeneratorThread::next_sender() {
  return *std::min_element(senders_.begin(), senders_.end(), [](auto& a, auto& b) { return a.turn < b.turn; });
}

/** Fills `sender`'s packets with its next frames, due at due_[i]; false when there are no packets left in the pool. */
bool GeneratorThread::build(Sender& sender, uint16_t count, uint16_t tag) {
  if (rte_mempool_get_bulk(pool_, reinterpret_cast<void**>(sender.packets), count) != 0) return false;
  const Stream& stream = *sender.stream;
  const size_t all = stream.frames.size();
  const bool signatures = traffic_.signatures();
  size_t next = sender.next;
  if (receivers_.empty())  // else take() has had them
    for (uint16_t i = 0; i < count; ++i) {
      prefetch_to_write(sender.packets[i]);
      prefetch_to_write(static_cast<const char*>(sender.packets[i]->buf_addr) + RTE_PKTMBUF_HEADROOM);
    }
  for (uint16_t i = 0; i < count; ++i) {
    const Stream::Frame& frame = stream.frames[next];
    rte_mbuf* packet = sender.packets[i];
    reset(packet, frame.length);
    uint8_t* bytes = rte_pktmbuf_mtod(packet, uint8_t*);
    std::memcpy(bytes, stream.heads[next].bytes, sizeof(Stream::Head));
    if (frame.length > sizeof(Stream::Head))
      std::memcpy(bytes + sizeof(Stream::Head), traffic_.rests() + frame.rest, frame.length - sizeof(Stream::Head));
    if (++next == all) next = 0;
    if (!signatures) continue;
    const Signature signature{tag, sequence_[frame.flow]++, frame.flow, due_[i]};
    std::memcpy(bytes + signature_at(frame.length), &signature, sizeof signature);
    if (frame.stamping.checksum_at != 0) {
      const uint16_t checksum = checksum_of(uint64_t{frame.stamping.sum} + tag + signature.sequence + frame.flow +
                                            (due_[i] & 0xffffffff) + (due_[i] >> 32));
      std::memcpy(bytes + frame.stamping.checksum_at, &checksum, sizeof checksum);
    }
  }
  sender.next = next;
  sender.turn += static_cast<double>(count) / static_cast<double>(all);
  return true;
}

/** Sends what is due, at most a burst; true if the generator is late. */
bool GeneratorThread::send_at_rate(uint64_t now) {
  const uint64_t begin = offset_of(schedule_.begin), end = offset_of(schedule_.end), reached = offset_of(now);
  // What is left of the warm-up when it is over would only make those late that count.
  if (reached >= begin) pace_.skip_to(begin);
  const bool measured = pace_.due() >= begin;
  const uint64_t limit = std::min(reached, (measured ? end : begin) - 1);
  const bool late = reached > pace_.due() && (reached - pace_.due()) >> Pace::kFraction > tolerance_;
  uint16_t count = 0;
  Pace pace = pace_;
  for (; count < kBurst && pace.due() <= limit; pace.pass())
    due_[count++] = schedule_.stamps ? schedule_.start + (pace.due() >> Pace::kFraction) : 0;
  if (count == 0) {
    if (pace_.due() >= end) done_.store(true, std::memory_order_release);
    return late;
  }
  Sender& sender = next_sender();
  if (!build(sender, count, measured ? schedule_.tag : schedule_.warmup_tag)) return true;
  pace_ = pace;
  const uint16_t sent = rte_eth_tx_burst(sender.port, sender.queue, sender.packets, count);
  if (sent < count) rte_pktmbuf_free_bulk(sender.packets + sent, count - sent);
  if (measured || !traffic_.signatures()) counts_.offered += count, counts_.sent += sent;
  if (now > schedule_.begin) counts_.sending_s = static_cast<double>(now - schedule_.begin) * ns_per_tick_ * 1e-9;
  raise(sent_, sent);
  return late;
}

/** Gives every queue as much as it takes, at most a burst; true if none was full. */
bool GeneratorThread::send_all(uint64_t now) {
  if (now >= schedule_.end) {
    done_.store(true, std::memory_order_release);
    return false;
  }
  bool full = false;
  for (Sender& sender : senders_) {
    if (sender.pending == 0) {
      std::fill(due_, due_ + kBurst, schedule_.stamps ? rte_rdtsc() : 0);
      sender.measured = measuring_ || !traffic_.signatures();
      if (!build(sender, kBurst, measuring_ ? schedule_.tag : schedule_.warmup_tag)) continue;
      sender.pending = kBurst;
    }
    const uint16_t sent = rte_eth_tx_burst(sender.port, sender.queue, sender.packets, sender.pending);
    if (sender.measured) counts_.offered += sent, counts_.sent += sent;
    raise(sent_, sent);
    sender.pending = static_cast<uint16_t>(sender.pending - sent);
    if (sender.pending == 0) continue;
    full = true;
    std::memmove(sender.packets, sender.packets + sent, sender.pending * sizeof(rte_mbuf*));
  }
  return !full;
}

/** Takes a burst of every queue; false if there was nothing. */
bool GeneratorThread::receive() {
  rte_mbuf* packets[kBurst];
  bool any = false;
  for (const Receiver& receiver : receivers_) {
    const uint16_t n = rte_eth_rx_burst(receiver.port, receiver.queue, packets, kBurst);
    if (n == 0) continue;
    for (uint16_t i = 0; i < n; ++i) prefetch_to_write(packets[i]);
    const uint16_t ours = traffic_.signatures() ? take(packets, n) : n;
    if (!traffic_.signatures()) counts_.received += n;
    if (measuring_) {
      counts_.arrived += n;
      for (uint16_t i = 0; i < n; ++i) counts_.arrived_bytes += packets[i]->pkt_len + kFcsBytes;
    }
    raise(received_, ours);
    rte_pktmbuf_free_bulk(packets, n);
    any = true;
  }
  return any;
}

/** What bytes at any place of a frame are by chance with a probability of 10^-9, unless there are millions of flows. */
bool GeneratorThread::is_of_this_run(const Signature& signature, uint64_t now) const {
  return (signature.tag == schedule_.tag || signature.tag == schedule_.warmup_tag) &&
         signature.flow < traffic_.flows() &&
         (schedule_.stamps ? signature.due >= schedule_.start && signature.due <= now + tolerance_
                           : signature.due == 0);
}

/** Looks for the signature of a frame whose end the router has changed, and remembers where it was. */
bool GeneratorThread::look_for_signature(const rte_mbuf& packet, uint64_t now, Signature& found) {
  if (++vain_ > kMaxVain && vain_ % kVainStep != 0) return false;
  const uint32_t length = packet.data_len, most = std::min(length, kSignatureBytes + kSearchedBytes);
  const uint8_t* end = rte_pktmbuf_mtod_offset(&packet, const uint8_t*, length);
  for (uint32_t from_end = kSignatureBytes; from_end <= most; ++from_end) {
    std::memcpy(&found, end - from_end, sizeof found);
    if (!is_of_this_run(found, now)) continue;
    from_end_[length & 1] = from_end;
    moved_ = true, vain_ = 0;
    return true;
  }
  return false;
}

/** Counts what has arrived; returns how many are ours. */
uint16_t GeneratorThread::take(rte_mbuf** packets, uint16_t n) {
  const uint64_t now = schedule_.stamps ? rte_rdtsc() : 0;
  Signature found[kBurst];
  for (uint16_t i = 0; i < n; ++i) {
    // The last core to have it was the router's, and this one will soon send it again.
    const uint32_t length = packets[i]->data_len, from_end = from_end_[length & 1];
    prefetch_to_write(rte_pktmbuf_mtod_offset(packets[i], const uint8_t*, std::max(length, from_end) - from_end));
  }
  for (uint16_t i = 0; i < n; ++i) {
    const uint32_t length = packets[i]->data_len, from_end = from_end_[length & 1];
    found[i].tag = 0;
    if (length >= from_end)
      std::memcpy(&found[i], rte_pktmbuf_mtod(packets[i], const uint8_t*) + (length - from_end), sizeof found[i]);
  }
  uint16_t ours = 0;
  for (uint16_t i = 0; i < n; ++i) {
    const Signature& signature = found[i];
    const bool known = (signature.tag & ~kRunMask) == kSignatureTag && signature.flow < traffic_.flows() &&
                       (!moved_ || is_of_this_run(signature, now));
    if (!known && !look_for_signature(*packets[i], now, found[i])) [[unlikely]] {
      if (begun_) ++counts_.foreign;
      continue;
    }
    ++ours;
    if (signature.tag != schedule_.tag) continue;  // of the warm-up, or of an earlier run
    switch (sequences_.see(signature.flow, signature.sequence)) {
      case Sequences::kDuplicate:
        ++counts_.duplicated;
        duplicated_.store(true, std::memory_order_relaxed);
        continue;
      case Sequences::kReordered:
        ++counts_.reordered;
        break;
      case Sequences::kInOrder:
        break;
    }
    ++counts_.received;
    if (!schedule_.stamps) continue;
    const auto ticks =
        std::max<int64_t>(0, static_cast<int64_t>(now - signature.due));  // cores' clocks differ a little
    counts_.latency_ns.record(static_cast<uint64_t>(static_cast<double>(ticks) * ns_per_tick_));
  }
  return ours;
}

}  // namespace heddle::bench
