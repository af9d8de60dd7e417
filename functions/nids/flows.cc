#include "functions/nids/flows.h"

#include <algorithm>
#include <bit>
#include <random>
#include <utility>

#include "functions/cuckoo/bucket_rule.h"

namespace heddle::nids {
namespace {

// Of an entry. What the endpoint high has done is the bit above that of low.
enum Seen : uint8_t {
  kUsed = 1,
  kHighIsClient = 2,
  kSynOfLow = 4,
  kSynOfHigh = 8,
  kAnswerOfLow = 16,  // SYN and ACK
  kAnswerOfHigh = 32,
  kAnswered = 64,
  kAcknowledged = 128  // by the client; other protocols: with kAnswered
};
constexpr uint32_t kEarlyBytes = 65535;  // an acknowledgement of so many behind the server's SYN is no guess

class Held {
 public:
  explicit Held(std::atomic_flag& flag) : flag_(flag) {
    while (flag.test_and_set(std::memory_order_acquire)) {
    }
  }
  ~Held() { flag_.clear(std::memory_order_release); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::atomic_flag& flag_;
};

/** The clock goes round; packets of a capture may be a little out of order. */
int32_t idle_ms(uint32_t last_ms, uint32_t now_ms) { return static_cast<int32_t>(now_ms - last_ms); }

/** Of a protocol that is not TCP. */
bool is_over(uint8_t seen, uint32_t last_ms, uint32_t now_ms) {
  const auto most = static_cast<int32_t>((seen & kAnswered) != 0 ? Flows::kAnsweredMs : Flows::kNewMs);
  const int32_t idle = idle_ms(last_ms, now_ms);
  return idle > most || idle < -most;
}

uint8_t with_syn(uint8_t seen, bool from_low, bool answers) {
  if (answers)
    seen |= from_low ? kAnswerOfLow : kAnswerOfHigh;
  else
    seen |= from_low ? kSynOfLow : kSynOfHigh;
  if (!answers && (seen & kAnswered) == 0)
    seen = static_cast<uint8_t>((seen & ~kHighIsClient) | (from_low ? 0 : kHighIsClient));
  if ((seen & kSynOfLow) != 0 && (seen & kAnswerOfHigh) != 0) return kUsed | kAnswered;
  if ((seen & kSynOfHigh) != 0 && (seen & kAnswerOfLow) != 0) return kUsed | kAnswered | kHighIsClient;
  return seen;
}

}  // namespace

Flows::Flows(uint32_t places)
    : mask_(std::bit_ceil((places + kEntries - 1) / kEntries) - 1), buckets_(std::make_unique<Bucket[]>(mask_ + 1)) {
  std::random_device random;
  seed_ = uint64_t{random()} << 32 | random();
}

void Flows::swap(Flows& other) {
  std::swap(seed_, other.seed_), std::swap(mask_, other.mask_), std::swap(buckets_, other.buckets_);
}

Flows::Entry* Flows::find(Bucket& bucket, const Entry& key) {
  const auto found =
      std::ranges::find_if(bucket.entries, [&](const Entry& entry) { return entry.seen != 0 && entry.is_of(key); });
  return found == std::end(bucket.entries) ? nullptr : found;
}

Flows::Entry& Flows::place_in(Bucket& bucket, uint32_t now_ms) {
  const auto worth = [&](const Entry& entry) {
    const bool over = entry.seen == 0 || (entry.protocol != kTcpNumber && is_over(entry.seen, entry.last_ms, now_ms));
    const int kind = over ? 0 : (entry.seen & kAcknowledged) != 0 ? 3 : (entry.seen & kAnswered) != 0 ? 2 : 1;
    return std::pair(kind, -int64_t{idle_ms(entry.last_ms, now_ms)});
  };
  return *std::ranges::min_element(bucket.entries, {}, worth);
}

uint8_t Flows::see(const View& view, uint32_t now_ms, bool begins) {
  const bool is_tcp = view.protocol == Protocol::tcp;
  if (!view.has_ports && (is_tcp || view.protocol == Protocol::udp)) return 0;
  const std::pair from{view.source, view.source_port}, to{view.destination, view.destination_port};
  const bool from_low = from <= to;
  const auto& [low, high] = std::minmax(from, to);
  const Entry key{low.first, high.first, low.second, high.second, view.number, 0, 0, 0, now_ms};
  const uint64_t hash = cuckoo::mixed(cuckoo::mixed((uint64_t{key.low} << 32 | key.high) ^ seed_) ^
                                      (uint64_t{key.low_port} << 24 | uint64_t{key.high_port} << 8 | key.protocol));
  Bucket& bucket = buckets_[hash & mask_];
  const bool syn = (view.tcp_flags & kSyn) != 0, ack = (view.tcp_flags & kAck) != 0;
  const Held held(bucket.busy);
  Entry* entry = find(bucket, key);
  if (entry == nullptr && is_tcp && !syn && !begins) return 0;
  if (entry == nullptr) entry = &(place_in(bucket, now_ms) = key);
  if (entry->seen == 0 || (!is_tcp && is_over(entry->seen, entry->last_ms, now_ms)))
    entry->seen = from_low ? kUsed : kUsed | kHighIsClient;
  if (idle_ms(entry->last_ms, now_ms) > 0) entry->last_ms = now_ms;
  if (syn) entry->seen = with_syn(entry->seen, from_low, ack);
  if (syn && ack) entry->server_next = view.sequence + 1;
  const bool from_client = from_low == ((entry->seen & kHighIsClient) == 0);
  if (!is_tcp && !from_client) entry->seen |= kAnswered | kAcknowledged;
  const bool established = (entry->seen & kAnswered) != 0 && (!is_tcp || (ack && !syn));
  if (is_tcp && established && from_client && (view.tcp_flags & kRst) == 0 &&
      view.acknowledgement - entry->server_next <= kEarlyBytes)
    entry->seen |= kAcknowledged;
  return static_cast<uint8_t>((from_client ? kToServer : kToClient) | (established ? kEstablished : 0));
}

}  // namespace heddle::nids
