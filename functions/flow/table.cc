#include "functions/flow/table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "functions/flow/ip6_name.h"

namespace heddle::flow {
namespace {

/** Both halves of a 128-bit product, folded: few instructions, and hard to steer without knowing the seed. */
uint64_t mixed(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/** Bit w: tags[w] == tag; of a bucket's eight. */
uint32_t equal_tags(const uint32_t* tags, uint32_t tag) {
#ifdef __SSE2__
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
  const auto* four = reinterpret_cast<const __m128i*>(tags);
  const __m128i low = _mm_cmpeq_epi32(_mm_load_si128(four), wanted);
  const __m128i high = _mm_cmpeq_epi32(_mm_load_si128(four + 1), wanted);
  const __m128i words = _mm_packs_epi32(low, high);
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(words, words))) & 0xff;
#else
  uint32_t ways = 0;
  for (uint32_t way = 0; way < 8; ++way) ways |= uint32_t{tags[way] == tag} << way;
  return ways;
#endif
}

/** Of the other direction. */
Key turned(const Key& key) {
  return {key.destination, key.source, key.destination_port, key.source_port, key.protocol};
}

}  // namespace

void Entry::begin(const Key& its, uint32_t state) {
  const auto put = [](auto& member, auto value) { std::atomic_ref(member).store(value, std::memory_order_relaxed); };
  const uint32_t next = (generation() + 1) << kStateBits;
  life.store(next | kChanging, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  put(key.source, its.source), put(key.destination, its.destination);
  put(key.source_port, its.source_port), put(key.destination_port, its.destination_port);
  put(key.protocol, its.protocol);
  for (int w = 0; w < kWords; ++w) set_word(w, 0);
  life.store(next | state, std::memory_order_release);
}

bool Entry::has_now(const Key& wanted) {
  const auto get = [](auto& member) { return std::atomic_ref(member).load(std::memory_order_relaxed); };
  const auto stage = [this](std::memory_order order) { return life.load(order) & ~uint32_t{kChanging - 1}; };
  const uint32_t before = stage(std::memory_order_acquire);
  const Key found{get(key.source), get(key.destination), get(key.source_port), get(key.destination_port),
                  get(key.protocol)};
  std::atomic_thread_fence(std::memory_order_acquire);
  return found == wanted && (before & kChanging) == 0 && stage(std::memory_order_relaxed) == before;
}

Key Key::of_ip6(const uint8_t* addresses, uint16_t source_port, uint16_t destination_port, uint8_t protocol) {
  // The pair's name is the same both ways, and its halves change places.
  const bool swapped = std::memcmp(addresses, addresses + 16, 16) > 0;
  uint64_t words[4];
  std::memcpy(words, addresses + (swapped ? 16 : 0), 16);
  std::memcpy(words + 2, addresses + (swapped ? 0 : 16), 16);
  const uint64_t name = ip6_name(words);
  const auto high = static_cast<uint32_t>(name >> 32), low = static_cast<uint32_t>(name);
  return {swapped ? low : high, swapped ? high : low, source_port, destination_port, protocol | kIp6};
}

uint32_t ThreadTable::places_for(size_t capacity) {
  // At most 4/5 full.
  return static_cast<uint32_t>(std::bit_ceil((capacity + capacity / 4 + kWays - 1) / kWays)) * kWays;
}

ThreadTable::ThreadTable(int thread, size_t capacity, const Timeouts& timeouts, uint64_t seed,
                         const std::vector<Watcher*>& watchers)
    : thread_(thread),
      mask_(places_for(capacity) / kWays - 1),
      timeouts_(timeouts),
      seed_(seed),
      watchers_(&watchers),
      tag_memory_(map_huge_pages(size_t{places()} * sizeof(uint32_t))),
      entry_memory_(map_huge_pages(size_t{places()} * sizeof(Entry))),
      tags_(reinterpret_cast<uint32_t*>(tag_memory_.get())),
      entries_(reinterpret_cast<Entry*>(entry_memory_.get())) {}

ThreadTable::Hash ThreadTable::hash_of(const Key& key) const {
  const uint64_t from = uint64_t{key.source} << 16 | key.source_port,
                 to = uint64_t{key.destination} << 16 | key.destination_port;
  const uint64_t lower = std::min(from, to), upper = std::max(from, to);
  const uint64_t first =
      mixed((lower | upper << 48) ^ seed_, (upper >> 16 | uint64_t{key.protocol} << 32) ^ 0x9e3779b97f4a7c15);
  const uint64_t hash = mixed(first ^ 0xd6e8feb86659fd93, seed_ | 1);
  const auto low = static_cast<uint32_t>(hash), high = static_cast<uint32_t>(hash >> 32);
  // Two buckets of a table that has two: in one alone, eight flows would leave no room in a table that is almost empty.
  const uint32_t bucket = low & mask_, other = (low >> 20 ^ high * 0x9e3779b1) & mask_;
  const uint32_t neighbour = mask_ & 1, direction = from > to ? neighbour : 0;
  return {{bucket ^ direction, (other != bucket ? other : other ^ neighbour) ^ direction}, high | 1};
}

uint32_t ThreadTable::find_in(uint32_t bucket, uint32_t tag, const Key& key) const {
  for (uint32_t ways = equal_tags(tags_ + bucket * kWays, tag); ways != 0; ways &= ways - 1)
    if (const uint32_t place = bucket * kWays + static_cast<uint32_t>(std::countr_zero(ways));
        entries_[place].key == key)
      return place;
  return kNoFlow;
}

uint32_t ThreadTable::find_own(const Hash& hash, const Key& key) const {
  const uint32_t place = find_in(hash.bucket[0], hash.tag, key);
  return place != kNoFlow ? place : find_in(hash.bucket[1], hash.tag, key);
}

uint32_t ThreadTable::find(const Key& key) const {
  const Hash hash = hash_of(key);
  for (const uint32_t bucket : hash.bucket)
    for (uint32_t place = bucket * kWays; place < (bucket + 1) * kWays; ++place)
      if (std::atomic_ref(tags_[place]).load(std::memory_order_acquire) == hash.tag && entries_[place].has_now(key))
        return place;
  return kNoFlow;
}

bool ThreadTable::prefetch_entries(const Hash& hash) const {
  bool any = false;
  for (const uint32_t bucket : hash.bucket)
    for (uint32_t ways = equal_tags(tags_ + bucket * kWays, hash.tag); ways != 0; ways &= ways - 1) {
      __builtin_prefetch(&entries_[bucket * kWays + static_cast<uint32_t>(std::countr_zero(ways))], 1);
      any = true;
    }
  return any;
}

void ThreadTable::find_or_add(const Key* keys, const uint32_t* now_ms, uint32_t* flows, int n, const Says* says) {
  Hash hashes[kMax];
  for (int i = 0; i < n; ++i) {
    hashes[i] = hash_of(keys[i]);
    for (const uint32_t bucket : hashes[i].bucket) __builtin_prefetch(&tags_[bucket * kWays]);
  }
  // The entries that the tags point to are on their way while the others' tags are looked at; where none is there, the
  // one where the flow will begin, and that of its way back, which it then looks for.
  for (int i = 0; i < n; ++i) {
    if (prefetch_entries(hashes[i])) continue;
    prefetch_entries(hash_of(turned(keys[i])));
    if (const uint32_t place = free_place(hashes[i]); place != kNoFlow) __builtin_prefetch(&entries_[place], 1);
  }
  for (int i = 0; i < n; ++i) {
    const Hash& hash = hashes[i];
    uint32_t place = find_own(hash, keys[i]);
    if (place != kNoFlow && is_over(entries_[place], now_ms[i])) {
      end_or_defer(place);
      count(counts_.expired, 1);
      place = kNoFlow;
    }
    const Says said = says != nullptr ? says[i] : Says::none;
    if (place == kNoFlow) {
      place = add(hash, keys[i], now_ms[i], said);
    } else {
      if (idle_ms(entries_[place], now_ms[i]) > 0) entries_[place].last_ms = now_ms[i];
      note(entries_[place], said, now_ms[i]);
    }
    if (place != kNoFlow) entries_[place].batch = batch_;
    flows[i] = place;
  }
}

void ThreadTable::note(Entry& entry, Says says, uint32_t now_ms) {
  switch (says) {
    case Says::closes:
      return entry.set(Entry::kClosing);
    case Says::resets:
      return entry.set(Entry::kReset);
    case Says::opens:
      if (entry.ends()) begin_again(entry, now_ms);
      return;
    case Says::goes_on:
    case Says::none:
      break;
  }
  const bool lives = says == Says::goes_on && entry.is(Entry::kReset);
  if (entry.is(Entry::kGoesOn) && !lives) return;
  entry.set(Entry::kGoesOn);
  if (lives) entry.clear(Entry::kReset);
  // A way back that has begun behind it has said so itself.
  if (!entry.is(Entry::kLooks) && !lives) return;
  entry.clear(Entry::kLooks);
  if (!entry.ends() && answers(entry.key, now_ms)) entry.set(Entry::kAnswered);
}

void ThreadTable::begin_again(Entry& entry, uint32_t now_ms) {
  for (const auto state : {Entry::kGoesOn, Entry::kAnswered, Entry::kClosing, Entry::kReset}) entry.clear(state);
  entry.set(Entry::kLooks);
  // Not one that has begun again itself, as when a SYN with ACK comes.
  Entry* const back = way_back(entry.key, now_ms);
  if (back != nullptr && (back->is(Entry::kGoesOn) || back->is(Entry::kAnswered))) back->set(Entry::kReset);
}

Entry* ThreadTable::way_back(const Key& key, uint32_t now_ms) {
  const Key back = turned(key);
  const uint32_t other = find_own(hash_of(back), back);
  return other == kNoFlow || is_over(entries_[other], now_ms) ? nullptr : &entries_[other];
}

bool ThreadTable::answers(const Key& key, uint32_t now_ms) {
  Entry* const back = way_back(key, now_ms);
  if (back == nullptr || back->ends()) return false;
  back->set(Entry::kAnswered);
  return true;
}

uint32_t ThreadTable::free_place(const Hash& hash) const {
  const uint32_t free[2] = {equal_tags(tags_ + hash.bucket[0] * kWays, 0),
                            equal_tags(tags_ + hash.bucket[1] * kWays, 0)};
  const int emptier = std::popcount(free[1]) > std::popcount(free[0]) ? 1 : 0;
  if (free[emptier] == 0) return kNoFlow;
  return hash.bucket[emptier] * kWays + static_cast<uint32_t>(std::countr_zero(free[emptier]));
}

uint32_t ThreadTable::add(const Hash& hash, const Key& key, uint32_t now_ms, Says says) {
  uint32_t place = free_place(hash);
  if (place == kNoFlow) {
    place = victim(hash, now_ms);
    if (place == kNoFlow) return kNoFlow;
    make_room(place, now_ms);
  }
  const uint32_t state = (answers(key, now_ms) ? Entry::kAnswered : 0u) |
                         (says == Says::closes ? Entry::kClosing : 0u) | (says == Says::resets ? Entry::kReset : 0u);
  Entry& entry = entries_[place];
  entry.begin(key, state);
  entry.last_ms = now_ms;
  set_tag(place, hash.tag);
  count(counts_.added, 1);
  count(counts_.flows, 1);
  return place;
}

bool ThreadTable::may_end(uint32_t place, uint32_t other, uint32_t now_ms) const {
  const Entry& entry = entries_[place];
  if (tags_[place] == 0 || tags_[place] == kEnding || entry.batch == batch_) return false;
  const bool over = is_over(entry, now_ms);
  if (!over && standing(entry) == kStays) return false;
  if (other == kNoFlow || over) return true;
  const Entry& best = entries_[other];
  if (is_over(best, now_ms)) return false;
  const uint32_t mine = standing(entry), bests = standing(best);
  return mine != bests ? mine < bests : idle_ms(entry, now_ms) > idle_ms(best, now_ms);
}

void ThreadTable::make_room(uint32_t place, uint32_t now_ms) {
  count(is_over(entries_[place], now_ms) ? counts_.expired : counts_.evicted, 1);
  end(place);
}

uint32_t ThreadTable::victim(const Hash& hash, uint32_t now_ms) const {
  uint32_t best = kNoFlow;
  for (const uint32_t bucket : hash.bucket)
    for (uint32_t place = bucket * kWays; place < (bucket + 1) * kWays; ++place) {
      if (!may_end(place, best, now_ms)) continue;
      best = place;
      if (is_over(entries_[best], now_ms)) return best;
    }
  return best;
}

void ThreadTable::end(uint32_t place) {
  for (Watcher* watcher : *watchers_) watcher->flow_ends(entries_[place], thread_);
  set_tag(place, 0);
  count(counts_.flows, ~uint64_t{0});
}

void ThreadTable::end_or_defer(uint32_t place) {
  if (entries_[place].batch != batch_) return end(place);
  set_tag(place, kEnding);
  entries_[place].next_ending = std::exchange(first_ending_, place);
}

void ThreadTable::end_all() {
  while (first_ending_ != kNoFlow) end(std::exchange(first_ending_, entries_[first_ending_].next_ending));
}

void ThreadTable::age(size_t looked_at, uint32_t now_ms) {
  for (size_t n = std::min<size_t>(looked_at, places()); n > 0; --n) {
    const uint32_t place = next_aged_;
    next_aged_ = place + 1 == places() ? 0 : place + 1;
    if (tags_[place] == 0 || tags_[place] == kEnding || !is_over(entries_[place], now_ms)) continue;
    end(place);
    count(counts_.expired, 1);
  }
}

}  // namespace heddle::flow
