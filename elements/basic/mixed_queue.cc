#include "elements/basic/mixed_queue.h"

#include <algorithm>
#include <list>

#include "click/arguments.h"

namespace heddle {
namespace {

constexpr unsigned kMax = 1u << 20;

/** Holds a flag as a lock, for a few loads and stores a packet. */
class Held {
 public:
  explicit Held(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  }
  ~Held() { flag_.clear(std::memory_order_release); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::atomic_flag& flag_;
};

}  // namespace

void MixedQueue::configure(click::Arguments& arguments) {
  unsigned capacity = capacity_;
  arguments.optional("CAPACITY", capacity, 1u, kMax);
  capacity_ = capacity;
}

Access MixedQueue::access(Processor) const { return {.reads = {kWholePacket}, .column_reads = columns(Column::input)}; }

std::span<const char* const> MixedQueue::drop_reasons() const {
  static constexpr const char* kReasons[] = {"full"};
  return kReasons;
}

void MixedQueue::start(const Environment&) {
  columns_ = ColumnPack(carries);
  places_ = capacity_;
  packets_ = std::make_unique<Packet*[]>(places_);
  waiting_ = std::make_unique<std::byte[]>(places_ * columns_.bytes() + 1);
}

void MixedQueue::set_capacity(unsigned capacity) {
  const unsigned places = std::max(capacity, places_);
  auto packets = std::make_unique<Packet*[]>(places);
  auto waiting = std::make_unique<std::byte[]>(places * columns_.bytes() + 1);
  const Held held(held_);
  for (unsigned k = 0; k < stored(); ++k) {
    packets[k] = packets_[place(k)];
    std::copy_n(&waiting_[place(k) * columns_.bytes()], columns_.bytes(), &waiting[k * columns_.bytes()]);
  }
  packets_.swap(packets), waiting_.swap(waiting);
  first_ = 0, places_ = places, capacity_ = capacity;
}

void MixedQueue::save(Batch& batch, int i, size_t at) {
  packets_[at] = batch.packet(i);
  columns_.save(batch, i, &waiting_[at * columns_.bytes()]);
}

void MixedQueue::run_cpu(Batch& batch) {
  int dropped = 0;  // these come first in the batch, whose places before `i` are free
  {
    const Held held(held_);
    unsigned count = stored();
    const unsigned capacity = capacity_;
    for (int i = 0; i < batch.size(); ++i) {
      const bool overtakes = batch.column(Column::input)[i] == 1;
      if (count < capacity) {
        if (overtakes) first_ = place(places_ - 1);
        save(batch, i, overtakes ? first_ : place(count));
        ++count;
      } else if (overtakes) {
        Packet* const last = packets_[place(count - 1)];
        first_ = place(places_ - 1);  // a free one, or where the last one was
        save(batch, i, first_);
        batch.packets()[dropped++] = last;
      } else {
        batch.packets()[dropped++] = batch.packet(i);
      }
    }
    count_.store(count, std::memory_order_relaxed);
    if (count > highwater_.load(std::memory_order_relaxed)) highwater_.store(count, std::memory_order_relaxed);
  }
  batch.resize(dropped);
  for (int i = 0; i < dropped; ++i) batch.drop(i, 0);
  if (dropped > 0) drops_.fetch_add(static_cast<uint64_t>(dropped), std::memory_order_relaxed);
}

void MixedQueue::receive(Batch& batch) {
  if (stored() == 0) return;
  const Held held(held_);
  const auto n = std::min(stored(), static_cast<unsigned>(std::max(batch.room() - batch.size(), 0)));
  for (unsigned k = 0; k < n; ++k) {
    const int at = batch.size();
    batch.packets()[at] = packets_[first_];
    columns_.load(batch, at, &waiting_[first_ * columns_.bytes()]);
    batch.resize(at + 1);
    first_ = place(1);
  }
  count_.store(stored() - n, std::memory_order_relaxed);
}

void MixedQueue::take_state(Element& old_element) {
  auto& old = static_cast<MixedQueue&>(old_element);
  drops_ += old.drops_.exchange(0);
  if ((predecessor == &old ? *this : old).same_arguments) set_capacity(old.capacity_);
  if (can_carry(carries, old.carries)) {
    // What a configuration that is taken back gives back is what would have left first: what has stayed here comes
    // behind.
    std::list<Batch> newer;
    while (old.predecessor == this && stored() > 0) receive(newer.emplace_back(64));
    const auto save_all = [this](Batch& batch) {
      unsigned count = stored();
      for (int i = 0; i < batch.size(); ++i) save(batch, i, place(count++));
      count_ = count;
    };
    Batch batch(64);
    for (unsigned room; (room = capacity_ - std::min(capacity_.load(), stored())) > 0 && old.stored() > 0;
         batch.resize(0)) {
      batch.set_room(static_cast<int>(std::min(room, 64u)));
      old.receive(batch);
      clear_missing(batch, carries & ~old.carries);
      save_all(batch);
    }
    for (Batch& one : newer) save_all(one), one.resize(0);
  }
  highwater_ = std::max({highwater_.load(), std::min(old.highwater_.exchange(0), capacity_.load()), stored()});
}

unsigned MixedQueue::free_all() {
  const Held held(held_);
  const unsigned n = stored();
  for (unsigned k = 0; k < n; ++k) rte_pktmbuf_free(packets_[place(k)]);
  count_.store(0, std::memory_order_relaxed);
  return n;
}

std::string MixedQueue::stop() {
  left_ += free_all();
  return {};
}

void MixedQueue::handlers(Handlers& list) {
  list.read("length", [this] { return std::to_string(stored()); })
      .read("highwater_length", [this] { return std::to_string(highwater_.load()); })
      .read("capacity", [this] { return std::to_string(capacity_); })
      .write("capacity", [this](const std::string& text) { set_capacity(click::value_of<uint32_t>(text, 1u, kMax)); })
      .read("drops", [this] { return std::to_string(drops_.load()); })
      .write("reset_counts", [this](const std::string&) { drops_ = 0, highwater_ = stored(); })
      .write("reset", [this](const std::string&) { drops_.fetch_add(free_all()); });
}

std::vector<std::pair<std::string, uint64_t>> MixedQueue::statistics() const {
  std::vector<std::pair<std::string, uint64_t>> list{{"highwater_length", highwater_.load()}};
  if (left_ != 0) list.emplace_back("left", left_);
  return list;
}

HEDDLE_ELEMENT(MixedQueue);

}  // namespace heddle
