#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/counters.h"
#include "core/epoch.h"
#include "engine/batch_wait.h"
#include "engine/device_choice.h"
#include "engine/failure_checks.h"
#include "engine/lane.h"
#include "engine/plan.h"
#include "engine/reorder.h"
#include "engine/router.h"
#include "engine/trace.h"

namespace heddle {

class ActsBeside;
class Parses;

/** What one node of a chain has seen on one thread. Written by that thread. */
struct alignas(kCacheLine) NodeCounts {
  static constexpr int kReasons = 16;
  std::atomic<uint64_t> packets{0};
  std::atomic<uint64_t> bytes{0};                       ///< of these, if the plan wants them counted here
  std::atomic<uint64_t> dropped_bytes{0};               ///< of packets that the element has dropped
  std::array<std::atomic<uint64_t>, kReasons> drops{};  ///< by index into drop_reasons()
  std::atomic<uint64_t> no_buffer{0};                   ///< dropped because a copy was needed and no packet was free
  std::atomic<uint64_t> no_room{0};         ///< dropped because it would have grown beyond the longest buffer
  std::atomic<uint64_t> moved_for_room{0};  ///< copied to a buffer with more room
  std::atomic<uint64_t> no_slot{0};         ///< dropped because BLOCKING is false and all slots were in flight
  std::atomic<uint64_t> max_batch{0};       ///< dropped because they were in a batch behind the MAX_BATCH first
  std::atomic<uint64_t> gpu_failed{0};      ///< lost because the GPU has failed
  std::atomic<uint64_t> waited{0};          ///< waited at this join for older ones in flight
};

/** A packet thread: runs its tasks, that is, takes packets from sources and runs them through the plan to the end (full
 * path) or into a buffer. One thread at a time uses it. */
class Worker {
 public:
  struct Shared {
    Router* router;
    const Plan* plan;
    PacketPool* packets;        ///< for copies
    PacketPool* large_packets;  ///< for copies of packets that do not fit there
    Epochs* epochs;
    Tracer* tracer;
    int batch_size;
    int batches_a_side = 0;                       ///< see RunOptions
    bool gives_way = false;                       ///< see Scheduler::Options
    const std::atomic<bool>* stopping = nullptr;  ///< the same
  };
  /** `lanes`: by index of the plan's segment; null for CPU segments. */
  Worker(const Shared& shared, int thread, std::vector<std::unique_ptr<Lane>> lanes);

  /** One round: every task once, and collects what GPUs have done. `stopping`: takes no new packets, only those that
   * wait in buffers. False when nothing happened. */
  bool round(bool stopping);
  /** Calls the timers that are due; false if no packets came of it. `now`: time stamp counter; `ending`: nothing
   *  arrives any more, so elements give what they hold. Between rounds, now and then. */
  bool run_timers(uint64_t now, bool ending);
  /** Renews what counts() gives, when nothing arrives or some time has passed. `busy`: whether the rounds since the
   * last call found packets; `now`: time stamp counter. */
  void publish_if_due(bool busy, uint64_t now);
  /** Whether no task of this thread will have packets any more unless others bring some. */
  bool exhausted(bool stopping) const;
  /** Whether no packet is in a lane or waits at a join. */
  bool nothing_in_flight() const;
  /** Waits until all packets in flight have left; `ending`: also those that elements hold back. */
  void drain(bool ending = true);
  /** Whether somebody waits for the thread to end between two batches: it waits for no ActsBeside then. Any thread. */
  void set_awaited(bool awaited) { awaited_.store(awaited, std::memory_order_relaxed); }

  /** As of about a millisecond ago. */
  const NodeCounts& counts(int node) const { return published_[static_cast<size_t>(node)]; }
  /** How often the thread has found all that it had counted in counts(). */
  uint64_t publications() const { return publications_.load(std::memory_order_acquire); }
  /** Of the lane of a segment, so far; any thread. */
  LaneBytes lane_bytes(int segment) const;
  /** Of a segment that CPU and GPU have ready, so far; any thread. */
  struct Sides {
    uint64_t on_cpu = 0, bytes_on_cpu = 0;  ///< packets that the CPU has taken
    uint64_t switches = 0;                  ///< from one to the other
  };
  Sides sides(int segment) const;
  /** "" or why a GPU has failed; the thread that sees it stops receiving. */
  const std::string& failure() const { return failure_; }
  bool has_tasks() const { return !tasks_.empty() || watches_rings_; }
  /** Whether it has nothing to do but timers of elements between GPU ports, so that it may sleep meanwhile. */
  bool has_timers_alone() const { return tasks_.empty(); }

 private:
  struct Step;
  struct Path;

  /** Where a packet goes by its next(): to a node, or it is dropped. */
  struct Way {
    int target;                 // node, or -1: dropped
    int node = -1, reason = 0;  // if dropped: where it is counted
    int join = -1;              // index into joins_, if packets wait there for their turn
    int join_way = 0;           // which of the join's ways it is
  };
  /** The way to `target` from node `from` (of a segment the first) by `output`, see Join::Way. */
  Way way_to(int from, int output, int target) const;

  /** Whether a batch that takes this way waits for others at its end. */
  bool waits(const Way& way) const { return way.join >= 0 && !whole_; }
  /** Takes a batch a way, which is not a drop. Empties it. */
  void go(const Way& way, Batch& batch) {
    if (waits(way)) [[unlikely]]
      joins_[static_cast<size_t>(way.join)].reorder.add(way.join_way, batch);
    else
      run(way.target, batch);
  }

  /** Takes a batch through the chain from node `i` on. Empties it. */
  void run(int i, Batch& batch);
  /** Until `element` has done what packets have asked for, or somebody waits for this thread. */
  void wait_for(const ActsBeside& element);
  void count(int node, Batch& batch);
  void feed(Path& path, int node, Batch& batch);
  /** With a latency budget: lets packets wait for others, as far as it goes. Empties the batch. */
  void gather(Path& path, Batch& batch);
  /** Feeds those that have waited. */
  void feed_gathered(Path& path);
  /** The same where the wait is over. */
  void end_waits();
  /** Goes on with what has come back; false: nothing. */
  bool collect(Path& path);
  bool collect_all();
  /** Whether all packets of `batch` go the same way, none is dropped; sets `way`, an index into `ways`. */
  static bool together(Batch& batch, std::span<const Way> ways, bool splits, int& way);
  /** Sends each packet its way, those for one node together, in order. The first `marked` entries of next() were in
   *  use. Drops by reason are counted at `node`. */
  void divide(int node, std::span<const Way> ways, ColumnSet columns, bool numbered, Batch& batch, int marked);
  void copy_out(int node, Batch& batch);
  void make_private(int node, Batch& batch);
  /** Copies packets that have less room before or behind them than the node, or its segment, may want. */
  void make_room(int node, Batch& batch);
  /** `feeds`: the thread waits for room in the lane. */
  void check_failure(Path& path, bool feeds = false);
  /** Counts what was in flight as lost, and frees it: the GPU is dead. */
  void abandon(Path& path);
  /** The same while nobody knows what the GPU does, so the packets stay where they are. */
  void give_up(Path& path);
  /** Goes on with the side that has been chosen, to the CPU once nothing is in flight. False: packets of the GPU must
   *  come back first. */
  bool sides_settled();
  void set_side(Path& path, bool cpu);
  /** Runs packets [first, end) of a batch from node `i` on. Empties it. */
  void run_rest(int i, Batch& batch, int first);
  /** The engine stops: packets on a cycle may go round as often as there are packets, and stay in their buffer then. */
  void begin_stop();
  /** Goes on with packets at joins that no older one can come after. */
  void pass_joins();
  void number(Batch& batch);
  void make_timers();
  void make_joins();
  /** Reports the newest epoch when all that was begun before it is done. */
  void report_epoch();
  void publish_counts();
  void note_published() {
    publications_.store(publications_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  /** What run() needs of a node, in one place. */
  struct Step {
    Element* element;
    Path* path;                 // of its segment, or null: runs here
    std::span<const Way> ways;  // by output
    ColumnSet live, live_behind;
    const Element* prefetch_for;  // a later element whose look-ups are asked for behind this one, or null
    const Path* prefetch_path;    // of its segment, if it has one
    bool splits;                  // outputs lead to different nodes
    bool changes_lengths;
    bool copy_first, copies, copies_some, counts_bytes;
    const Emitter* emitter;  // it, if it emits packets
    ActsBeside* acts;        // it, if the thread waits for what it does beside
    bool blocking;           // waits when its lane is full
    bool numbered_behind;
    uint32_t prepends, appends;  // room that packets need here, bytes
    Parses* parser;              // parses headers again before packets enter the segment, or null
    ColumnSet parsed;
  };

  /** A lane and what is behind it. */
  struct Path {
    int segment;
    std::unique_ptr<Lane> lane;
    std::vector<Way> ways;  // by exit
    bool splits;
    int node;                                  // where packets enter
    std::unique_ptr<NumbersInFlight> numbers;  // null: nobody behind needs them
    std::optional<uint64_t> fed_at_epoch;      // fed() when all of before the epoch are; none: some may come yet
    bool by_load, cpu_after_failure;
    BatchWait wait;
    std::unique_ptr<Batch> gathered;  // with a latency budget: packets that wait for others; else null
    bool on_cpu = false;              // the CPU runs the segment now
    bool lost = false;                // the GPU has failed, and the CPU takes over
    bool given_up = false;            // what is in flight stays there, and the thread ends
    Patience patience;
    std::atomic<uint64_t> cpu_packets{0}, cpu_bytes{0}, switches{0};
  };

  /** A source, and how its packets enter the chain. */
  struct Entry {
    Source* source;
    int source_node;
    Way way;
    bool buffer;      // packets wait in the source
    ColumnSet clear;  // somebody behind reads them, and the source leaves them open
    bool on_cycle;    // a buffer whose packets may come back to it
    bool numbered;
    ColumnSet live;                        // behind the source
    std::vector<PullPoint::Fork> forks{};  // on the way from there to what pulls
    bool limited = false;                  // something on this way may let fewer through
  };

  /** PullPoint, with what is at hand. */
  struct Pull {
    PullScheduler* scheduler;         // or null: a source
    LookAheadScheduler* looks_ahead;  // the scheduler, if it is such
    Entry entry;
    struct Limit {
      Element* element;
      int way;
    };
    std::vector<Limit> limits;
    std::vector<Pull> inputs;
    std::vector<const Entry*> origins;  // of looks_ahead: all sources, in order of the inputs; found when first pulled
  };

  struct Job : Entry {
    Element* driver;  // or null
    Pull pull;        // what it pulls from, if there is a driver
    std::unique_ptr<Batch> batch;
    const TaskShare* share;                // how often it runs
    uint32_t credit = 0;                   // towards its next round; TaskShare::kAlways is one
    bool dry = false;                      // its schedulers gave nothing the last time
    std::optional<DeviceChoice> choice{};  // if it leads to a segment that is placed by load
    uint64_t after_stop = 0;               // on a cycle: packets that it may still take out, once the engine stops

    /** Whether it runs in this round. */
    bool takes_turn() {
      credit += share->rounds.load(std::memory_order_relaxed);
      if (credit < TaskShare::kAlways) return false;
      credit -= TaskShare::kAlways;
      return true;
    }
    bool ended(bool stopping) const { return stopping && (!buffer || (on_cycle && after_stop == 0)); }
  };

  /** A join that restores the order. */
  struct JoinHere {
    int node;
    std::vector<const Path*> before;  // lanes from which packets may still come
    Reorder reorder;
  };

  struct Timer {
    int node;
    Element* element;
    Emitter* emitter;  // the same, or null
    std::vector<Way> ways;
    uint64_t period, last;  // ticks; nanoseconds where time is simulated
    ColumnSet clear;
    bool numbered;
  };

  Entry entry_of(int source, int target) const;
  /** `limited`: something between it and what pulls may let fewer through. */
  Pull pull_of(const PullPoint& point, bool limited = false) const;
  /** Takes what a source has given into the chain. */
  void enter(const Entry& entry, Batch& batch);
  /** Takes packets from several sources as their schedulers want; returns how many there were. */
  int pull_scheduled(Job& job, int wanted);
  /** Puts up to `wanted` packets of one source into `batch`, which is empty; returns the source, or null: there are
   *  none. */
  const Entry* take(Pull& from, int wanted, Batch& batch);
  /** The same of a scheduler that looks ahead: one packet. */
  const Entry* take_ahead(Pull& from, Batch& batch);
  static void find_origins(const Pull& pull, std::vector<const Entry*>& origins);
  static bool all_exhausted(const Pull& pull);
  /** Whether packets of a source come to a segment that is placed by load before they wait somewhere. */
  bool leads_to_choice(const Pull& pull) const;
  /** When a source has had its turn, with `packets` or none: chooses where segments with two sides run. */
  void choose_sides(Job& job, int packets);
  bool emit(Timer& timer, bool ending);
  static void await(const Timer& timer, uint64_t last);
  /** Asks the emitters that have packets now. */
  void emit_due();
  /** Frees and counts packets that an element which copies has dropped. */
  void drop_marked(int node, Batch& batch, int marked);
  /** Frees and counts packets that are lost at a node, not by its element. */
  void lose(int node, std::atomic<uint64_t> NodeCounts::*count, const char* why, Packet** packets, int n);
  void trace_drop(int node, int reason, const Packet* packet);

  Shared shared_;
  int thread_;
  std::vector<Step> steps_;             // by node
  std::vector<std::vector<Way>> ways_;  // by node
  std::vector<Job> tasks_;
  std::vector<Timer> timers_;
  bool watches_rings_ = false;   // calls timers of elements between GPU ports
  std::vector<JoinHere> joins_;  // in topological order
  uint32_t next_number_ = 0;
  bool whole_ = false;  // the batch that runs has all packets of this thread, so no older ones can come at joins
  int waiting_ = 0, most_waiting_ = 0;        // packets at joins; beyond that nothing is received
  std::vector<std::unique_ptr<Path>> paths_;  // in the order of the segments
  std::vector<NodeCounts> counts_;            // by node; only this thread looks at them
  uint64_t published_at_ = 0;                 // in ticks
  std::atomic<uint64_t> publications_{0};
  bool unpublished_ = false;
  struct Part {
    std::unique_ptr<Batch> batch;
    const Way* way;
  };
  SpareBatches spare_;
  std::vector<Part, Unshared<Part>> parts_;  // of the divisions under way, those of the innermost last
  std::vector<int> part_of_;                 // by node, within one division: index into parts_, or -1
  std::vector<uint16_t> copied_;             // packets of a batch that are copied to an output
  int batches_here_ = 0;                     // since the last change, if batches_a_side says when
  int want_gpu_ = 0;                         // sources whose packets the CPU cannot keep up with
  bool wants_cpu_ = true;                    // of segments placed by load
  bool gathers_ = false;                     // packets wait for others before some segment
  bool two_sided_ = false;                   // some segment has a CPU side and a GPU side
  uint64_t renewals_ = 0;
  std::string failure_;
  uint64_t idle_rounds_ = 0;
  FailureChecks failure_checks_;
  bool stop_begun_ = false, due_ = false;
  std::atomic<bool> awaited_{false};
  uint64_t epoch_ = 0, waiting_epoch_ = 0;  // reported; noticed, and waiting for packets fed before it

  // For readers: a copy of counts_ that is renewed now and then. Nothing that this thread writes at every batch lies on
  // the same cache lines, neither of the copy nor of the pointer to it: somebody who polls would take them away each
  // time.
  alignas(kCacheLine) std::vector<NodeCounts, Unshared<NodeCounts, kPage>> published_;
};

}  // namespace heddle
