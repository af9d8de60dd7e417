#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "control/broker.h"
#include "engine/resources.h"
#include "engine/scheduler.h"

namespace heddle {

struct RunOptions {
  int threads = 1;
  int batch_size = 1024;   ///< capacity of batches
  int slots = 0;           ///< GPU: slots of kTile packets in flight, over all threads of a segment; 0: automatic
  int batches_a_side = 0;  ///< for tests: what is placed by load changes sides after so many batches, whatever the load
  unsigned packets = 0;    ///< packets in the pool; 0: as many as ports, batches and slots need
  bool pin = false;        ///< one thread a core
  std::vector<std::string> dpdk_args;  ///< passed on to EAL
  bool interactive = false;
};

/** What happened, for the final table and --json. */
struct Report {
  struct Element {
    std::string name, class_name, processor;
    uint64_t packets, bytes;  ///< that entered it (a source: that it received)
    std::vector<std::pair<std::string, uint64_t>> drops, statistics;
  };
  std::vector<Element> elements;
  /** What has crossed the bus of a GPU segment, bytes: by slots and copies, and the most that kernels may have read and
   *  written of packets in place. */
  struct Traffic {
    int segment;
    std::string device;
    uint64_t to_gpu, from_gpu, declared_to_gpu, declared_from_gpu;
    /** If the CPU runs the segment as well: packets that it has taken, and changes from one to the other. */
    std::optional<uint64_t> on_cpu{};
    uint64_t switches = 0;
  };
  std::vector<Traffic> traffic;
  std::vector<std::string> problems;  ///< what went wrong while running
  uint64_t received = 0, received_bytes = 0, dropped = 0;
  double wall_s = 0, cpu_s = 0;
  std::string device;  ///< GPU segments' device and model, "" if none
};

/** A plan that runs: what it takes from the machine (Resources), its ways through other processors (Lane) and its threads
 *  (Scheduler). start() acquires everything or throws Error, wait() runs until
 * the sources are exhausted or stop() is called, and every packet is accounted for. */
class Engine {
 public:
  Engine(Router router, Plan plan, RunOptions options);
  ~Engine();

  void start();
  /** Stops receiving; packets on their way are processed to the end. May be called from any thread or a signal handler.
   */
  void stop() { scheduler_.stop(); }
  bool running() const;
  /** Joins the threads, stops GPU and elements. */
  void wait();

  /** Whether the sources are exhausted and no packet is on its way; looks twice, so it takes a while. */
  bool exhausted() const { return scheduler_.exhausted(); }

  /** Share of the input that has been read, 0..1; negative if unknown. */
  double progress() const;
  /** Packets received so far. */
  uint64_t received() const;
  /** From any thread, but not while wait() runs. */
  Report report() const;
  /** For each packet thread the share of its time, 0..1, in which it found packets. */
  std::vector<double> load() const;
  using Cycles = Scheduler::Cycles;
  std::vector<Cycles> cycles() const { return scheduler_.cycles(); }  ///< of each packet thread
  Report::Element element_report(int node) const;
  /** Packets and bytes that have come to a node. */
  uint64_t packets(int node) const;
  uint64_t bytes(int node) const;

  Router& router() { return router_; }
  const Plan& plan() const { return plan_; }

  /** Runs `change` on an element whose table may change while packets flow (it has been told to send its patches to
   * every copy); returns when no reader holds the version before, and retired entries have been reclaimed. Callers from
   * several threads take turns; those of handlers() do not run meanwhile if the caller is one, or within exclusively(). */
  void update(Element& element, const std::function<void()>& change);

  /** The handlers of all elements and of the router. */
  Broker& handlers() { return *broker_; }

 private:
  const std::vector<std::unique_ptr<Worker>>& workers() const { return scheduler_.workers(); }
  Gpus* gpus() const { return resources_.gpus(); }
  bool kept_running() const;
  /** Asks buffers and emitters for what they hold back; true if one has something. */
  bool release();

  std::vector<std::unique_ptr<Worker>> make_workers();
  void make_handlers();
  /** Packets and bytes that have come to a node. Any thread. */
  std::pair<uint64_t, uint64_t> node_counts(int node) const;
  void add_counts(int node, Handlers& list);
  /** What a source has brought or a sink has taken. */
  struct EndCounts {
    uint64_t packets = 0, bytes = 0, dropped = 0;
  };
  EndCounts end_counts(int node) const;

  Router router_;
  Plan plan_;
  RunOptions options_;
  Resources resources_;
  Epochs epochs_;
  Scheduler scheduler_;
  std::unique_ptr<Broker> broker_;
  std::recursive_mutex updating_;
  std::vector<std::string> problems_;
  double started_s_ = 0, cpu_started_s_ = 0, wall_s_ = 0, cpu_s_ = 0;
  std::atomic<bool> started_{false};  // threads of keepers ask whether it runs
  std::vector<const Node*> keepers_;  // those that may keep the program running
};

}  // namespace heddle
