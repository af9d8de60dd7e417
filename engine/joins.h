#pragma once

#include <string>
#include <vector>

#include "engine/router.h"

namespace heddle {

struct Plan;

/** A node that packets reach on several ways. A GPU segment counts as one node, the join where packets enter it:
 *  inside, and behind it where its exits meet, they stay in order anyway. */
struct Join {
  /** One way into it: by any output of a node or, as copies have ways of their own, by one output of a Tee. Packets
   *  take it in order. */
  struct Way {
    static constexpr int kAnyOutput = -1, kLate = -2;
    int from;    ///< node; of a GPU segment the first
    int output;  ///< of a Tee, else kAnyOutput; kLate: what an element gives on its own
  };
  int node;
  std::vector<Way> ways;      ///< in this order copies of one packet go on: those of a Tee's first output first
  bool ordered = false;       ///< packets wait here for older ones that may still come
  std::vector<int> segments;  ///< GPU segments from which packets may still come
  std::string ends;           ///< why order ends here, "" if it does not
};

/** Where ways meet again, and where packets carry their number for it. */
struct Joins {
  std::vector<Join> list;      ///< by node, which is a topological order
  std::vector<bool> numbered;  ///< by node: a join at it or behind it restores the order
};

/** What find_joins() needs to know of a node. */
struct JoinNode {
  std::vector<int> targets;  ///< by output
  int segment = -1;          ///< of GPU segments, else -1
  bool entrance = false;     ///< packets begin here: a source, or a buffer, where they have ended before
  bool copies = false;       ///< output k gets a copy of every packet
  bool holds = false;        ///< may keep packets and give them back later, by any of its outputs
  std::string name;
  bool on_cpu_too = false;  ///< of a segment that the CPU runs as well: there each node is one for itself
};

/** Finds the joins and decides which restore the order. Packets that part and meet again have a common node on both
 *  ways, with no buffer between it and the join: they are given numbers when they enter the chain or leave a buffer,
 *  and the join lets the oldest go first. Where packets only meet that never were together there is no order to
 *  restore, unless they go on to such a join, which relies on rising numbers, and a GPU segment before may have delayed
 *  some. */
Joins find_joins(const std::vector<JoinNode>& nodes);

}  // namespace heddle
