#include "elements/basic/queue.h"

#include <array>
#include <cstdlib>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {
namespace {

constexpr int kAtOnce = 64;

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
  const ssize_t bytes = rte_ring_get_memsize_elem(sizeof(Entry), count);
  if (bytes < 0) throw Error(format("CAPACITY %u: cannot make such a ring", capacity_));
  ring_.reset(static_cast<rte_ring*>(std::aligned_alloc(64, (static_cast<size_t>(bytes) + 63) / 64 * 64)));
  if (!ring_ || rte_ring_init(ring_.get(), "queue", capacity_, kFlags) != 0)
    throw Error(format("out of memory: a ring of %u packets", capacity_));
}

int Queue::keep(Batch& batch, int from) {
  std::array<Entry, kAtOnce> entries;
  int done = from;
  while (done < batch.size()) {
    const int n = std::min(batch.size() - done, kAtOnce);
    for (int i = 0; i < n; ++i) {
      Entry& entry = entries[static_cast<size_t>(i)];
      entry.packet = batch.packet(done + i);
      for (int c = 0; c < kColumns; ++c) entry.column[c] = batch.column(static_cast<Column>(c))[done + i];
    }
    const auto taken = static_cast<int>(
        rte_ring_enqueue_burst_elem(ring_.get(), entries.data(), sizeof(Entry), static_cast<unsigned>(n), nullptr));
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

void Queue::receive(Batch& batch) {
  std::array<Entry, kAtOnce> entries;
  for (int wanted; (wanted = std::min(batch.room() - batch.size(), kAtOnce)) > 0;) {
    const auto n = static_cast<int>(rte_ring_dequeue_burst_elem(ring_.get(), entries.data(), sizeof(Entry),
                                                                static_cast<unsigned>(wanted), nullptr));
    for (int i = 0; i < n; ++i) {
      const Entry& entry = entries[static_cast<size_t>(i)];
      const int at = batch.size();
      batch.packets()[at] = entry.packet;
      for (int c = 0; c < kColumns; ++c) batch.column(static_cast<Column>(c))[at] = entry.column[c];
      batch.resize(at + 1);
    }
    if (n < wanted) return;
  }
}

std::string Queue::stop() {
  Entry entry;
  while (ring_ && rte_ring_dequeue_elem(ring_.get(), &entry, sizeof entry) == 0) {
    rte_pktmbuf_free(entry.packet);
    ++left_;
  }
  return {};
}

void Queue::handlers(Handlers& list) {
  list.read("length", [this] { return std::to_string(length()); })
      .read("highwater_length", [this] { return std::to_string(highwater_.load()); })
      .read("capacity", [this] { return std::to_string(capacity_); })
      .read("drops", [this] { return std::to_string(drops_.load()); })
      .write("reset_counts", [this](const std::string&) { drops_ = 0, highwater_ = length(); })
      .write("reset", [this](const std::string&) {
        Entry entry;
        while (ring_ && rte_ring_dequeue_elem(ring_.get(), &entry, sizeof entry) == 0) {
          rte_pktmbuf_free(entry.packet);
          drops_.fetch_add(1, std::memory_order_relaxed);
        }
      });
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
