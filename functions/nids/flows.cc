#include "functions/nids/flows.h"

#include <algorithm>
#include <bit>
#include <random>
#include <set>
#include <string_view>
#include <utility>

#include "core/error.h"
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
  kAcknowledged = 128,  // by the client; other protocols: with kAnswered
  kSyns = kSynOfLow | kSynOfHigh | kAnswerOfLow | kAnswerOfHigh
};
enum Note : uint8_t {
  kHasBits = 1,      // some bit has been set
  kHasServer = 2,    // server_next is what a SYN with ACK has said,
  kOtherServer = 4,  // and that was something else when its SYN came
  kFinOfLow = 8,     // has come, and not been acknowledged
  kFinOfHigh = 16
};
constexpr uint32_t kEarlyBytes = 65535;  // an acknowledgement of so many behind the server's SYN is no guess

void wait_for(std::atomic_flag& flag) {
  while (flag.test_and_set(std::memory_order_acquire)) {
  }
}

class Held {
 public:
  explicit Held(std::atomic_flag& flag) : flag_(flag) { wait_for(flag); }
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
  bit_names_.swap(other.bit_names_), planes_.swap(other.planes_);
  plane_count_ = other.plane_count_.exchange(plane_count_);
  sent_.swap(other.sent_);
  follows_sent_ = other.follows_sent_.exchange(follows_sent_);
}

uint32_t Flows::number_of_bit(const std::string& name) {
  const auto [there, is_new] = bit_names_.emplace(name, static_cast<uint32_t>(bit_names_.size()));
  const uint32_t bit = there->second, planes = plane_count_.load(std::memory_order_relaxed);
  if (bit / 64 < planes) return bit;
  try {
    if (bit == kMaxBits)
      throw Error(format("flowbits have had more than %u names since the start; start again", kMaxBits));
    planes_[planes] = map_huge_pages(size_t{mask_ + 1} * kEntries * sizeof(uint64_t));
  } catch (...) {
    bit_names_.erase(there);
    throw;
  }
  plane_count_.store(planes + 1, std::memory_order_release);
  return bit;
}

bool Flows::has_numbers_for(std::span<const Signature> rules) const {
  std::set<std::string_view> names;
  for (const Signature& rule : rules)
    for (const BitOption& option : rule.bits)
      for (const std::string& name : option.names)
        if (option.of == BitOption::Of::flow && !bit_names_.contains(name)) names.insert(name);
  return bit_names_.size() + names.size() <= kMaxBits;
}

bool Flows::key_of(const View& view, uint32_t now_ms, Entry& key, bool& from_low) {
  if (!view.has_ports && names_ports(view.protocol)) return false;
  const std::pair from{view.source, view.source_port}, to{view.destination, view.destination_port};
  const auto& [low, high] = std::minmax(from, to);
  from_low = from <= to;
  const uint64_t name = view.name_of(low.first, high.first);
  key = {static_cast<uint32_t>(name >> 32),
         static_cast<uint32_t>(name),
         low.second,
         high.second,
         view.number,
         0,
         0,
         view.is_ip6,
         0,
         now_ms};
  return true;
}

Flows::Bucket& Flows::bucket_of(const Entry& key) {
  const uint64_t hash = cuckoo::mixed(cuckoo::mixed((uint64_t{key.low} << 32 | key.high) ^ seed_) ^
                                      (uint64_t{key.low_port} << 24 | uint64_t{key.high_port} << 8 | key.protocol));
  return buckets_[hash & mask_];
}

uint64_t& Flows::word_of(const HugePages& plane, Bucket& bucket, Entry& entry) const {
  const auto number = (&bucket - buckets_.get()) * kEntries + (&entry - bucket.entries);
  return reinterpret_cast<uint64_t*>(plane.get())[number];
}

void Flows::forget_bits(Bucket& bucket, Entry& entry) {
  if ((entry.notes & kHasBits) == 0) return;
  entry.notes &= static_cast<uint8_t>(~kHasBits);
  // Whoever has set some has seen its plane before, and had the bucket before.
  for (uint32_t p = 0, count = plane_count_.load(std::memory_order_acquire); p < count; ++p)
    word_of(planes_[p], bucket, entry) = 0;
}

Flows::Bits::Bits(Flows& flows, const View& view, uint32_t now_ms) : flows_(flows) {
  if (!key_of(view, now_ms, key_, from_low_)) return;
  bucket_ = &flows.bucket_of(key_);
  wait_for(bucket_->busy);
  entry_ = find(*bucket_, key_);
}

Flows::Bits::~Bits() {
  if (bucket_ != nullptr) bucket_->busy.clear(std::memory_order_release);
}

bool Flows::Bits::is_set(uint32_t bit) const {
  if (entry_ == nullptr || (entry_->notes & kHasBits) == 0) return false;
  return (flows_.word_of(flows_.planes_[bit / 64], *bucket_, *entry_) >> bit % 64 & 1) != 0;
}

void Flows::Bits::set(uint32_t bit, bool value) {
  if (bucket_ == nullptr || (entry_ == nullptr && !value)) return;
  if (entry_ == nullptr) {
    entry_ = &flows_.place(*bucket_, key_);
    entry_->seen = from_low_ ? kUsed : kUsed | kHighIsClient;
  }
  uint64_t& word = flows_.word_of(flows_.planes_[bit / 64], *bucket_, *entry_);
  const uint64_t mask = uint64_t{1} << bit % 64;
  word = value ? word | mask : word & ~mask;
  if (value) entry_->notes |= kHasBits;
}

Flows::Entry* Flows::find(Bucket& bucket, const Entry& key) {
  const auto found =
      std::ranges::find_if(bucket.entries, [&](const Entry& entry) { return entry.seen != 0 && entry.is_of(key); });
  return found == std::end(bucket.entries) ? nullptr : found;
}

Flows::Entry& Flows::place(Bucket& bucket, const Entry& key) {
  const uint32_t now_ms = key.last_ms;
  const auto worth = [&](const Entry& entry) {
    const bool over = entry.seen == 0 || (entry.protocol != kTcpNumber && is_over(entry.seen, entry.last_ms, now_ms));
    const int kind = over ? 0 : (entry.seen & kAcknowledged) != 0 ? 3 : (entry.seen & kAnswered) != 0 ? 2 : 1;
    return std::pair(kind, -int64_t{idle_ms(entry.last_ms, now_ms)});
  };
  Entry& entry = *std::ranges::min_element(bucket.entries, {}, worth);
  forget_bits(bucket, entry);
  if (follows_sent_.load(std::memory_order_acquire))
    for (const bool low : {true, false}) sent_of(bucket, entry, low) = 0;
  return entry = key;
}

void Flows::follow_sent() {
  if (follows_sent_.load(std::memory_order_relaxed)) return;
  for (HugePages& side : sent_) side = map_huge_pages(size_t{mask_ + 1} * kEntries * sizeof(uint64_t));
  follows_sent_.store(true, std::memory_order_release);
}

std::optional<Sent> Flows::sent(const View& view) {
  Entry key;
  bool from_low = false;
  if (view.protocol != Protocol::tcp || !key_of(view, 0, key, from_low)) return std::nullopt;
  Bucket& bucket = bucket_of(key);
  const Held held(bucket.busy);
  Entry* const entry = find(bucket, key);
  if (entry == nullptr || !follows_sent_.load(std::memory_order_acquire)) return std::nullopt;
  const bool low_is_client = (entry->seen & kHighIsClient) == 0;
  const Sent sent{static_cast<uint32_t>(sent_of(bucket, *entry, low_is_client)),
                  static_cast<uint32_t>(sent_of(bucket, *entry, !low_is_client))};
  if (sent.client == 0) return std::nullopt;
  return sent;
}

void Flows::note_sent(Bucket& bucket, Entry& entry, const View& view, bool from_low) {
  uint64_t &mine = sent_of(bucket, entry, from_low), &others = sent_of(bucket, entry, !from_low);
  const auto begun_at = [](uint32_t sequence) { return uint64_t{sequence} << 32 | 1; };
  const auto next = [](uint64_t sent) { return static_cast<uint32_t>((sent >> 32) + sent); };
  const uint8_t my_fin = from_low ? kFinOfLow : kFinOfHigh, other_fin = from_low ? kFinOfHigh : kFinOfLow;
  const bool answers = (view.tcp_flags & kAck) != 0, answered = (entry.seen & kAnswered) != 0;
  if ((view.tcp_flags & kSyn) != 0) {
    if (!answered) {
      mine = begun_at(view.sequence);
      if (!answers) others = 0;
    } else if ((entry.seen & kSyns) == 0) {  // both have sent theirs
      const uint64_t begin = begun_at(view.sequence),
                     other_begin = begun_at((answers ? view.acknowledgement : entry.server_next) - 1);
      if (mine >> 32 == begin >> 32 && others >> 32 == other_begin >> 32 && mine != 0 && others != 0) return;
      mine = begin, others = other_begin;
      entry.notes &= static_cast<uint8_t>(~(kFinOfLow | kFinOfHigh));
    }
    return;
  }
  if (!answered || mine == 0) return;
  const uint32_t end = view.sequence + static_cast<uint32_t>(view.payload.size());
  if (static_cast<int32_t>(end - next(mine)) > 0) mine = (mine >> 32 << 32) | (end - static_cast<uint32_t>(mine >> 32));
  if ((view.tcp_flags & kFin) != 0) entry.notes |= my_fin;
  if (answers && (entry.notes & other_fin) != 0 && static_cast<int32_t>(view.acknowledgement - next(others)) > 0) {
    others = (others >> 32 << 32) | static_cast<uint32_t>(others + 1);
    entry.notes &= static_cast<uint8_t>(~other_fin);
  }
}

uint8_t Flows::see(const View& view, uint32_t now_ms, bool begins, bool ahead) {
  const bool is_tcp = view.protocol == Protocol::tcp;
  Entry key;
  bool from_low = false;
  if (!key_of(view, now_ms, key, from_low)) return 0;
  Bucket& bucket = bucket_of(key);
  const bool syn = (view.tcp_flags & kSyn) != 0, ack = (view.tcp_flags & kAck) != 0;
  const Held held(bucket.busy);
  Entry* entry = find(bucket, key);
  if (entry == nullptr && is_tcp && !syn && !begins) return 0;
  if (entry == nullptr) entry = &place(bucket, key);
  if (entry->seen == 0 || (!is_tcp && is_over(entry->seen, entry->last_ms, now_ms))) {
    forget_bits(bucket, *entry);
    entry->seen = from_low ? kUsed : kUsed | kHighIsClient;
  }
  if (idle_ms(entry->last_ms, now_ms) > 0) entry->last_ms = now_ms;
  const bool first_syn = syn && (entry->seen & (kSyns | kAnswered)) == 0;
  if (syn) entry->seen = with_syn(entry->seen, from_low, ack);
  if (syn && !ahead) {
    if (first_syn) forget_bits(bucket, *entry);  // of packets without a connection
    if (ack && (entry->notes & kHasServer) != 0 && entry->server_next != view.sequence + 1)
      entry->notes |= kOtherServer;
    if (ack) entry->notes |= kHasServer, entry->server_next = view.sequence + 1;
    if ((entry->notes & kOtherServer) != 0 && (entry->seen & kSyns) == 0) {  // both have sent theirs
      forget_bits(bucket, *entry);
      entry->notes &= static_cast<uint8_t>(~kOtherServer);
    }
  }
  if (is_tcp && !ahead && follows_sent_.load(std::memory_order_acquire)) note_sent(bucket, *entry, view, from_low);
  const bool from_client = from_low == ((entry->seen & kHighIsClient) == 0);
  if (!is_tcp && !from_client) entry->seen |= kAnswered | kAcknowledged;
  const uint8_t state = state_of(*entry, view, from_low);
  if (is_tcp && (state & kEstablished) != 0 && from_client && (view.tcp_flags & kRst) == 0 &&
      view.acknowledgement - entry->server_next <= kEarlyBytes)
    entry->seen |= kAcknowledged;
  return state;
}

uint8_t Flows::state_of(const Entry& entry, const View& view, bool from_low) {
  const bool from_client = from_low == ((entry.seen & kHighIsClient) == 0);
  const bool may_be = view.protocol != Protocol::tcp || (view.tcp_flags & (kSyn | kAck)) == kAck;
  const bool established = (entry.seen & kAnswered) != 0 && may_be;
  return static_cast<uint8_t>((from_client ? kToServer : kToClient) | (established ? kEstablished : 0));
}

uint8_t Flows::look(const View& view) {
  Entry key;
  bool from_low = false;
  if (!key_of(view, 0, key, from_low)) return 0;
  Bucket& bucket = bucket_of(key);
  const Held held(bucket.busy);
  const Entry* const entry = find(bucket, key);
  return entry == nullptr ? 0 : state_of(*entry, view, from_low);
}

}  // namespace heddle::nids
