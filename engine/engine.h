#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/broker.h"
#include "engine/resources.h"
#include "engine/scheduler.h"
#include "io/dpdk/dpdk.h"

namespace heddle {

struct RunOptions {
  int threads = 1;                 ///< packet threads; with PlanOptions::workers the last one is the master
  int batch_size = kDefaultBatch;  ///< capacity of batches
  int slots = 0;           ///< GPU: slots of gpu::kSlotPackets in flight, of all threads of a segment; 0: automatic
  int batches_a_side = 0;  ///< for tests: what is placed by load changes sides after so many batches, whatever the load
  unsigned packets = 0;    ///< packets in the pool; 0: as many as ports, batches and slots need
  bool pin = false;        ///< one thread a core
  std::vector<std::string> dpdk_args;  ///< passed on to EAL
  bool interactive = false;
};

/** A chain that has been read and planned. */
struct Configuration {
  Router router;
  Plan plan;
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
    /** Transport landing: packets that landed; that came back to their own buffers: no room, or a slot with one too
     *  long. */
    std::optional<uint64_t> landed{};
    uint64_t landing_full = 0;
  };
  std::vector<Traffic> traffic;
  std::vector<std::string> problems;  ///< what went wrong while running
  uint64_t received = 0, received_bytes = 0, dropped = 0;
  double wall_s = 0, cpu_s = 0;
  std::string device;  ///< GPU segments' device and model, "" if none
};

/** A plan that runs: what it takes from the machine (Resources), and a Generation: its elements, their ways through
 *  other processors (Lane) and its threads (Scheduler). start() acquires everything or throws Error, wait() runs until
 *  the sources are exhausted or stop() is called, and every packet is accounted for. reconfigure() puts another
 *  generation in the place of the one that runs. */
class Engine {
 public:
  Engine(Router router, Plan plan, RunOptions options);
  ~Engine();

  void start();
  /** Stops receiving; packets on their way are processed to the end. May be called from any thread or a signal handler.
   */
  void stop() { stopping_.store(true, std::memory_order_relaxed); }
  /** Whether packets may still come. Finishes, too, what reconfigure() has left behind, so it is called now and
   *  then. */
  bool running();
  /** Joins the threads, stops GPU and elements. */
  void wait();

  /** As Scheduler::exhausted(). */
  std::optional<bool> exhausted() const;
  /** As Control::await_counts(). */
  void await_counts() const;

  /** Hot reconfiguration: what `plan` returns takes the place of what runs. It is read, checked and planned, and its
   *  elements are started, while packets go on; then packet threads stop between two batches, elements take over what
   *  their predecessors have gathered (Element::take_state), ports and packet memory stay, and threads go on with the
   *  new plan. Throws Error, also that of `plan`; then what ran goes on. Called on a control thread (a handler), not on
   *  the thread that calls wait(). `rewritten`: an element whose arguments are those of `plan` even if handlers have
   *  changed them meanwhile. */
  void reconfigure(const std::function<Configuration()>& plan, const std::string& rewritten = {});
  /** Offers that as the handler `config` of elements that can_live_reconfigure(), and, if clients may change all there
   *  is (`everything`), of every element, and as the handler `hotconfig`. `read` turns the text of a configuration into
   *  one. */
  void allow_reconfigure(std::function<Configuration(const std::string& text)> read, bool everything);
  /** How often it has been done. */
  int reconfigurations() const { return reconfigurations_; }
  /** How long packet threads stood still the last time, seconds. */
  double reconfiguration_s() const { return reconfiguration_s_; }

  /** Share of the input that has been read, 0..1; negative if unknown. */
  double progress() const;
  /** Packets received so far. */
  uint64_t received() const;
  /** From any thread, but not while wait() runs. */
  Report report() const;
  /** What has crossed the bus so far, by GPU segment. */
  std::vector<Report::Traffic> traffic() const;
  /** For each packet thread the share of its time, 0..1, in which it found packets. */
  std::vector<double> load() const;
  using Cycles = Scheduler::Cycles;
  std::vector<Cycles> cycles() const;  ///< of each packet thread
  Report::Element element_report(int node) const;
  /** Packets and bytes that have come to a node. */
  uint64_t packets(int node) const { return packets_of(*now_, node); }
  uint64_t bytes(int node) const { return bytes_of(*now_, node); }

  Router& router() { return now_->router; }
  const Plan& plan() const { return now_->plan; }

  /** Runs `change` on an element whose table may change while packets flow (it has been told to send its patches to
   * every copy); returns when no reader holds the version before, and retired entries have been reclaimed. Callers from
   * several threads take turns; those of handlers() do not run meanwhile if the caller is one, or within
   * exclusively(). */
  void update(Element& element, const std::function<void()>& change);

  /** The handlers of all elements and of the router. */
  Broker& handlers() { return *broker_; }

 private:
  /** A configuration, and all that comes and goes with it. */
  struct Generation {
    explicit Generation(Configuration configuration)
        : router(std::move(configuration.router)), plan(std::move(configuration.plan)) {}
    std::unique_ptr<dpdk::PortChange>
        ports;  // for the former ports that elements of it point to; null: they are in use
    Router router;
    Plan plan;
    Epochs epochs;
    int slots = 0;                        // GPU: of a segment, over all threads; 0 never
    std::unique_ptr<GpuPorts> gpu_ports;  // of a next one, before it has `gpus`
    std::shared_ptr<Gpus> gpus;           // null if the plan uses none
    Scheduler scheduler;
    std::vector<const Node*> keepers;  // those that may keep the program running
    Broker::Members members;           // when it does not run
    bool started = false;
    std::atomic<bool> given_up{false};  // it no longer runs, or never will
  };
  /** An element and the one that it takes state from. */
  struct Heir {
    Element *heir, *predecessor;
    bool same_arguments;
  };

  const std::vector<std::unique_ptr<Worker>>& workers() const { return now_->scheduler.workers(); }
  Gpus* gpus() const { return now_->gpus.get(); }
  static bool kept_running(const Generation& generation);
  /** Asks buffers and emitters for what they hold back; true if one has something. */
  bool release(Generation& generation);

  std::unique_ptr<Generation> make_generation(Configuration configuration);
  Environment environment_of(Generation& generation);
  /** Opens and starts what elements need, but those that call the handlers of others. */
  void start_elements(Generation& generation);
  void start_keepers(Generation& generation);
  /** Packet threads that run elements. */
  int worker_threads() const { return options_.threads - (has_master_ ? 1 : 0); }
  /** Lanes through a GPU segment: one a thread, or the master's. */
  int lanes_a_segment() const { return has_master_ ? 1 : options_.threads; }
  /** Of a lane through `segment`; `all`: of all lanes of a segment whose kernels are resident. */
  int slots_of(const Segment& segment, int all) const;
  /** Packets that a worker may have on their way through the master and `segment`; 0: it has a lane of its own. */
  int room_to_hand_over(const Segment& segment, int slots) const;
  /** Puts its segments on the GPUs, and makes its workers. */
  void make_workers(Generation& generation);
  /** What the master serves, by segment; null where threads have lanes of their own. */
  std::vector<std::shared_ptr<LaneDriver>> drivers_of(Generation& generation) const;
  std::vector<std::unique_ptr<Worker>> workers_of(Generation& generation,
                                                  const std::vector<std::shared_ptr<LaneDriver>>& drivers);
  /** Calls Element::stop() of all, first of those that call the handlers of others. */
  void stop_elements(Generation& generation);

  // Reconfiguration (engine/reconfigure.cc).
  void replace(const std::function<Configuration()>& plan, const std::string& rewritten);
  static std::vector<Heir> heirs(Generation& old, Generation& next, const std::string& rewritten);
  void check_replaceable(const Generation& next) const;
  /** Puts `next` in the place of what runs, which it then is. Throws Error; what ran goes on then. `rewritten`: as
   *  for reconfigure(). */
  void hand_over(std::unique_ptr<Generation>& next, const std::string& rewritten);
  /** Scripts without ports of what runs and of `next` change places: when the arguments of one other element,
   *  `rewritten`, have changed, they go on where they are. None if that is "". A second call takes it back. Returns
   *  whether there were any; takes no memory. */
  bool exchange_scripts(Generation& next, std::span<const Heir> pairs, const std::string& rewritten);
  /** Makes all of `next` that has to do with GPUs, threads and handlers. Throws Error. */
  void prepare(Generation& next);
  /** Undoes that, gives what heirs have `taken` back, and lets what was paused go on as it was. */
  void go_on_with_old(Generation& next, std::span<const Heir> taken);
  /** Adds what a generation has counted to earlier_. */
  void count_earlier(const Generation& generation);
  /** The same of packets that still wait in it: they are dropped. */
  void count_lost(const Generation& generation);
  /** Stops and frees those that have been replaced. */
  void bury_retired();
  bool is_running() const;

  /** The handler `config` of an element: reconfigures the chain, in which it has other arguments. */
  void change_arguments(const std::string& element, const std::string& arguments);
  void make_global_handlers();
  void add_task_handlers(Generation& generation, int node, Handlers& list);
  /** Shares the rounds of each packet thread out among its tasks by their tickets. */
  void share_out(Generation& generation) const;
  Broker::Members make_members(Generation& generation);
  static Report::Element element_report_of(const Generation& generation, int node);
  /** With what former generations have counted. */
  Report::Element whole_report_of(const Generation& generation, int node) const;
  // What has come to a node, as counted by the host or a GPU. Any thread.
  static uint64_t packets_of(const Generation& generation, int node);
  static uint64_t bytes_of(const Generation& generation, int node);
  static std::pair<uint64_t, uint64_t> counts_of(const Generation& generation, int node) {
    return {packets_of(generation, node), bytes_of(generation, node)};
  }
  /** Returns what lets them begin anew. */
  std::function<void()> add_counts(const Generation& generation, int node, Handlers& list);
  /** What a source has brought or a sink has taken. */
  struct EndCounts {
    uint64_t packets = 0, bytes = 0, dropped = 0;
  };
  EndCounts end_counts(const Generation& generation, int node) const;

  RunOptions options_;
  const bool has_master_;  // the last packet thread drives GPU segments for the others
  Tracer tracer_;
  std::function<Configuration(const std::string& text)> read_;  // of allow_reconfigure()
  bool everything_ = false;                                     // likewise
  Resources resources_;
  std::unique_ptr<Broker> broker_;
  std::unique_ptr<Generation> now_;
  std::recursive_mutex updating_;
  std::vector<std::string> problems_;
  double started_s_ = 0, cpu_started_s_ = 0, wall_s_ = 0, cpu_s_ = 0;
  std::atomic<bool> started_{false};  // threads of keepers ask whether it runs
  std::atomic<bool> stopping_{false};

  // Reconfiguration. now_ changes while both are held; a control thread holds the broker as well, so handlers need
  // neither.
  std::mutex reconfiguring_;
  mutable std::recursive_mutex changing_;
  std::atomic<int> reconfigurations_{0};
  std::atomic<double> reconfiguration_s_{0};
  // GPUs that have been replaced. Freeing memory waits for resident kernels, so it is done when the next ones have
  // stopped.
  std::vector<std::shared_ptr<Gpus>> spent_;
  std::list<std::unique_ptr<Generation>> retired_;  // to be stopped, by running() or wait()
  std::map<std::pair<std::string, std::string>, Report::Element>
      earlier_;                                                     // counts of former generations, by name, class
  std::map<std::pair<std::string, std::string>, EndCounts> reset_;  // what ends had counted at `reset_counts`, likewise
  uint64_t earlier_received_ = 0, earlier_received_bytes_ = 0;
};

}  // namespace heddle
