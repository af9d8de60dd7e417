#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/element.h"
#include "functions/ipsec/association_file.h"

namespace heddle::ipsec {

/** Which sequence numbers of an association have come: RFC 6479's ring of blocks, in which any number of threads mark
 * their
 *  packets without a lock. A block of 32 numbers is one word, which also has the block's place, so that a number is
 *  marked at most once whatever else happens. */
class ReplayWindow {
 public:
  void start(uint32_t window, uint32_t seen);
  /** Whether `sequence` could still come; before its packet has been authenticated. */
  bool could_come(uint32_t sequence) const;
  /** Marks it, once; false if it has come before or is too old. */
  bool mark(uint32_t sequence);
  bool is_on() const { return window_ != 0; }

 private:
  static constexpr uint32_t kBlocks = 4, kBlockBits = 32;
  static_assert(kLargestWindow <= (kBlocks - 2) * kBlockBits + 1);
  uint32_t window_ = 0;
  std::atomic<uint32_t> top_{0};                // the highest that has come
  std::atomic<uint64_t> blocks_[kBlocks] = {};  // number of the block (high half), and which of it have come
};

/** The security associations of an element: what packets need of them as a table, and on the host what changes with
 * them.
 *  The table's memory is left out of core dumps. */
class Associations : public Table {
 public:
  Associations() = default;
  ~Associations() override;

  /** Takes the file's associations, once. */
  void load(const std::vector<FileAssociation>& list, uint32_t link_bytes);

  std::span<const std::byte> bytes() const override { return {static_cast<const std::byte*>(memory_), bytes_}; }
  const Image& image() const { return *static_cast<const Image*>(memory_); }
  uint32_t count() const { return memory_ == nullptr ? 0 : image().count; }
  const Association& operator[](uint32_t index) const { return image().associations()[index]; }

  static constexpr uint32_t kNone = Image::kNone;
  /** By SPI, in network byte order. */
  uint32_t find(uint32_t spi) const { return image().find(spi); }
  /** By addresses of an inner packet, in host byte order: the longest destination that has them, of several the first.
   * */
  uint32_t select(uint32_t source, uint32_t destination) const;

  /** `count` numbers for the next packets: the first of them; above 2^32 - 1 there are none (RFC 4303, 3.3.3). */
  uint64_t take_numbers(uint32_t index, uint32_t count) {
    return host_[index].next.fetch_add(count, std::memory_order_relaxed);
  }
  /** What an initialisation vector is its number's distance from: random, so that a file which is used again does not
   *  encipher other packets with the same key stream. */
  uint64_t iv_base(uint32_t index) const { return host_[index].iv_base; }
  ReplayWindow& window(uint32_t index) { return host_[index].window; }
  /** Whether some association has a window. */
  bool has_windows() const;

  /** A line each: place, SPI, outer source and destination. */
  std::string text() const;

 private:
  struct Host {
    Selector selector;
    std::atomic<uint64_t> next{1};
    uint64_t iv_base = 0;
    ReplayWindow window;
  };

  void* memory_ = nullptr;
  size_t bytes_ = 0;
  std::unique_ptr<Host[]> host_;                                // [count]
  std::unordered_multimap<uint64_t, uint32_t> by_destination_;  // length and prefix, to place
  uint64_t lengths_ = 0;                                        // bit n: a destination has length n
};

/** Arguments FILE and OFFSET; what is wrong is reported. */
void configure_associations(click::Arguments& arguments, Associations& associations);

}  // namespace heddle::ipsec
