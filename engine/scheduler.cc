#include "engine/scheduler.h"

#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "core/clock.h"
#include "core/cores.h"
#include "core/error.h"
#include "engine/lane_driver.h"
#include "io/dpdk/dpdk.h"

namespace heddle {
namespace {

constexpr uint64_t kGone = ~uint64_t{0};  // rounds of a thread that does not run
constexpr std::chrono::microseconds kNap{50}, kNapBetweenTimers{2000};

}  // namespace

/** A thread without tasks runs if somebody has to move simulated time. */
bool Scheduler::runs(size_t thread) const {
  const auto has_tasks = [](const auto& worker) { return worker->has_tasks(); };
  return has_tasks(workers_[thread]) ||
         (thread == 0 && RouterClock::simulated() && std::ranges::none_of(workers_, has_tasks));
}

void Scheduler::own(std::vector<std::unique_ptr<Worker>> workers, Drivers drivers) {
  workers_ = std::move(workers), drivers_ = std::move(drivers);
  progress_ = std::make_unique<Progress[]>(workers_.size() + 1);
  for (size_t thread = 0; thread < workers_.size(); ++thread) {
    if (runs(thread)) continue;
    progress_[thread].idle = progress_[thread].quiet = progress_[thread].still = true;
    progress_[thread].rounds = kGone;
    options_.epochs->report(static_cast<int>(thread), ~uint64_t{0});
  }
}

void Scheduler::prepare() {
  int working = 0;
  for (size_t thread = 0; thread < workers_.size(); ++thread) {
    if (!runs(thread)) continue;
    ++working;
    workers_[thread]->set_awaited(false);
    Progress& progress = progress_[thread];
    progress.idle = progress.quiet = progress.still = false;
    progress.rounds = progress.busy_rounds = 0;
    options_.epochs->report(static_cast<int>(thread), 0);
  }
  begun_ = finished_ = ending_ = served_ = false;
  pause_ = Pause::none;
  live_threads_ = working;
  // The master, which comes last, counts as one of them where they are made.
  const int wanted = working + (drivers_.empty() ? 0 : 1);
  const auto too_many = [&](const std::string& why) {
    const auto made = static_cast<int>(threads_.size());
    live_threads_.fetch_sub(working - made);
    pause_ = Pause::granted;
    start();  // so that they end
    join();
    throw Error(format("packet thread %d of %d cannot be started (%s); %sraise the limit of processes", made + 1,
                       wanted, why.c_str(), wanted > 1 ? "give fewer with -j, or " : ""));
  };
  for (int thread = 0; thread < static_cast<int>(workers_.size()); ++thread) {
    if (!runs(static_cast<size_t>(thread))) continue;
    try {
      threads_.emplace_back([this, thread] { thread_main(thread); });
    } catch (const std::system_error& error) {
      too_many(error.code().message());
    } catch (const std::bad_alloc&) {
      too_many("out of memory");
    }
  }
  try {
    if (!drivers_.empty()) master_ = std::thread([this] { master_main(); });
  } catch (const std::system_error& error) {
    too_many(error.code().message());
  } catch (const std::bad_alloc&) {
    too_many("out of memory");
  }
}

void Scheduler::start() {
  begun_ = true;
  begun_.notify_all();
}

void Scheduler::join() {
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  served_.store(true, std::memory_order_release);
  if (master_.joinable()) master_.join();
}

bool Scheduler::pause(const std::function<bool()>& gives_up) {
  constexpr std::chrono::milliseconds kLook{50};
  set_pause(Pause::wanted);
  std::unique_lock lock(halting_);
  const auto all_have_halted = [this] { return halted_threads_ == live_threads(); };
  try {
    while (!halted_.wait_for(lock, kLook, all_have_halted)) {
      if (!gives_up()) continue;
      lock.unlock();
      set_pause(Pause::none);
      return false;
    }
  } catch (...) {
    lock.unlock();
    set_pause(Pause::none);  // nobody waits for a pause that does not come
    throw;
  }
  lock.unlock();
  set_pause(Pause::granted);
  join();
  return true;
}

void Scheduler::set_pause(Pause pause) {
  {
    const std::lock_guard lock(halting_);
    pause_.store(pause, std::memory_order_release);
  }
  halted_.notify_all();
  for (auto& worker : workers_) worker->set_awaited(pause != Pause::none);
}

bool Scheduler::halt() {
  std::unique_lock lock(halting_);
  ++halted_threads_;
  halted_.notify_all();
  halted_.wait(lock, [this] { return pause_ != Pause::wanted; });
  --halted_threads_;
  return pause_ == Pause::granted;
}

/** Finds out that no packet is left. Packets may wait in a buffer that another thread empties, so no thread can tell
 * alone. Nothing is left if all threads were quiet, then made two more rounds each, and none of these found a packet:
 * what a round under way at the first look pushed would have been found, or that round counted, by the second. */
class Scheduler::Quiescence {
 public:
  Quiescence(size_t threads, std::atomic<bool> Progress::*quiet) : seen_(threads), quiet_(quiet) {}

  /** All threads were quiet at the last look. */
  bool begun() const { return begun_; }
  void restart() { begun_ = false; }

  /** Called after every quiet round of the thread that owns it. */
  bool lasts(const Progress* progress) {
    bool again = begun_, all_advanced = true;
    for (size_t i = 0; i < seen_.size(); ++i) {
      if (!(progress[i].*quiet_).load()) return begun_ = false;
      const uint64_t rounds = progress[i].rounds.load(), busy = progress[i].busy_rounds.load();
      if (begun_ && busy != seen_[i].busy) again = false;
      if (begun_ && rounds != kGone && rounds < seen_[i].rounds + 2) all_advanced = false;
    }
    if (!again) {
      for (size_t i = 0; i < seen_.size(); ++i) seen_[i] = {progress[i].rounds.load(), progress[i].busy_rounds.load()};
      begun_ = true;
      return false;
    }
    return all_advanced;
  }

 private:
  struct Seen {
    uint64_t rounds = 0, busy = 0;
  };
  std::vector<Seen> seen_;
  std::atomic<bool> Progress::*quiet_;
  bool begun_ = false;
};

std::optional<bool> Scheduler::exhausted() const {
  Quiescence quiescence(workers_.size(), &Progress::idle);
  for (int i = 0; i < 50 && live_threads() > 0; ++i) {
    if (quiescence.lasts(progress_.get())) return true;
    if (!quiescence.begun()) return false;
    std::this_thread::sleep_for(kNap);
  }
  if (live_threads() > 0) return std::nullopt;
  return false;
}

std::vector<uint64_t> Scheduler::publications() const {
  std::vector<uint64_t> list(workers_.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = workers_[i]->publications();
  return list;
}

bool Scheduler::published_since(const std::vector<uint64_t>& publications) const {
  for (size_t i = 0; i < publications.size(); ++i)
    if (progress_[i].rounds.load() != kGone && workers_[i]->publications() == publications[i]) return false;
  return true;
}

std::vector<Scheduler::Cycles> Scheduler::cycles() const {
  std::vector<Cycles> list;
  for (size_t i = 0; i < workers_.size() + (drivers_.empty() ? 0 : 1); ++i)
    list.push_back({progress_[i].cycles.load(), progress_[i].busy_cycles.load()});
  return list;
}

void Scheduler::spend(Progress& progress, bool busy, uint64_t& then) {
  constexpr auto kRelaxed = std::memory_order_relaxed;  // for whoever asks for the load
  const uint64_t now = rte_rdtsc();
  if (busy) progress.busy_cycles.store(progress.busy_cycles.load(kRelaxed) + now - then, kRelaxed);
  progress.cycles.store(progress.cycles.load(kRelaxed) + now - then, kRelaxed);
  then = now;
}

bool Scheduler::all_idle() const {
  return std::all_of(progress_.get(), progress_.get() + workers_.size(),
                     [](const Progress& progress) { return progress.idle.load(std::memory_order_relaxed); });
}

void Scheduler::master_main() {
  begun_.wait(false);
  if (options_.pin) pin_to_core(static_cast<int>(workers_.size()) % core_count());
  const dpdk::ThreadGuard registered;
  Progress& progress = progress_[workers_.size()];
  uint64_t then = rte_rdtsc();
  while (!served_.load(std::memory_order_acquire)) {
    bool busy = false;
    for (int i = 0; i < 16; ++i)
      for (auto& driver : drivers_) busy = driver->serve() || busy;
    spend(progress, busy, then);
    if (!busy && all_idle())
      std::this_thread::sleep_for(kNap);
    else if (!busy && options_.gives_way)
      std::this_thread::yield();
  }
}

void Scheduler::thread_main(int thread) {
  begun_.wait(false);
  if (options_.pin) pin_to_core(thread % core_count());
  const dpdk::ThreadGuard registered;
  Worker& worker = *workers_[static_cast<size_t>(thread)];
  for (bool goes_on = true; goes_on;) {
    const bool ended = run_rounds(thread), pausing = !ended || pauses();
    worker.drain(!pausing);
    goes_on = pausing && !halt();
  }
  Progress& progress = progress_[static_cast<size_t>(thread)];
  progress.idle = progress.quiet = progress.still = true;
  progress.rounds = kGone;
  options_.epochs->report(thread, ~uint64_t{0});  // it holds nothing any more, whatever changes
  {
    const std::lock_guard lock(halting_);
    live_threads_.fetch_sub(1, std::memory_order_release);
  }
  halted_.notify_all();
}

bool Scheduler::run_rounds(int thread) {
  Worker& worker = *workers_[static_cast<size_t>(thread)];
  Progress& progress = progress_[static_cast<size_t>(thread)];
  Quiescence quiescence(workers_.size(), &Progress::quiet), stillness(workers_.size(), &Progress::still);
  const bool simulated = RouterClock::simulated();
  // One thread moves the clock: the first that runs.
  bool moves_clock = simulated;
  for (int i = 0; i < thread; ++i) moves_clock = moves_clock && !runs(static_cast<size_t>(i));
  uint64_t then = rte_rdtsc(), changes = 0;
  while (!finished_.load(std::memory_order_acquire)) {
    if (pauses()) return false;
    // Flags are looked at now and then: a round is some tens of nanoseconds when nothing arrives.
    const bool stopping = this->stopping();
    bool busy = false;
    for (int i = 0; i < 16; ++i) busy = worker.round(stopping) || busy;
    if (!worker.failure().empty()) {
      options_.stopping->store(true, std::memory_order_relaxed);
      break;
    }
    busy = worker.run_timers(then, ending_.load(std::memory_order_relaxed)) || busy;
    if (simulated) progress.still.store(!busy && worker.nothing_in_flight());
    const bool idle = !busy && worker.exhausted(stopping);
    const bool quiet = idle && (stopping || !options_.kept_running());
    if (busy) progress.busy_rounds.store(progress.busy_rounds.load(std::memory_order_relaxed) + 1);
    worker.publish_if_due(busy, rte_rdtsc());
    spend(progress, busy, then);
    progress.idle.store(idle);
    progress.quiet.store(quiet);
    progress.rounds.store(progress.rounds.load(std::memory_order_relaxed) + 1);
    if (quiet && quiescence.lasts(progress_.get())) {
      ending_.store(true, std::memory_order_relaxed);
      if (!options_.release()) finished_.store(true, std::memory_order_release);
    }
    if (moves_clock) {
      // What others have done since, threads may not have seen yet.
      if (const uint64_t now = RouterClock::changes(); now != changes) stillness.restart(), changes = now;
      if (!(quiet && quiescence.begun()) && stillness.lasts(progress_.get())) {
        RouterClock::jump(changes, all_idle());
        stillness.restart();
      }
    }
    const bool time_waits = simulated && workers_.size() > 1;  // for all threads
    if (!busy && (options_.gives_way || time_waits)) std::this_thread::yield();
    if (idle && !simulated) std::this_thread::sleep_for(worker.has_timers_alone() ? kNapBetweenTimers : kNap);
  }
  return true;
}

}  // namespace heddle
