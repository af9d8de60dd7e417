#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/cuckoo/rule.h"

namespace heddle::cuckoo {

/** A way to look up at most 64 keys: words[i] is that with keys[i], whose first bucket hashes[i] chooses, or 0; returns
 *  the i that have none, as bits. Entries that move meanwhile may be missed. */
struct Form {
  const char* name;
  uint64_t (*look_up)(const Image* image, const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n);
};
/** Those of this processor; the first one is best where nothing has been measured. */
std::span<const Form> forms();

/** An Image of fixed capacity, and who may write. Any number of threads read; writers hold a Writer, of which there is
 *  one at a time. A reader always finds an entry that has been in the table since before its search: while entries move
 *  they are in both places, and a reader that may have missed one searches again. What a writer changes gathers, some
 *  hundred words at most, and goes to copies on GPUs together, in any order; but while entries move each word goes in
 *  its turn. */
class CuckooTable : public Table {
 public:
  /** Empties the table and makes room for `capacity` entries; before there are readers. `owner` and `constants`: those
   *  of Image. Throws Error without memory. */
  void reset(size_t capacity, uint64_t seed, uint32_t owner = 0, std::array<uint32_t, 2> constants = {});

  /** Exchanges what is in two tables, with owners and constants. No reader or writer is there; copies do not follow. */
  void swap_entries(CuckooTable& other);

  /** The right to change the table. */
  class Writer {
   public:
    explicit Writer(CuckooTable& table);  ///< waits for it; when it goes, copies have all that was changed
    /** For packet threads, which never wait. What is changed may go to copies later: by publish(), or another
     *  Writer. */
    static std::optional<Writer> if_free(CuckooTable& table);
    Writer(Writer&& other) noexcept : table_(std::exchange(other.table_, nullptr)), publishes_(other.publishes_) {}
    Writer& operator=(Writer&&) = delete;
    ~Writer() {
      if (table_ == nullptr) return;
      if (publishes_) publish();
      table_->writing_.clear(std::memory_order_release);
    }

    /** Adds the entry or gives it another value. False if the table is full, or no bucket of the key can be made room
     *  in. */
    bool set(uint32_t hash, uint64_t key, uint16_t value);
    bool remove(uint32_t hash, uint64_t key);  ///< false: there is none
    void set_owner(uint32_t owner);            ///< Image::owner; after all that has gathered
    void publish() { table_->publish(); }      ///< takes what has gathered to the copies
    /** Removes those of buckets [first, last) that `gone` names. */
    void remove_if(uint32_t first, uint32_t last, const std::function<bool(uint64_t word)>& gone);

   private:
    struct Taken {};
    Writer(CuckooTable& table, Taken) : table_(&table) {}
    CuckooTable* table_;
    bool publishes_ = false;
  };

  const Image& image() const { return *reinterpret_cast<const Image*>(memory_.get()); }
  std::span<const std::byte> bytes() const override { return {memory_.get(), bytes_}; }
  uint32_t owner() const { return __atomic_load_n(&image().owner, __ATOMIC_RELAXED); }
  size_t size() const { return size_.load(std::memory_order_relaxed); }
  size_t capacity() const { return capacity_; }

  /** words[i]: the word with keys[i], whose first bucket hashes[i] chooses, or 0. Never allocates or waits for writers
   *  that do not go on; n may be 0. */
  void lookup_bulk(const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n) const {
    lookup_bulk(*form_, hashes, keys, words, n);
  }
  void lookup_bulk(const Form& form, const uint32_t* hashes, const uint64_t* keys, uint64_t* words, int n) const;
  /** Makes lookup_bulk() use the form that is the fastest here, with this table when it is full: all of its memory is
   *  taken. Some milliseconds, and those that the system needs for that. Before there are readers. */
  void choose_form();
  const Form& form() const { return *form_; }
  /** The same for one key. */
  uint64_t find(uint32_t hash, uint64_t key) const;
  /** Calls visit(word) for each entry. Entries that move meanwhile may be missed or seen twice. */
  void each(const std::function<void(uint64_t)>& visit) const;

 private:
  Bucket& bucket(uint32_t number) { return const_cast<Bucket&>(bucket_of(image(), number)); }
  template <class T>
  void store(T& word, T value);
  /** Takes a word to the copies later, with others. */
  void gather(const TableWord& word);
  void publish();
  Image& own_image() { return *reinterpret_cast<Image*>(memory_.get()); }
  /** A free slot of one of the key's buckets, which other entries have made room in; null if there is none. */
  uint64_t* make_room(uint32_t first, uint32_t second);

  HugePages memory_;
  const Form* form_ = &forms().front();
  size_t bytes_ = 0, capacity_ = 0;
  std::atomic<size_t> size_{0};
  std::atomic_flag writing_;
  std::vector<TableWord> gathered_;  // that copies do not have yet; of each place the last
};

}  // namespace heddle::cuckoo
