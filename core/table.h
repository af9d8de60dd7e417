#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace heddle {

/** What keeps versions that a change has replaced until no packet thread can be using them. */
class Retiring {
 public:
  virtual ~Retiring() = default;
  /** Whether something waits for reclaim(). If not, nobody needs to wait for the readers of the version before. */
  virtual bool has_retired() const = 0;
  /** Frees what has been retired; called when no reader holds it. */
  virtual void reclaim() = 0;
};

/** A word of a table: `bytes` (1, 2, 4 or 8) at `offset`, a multiple of them, get the low bytes of `value`. */
struct TableWord {
  uint64_t offset, value;
  uint32_t bytes;
};

/** What a function looks packets up in: flat bytes without pointers on the host, and copies of them on any number of
 *  devices. The owner changes the host's bytes, one thread at a time, so that readers on other threads see each answer
 *  go from old to new, and publishes each change to the copies in the order in which a reader must see them: an entry's
 *  target before the entry. A change is finished on the host whatever happens to a copy; a device whose copy could not
 *  follow fails. */
class Table : public Retiring {
 public:
  /** A copy elsewhere. None of the functions may throw, or change the table. */
  struct Copy {
    /** Bytes [offset, offset + bytes.size()) are now these. They are the host's own: copy them before returning. */
    std::function<void(size_t offset, std::span<const std::byte> bytes)> patch;
    /** Scattered words have changed, in any order. */
    std::function<void(std::span<const TableWord> words)> patch_words{};
    /** bytes() is another image. Readers go over to the new one each at a time of its own. */
    std::function<void()> replace{};
    /** Whose it is, which keeps what replace() leaves behind; or null. */
    Retiring* owner = nullptr;
  };

  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  /** The image; the bytes stay where they are until replaced() is called. */
  virtual std::span<const std::byte> bytes() const = 0;
  bool has_retired() const override { return false; }
  void reclaim() override {}

  void add_copy(Copy copy) { copies_.push_back(std::move(copy)); }
  void remove_copies(const Retiring* owner) {
    std::erase_if(copies_, [owner](const Copy& copy) { return copy.owner == owner; });
  }
  /** Adds the owners of the copies to `list`. */
  void list_owners(std::vector<Retiring*>& list) const {
    for (const Copy& copy : copies_)
      if (copy.owner != nullptr) list.push_back(copy.owner);
  }

 protected:
  bool has_copies() const { return !copies_.empty(); }

  /** What the owner calls after it has changed its bytes. */
  void changed(size_t offset, std::span<const std::byte> bytes) const {
    for (const Copy& copy : copies_) copy.patch(offset, bytes);
  }
  void changed(std::span<const TableWord> words) const {
    for (const Copy& copy : copies_) copy.patch_words(words);
  }
  void replaced() const {
    for (const Copy& copy : copies_) copy.replace();
  }

 private:
  std::vector<Copy> copies_;
};

/** A table that never changes once it is configured: one value. */
template <class T>
class FixedTable : public Table {
 public:
  std::span<const std::byte> bytes() const override { return std::as_bytes(std::span(&value, 1)); }
  T value{};
};

}  // namespace heddle
