#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/worker.h"

namespace heddle {

class LaneDriver;

/** Runs the packet threads: a worker each, rounds and timers, until nothing is left to do or stop() is called. With
 *  lane drivers there is one thread more, the master, which serves them as long as a worker may have packets there. */
class Scheduler {
 public:
  struct Options {
    bool pin = false;        ///< one thread a core
    bool gives_way = false;  ///< threads that find nothing to do let others run: simt's, which want the same cores
    std::function<bool()> kept_running;  ///< whether an element keeps the program running, though nothing arrives
    /** Nothing arrives any more: asks buffers and the like for what they hold back; true if one has something. On a
     *  packet thread. */
    std::function<bool()> release;
    Epochs* epochs;
    std::atomic<bool>* stopping;  ///< set by whoever asks for the end of the run
  };
  void set(Options options) { options_ = std::move(options); }

  using Drivers = std::vector<std::shared_ptr<LaneDriver>>;
  /** Takes the workers, one a thread; those without tasks get none. `drivers`: what the master is to serve. */
  void own(std::vector<std::unique_ptr<Worker>> workers, Drivers drivers);
  /** Makes the threads, which wait for start(). Throws Error if the system has no more; then there are none. */
  void prepare();
  /** Lets the threads run. After pause() they are to be made again. */
  void start();
  /** No new packets, those on their way are processed to the end. */
  bool stopping() const { return options_.stopping->load(std::memory_order_relaxed); }
  /** Workers' threads that have not ended. */
  int live_threads() const { return live_threads_.load(std::memory_order_acquire); }
  void join();
  /** Ends the threads between two batches: what is in lanes comes back and goes on, what waits in elements stays
   *  there. `gives_up` is asked now and then as long as a thread has not come so far; once it says so all go on as if
   *  nothing had been, and the answer is false. */
  bool pause(const std::function<bool()>& gives_up);
  /** Frees the workers; the threads have been joined. */
  void clear() { workers_.clear(), drivers_.clear(); }

  /** Whether the sources are exhausted and no packet is on its way; looks twice, so it takes a while. Nothing if it
   *  cannot be told, for threads that were idle get no time from a busy machine. */
  std::optional<bool> exhausted() const;
  /** Of each packet thread, as Worker::publications(). */
  std::vector<uint64_t> publications() const;
  /** Whether each packet thread has done so again, or has ended. */
  bool published_since(const std::vector<uint64_t>& publications) const;

  /** Of a packet thread, in cycles of the time stamp counter: its whole life, and the part in which it found
   *  packets. */
  struct Cycles {
    uint64_t all = 0, busy = 0;
  };
  std::vector<Cycles> cycles() const;  ///< of the workers' threads; of the master, if there is one
  const std::vector<std::unique_ptr<Worker>>& workers() const { return workers_; }

 private:
  /** What a packet thread says of itself, for finding out that nothing is left to do. */
  struct alignas(64) Progress {
    std::atomic<uint64_t> rounds{0}, busy_rounds{0};
    std::atomic<uint64_t> cycles{0}, busy_cycles{0};
    std::atomic<bool> idle{false};   ///< the last round found nothing, and no source will give more by itself
    std::atomic<bool> quiet{false};  ///< idle, and no element keeps the program running
    std::atomic<bool> still{false};  ///< the last round found nothing, and nothing is on its way; simulated time only
  };
  class Quiescence;
  enum class Pause : uint8_t { none, wanted, granted };  // wanted: threads come to a stop; granted: they end

  void thread_main(int thread);
  /** Runs rounds until nothing is left to do, or a pause is wanted; whether it is the former. */
  bool run_rounds(int thread);
  bool pauses() const { return pause_.load(std::memory_order_acquire) != Pause::none; }
  /** Between two batches: waits until it is known what becomes of the pause. False: the thread goes on. */
  bool halt();
  void set_pause(Pause pause);
  void master_main();
  /** Counts the cycles since `then`, and sets that to now. */
  static void spend(Progress& progress, bool busy, uint64_t& then);
  bool runs(size_t thread) const;
  bool all_idle() const;

  std::vector<std::unique_ptr<Worker>> workers_;
  Drivers drivers_;
  Options options_;
  std::unique_ptr<Progress[]> progress_;  // by thread, the master's last
  std::vector<std::thread> threads_;
  std::thread master_;
  std::atomic<int> live_threads_{0};
  std::atomic<bool> begun_{false};
  std::atomic<bool> finished_{false};
  std::atomic<bool> served_{false};  // the workers have ended
  std::atomic<Pause> pause_{Pause::none};
  std::atomic<bool> ending_{false};  // nothing arrives any more: elements give what they hold
  std::mutex halting_;               // for changes of pause_ and live_threads_ while threads run, and for what follows
  std::condition_variable halted_;   // one of these has changed
  int halted_threads_ = 0;           // wait in halt()
};

}  // namespace heddle
