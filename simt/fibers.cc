#include "simt/fibers.h"

#include <sched.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "simt/blocks.h"
#include "simt/loss.h"

// Every function here that touches the block's state is hidden from ThreadSanitizer: the fibers of a block share it,
// and only one of them runs at a time.

namespace heddle::simt {

namespace {

constexpr uint64_t kGarbage = 0xa5a5a5a5a5a5a5a5;
constexpr unsigned kRoundsPerSchedYield = 16;

constinit thread_local Block* running_block = nullptr;
std::atomic<unsigned> all_fibers = 0, all_running = 0;

constexpr uint64_t kNoneHeld = ~uint64_t{0};
std::atomic<uint64_t> held = kNoneHeld;  // as held_word() makes it

constexpr uint64_t held_word(unsigned block, unsigned warp, unsigned threads) {
  return uint64_t{block} << 32 | threads << 8 | warp;
}
/** The warps of a block that do not go on. */
SIMT_NO_TSAN uint32_t held_warps(unsigned block, unsigned threads) {
  const uint64_t word = held.load(std::memory_order_relaxed);
  return word >> 8 == held_word(block, 0, threads) >> 8 ? 1u << (word & 0xff) : 0;
}

/** The block of the calling kernel thread; operation is for the message. */
SIMT_NO_TSAN Block& block_of_caller(const char* operation) {
  if (running_block == nullptr) fail(std::string(operation) + " called outside of a kernel");
  return *running_block;
}

}  // namespace

unsigned running_blocks() { return all_running.load(); }

HeldWarp::HeldWarp(unsigned block, unsigned warp, unsigned threads) { held = held_word(block, warp, threads); }
HeldWarp::~HeldWarp() { held = kNoneHeld; }

void fail(const std::string& text) {
  std::fprintf(stderr, "simt: %s\n", text.c_str());
  std::fflush(stderr);
  std::abort();
}

SIMT_NO_TSAN uint64_t warp_op(const Request& request, Site site) {
  return block_of_caller("a warp operation").warp_op(request, site);
}
SIMT_NO_TSAN void block_barrier(Site site) { block_of_caller("__syncthreads").barrier(site); }
SIMT_NO_TSAN uint32_t live_lanes() { return block_of_caller("__activemask").live_lanes(); }
SIMT_NO_TSAN void yield() {
  if (running_block != nullptr) running_block->yield();
}
void trap() { fail("a kernel called __trap"); }
SIMT_NO_TSAN void* dynamic_shared() { return block_of_caller("dynamic_shared").dynamic_shared(); }

Block::Block() { scheduler_.adopt_thread(); }

unsigned Block::fibers_of_all() { return all_fibers.load(std::memory_order_relaxed); }

Block::~Block() {
  all_fibers.fetch_sub(fibers_, std::memory_order_relaxed);
  for (unsigned i = 0; i < fibers_; ++i) threads_[i].context.destroy();
  scheduler_.destroy();
  for (const auto& [memory, bytes] : stacks_) munmap(memory, bytes);
}

/** New stacks are made in one mapping; the lowest page of each is the guard. */
void Block::make_fibers(unsigned count) {
  if (count <= fibers_) return;
  const size_t bytes = (count - fibers_) * kStackBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fail("no memory for the stacks of a block's threads");
  madvise(memory, bytes, MADV_DONTDUMP);  // they may hold keys
  stacks_.emplace_back(memory, bytes);
  all_fibers.fetch_add(count - fibers_, std::memory_order_relaxed);
  const bool guarded = fibers_of_all() <= kManyFibers;
  for (auto* stack = static_cast<char*>(memory); fibers_ < count; ++fibers_, stack += kStackBytes) {
    if (guarded) mprotect(stack, 4096, PROT_NONE);
    threads_[fibers_].context.create(stack, kStackBytes, fiber_main);
  }
}

/** A fiber runs one thread of one block after the other; between two it is not runnable. */
SIMT_NO_TSAN void Block::fiber_main() {
  Context::started();
  for (;;) {
    Block& block = *running_block;
    tsan_acquire(&block.grid_->tag);
    tsan_acquire(&block.turn_tags_[block.turns_ % 2]);
    block.grid_->body();
    tsan_release(&block.turn_tags_[(block.turns_ + 1) % 2]);
    block.exit_thread();
  }
}

SIMT_NO_TSAN void Block::run(const Grid& grid, uint3 index) {
  grid_ = &grid;
  index_ = index;
  const dim3 size = grid.block;
  count_ = live_ = size.x * size.y * size.z;
  arrived_ = 0;
  make_fibers(count_);
  for (unsigned i = 0; i < count_; ++i) {
    threads_[i].index = {i % size.x, i / size.x % size.y, i / (size.x * size.y)};
  }
  shared_.reset(static_cast<std::byte*>(::operator new(grid.shared_bytes, kSharedAlignment)));
  std::memset(shared_.get(), 0xa5, grid.shared_bytes);
  ready_warps_ = 0;
  for (unsigned w = 0; w * kWarpSize < count_; ++w) {
    const unsigned lanes = count_ - w * kWarpSize;
    const uint32_t present = lanes >= kWarpSize ? ~0u : (1u << lanes) - 1;
    warps_[w].present = warps_[w].runnable = present;
    warps_[w].in_warp_op = warps_[w].exited = 0;
    ready_warps_ |= 1u << w;
  }

  blockIdx = index;
  blockDim = grid.block;
  gridDim = grid.size;
  current_ = 0;
  threadIdx = threads_[0].index;
  running_block = this;
  ++all_running;
  tsan_release(&turn_tags_[turns_ % 2]);
  scheduler_.switch_to(threads_[0].context);
  tsan_acquire(&turn_tags_[++turns_ % 2]);
  --all_running;
  running_block = nullptr;
}

/** Goes on with the next runnable fiber in turn, and returns when it is this one's turn again. At the end of a round
 *  other OS threads get a turn: always if idle, else now and then, as a kernel that polls may vote in each round. */
SIMT_NO_TSAN void Block::resume_next(bool idle) {
  const unsigned old = current_, warp = old / kWarpSize;
  uint32_t ready = ready_warps_ & ~held_warps(index_.x, count_);
  for (; ready == 0 && !is_lost(grid_->device); ready = ready_warps_ & ~held_warps(index_.x, count_)) sched_yield();
  const uint32_t later_lanes = ready >> warp & 1 ? warps_[warp].runnable & ~1u << old % kWarpSize : 0;
  if (later_lanes != 0) {
    current_ = warp * kWarpSize + static_cast<unsigned>(__builtin_ctz(later_lanes));
  } else {
    const uint32_t later_warps = ready & ~1u << warp;
    if (later_warps == 0 && is_lost(grid_->device)) {
      abandoned_ = true;
      threads_[current_].context.switch_to(scheduler_);  // and never back
    }
    if (later_warps == 0 && (++rounds_ % kRoundsPerSchedYield == 0 || idle)) sched_yield();
    const auto next = static_cast<unsigned>(__builtin_ctz(later_warps != 0 ? later_warps : ready));
    current_ = next * kWarpSize + static_cast<unsigned>(__builtin_ctz(warps_[next].runnable));
  }
  if (current_ == old) return;
  threadIdx = threads_[current_].index;
  threads_[old].context.switch_to(threads_[current_].context);
}

SIMT_NO_TSAN void Block::leave_runnable() {
  const unsigned warp = current_ / kWarpSize;
  if ((warps_[warp].runnable &= ~(1u << current_ % kWarpSize)) == 0) ready_warps_ &= ~(1u << warp);
}

SIMT_NO_TSAN void Block::make_runnable(unsigned thread) {
  const unsigned warp = thread / kWarpSize;
  warps_[warp].runnable |= 1u << thread % kWarpSize;
  ready_warps_ |= 1u << warp;
}

SIMT_NO_TSAN void Block::exit_thread() {
  leave_runnable();
  warps_[current_ / kWarpSize].exited |= 1u << current_ % kWarpSize;
  if (--live_ == 0) return threads_[current_].context.switch_to(scheduler_);
  check_progress();
  resume_next(false);
}

SIMT_NO_TSAN void Block::yield() { resume_next(true); }

SIMT_NO_TSAN uint32_t Block::live_lanes() const {
  const Warp& warp = warps_[current_ / kWarpSize];
  return warp.present & ~warp.exited;
}

SIMT_NO_TSAN uint64_t Block::warp_op(const Request& request, Site site) {
  Thread& self = current();
  Warp& warp = warps_[current_ / kWarpSize];
  self.request = request;
  self.request.mask &= warp.present;
  self.site = site;
  const uint32_t bit = 1u << current_ % kWarpSize;
  leave_runnable();
  warp.in_warp_op |= bit;
  if (!(request.mask & bit)) {
    fail(describe_block() + format(", warp %u: lane %u calls %s with mask 0x%08x, which does not name it (%s:%d)",
                                   current_ / kWarpSize, current_ % kWarpSize, name_of(request.op), request.mask,
                                   site.file, site.line));
  }
  const bool synchronizes = request.op == Op::kSyncWarp;
  if (synchronizes) tsan_release(&self.tag);
  if (complete(warp, self.request)) {
    finish(warp, self.request);
  } else {
    check_progress();
    resume_next(false);
  }
  if (synchronizes) tsan_acquire(self.group_tag);
  return self.result;
}

/** Whether every lane that the request names waits in it. */
SIMT_NO_TSAN bool Block::complete(const Warp& warp, const Request& request) const {
  if (request.mask & ~warp.in_warp_op) return false;
  for (uint32_t lanes = request.mask; lanes != 0; lanes &= lanes - 1) {
    const Request& other = lane(warp, static_cast<unsigned>(__builtin_ctz(lanes))).request;
    if (other.op != request.op || other.mask != request.mask) return false;
  }
  return true;
}

/** The value of the lane that a shuffle of this lane reads. */
SIMT_NO_TSAN uint64_t Block::shuffled(const Warp& warp, unsigned self) const {
  const Request& request = lane(warp, self).request;
  const unsigned first = self & ~(request.width - 1), last = first | (request.width - 1);
  const unsigned distance = request.operand % kWarpSize;
  unsigned source = self;
  if (request.op == Op::kShuffle) source = first | (request.operand & (request.width - 1));
  if (request.op == Op::kShuffleUp && self >= first + distance) source = self - distance;
  if (request.op == Op::kShuffleDown && self + distance <= last) source = self + distance;
  if (request.op == Op::kShuffleXor && (self ^ distance) <= last) source = self ^ distance;
  return request.mask >> source & 1 ? lane(warp, source).request.value : kGarbage;
}

/** Gives each lane of a complete operation its result and lets it run. */
SIMT_NO_TSAN void Block::finish(Warp& warp, const Request& request) {
  const uint32_t mask = request.mask;
  const auto first_thread = static_cast<unsigned>(&warp - warps_) * kWarpSize;
  void* tag = nullptr;
  if (request.op == Op::kSyncWarp) {
    tag = &warp.tags[warp.groups++ % sizeof warp.tags];
    for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
      tsan_acquire(&threads_[first_thread + static_cast<unsigned>(__builtin_ctz(lanes))].tag);
    }
    tsan_release(tag);
  }

  const uint64_t first_value = threads_[first_thread + static_cast<unsigned>(__builtin_ctz(mask))].request.value;
  uint32_t votes = 0, sum = 0, all = ~0u, any = 0, odd = 0;
  auto least = static_cast<int64_t>(first_value), greatest = least;
  for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctz(lanes));
    const uint64_t value = threads_[first_thread + i].request.value;
    const auto word = static_cast<uint32_t>(value);
    const auto number = static_cast<int64_t>(value);
    votes |= (value != 0 ? 1u : 0u) << i;
    sum += word;
    all &= word;
    any |= word;
    odd ^= word;
    if (number < least) least = number;
    if (number > greatest) greatest = number;
  }

  for (uint32_t lanes = mask; lanes != 0; lanes &= lanes - 1) {
    const auto i = static_cast<unsigned>(__builtin_ctz(lanes));
    uint64_t result = 0;
    switch (request.op) {
      case Op::kSyncWarp:
        break;
      case Op::kSyncThreads:
        break;
      case Op::kBallot:
        result = votes;
        break;
      case Op::kAny:
        result = votes != 0;
        break;
      case Op::kAll:
        result = votes == mask;
        break;
      case Op::kShuffle:
      case Op::kShuffleUp:
      case Op::kShuffleDown:
      case Op::kShuffleXor:
        result = shuffled(warp, i);
        break;
      case Op::kMatchAny:
        for (uint32_t others = mask; others != 0; others &= others - 1) {
          const auto other = static_cast<unsigned>(__builtin_ctz(others));
          if (lane(warp, other).request.value == lane(warp, i).request.value) result |= 1u << other;
        }
        break;
      case Op::kReduceAdd:
        result = sum;
        break;
      case Op::kReduceMin:
        result = static_cast<uint64_t>(least);
        break;
      case Op::kReduceMax:
        result = static_cast<uint64_t>(greatest);
        break;
      case Op::kReduceAnd:
        result = all;
        break;
      case Op::kReduceOr:
        result = any;
        break;
      case Op::kReduceXor:
        result = odd;
        break;
    }
    threads_[first_thread + i].result = result;
    threads_[first_thread + i].group_tag = tag;
    make_runnable(first_thread + i);
  }
  warp.in_warp_op &= ~mask;
}

SIMT_NO_TSAN void Block::barrier(Site site) {
  Thread& self = current();
  void* tag = &barrier_tags_[barriers_ % 2];
  self.request = {Op::kSyncThreads, ~0u};
  self.site = site;
  leave_runnable();
  tsan_release(tag);
  if (++arrived_ == count_) {
    for (unsigned i = 0; i < count_; ++i) {
      const Site& other = threads_[i].site;
      if (other.line != site.line || std::strcmp(other.file, site.file) != 0) {
        std::string text = describe_block() + ": its threads meet in different calls of __syncthreads";
        for (unsigned w = 0; w * kWarpSize < count_; ++w) text += describe_sites(w);
        fail(text);
      }
    }
    for (unsigned i = 0; i < count_; ++i) make_runnable(i);
    arrived_ = 0;
    ++barriers_;
  } else {
    check_progress();
    resume_next(false);
  }
  tsan_acquire(tag);
}

/** Called when the current fiber has stopped: reports what can never go on. Lanes that wait in a warp operation need
 *  another lane of their warp to run, and the barrier needs every thread of the block. */
SIMT_NO_TSAN void Block::check_progress() {
  const unsigned stopped = current_ / kWarpSize;
  if (warps_[stopped].runnable == 0 && warps_[stopped].in_warp_op != 0) {
    fail(describe_block() + format(", warp %u: ", stopped) + describe_lanes(stopped) + describe_sites(stopped));
  }
  if (ready_warps_ != 0) return;
  std::string text = describe_block() + format(": only %u of %u threads reached __syncthreads", arrived_, count_);
  for (unsigned w = 0; w * kWarpSize < count_; ++w) text += format("\n  warp %u: ", w) + describe_lanes(w);
  fail(text);
}

}  // namespace heddle::simt
