#include "elements/basic/queue.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <set>

#include "click/arguments.h"
#include "core/error.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define HEDDLE_TSAN 1
#endif
#endif

namespace heddle {
namespace {

constexpr int kAtOnce = 64;
/** Entries under way between a batch and the ring; columns are at most 64 of 8 bytes. */
struct Entries {
  alignas(8) std::byte bytes[kAtOnce * (sizeof(Packet*) + 64 * sizeof(uint64_t))];  // [n][entry bytes]
};

// rte_ring looks at the tail of the other side with a plain load (which on x86 is enough), so ThreadSanitizer has to be
// told that what was written before an enqueue is seen behind the dequeue.
#ifdef HEDDLE_TSAN
void before_enqueue(rte_ring* ring) { __tsan_release(ring); }
void after_dequeue(rte_ring* ring) { __tsan_acquire(ring); }
#else
void before_enqueue(rte_ring*) {}
void after_dequeue(rte_ring*) {}
#endif

}  // namespace

std::vector<const Storage*> nearest_storages(const Element& element, bool behind) {
  std::vector<const Storage*> found;
  std::set<const Element*> seen;
  std::vector<const Element*> open;
  const auto go_on = [&](const Element& from) {
    const std::vector<Element*>& next = behind ? from.behind : from.before;
    open.insert(open.end(), next.begin(), next.end());
  };
  for (go_on(element); !open.empty();) {
    const Element* at = open.back();
    open.pop_back();
    if (at == nullptr || !seen.insert(at).second) continue;
    if (const auto* storage = dynamic_cast<const Storage*>(at); storage != nullptr && storage->is_buffer())
      found.push_back(storage);
    else if (!behind || at->processing()[0] != 'l')  // what pulls: queues behind are others'
      go_on(*at);
  }
  return found;
}

void Queue::configure(click::Arguments& arguments) { arguments.optional("CAPACITY", capacity_, 1u, 1u << 20); }

Access Queue::access(Processor) const {
  return {.reads = {kWholePacket}};  // everything has to be there when it is pulled
}

std::span<const char* const> Queue::drop_reasons() const {
  static constexpr const char* kReasons[] = {"full"};
  return kReasons;
}

std::unique_ptr<Queue::Ring> Queue::make_ring(unsigned capacity) const {
  // RING_F_EXACT_SZ holds `capacity` and not a power of two less one; relaxed tail sync lets a thread that the
  // kernel has put aside in the middle of an enqueue hold up nobody.
  constexpr unsigned kFlags = RING_F_EXACT_SZ | RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ;
  const unsigned count = rte_align32pow2(capacity + 1);
  const ssize_t bytes = rte_ring_get_memsize_elem(entry_bytes(), count);
  if (bytes < 0) throw Error(format("CAPACITY %u: cannot make such a ring", capacity));
  auto made = std::make_unique<Ring>();
  made->ring.reset(static_cast<rte_ring*>(std::aligned_alloc(64, (static_cast<size_t>(bytes) + 63) / 64 * 64)));
  if (!made->ring || rte_ring_init(made->ring.get(), "queue", capacity, kFlags) != 0)
    throw Error(format("out of memory: a ring of %u packets", capacity));
  return made;
}

void Queue::start(const Environment&) {
  columns_ = ColumnPack(carries);
  rings_.all.push_back(make_ring(capacity_));
  rings_.oldest = rings_.newest = rings_.all.back().get();
  limit_ = capacity_;
}

/** Until all threads push into the new ring, nothing is pulled from it: what one has pushed into the old ring comes
 *  first. */
void Queue::set_capacity(unsigned capacity) {
  if (rings_.all.empty()) throw Error("the queue has not been started");
  rings_.gone.clear();
  rings_.all.push_back(make_ring(capacity));
  for (; rings_.all.front().get() != rings_.oldest; rings_.all.pop_front())
    rings_.gone.push_back(std::move(rings_.all.front()));
  rings_.changing = true;
  Ring* const made = rings_.all.back().get();
  rings_.newest.load()->newer.store(made, std::memory_order_release);
  rings_.newest.store(made, std::memory_order_release);
  limit_ = capacity;
}

unsigned Queue::length() const {
  unsigned packets = 0;
  for (const Ring* each = rings_.oldest.load(std::memory_order_acquire); each != nullptr;
       each = each->newer.load(std::memory_order_acquire))
    packets += rte_ring_count(each->ring.get());
  return packets;
}

std::optional<unsigned> Queue::awaited_room() const {
  static constexpr std::string_view kAwaited[] = {"Queue", "ThreadSafeQueue", "FullNoteQueue", "QuickNoteQueue"};
  if (std::find(std::begin(kAwaited), std::end(kAwaited), class_name) == std::end(kAwaited)) return std::nullopt;
  return room();
}

unsigned Queue::room() const {
  const unsigned held = length(), limit = capacity();
  return held < limit ? limit - held : 0;
}

int Queue::allowed(int wanted) const {
  if (rings_.oldest.load(std::memory_order_acquire) == newest()) return wanted;
  const unsigned held = length(), limit = capacity();
  return held < limit ? std::min(wanted, static_cast<int>(limit - held)) : 0;
}

int Queue::keep(Batch& batch, int from, int to, Ring* into) {
  Entries entries;
  int done = from;
  rte_ring* const ring = into->ring.get();
  while (done < to) {
    const int n = std::min(to - done, kAtOnce);
    for (int i = 0; i < n; ++i) {
      std::byte* entry = entries.bytes + static_cast<size_t>(i) * entry_bytes();
      Packet* packet = batch.packet(done + i);
      std::memcpy(entry, &packet, sizeof packet);
      columns_.save(batch, done + i, entry + sizeof packet);
    }
    before_enqueue(ring);
    const auto taken = static_cast<int>(
        rte_ring_enqueue_burst_elem(ring, entries.bytes, entry_bytes(), static_cast<unsigned>(n), nullptr));
    done += taken;
    if (taken < n) break;
  }
  const unsigned now = length();
  if (now > highwater_.load(std::memory_order_relaxed)) highwater_.store(now, std::memory_order_relaxed);
  return done;
}

void Queue::drop_from(Batch& batch, int from) {
  const int left = batch.size() - from;
  for (int i = 0; i < left; ++i) {
    batch.packets()[i] = batch.packet(from + i);
    batch.drop(i, 0);
  }
  batch.resize(left);
  if (left > 0) drops_.fetch_add(static_cast<uint64_t>(left), std::memory_order_relaxed);
}

void Queue::run_cpu(Batch& batch) { drop_from(batch, keep(batch, 0, allowed(batch.size()), newest())); }

unsigned Queue::take(std::byte* entries, unsigned count, bool in_order) {
  for (Ring* from = rings_.oldest.load(std::memory_order_acquire);;) {
    // In this order: if there is a newer one, and nothing is changing any more, nobody pushes into this one.
    Ring* const newer = from->newer.load(std::memory_order_acquire);
    const bool waits = in_order && rings_.changing.load(std::memory_order_acquire);
    const unsigned n = rte_ring_dequeue_burst_elem(from->ring.get(), entries, entry_bytes(), count, nullptr);
    after_dequeue(from->ring.get());
    if (n > 0 || newer == nullptr || waits) return n;
    if (rings_.oldest.compare_exchange_strong(from, newer, std::memory_order_acq_rel)) from = newer;
  }
}

unsigned Queue::free_packets(unsigned most) {
  Entries entry;
  unsigned n = 0;
  for (; n < most && take(entry.bytes, 1, false) == 1; ++n) {
    Packet* packet = nullptr;
    std::memcpy(&packet, entry.bytes, sizeof packet);
    rte_pktmbuf_free(packet);
  }
  return n;
}

unsigned Queue::take_front(Ring* ring, Packet** packets, unsigned count) {
  Entries entry;
  unsigned n = 0;
  for (; n < count && rte_ring_dequeue_burst_elem(ring->ring.get(), entry.bytes, entry_bytes(), 1, nullptr) == 1; ++n) {
    after_dequeue(ring->ring.get());
    std::memcpy(&packets[n], entry.bytes, sizeof(Packet*));
  }
  return n;
}

void Queue::receive(Batch& batch) {
  // Asked in every round, and most often in vain: that of an element that turns packets into errors.
  if (const Ring* oldest = rings_.oldest.load(std::memory_order_acquire);
      rte_ring_empty(oldest->ring.get()) != 0 && oldest->newer.load(std::memory_order_acquire) == nullptr)
    return;
  Entries entries;
  for (int wanted; (wanted = std::min(batch.room() - batch.size(), kAtOnce)) > 0;) {
    const auto n = static_cast<int>(take(entries.bytes, static_cast<unsigned>(wanted), true));
    for (int i = 0; i < n; ++i) {
      const std::byte* entry = entries.bytes + static_cast<size_t>(i) * entry_bytes();
      const int at = batch.size();
      std::memcpy(&batch.packets()[at], entry, sizeof(Packet*));
      columns_.load(batch, at, entry + sizeof(Packet*));
      batch.resize(at + 1);
    }
    if (n < wanted) return;
  }
}

void Queue::take_state(Element& old_element) {
  auto& old = static_cast<Queue&>(old_element);
  drops_ += old.drops_.exchange(0);
  const unsigned highwater = old.highwater_.exchange(0);
  if ((predecessor == &old ? *this : old).same_arguments && carries == old.carries) {
    std::swap(rings_.all, old.rings_.all), std::swap(rings_.gone, old.rings_.gone);
    rings_.oldest = old.rings_.oldest.exchange(rings_.oldest),
    rings_.newest = old.rings_.newest.exchange(rings_.newest);
    limit_ = old.limit_.exchange(limit_);
  } else if (can_carry(carries, old.carries)) {
    // What a configuration that is taken back gives back is the oldest: what has stayed here comes behind.
    std::list<Batch> newer;
    while (old.predecessor == this && length() > 0) receive(newer.emplace_back(kAtOnce));
    Batch batch(kAtOnce);
    for (unsigned room; (room = capacity() - std::min(capacity(), length())) > 0 && old.length() > 0;) {
      batch.set_room(static_cast<int>(std::min(room, static_cast<unsigned>(kAtOnce))));
      old.receive(batch);
      clear_missing(batch, carries & ~old.carries);
      keep(batch, 0);
      batch.resize(0);
    }
    for (Batch& one : newer) keep(one, 0), one.resize(0);
  }
  highwater_ = std::max({highwater_.load(), std::min(highwater, capacity()), length()});
}

std::string Queue::stop() {
  left_ += free_packets(length());
  return {};
}

void Queue::handlers(Handlers& list) {
  list.read("length", [this] { return std::to_string(length()); })
      .read("highwater_length", [this] { return std::to_string(highwater_.load()); })
      .read("capacity", [this] { return std::to_string(limit_ != 0 ? limit_.load() : capacity_); })
      .write("capacity",
             [this](const std::string& text) { set_capacity(click::value_of<uint32_t>(text, 1u, 1u << 20)); })
      .read("drops", [this] { return std::to_string(drops_.load()); })
      .write("reset_counts", [this](const std::string&) { drops_ = 0, highwater_ = length(); })
      // Those that are there now: packets that arrive meanwhile would keep it busy for ever.
      .write("reset",
             [this](const std::string&) { drops_.fetch_add(free_packets(length()), std::memory_order_relaxed); });
}

std::vector<std::pair<std::string, uint64_t>> Queue::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list{{"highwater_length", highwater_.load()}};
  if (left_ != 0) list.emplace_back("left", left_);
  return list;
}

HEDDLE_ELEMENT(Queue);
HEDDLE_ELEMENT_NAMED(Queue, SimpleQueue);
HEDDLE_ELEMENT_NAMED(Queue, ThreadSafeQueue);
HEDDLE_ELEMENT_NAMED(Queue, NotifierQueue);
HEDDLE_ELEMENT_NAMED(Queue, FullNoteQueue);
HEDDLE_ELEMENT_NAMED(Queue, QuickNoteQueue);
HEDDLE_ELEMENT_NAMED(Queue, MSQueue);

}  // namespace heddle
