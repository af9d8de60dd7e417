#pragma once

#include <string>
#include <vector>

#include "engine/atoms.h"
#include "engine/router.h"
#include "engine/sync.h"

namespace heddle {

/** How a GPU segment gets its work. */
enum class LaunchMode : uint8_t { sync, persistent };
constexpr const char* name(LaunchMode mode) { return mode == LaunchMode::sync ? "sync" : "persistent"; }

struct PlanOptions {
  std::string device = "cpu";  ///< functions without DEVICE run here: "cpu", "gpu", "gpu0", "gpu1", ... or "simt"
  LaunchMode launch = LaunchMode::persistent;
};

/** What the plan knows of one node. */
struct NodePlan {
  Processor processor = Processor::cpu;
  int segment = -1;           ///< index into Plan::segments
  int head = 0;               ///< bytes between the start of the frame as received and where this node sees it begin
  bool head_varies = false;   ///< that differs between the ways here
  ColumnSet columns = 0;      ///< columns that are set when a packet arrives here
  ColumnSet live = 0;         ///< columns that this node or one behind it reads before they are set anew
  ColumnSet live_behind = 0;  ///< the same for the nodes behind it
  bool shared = false;        ///< packets that arrive may share their bytes with copies (Tee)
  bool copy_first = false;    ///< it (or its GPU segment, if it is the first there) writes, and what arrives may be
                              ///< shared: the bytes are copied before
  bool counts_bytes = true;   ///< it sums the lengths of its packets; else they follow from the node before it
  int prefetch_for = -1;      ///< node whose look-ups are asked for once this one has run; -1: none
  AtomAccess access;
};

/** A maximal run of functions on one processor between hand-overs. */
struct Segment {
  Processor processor;
  std::vector<int> nodes;   ///< topological order; a GPU segment is entered at nodes[0] only
  AtomSet in = 0, out = 0;  ///< GPU segment: fields that move to the GPU and back, for each packet
};

/** What runs where, and which bytes move. Made in passes, each a function below; `heddle plan` prints it. */
struct Plan {
  PlanOptions options;
  std::vector<NodePlan> nodes;  ///< one entry a node of the router
  std::vector<Segment> segments;
  Atoms atoms;

  bool uses_gpu() const;
  std::string text(const Router& router) const;
  std::string json(const Router& router) const;
};

/** Runs all passes. Mistakes of the chain (a column that nothing sets, DEVICE gpu without a GPU side) go to
 * `diagnostics`. */
Plan make_plan(const Router& router, const PlanOptions& options, click::Diagnostics& diagnostics);

namespace passes {
/** 2. Chooses a processor for each function; neutral elements follow their neighbours. */
void place(const Router& router, Plan& plan);
/** 3. Follows head offset, columns and sharing along the chain; checks that each column that is read has been set. */
void follow(const Router& router, Plan& plan, click::Diagnostics& diagnostics);
/** 4. Finds the columns that somebody still reads: only those are kept when batches are split. */
void find_live_columns(const Router& router, Plan& plan);
/** 5. Finds the nodes whose bytes need not be counted, because they get all that the node before them passes on. */
void count_bytes(const Router& router, Plan& plan);
/** 6. Finds where the memory that a look-up needs can be asked for early: behind the element that sets the columns, if
 *  something else still runs between the two. */
void find_prefetches(const Router& router, Plan& plan);
/** 7. Groups nodes into segments. */
void cut(const Router& router, Plan& plan);
/** 8. Derives which fields move at each hand-over. */
void synchronise(const Router& router, Plan& plan);
}  // namespace passes

}  // namespace heddle
