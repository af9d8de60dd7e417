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

namespace heddle::simt {

namespace {

/** The OS threads that run blocks. There is one for each block that shall run at once; idle ones wait for the next, and
 *  all last as long as the program. */
class Workers {
 public:
  using Task = std::function<void(Block&)>;

  void run(Task task) {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      auto* const worker = new Worker;
      worker->task = std::move(task);
      std::thread([this, worker] { serve(*worker); }).detach();
    } else {
      // The last to have worked: so few of them grow the stacks of a large block.
      Worker* const worker = idle_.back();
      idle_.pop_back();
      worker->task = std::move(task);
      worker->wake.notify_one();
    }
  }

 private:
  struct Worker {
    std::condition_variable wake;
    Task task;
  };

  void serve(Worker& worker) {
    auto block = std::make_unique<Block>();
    std::unique_lock lock(mutex_);
    for (;;) {
      worker.wake.wait(lock, [&] { return worker.task != nullptr; });
      Task task = std::exchange(worker.task, nullptr);
      lock.unlock();
      task(*block);
      task = nullptr;
      if (Block::fibers_of_all() > kManyFibers) block = std::make_unique<Block>();
      lock.lock();
      idle_.push_back(&worker);
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
  const auto threads = blocks <= kResidentBlocks ? static_cast<unsigned>(blocks) : few;
  struct Progress {
    explicit Progress(unsigned count) : running(count) {}
    std::atomic<uint64_t> next = 0;
    std::latch running;
  };
  const auto progress = std::make_shared<Progress>(threads);
  for (unsigned i = 0; i < threads; ++i) {
    workers().run([progress, blocks, &grid](Block& block) {
      for (uint64_t b; (b = progress->next.fetch_add(1)) < blocks;) {
        block.run(grid, {static_cast<unsigned>(b % grid.size.x), static_cast<unsigned>(b / grid.size.x % grid.size.y),
                         static_cast<unsigned>(b / grid.size.x / grid.size.y)});
      }
      progress->running.count_down();
    });
  }
  progress->running.wait();
}

}  // namespace heddle::simt
