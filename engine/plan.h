#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "engine/atoms.h"
#include "engine/joins.h"
#include "engine/lane.h"
#include "engine/modes.h"
#include "engine/router.h"
#include "engine/sync.h"
#include "gpu/device.h"
#include "gpu/transport.h"

namespace heddle {

constexpr int kDefaultBatch = 1024;  ///< most packets of a batch, unless --batch says otherwise

struct PlanOptions {
  std::string device = "cpu";  ///< functions without DEVICE run here: "cpu", "gpu", "gpu0", "gpu1", ... or "simt"
  LaunchMode launch = LaunchMode::persistent;
  std::optional<Transport> transport{};  ///< of GPU segments whose functions have no TRANSPORT; none: the plan chooses
  bool share = true;     ///< transport gather: what one GPU segment has gathered the next need not gather again
  bool isolate = false;  ///< each function on a GPU is a segment of its own, and shares nothing with others there
  bool by_load = false;  ///< functions without DEVICE run on `device` or on the CPU, as the load asks for
  bool cpu_after_failure = false;  ///< of functions without ON_GPU_ERROR: when the GPU fails, the CPU goes on
  uint64_t latency_us = 0;  ///< of functions without LATENCY: until packets are back, waiting included; 0: no budget
  bool workers = false;     ///< one packet thread, the last, drives GPU segments for the others, and does nothing else

  /** Sets `device` and `by_load` from what `--device` takes: a device, `auto` (which means auto:gpu) or `auto:DEVICE`.
   *  Throws Error. */
  void set_device(const std::string& text);
};

/** Which processors take the packets of a function, or of a segment. */
struct Placement {
  Processor processor = Processor::cpu;
  bool by_load = false;            ///< or the CPU does, by load (engine/device_choice.h)
  bool cpu_after_failure = false;  ///< or the CPU does, once the GPU has failed
  /** Whether CPU and GPU side are both ready. */
  bool has_both() const { return by_load || cpu_after_failure; }
  bool operator==(const Placement&) const = default;
};

/** What the plan knows of one node. */
struct NodePlan : Placement {
  int segment = -1;           ///< index into Plan::segments
  int head = 0;               ///< bytes between the start of the frame as received and where this node sees it begin
  bool head_varies = false;   ///< that differs between the ways here
  int stripped = 0;           ///< bytes that were taken off before its start, at most; nothing if head_varies
  ColumnSet columns = 0;      ///< columns that are set when a packet arrives here
  ColumnSet live = 0;         ///< columns that this node or one behind it reads before they are set anew
  ColumnSet live_behind = 0;  ///< the same for the nodes behind it
  bool shared = false;        ///< packets that arrive may share their bytes with copies (Tee)
  bool copy_first = false;    ///< it (or its GPU segment, if it is the first there) writes, and what arrives may be
                              ///< shared: the bytes are copied before
  bool counts_bytes = true;   ///< it sums the lengths of its packets; else they follow from the node before it
  int prepends = 0, appends = 0;  ///< room that packets must have before and behind them here, bytes: for this node, or
                                  ///< for its GPU segment, if it is the first there
  int prefetch_for = -1;          ///< node whose look-ups are asked for once this one has run; -1: none
  int parser = -1;                ///< node that parses headers again before packets enter its GPU segment here, where
                                  ///< functions are isolated (core/parses.h); -1: none
  ColumnSet parsed = 0;           ///< columns that this sets
  AtomAccess access;
};

/** A maximal run of functions on one processor between hand-overs. What follows the first two lines is a GPU
 *  segment's. */
struct Segment : Placement {
  std::vector<int> nodes;  ///< topological order; a GPU segment is entered at nodes[0] only, or, if GPUs drive its
                           ///< rings, at the GPU ports that are its first nodes

  AtomSet in = 0, out = 0;  ///< fields that move to the GPU and back, for each packet
  /** Ways out, and where each node's packets go by output port and by drop reason: to a node, as an index into `nodes`,
   *  or to exit `target - gpu::kExit`. */
  std::vector<LaneExit> exits;
  struct Targets {
    std::vector<uint16_t> outputs, drops;
  };
  std::vector<Targets> targets;       ///< by index into `nodes`
  ColumnSet columns = 0;              ///< that tiles have
  ColumnSet columns_in = 0;           ///< that the host puts into slots
  ColumnSet columns_out = 0;          ///< that slots bring back
  ColumnSet columns_kept = 0;         ///< that somebody behind reads and the GPU does not write: they wait on the host
  std::optional<Column> word_column;  ///< travels in the slot's words, for nobody wants the packet's bytes
  bool writes_packets = false;        ///< the GPU writes packet bytes
  bool wide_results = false;          ///< starts or ends move in ways that the exit alone does not tell
  int prepends = 0, appends = 0;      ///< room that packets must have before and behind them when they enter, bytes
  int reach = 0;            ///< bytes before where packets enter that are its own when an Unstrip takes them back
  int drop_exits_from = 0;  ///< exits from this on are drops
  Transport transport = Transport::direct;
  std::string why_transport;  ///< what has decided it, for people
  gpu::Copies copies;         ///< what transports other than direct copy of each packet
  int warps = 1;              ///< of the block that works on a tile
  LaunchMode launch = LaunchMode::persistent;
  LaunchLimits limits;
  uint64_t latency_us = 0;  ///< budget of packets from here until they are back; 0: none, and none waits for others
  /** A GPU port whose packets enter, if the GPU drives its rings, and by which of `to` they may leave. */
  struct Entrance {
    int port;
    std::vector<bool> leaves_by = {};
  };
  std::vector<Entrance> from;  ///< by index into `nodes`
  std::vector<int> to;         ///< the GPU ports that packets leave by; exit i is to[i]
  /** These are several, or one of another kind than one of `from`: packets may be copied from ring to ring, and one
   *  block serves a pair. */
  bool routed = false;

  /** Functions go over whole packets of the rings: several multiprocessors serve a pair, unless WARP_BATCH is given. */
  bool spread = false;
  /** Three kernels serve the rings: to receive, for the functions, and to transmit. */
  bool split = false;
  /** Some element prefers packets in order: tiles of the rings that are not full wait for those before them. */
  bool in_order = false;

  bool has_rings() const { return !from.empty(); }
  /** Nodes at which packets enter, the first ones. */
  size_t entrances() const { return std::max(from.size(), size_t{1}); }
  /** Lists that a thread fills in turn: batches in flight, or CAPACITY times as many. */
  int lists() const { return limits.lists > 0 ? limits.lists : gpu::kStreams; }
  /** Streams of a thread's launches, one for each list; none: its slots are resident. */
  int streams() const { return launch == LaunchMode::persistent ? 0 : lists(); }
  /** Slots that a batch fills, of as many packets as MAX_BATCH says, or else of `batch`. */
  int slots_of_batch(int batch) const {
    return ((limits.batch > 0 ? limits.batch : batch) + gpu::kSlotPackets - 1) / gpu::kSlotPackets;
  }
  /** Slots of a lane through it; `resident`: of one whose slots are resident, unless CAPACITY says otherwise. */
  int slots(int batch, int resident) const {
    if (launch == LaunchMode::sync) return slots_of_batch(batch);
    if (limits.capacity > 0) return limits.capacity * lists() * slots_of_batch(batch);
    return launch == LaunchMode::persistent ? resident : lists() * slots_of_batch(batch);
  }
};

/** What runs where, and which bytes move. Made in passes, each a function below; `heddle plan` prints it. */
struct Plan {
  PlanOptions options;
  std::vector<NodePlan> nodes;  ///< one entry a node of the router
  std::vector<Segment> segments;
  Atoms atoms;
  int prepends = 0, appends = 0;  ///< most that packets grow at their start and end on their way, bytes
  Joins joins;

  bool uses_gpu() const;
  /** Whether packet threads feed a GPU segment. */
  bool has_lanes() const;
  /** Whether functions run on simt: GPUs' kernels on threads of the CPU. */
  bool uses_simt() const;
  /** Slots of a GPU segment over all threads, if nobody says how many: those of all segments fit on one device. */
  int default_slots() const;
  /** As in reports: "cpu", "gpu0", "simt1". */
  std::string name_of(Processor processor) const;
  std::string text(const Router& router) const;
  std::string json(const Router& router) const;
};

/** The element of a GPU segment whose CAPACITY it has; null: none has any. */
const Node* capacity_of(const Router& router, const Segment& segment);
/** "", or why a packet thread cannot have as many slots as CAPACITY says, where batches have `batch` packets unless
 *  MAX_BATCH says otherwise: for people. */
std::string capacity_problem(const Router& router, const Segment& segment, int batch);

/** Runs all passes. Mistakes of the chain (a column that nothing sets, DEVICE gpu without a GPU side) go to
 * `diagnostics`. */
Plan make_plan(const Router& router, const PlanOptions& options, click::Diagnostics& diagnostics);

namespace passes {
/** 2. Chooses a processor for each function, or both; neutral elements and GPU ports follow their neighbours. */
void place(const Router& router, Plan& plan);
/** Of place(): GPU ports go where the functions next to them are. */
void place_ports(const Router& router, Plan& plan);
/** 3. Follows head offset, columns and sharing along the chain; checks that each column that is read has been set. */
void follow(const Router& router, Plan& plan, click::Diagnostics& diagnostics);
/** Of follow(): with `isolate`, finds the functions on GPUs that parse headers for themselves: those that others there
 *  have come before since the headers were found, if these are where they were (engine/isolation.cc). */
void find_parsers(const Router& router, Plan& plan);
/** 4. Finds the columns that somebody still reads: only those are kept when batches are split. */
void find_live_columns(const Router& router, Plan& plan);
/** 5. Finds the nodes whose bytes need not be counted, because they get all that the node before them passes on. */
void count_bytes(const Router& router, Plan& plan);
/** 6. Finds where the memory that a look-up needs can be asked for early: behind the element that sets the columns, if
 *  something else still runs between the two. */
void find_prefetches(const Router& router, Plan& plan);
/** 7. Groups nodes into segments; with `isolate` a GPU segment has one function. */
void cut(const Router& router, Plan& plan);
/** 8. Finds the segments whose packets GPU ports receive and send, and makes one of those whose ways meet; reports GPU
 *  ports between which something else lies (engine/ring_segments.cc). */
void find_rings(const Router& router, Plan& plan, click::Diagnostics& diagnostics);
/** 9. Finds how much packets grow, and where room for that must be there. */
void find_room(const Router& router, Plan& plan);
/** 10. Finds where ways meet again and which joins restore the order (engine/joins.cc). */
void find_joins(const Router& router, Plan& plan);
/** 11. Derives which fields move at each hand-over. */
void synchronise(const Router& router, Plan& plan);
// Of GPU segments (engine/segments.cc):
/** 12. Numbers the exits, drops last, and finds by how much starts have moved there; wide results where the exit does
 *  not tell. */
void find_exits(const Router& router, Plan& plan);
/** 13. Finds the columns that tiles have, that travel in slots, and that wait on the host. */
void find_slot_columns(const Router& router, Plan& plan);
/** 14. Chooses the transport, and what it copies. */
void choose_transports(const Router& router, Plan& plan, click::Diagnostics& diagnostics);
/** The smallest span that contains all bytes of `fields`, from where packets of the segment start when they enter. */
gpu::Span hull(const Plan& plan, const Segment& segment, AtomSet fields);
/** 15. Finds the segments that need not gather what one before them has left in GPU memory (engine/sharing.cc). */
void find_shared_packets(const Router& router, Plan& plan);
/** 16. Chooses the kernel: warps of a block, launch mode, limits. */
void choose_kernels(const Router& router, Plan& plan, click::Diagnostics& diagnostics);
}  // namespace passes

}  // namespace heddle
