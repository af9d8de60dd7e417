#pragma once

/** Runs the blocks of a grid: one block on one OS thread, its threads as fibers. They switch at warp operations and
 *  barriers, at __nanosleep, and now and then at atomic reads. */

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "simt/context.h"

namespace heddle::simt {

inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kMaxThreads = 1024;
inline constexpr unsigned kMaxWarps = kMaxThreads / kWarpSize;

/** While all blocks together have no more fibers than this, stacks get a guard page (the system's mappings are limited)
 *  and idle OS threads keep theirs (ThreadSanitizer knows about 8000 threads at most, fibers included). */
inline constexpr unsigned kManyFibers = SIMT_TSAN ? 4000 : 16000;

/** One launch. */
struct Grid {
  std::function<void()> body;  ///< What each thread runs.
  dim3 size, block;
  size_t shared_bytes = 0;  ///< Dynamic shared memory of a block.
  int device = 0;           ///< That it runs on.
  mutable char tag = 0;     ///< ThreadSanitizer: whoever launches the grid releases it, and its threads acquire it.
};

/** The block that an OS thread runs; the same object, with its stacks, serves one block after the other. */
class Block {
 public:
  Block();
  ~Block();
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /** Runs one block of the grid to its end. */
  void run(const Grid& grid, uint3 index);

  /** Whether a block ended in its midst, as its device was lost: then this serves no other. */
  bool abandoned() const { return abandoned_; }

  /** How many fibers the blocks of all OS threads hold. */
  static unsigned fibers_of_all();

  // What the running fiber asks for.
  uint64_t warp_op(const Request& request, Site site);
  void barrier(Site site);
  void yield();
  uint32_t live_lanes() const;
  void* dynamic_shared() const { return shared_.get(); }

 private:
  /** Of exactly the launch's size, so that AddressSanitizer sees its end. */
  struct FreeShared {
    void operator()(std::byte* memory) const { ::operator delete(memory, kSharedAlignment); }
  };
  static constexpr std::align_val_t kSharedAlignment{128};

  struct Thread {
    Context context;
    uint3 index;
    Request request;  ///< Of the operation it waits in.
    Site site;
    uint64_t result;
    void* group_tag;  ///< What the last __syncwarp it took part in released.
    char tag;         ///< Its address is the thread's own ThreadSanitizer tag.
  };

  /** Lanes by state; a lane that is in none of the masks, though present, waits in the block's barrier. */
  struct Warp {
    uint32_t present, runnable, in_warp_op, exited;
    unsigned groups;  ///< How many __syncwarp have completed.
    char tags[8];     ///< ThreadSanitizer tags for them, in turn.
  };

  static void fiber_main();
  void make_fibers(unsigned count);
  void resume_next(bool idle);
  void leave_runnable();
  void make_runnable(unsigned thread);
  void exit_thread();
  bool complete(const Warp& warp, const Request& request) const;
  void finish(Warp& warp, const Request& request);
  uint64_t shuffled(const Warp& warp, unsigned lane) const;
  void check_progress();

  std::string describe_block() const;
  std::string describe_lanes(unsigned warp) const;
  std::string describe_sites(unsigned warp) const;

  Thread& current() { return threads_[current_]; }
  const Thread& lane(const Warp& warp, unsigned lane) const { return threads_[(&warp - warps_) * kWarpSize + lane]; }

  const Grid* grid_ = nullptr;
  std::unique_ptr<std::byte, FreeShared> shared_;
  uint3 index_{};
  Context scheduler_;                 ///< Where run() waits for the fibers.
  Thread threads_[kMaxThreads] = {};  ///< The first `fibers_` have a stack.
  Warp warps_[kMaxWarps] = {};
  unsigned fibers_ = 0;
  std::vector<std::pair<void*, size_t>> stacks_;  ///< Mappings, each of several threads' stacks.
  unsigned count_ = 0, live_ = 0, arrived_ = 0;   ///< Threads in all, not exited, and in the barrier.
  unsigned current_ = 0;
  uint32_t ready_warps_ = 0;  ///< Those with a runnable lane.
  unsigned rounds_ = 0, barriers_ = 0;
  unsigned turns_ = 0;  ///< Blocks run here so far.
  bool abandoned_ = false;
  // ThreadSanitizer tags, in turn: of the barriers, and of the blocks, which share this OS thread's __shared__ memory.
  char barrier_tags_[2], turn_tags_[2];
};

const char* name_of(Op op);

/** Prints "simt: " and the text and aborts. */
[[noreturn]] void fail(const std::string& text);

}  // namespace heddle::simt
