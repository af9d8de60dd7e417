#pragma once

#include <bitset>
#include <map>
#include <optional>
#include <vector>

#include "engine/modes.h"
#include "tests/support/frames.h"
#include "tests/support/random_chain.h"

/** What must cross the bus between host and GPU, worked out byte by byte over all ways through a chain. */
namespace heddle::test {

/** Bytes; both are the same where it is known which packets come. */
struct Bounds {
  uint64_t least = 0, most = 0;
};

/** A run of elements on the GPU, and what must move there and back. */
class BusSegment {
 public:
  static constexpr int kPlaces = 256;  ///< bytes of a frame that are looked at one by one; all behind are place kPlaces
  using Places = std::bitset<kPlaces + 1>;
  /** How a packet stands where it enters or leaves: bytes that are stripped, and that were put behind it. */
  struct Ends {
    int head = 0, tail = 0;
  };

  std::vector<int> steps;
  Ends entry;
  std::map<int, Ends> leaving;  ///< by the step behind
  Places in, out;               ///< of the frame as received: wanted by the GPU, wanted from it
  /** Of the packet as a segment before has left it on the GPU, what the CPU has written since: all if there is none.
   *  Null: a segment between has brought a part of that up to date, and how much comes again is not said. */
  std::optional<Places> stale = Places().set();
  unsigned columns_in = 0, columns_out = 0;
  bool wants_bytes = false, writes_bytes = false, resizes = false;
  bool unstripped = false;  ///< in it or behind it something takes back what has been stripped
  int grows = 0;

  uint64_t slot_to_gpu() const, slot_from_gpu() const;
  /** What is moved of `frame` if it comes, and what if it goes on to step `behind`. */
  Bounds to_gpu(Transport transport, const Frame& frame) const;
  uint64_t from_gpu(Transport transport, const Frame& frame, int behind) const;
  uint64_t declared(const Places& fields, const Frame& frame) const;

 private:
  /** Bytes [from, to) from where packets begin on entry; to = Field::kOpen: to the end. */
  Field span(const Places& fields) const;
  Field copied_in() const;
  bool writes_to_end() const { return writes_bytes && out.any() && (grows > 0 || span(out).to == Field::kOpen); }
  bool moves_bytes() const { return (in | out).any(); }
  uint64_t gathered(Field field, const Frame& frame) const;
  uint64_t landed(const Frame& frame) const;
  friend class Residence;
};

/** What functions on a GPU leave each other. */
enum class Between {
  shared,    ///< packets stay there while others work on them
  segments,  ///< nothing from one segment to the next
  isolated   ///< nothing: each is a segment of its own
};
/** `on_gpu`: by step. By the first step of each. */
std::map<int, BusSegment> bus_segments(const RandomChain& chain, const std::vector<bool>& on_gpu, Between between);

}  // namespace heddle::test
