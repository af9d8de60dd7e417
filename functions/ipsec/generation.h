#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "functions/ipsec/association_file.h"
#include "functions/ipsec/details.h"
#include "functions/ipsec/lifetime.h"
#include "functions/ipsec/replay_window.h"

namespace heddle::ipsec {

/** What changes with the packets of an association, on the host. It is the same in all generations that have the
 *  association. */
struct alignas(64) Progress {
  std::atomic<uint64_t> next{1};       ///< number of the next packet
  bool numbered_elsewhere = false;     ///< packets have theirs from another element's
  std::unique_ptr<Lifetime> lifetime;  ///< null: no limits
  ReplayWindow window;
  Reached numbers;  ///< few are left (soft), or a packet got none (hard)
};

/** A place of a generation, which the column sa names. */
struct Seat {
  FileAssociation from;                ///< of a free place sa.spi is 0
  std::shared_ptr<Progress> progress;  ///< of a free place null
  bool leaves = false;                 ///< nobody finds it any more, but packets on their way may have it
  bool is_free() const { return from.sa.spi == 0; }
};
using Seats = std::vector<Seat, WipingAllocator<Seat>>;

/** The associations of an element between two changes: what packets need of them as the image of a table, what the
 *  CPU's library wants, and where their progress is. Any number of threads. The memory of keys is left out of core
 *  dumps, and wiped. Packets with a free place find in its Form that they do not go there, and are dropped
 *  ("no_sa"). */
class Generation {
 public:
  /** `has_extended`: as if one had extended numbers. Throws Error: no memory, no random numbers. */
  Generation(const Seats& seats, uint32_t link_bytes, bool has_extended);

  std::span<const std::byte> bytes() const { return {memory_.data(), memory_.size()}; }
  const Image& image() const { return *reinterpret_cast<const Image*>(memory_.data()); }
  uint32_t count() const { return image().count; }  ///< of places
  const Association& operator[](uint32_t place) const { return image().associations()[place]; }
  const Details& details(uint32_t place) const { return details_[place]; }

  /** Whether packets find it: the place is not free, nor is it left. */
  bool has(uint32_t place) const { return found_[place]; }
  uint32_t size() const { return size_; }  ///< how many they find
  /** By SPI, in network byte order; of several the one of the lowest place that `is_it` accepts. */
  uint32_t find(uint32_t spi) const { return image().find(spi); }
  template <class IsIt>
  uint32_t find(uint32_t spi, const IsIt& is_it) const {
    return image().find(spi, is_it);
  }
  /** By addresses of an inner packet. */
  uint32_t select(const Selector::Ends& ends) const { return selectors_.image().find(ends); }
  const Selectors& selectors() const { return selectors_; }
  const Selector& selector(uint32_t place) const { return selectors_of_[place]; }
  bool has_selectors() const { return has_selectors_; }  ///< whether some association has not all packets
  /** Whether an association may have an inner packet (RFC 4301, 5.2, step 4). */
  bool may_have(uint32_t place, const uint8_t* header, uint32_t available) const {
    return !has_selectors_ || selectors_of_[place].has(ends_of(header, available));
  }

  /** What goes on in other generations; null of a free place. */
  const std::shared_ptr<Progress>& progress(uint32_t place) const { return progress_[place]; }
  /** A number for the next packet; above last_number() there are none (RFC 4303, 3.3.3). */
  uint64_t take_numbers(uint32_t place, uint32_t count) const {
    return progress_[place]->next.fetch_add(count, std::memory_order_relaxed);
  }
  /** Fetches the place's Form and what take_numbers() changes. */
  void prefetch(uint32_t place) const {
    __builtin_prefetch(&(*this)[place]);
    __builtin_prefetch(progress_[place].get(), 1);
  }
  uint64_t next_number(uint32_t place) const { return progress_[place]->next.load(std::memory_order_relaxed); }
  ReplayWindow& window(uint32_t place) const { return progress_[place]->window; }
  /** One more packet of so many bytes, at `now`; false if the association's lifetime is over. */
  bool take_life(uint32_t place, uint32_t bytes, Lifetime::Time now) const {
    Lifetime* const life = progress_[place]->lifetime.get();
    return life == nullptr || life->take(bytes, now);
  }
  /** Whether take_life() would say so. */
  bool is_over(uint32_t place, Lifetime::Time now) const {
    Lifetime* const life = progress_[place]->lifetime.get();
    return life != nullptr && life->is_over(now);
  }
  /** The time for take_life(), which need not be asked for each packet of a batch. */
  Lifetime::Time now() const { return has_timed_ ? RouterClock::now() : Lifetime::Time{}; }

  Limits limits(uint32_t place) const;
  /** Makes `seat`, a free one, what stands there, as far as a generation to come wants it. */
  void copy_to(uint32_t place, Seat& seat) const;

  // One thread; copies of the image are to follow.
  Association& association_to_change(uint32_t place) { return const_cast<Association&>((*this)[place]); }
  uint64_t& seen_to_change(uint32_t place) { return const_cast<uint64_t&>(image().seen()[place]); }
  /** The place, which is left and no packet has any more, becomes free; keys are wiped. */
  void vacate(uint32_t place);

 private:
  void fill_image(const Seats& seats, uint32_t link_bytes, bool has_extended);
  void fill_details(const Seats& seats);
  void fill_host(const Seats& seats);

  SecretMemory memory_, more_memory_;  // the image; details, and keys that they point to
  Details* details_ = nullptr;         // [count]
  std::vector<std::shared_ptr<Progress>> progress_;
  std::vector<Selector> selectors_of_;
  std::vector<bool> found_;
  Selectors selectors_;
  uint32_t size_ = 0;
  bool has_selectors_ = false, has_timed_ = false;
};

/** Throws Error: no random numbers. */
uint64_t random_number();

}  // namespace heddle::ipsec
