#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/access.h"

namespace heddle {

/** Bits of the planner's vectors: bit i stands for atom i. */
using AtomSet = uint64_t;

/** One element's access in atoms. Writes that cannot be proved to cover an atom count as reads, too (core/access.h). */
struct AtomAccess {
  AtomSet reads = 0, writes = 0;
};

/** Where an element sees packets begin: bytes behind the start of the frame as received, if that is the same for
 *  all. */
struct Head {
  Head(int offset = 0, bool varies = false) : offset(offset), varies(varies) {}
  int offset;
  bool varies;
};

/** Cuts the byte intervals and columns of a chain into at most 64 disjoint atoms, on which the vectors of Gaviss
 *  (section 4.3) and its Algorithm 1 work.
 *
 *  Intervals relative to `head` become relative to the frame as received by adding the element's head offset, if it is
 *  the same for all packets; if not, nothing is known of where they are. Header positions relative to each other are
 *  only bounded: the network header starts at byte 14 or later (Ethernet, perhaps VLAN tags), the transport header 20
 *  bytes or more behind it. Intervals of different bases that may overlap under these bounds are taken to overlap. */
class Atoms {
 public:
  struct Atom {
    bool is_column;
    Column column;      // if is_column
    Interval interval;  // else; Base::head means: relative to the frame as received
  };

  /** Adds the cuts of `access`, whose element sees packets begin at `head`. */
  void add(const Access& access, Head head);
  /** Makes the atoms. Throws Error when there are more than 64. */
  void cut();
  AtomAccess masks(const Access& access, Head head) const;

  const std::vector<Atom>& all() const { return atoms_; }
  AtomSet everything() const { return packet_atoms() | column_atoms(); }
  AtomSet packet_atoms() const;
  AtomSet column_atoms() const;

  /** Bytes that `set` stands for. `open` tells that it reaches the end of the packet: then `bytes` counts the fixed
   * part. */
  struct Size {
    int bytes;
    bool open;
  };
  Size size(AtomSet set) const;
  /** For people: "frame[0,12) dst". */
  std::string text(AtomSet set) const;

 private:
  struct Cuts {
    std::vector<int> points;
  };
  Cuts cuts_[5];
  ColumnSet columns_ = 0;
  std::vector<Atom> atoms_;
};

}  // namespace heddle
