#include "elements/basic/queue.h"

#include <cstdlib>
#include <cstring>

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

void Queue::configure(click::Arguments& arguments) { arguments.optional("CAPACITY", capacity_, 1u, 1u << 20); }

Access Queue::access(Processor) const {
  return {.reads = {kWholePacket}};  // everything has to be there when it is pulled
}

std::span<const char* const> Queue::drop_reasons() const {
  static constexpr const char* kReasons[] = {"full"};
  return kReasons;
}

void Queue::start(const Environment&) {
  // RING_F_EXACT_SZ holds `capacity_` and not a power of two less one; relaxed tail sync lets a thread that the
  // kernel has put aside in the middle of an enqueue hold up nobody.
  constexpr unsigned kFlags = RING_F_EXACT_SZ | RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ;
  const unsigned count = rte_align32pow2(capacity_ + 1);
  columns_ = ColumnPack(carries);
  const ssize_t bytes = rte_ring_get_memsize_elem(entry_bytes(), count);
  if (bytes < 0) throw Error(format("CAPACITY %u: cannot make such a ring", capacity_));
  ring_.reset(static_cast<rte_ring*>(std::aligned_alloc(64, (static_cast<size_t>(bytes) + 63) / 64 * 64)));
  if (!ring_ || rte_ring_init(ring_.get(), "queue", capacity_, kFlags) != 0)
    throw Error(format("out of memory: a ring of %u packets", capacity_));
}

int Queue::keep(Batch& batch, int from) {
  Entries entries;
  int done = from;
  while (done < batch.size()) {
    const int n = std::min(batch.size() - done, kAtOnce);
    for (int i = 0; i < n; ++i) {
      std::byte* entry = entries.bytes + static_cast<size_t>(i) * entry_bytes();
      Packet* packet = batch.packet(done + i);
      std::memcpy(entry, &packet, sizeof packet);
      columns_.save(batch, done + i, entry + sizeof packet);
    }
    before_enqueue(ring_.get());
    const auto taken = static_cast<int>(
        rte_ring_enqueue_burst_elem(ring_.get(), entries.bytes, entry_bytes(), static_cast<unsigned>(n), nullptr));
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

void Queue::run_cpu(Batch& batch) { drop_from(batch, keep(batch, 0)); }

unsigned Queue::take(std::byte* entries, unsigned count) {
  const unsigned n = rte_ring_dequeue_burst_elem(ring_.get(), entries, entry_bytes(), count, nullptr);
  after_dequeue(ring_.get());
  return n;
}

unsigned Queue::free_packets(unsigned most) {
  unsigned n = 0;
  for (Packet* packet; n < most && take_front(&packet, 1) == 1; ++n) rte_pktmbuf_free(packet);
  return n;
}

unsigned Queue::take_front(Packet** packets, unsigned count) {
  Entries entry;
  unsigned n = 0;
  for (; n < count && take(entry.bytes, 1) == 1; ++n) std::memcpy(&packets[n], entry.bytes, sizeof(Packet*));
  return n;
}

void Queue::receive(Batch& batch) {
  Entries entries;
  for (int wanted; (wanted = std::min(batch.room() - batch.size(), kAtOnce)) > 0;) {
    const auto n = static_cast<int>(take(entries.bytes, static_cast<unsigned>(wanted)));
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
  if (can_carry(carries, old.carries)) {
    Batch batch(kAtOnce);
    for (unsigned room; (room = capacity_ - length()) > 0 && old.length() > 0;) {
      batch.set_room(static_cast<int>(std::min(room, static_cast<unsigned>(kAtOnce))));
      old.receive(batch);
      clear_missing(batch, carries & ~old.carries);
      keep(batch, 0);
      batch.resize(0);
    }
  }
  highwater_ = std::max({highwater_.load(), std::min(highwater, capacity_), length()});
}

std::string Queue::stop() {
  left_ += free_packets(length());
  return {};
}

void Queue::handlers(Handlers& list) {
  list.read("length", [this] { return std::to_string(length()); })
      .read("highwater_length", [this] { return std::to_string(highwater_.load()); })
      .read("capacity", [this] { return std::to_string(capacity_); })
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

}  // namespace heddle
