#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

namespace heddle {

/** A number for each of up to `capacity` aggregates, in memory of a fixed size. Packet threads take turns by Lock;
 *  entries() and size() are for any thread, beside them. */
class AggregateTable {
 public:
  class Lock {
   public:
    explicit Lock(AggregateTable& table) : busy_(table.busy_) {
      while (busy_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
    }
    ~Lock() { busy_.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    std::atomic_flag& busy_;
  };

  static constexpr uint32_t kMax = 1u << 27;  // aggregates

  /** Takes the memory, some 20 to 40 bytes an aggregate, of which the system gives what is used. Throws
   *  std::bad_alloc. */
  void make(uint32_t capacity);

  // Within a Lock:
  /** Null if the aggregate is not in the table. */
  uint64_t* find(uint32_t aggregate);
  /** Puts one that is not in the table there, with number 0; null: it is full. */
  uint64_t* add(uint32_t aggregate);
  /** Changes a number that find() or add() has given, so that other threads see it. */
  static void set(uint64_t& number, uint64_t value) { std::atomic_ref(number).store(value, std::memory_order_relaxed); }
  /** Takes out one that is in the table; not where others read entries(). */
  void remove(uint32_t aggregate);
  void clear();

  uint32_t size() const { return size_.load(std::memory_order_relaxed); }
  uint32_t capacity() const { return capacity_; }
  /** All aggregates with their numbers, in ascending order. Not while another control thread calls clear(). */
  std::vector<std::pair<uint32_t, uint64_t>> entries() const;

  /** Exchanges what is in them; of the same capacity, and while nobody uses either. */
  void swap(AggregateTable& other);

 private:
  struct Entry {
    uint64_t number;
    uint32_t aggregate, generation;  // free if of another generation than the table
  };
  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };
  size_t first_place(uint32_t aggregate) const;

  std::unique_ptr<Entry[], Free> entries_;  // [mask_ + 1], zero at first
  size_t mask_ = 0;
  uint32_t capacity_ = 0;
  uint64_t secret_ = 0;  // so that nobody can choose aggregates that meet in one place
  uint32_t generation_ = 1;
  std::atomic<uint32_t> size_{0};
  std::atomic_flag busy_;
};

}  // namespace heddle
