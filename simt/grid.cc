#include "simt/grid.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <latch>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "simt/loss.h"

namespace heddle::simt {

namespace {

/** The OS threads that run blocks. There is one for each block that shall run at once; idle ones wait for the next, and
 *  all last as long as the program. What orders them does not order the blocks of a grid, lest it hide their races from
 *  ThreadSanitizer: no worker can become idle while a grid is handed out, and a new one first locks the mutex after its
 *  task. */
class Workers {
 public:
  using Task = std::function<void(Block&)>;

  /** Runs the task on `count` OS threads at once. */
  void run(unsigned count, const Task& task) {
    std::lock_guard lock(mutex_);
    for (; count > 0; --count) {
      if (idle_.empty()) {
        std::thread([this, task]() mutable { serve(std::move(task)); }).detach();
      } else {
        // The last to have worked: so few of them grow the stacks of a large block.
        Worker& worker = *idle_.back();
        idle_.pop_back();
        worker.task = task;
        worker.wake.notify_one();
      }
    }
  }

 private:
  struct Worker {
    std::condition_variable wake;
    Task task;
  };

  void serve(Task task) {
    Worker worker;
    auto block = std::make_unique<Block>();
    for (;;) {
      task(*block);
      task = nullptr;
      if (block->abandoned() || Block::fibers_of_all() > kManyFibers) block = std::make_unique<Block>();
      std::unique_lock lock(mutex_);
      idle_.push_back(&worker);
      worker.wake.wait(lock, [&] { return worker.task != nullptr; });
      task = std::exchange(worker.task, nullptr);
    }
  }

  std::mutex mutex_;
  std::vector<Worker*> idle_;
};

Workers& workers() {
  static auto* const instance = new Workers;
  return *instance;
}

}  // namespace

void run_grid(const Grid& grid) {
  const uint64_t blocks = uint64_t{grid.size.x} * grid.size.y * grid.size.z;
  const unsigned few = std::clamp(std::thread::hardware_concurrency(), 2u, 8u);
  const bool resident = blocks <= kResidentBlocks;
  const auto threads = resident ? static_cast<unsigned>(blocks) : few;
  struct Progress {
    explicit Progress(unsigned count) : running(count) {}
    std::atomic<uint64_t> next = 0;
    std::latch running;
  };
  Progress progress(threads);
  tsan_release(&grid.tag);
  workers().run(threads, [&progress, blocks, resident, &grid](Block& block) {
    for (uint64_t b; (b = progress.next.fetch_add(1, std::memory_order_relaxed)) < blocks;) {
      if (is_lost(grid.device)) break;
      block.run(grid, {static_cast<unsigned>(b % grid.size.x), static_cast<unsigned>(b / grid.size.x % grid.size.y),
                       static_cast<unsigned>(b / grid.size.x / grid.size.y)});
      if (resident) break;  // Each worker has one block, even if it is quick.
    }
    progress.running.count_down();
  });
  progress.running.wait();
}

}  // namespace heddle::simt
