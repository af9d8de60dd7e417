#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/access.h"
#include "core/batch.h"
#include "core/counters.h"
#include "core/handlers.h"
#include "core/neutral.h"
#include "core/table.h"

namespace heddle {

namespace click {
class Arguments;
}
class PacketPool;
class Element;
class Epochs;

/** The elements of a chain that a name means where an element says it: one, or all those of a compound element; none if
 *  nothing has that name. A name in a compound element is first looked for there, then around it (Click). */
using Directory = std::function<std::vector<Element*>(std::string_view name)>;

/** What an element finds when the program starts. */
struct Environment {
  int threads = 1;                      ///< packet threads; Batch::thread is below this
  int batch_size = 1024;                ///< capacity of the batches
  PacketPool* packets = nullptr;        ///< where sources take packets from
  PacketPool* large_packets = nullptr;  ///< the same for packets longer than `packets` holds, up to kMaxPacketBytes
  bool interactive = false;             ///< a person watches standard output
  Control* control = nullptr;           ///< everybody's handlers
  std::function<bool()> stopping;       ///< whether the run has been asked to end; from any thread
  Epochs* epochs = nullptr;             ///< for an Epochs::Reader, where a handler reads what packet threads retire
  std::optional<uint32_t> random_seed;  ///< of RandomSeed, if the chain has one
  /** `part`, which is about to be freed, goes on within `whole`: what follows packets is told. From any thread. */
  std::function<void(const Packet* part, Packet* whole)> goes_on_in;

  /** The seed of a generator of random numbers of `element`, which has one a packet thread, or another number for each.
   *  Any, or, with `random_seed`, the same in each run. */
  uint64_t seed_of(const Element& element, int thread) const;
};

/** A node of a chain. Ports, arguments and drops of a class are described in its header comment, which is its manual
 *  page.
 *
 *  Life: constructed, configure(), then (when the whole chain is right) start(), run_cpu() many times from the packet
 *  threads, stop(). configure() and start() throw Error; run_cpu() must not throw, allocate, lock or print. */
class Element {
 public:
  virtual ~Element() = default;

  /** Reads the arguments; reports mistakes to `arguments`, which knows file, line and column. */
  virtual void configure(click::Arguments& arguments);

  /** Called when the whole chain has been configured: looks up the elements that arguments name. Throws Error. */
  virtual void link(const Directory&) {}

  /** Numbers of input and output ports in Click's notation: "1/1", "1/1-2", "0/1", "1/-". */
  virtual const char* ports() const { return "1/1"; }

  /** Which ports push, which are pulled, in Click's notation: 'h' push, 'l' pull, 'a' agnostic (as its neighbours want,
   *  those alike that packets pass between; 'x': each for itself), a letter a port, the last one for all further ports:
   *  "a/a", "h/l", "a/ah". */
  virtual const char* processing() const { return "a/a"; }

  /** Adds the element's handlers to those that every element has (class, name, config, ports, handlers, drops). */
  virtual void handlers(Handlers&) {}

  /** Whether it wants to know by which input packets come: column `input` then says so, and access() declares to read
   *  it. */
  virtual bool tells_inputs() const { return false; }
  /** Columns of access() that it does not read of packets that come by `input`; they need not be set there, and
   *  are 0. */
  virtual ColumnSet unread_at(int /*input*/) const { return 0; }

  /** Whether packets that come by `input` may leave by `output`: for elements that tell inputs, or have one (Click's
   *  flow code). What packets bring, such as annotations, is looked for on these ways alone. */
  virtual bool leads(int /*input*/, int /*output*/) const { return true; }

  /** A pulled element whose outputs are not (Unqueue, a pulled sink) says how many packets it wants now; a task of its
   *  thread then takes them from the queue or source before it. */
  virtual int demand(int /*thread*/) { return 64; }

  /** An element that packets are pulled through says how many of `wanted` it lets through by `way` now (Suppressor), at
   *  least 0: by that input or, if it has only one, by that output, asked last before they come (Shaper). */
  virtual int lets_through(int /*thread*/, int /*way*/, int wanted) { return wanted; }
  virtual bool limits_pull() const { return false; }  ///< whether lets_through() is to be asked

  /** Whether the program goes on when all sources are exhausted (ControlSocket, Script). */
  virtual bool keeps_running() const { return false; }

  /** Whether it decides when the program ends, in place of the sources (DriverManager). A chain has at most one. */
  virtual bool decides_end() const { return false; }

  /** Bytes and columns that the element reads and writes on `processor`. */
  virtual Access access(Processor) const { return {}; }

  /** Names of the reasons for which it drops packets; Batch::drop takes an index into them. */
  virtual std::span<const char* const> drop_reasons() const { return {}; }

  /** Set for elements that a segment of either processor can contain (core/neutral.h). */
  virtual std::optional<NeutralOp> neutral() const { return std::nullopt; }

  /** Bytes by which it moves the start of every packet that goes on; > 0: strips them, < 0: puts some before. */
  virtual int moves_head() const { return 0; }

  /** Whether packets may leave longer or shorter than moves_head() says. Bytes are then counted anew behind it. */
  virtual bool changes_length() const { return false; }

  /** Most bytes that it puts before and behind a packet. Buffers have room for them when packets get to it. */
  virtual int prepends() const { return 0; }
  virtual int appends() const { return 0; }

  /** Whether it moves the start of packets by different amounts: moves_head() is then 0, and prepends() the bound. */
  virtual bool head_varies() const { return false; }

  /** Opens files and devices. */
  virtual void start(const Environment&) {}

  /** Processes a batch: sets next() (if it has several exits), changes packets and columns. An element without outputs
   *  keeps or frees the packets and shrinks the batch to those that it drops, with next() saying why. */
  virtual void run_cpu(Batch& batch) = 0;

  /** Columns that say which memory run_cpu() is going to look up, for elements with tables larger than a cache. 0:
   *  none. */
  virtual ColumnSet looks_up() const { return 0; }

  /** Asks the cache for that memory, for every packet of `batch`; changes nothing. The engine calls it as soon as those
   *  columns are set, when other elements still run before this one, so that their work hides the memory's latency. Any
   *  value may stand in the columns of packets that will not get here. */
  virtual void prefetch(Batch& /*batch*/) const {}

  /** Number of copies that the engine makes of each packet, copy k leaving by output k; 1 = none (see Tee). */
  virtual int copies() const { return 1; }
  /** An element that copies some packets to some outputs only says which: puts their indices in `batch`, ascending,
   *  into `which`, which has room for all, and returns how many there are. Called after run_cpu(), for each output, the
   *  first last. What it drops (Batch::drop) is no longer in the batch then. */
  virtual bool copies_some() const { return false; }
  virtual int copies_to(Batch& /*batch*/, int /*output*/, uint16_t* /*which*/) { return 0; }

  /** Whether --device sends it to a GPU, as it does what can run there; if not, DEVICE alone does. Asked after
   *  link(). */
  virtual bool follows_device() const { return true; }

  /** Between GPU ports: whether packets should get to it in their order of arrival as long as they are few. What does
   *  not fill a tile then waits until the tiles before are done. Asked once it is configured. */
  virtual bool prefers_order() const { return false; }

  /** Microseconds between two calls of on_timer() on each packet thread, as far as a batch under way allows; 0:
   *  never. */
  virtual int timer_us() const { return 0; }
  /** Called on the packet threads, between batches, whether packets arrive or not: ages entries, flushes. */
  virtual void on_timer(int /*thread*/) {}

  /** Flushes and closes; what went wrong meanwhile is returned, "" = nothing. */
  virtual std::string stop() { return {}; }

  /** Whether a client of a ControlSocket may write its `config` although the program was not started with -R (Click's
   *  name for it, and true for the classes for which Click says so). No argument of such an element names a file, a
   *  device or a program: it is not the client's to choose what the router opens. */
  virtual bool can_live_reconfigure() const { return false; }

  // Hot reconfiguration (engine/reconfigure.cc). An element of a new configuration starts while the old one runs; then
  // packet threads stop between two batches, it takes over what its predecessor has, and threads go on in the new
  // configuration.

  /** The element that it takes over from, of the same class and name; if it was not given a name, of the same class and
   *  arguments. Null: none. Set before start(), which then leaves alone what take_state() brings (a file, a socket),
   *  and null again when the predecessor is no more. */
  Element* predecessor = nullptr;
  /** Whether it has the same arguments, but for where and how it runs (DEVICE): what handlers changed stays changed. */
  bool same_arguments = false;
  /** Takes what `old`, which is of its class and has been started, has gathered: counts, packets that wait, tables,
   *  open files. No packet thread runs. Must not throw; what it has no room for it leaves there. A call the other way
   *  round takes it back, when the new configuration cannot be run after all. */
  virtual void take_state(Element& /*old*/) {}
  /** Packets that wait in it: those that are left when it goes have been lost by the reconfiguration, and are counted.
   *  Asked when no packet thread runs. */
  virtual uint64_t packets_held() const { return 0; }

  /** Names and values for reports, beyond packets and drops. Called from any thread while packets flow and handlers
   *  change the element, so it reads atomics only. */
  virtual std::vector<std::pair<std::string, uint64_t>> statistics() const { return {}; }

  /** What its GPU side looks packets up in, or null; set by configure(), and alive as long as the element. */
  Table* table = nullptr;
  /** What handlers of it retire beyond its table. */
  std::vector<Retiring*> retiring;

  /** Its PerThreadCounts, which enter themselves. */
  std::vector<PerThreadCounts*> counts;

  std::string name;             ///< as in the configuration
  std::string class_name;       ///< as registered
  int inputs = 0, outputs = 0;  ///< ports that are connected; set before configure()
  std::vector<Element*>
      behind;  ///< the element behind each output; set before link(); those of a pulled output: the first
  std::vector<Element*> before;  ///< those that lead here; set before link()
  ColumnSet carries = 0;         ///< columns that somebody behind it reads; a buffer keeps these; set before start()
  bool on_gpu = false;           ///< whether packets may come to its GPU side; set before start()
  bool on_cpu = true;            ///< whether packets may come to run_cpu(); set before start()
  std::vector<bool> pulled;      ///< by input: whether packets are pulled through it; set before link()
  int home = -1;                 ///< the thread that StaticThreadSched gives it, or -1; for sources and for what pulls
};

/** An element that packets come from: a port, a capture, a generator. With inputs it is a buffer, such as Queue:
 *  packets enter by run_cpu(), which keeps them (and shrinks the batch to those that it drops), and leave by receive(),
 *  maybe on other threads, with the columns that they had; both may run at once. Where one with agnostic ports is
 *  pulled (ICMPError), it is none: packets pass it as any other element. */
class Source : public Element {
 public:
  const char* ports() const override { return "0/1"; }

  /** Whether packets wait in it, or pass it. Asked when `pulled` has been set. */
  bool is_buffer() const { return inputs > 0 && !passes(); }
  bool passes() const { return inputs > 0 && processing()[0] == 'a' && pulled[0]; }

  /** Appends packets that have arrived to `batch` (empty, its thread set), at most batch.room(). */
  virtual void receive(Batch& batch) = 0;

  /** True when no packet will come any more; the program ends when all sources say so. A buffer: when it holds nothing
   * that time alone will set free. */
  virtual bool exhausted() const { return false; }

  /** A buffer: nothing comes any more, so it gives what it holds back by the next receive(). False if it holds nothing
   * back. Called on any packet thread, maybe on several at once, before the program ends. */
  virtual bool release() { return false; }

  /** Whether every packet thread receives from it (a queue each) or the first one alone. */
  virtual bool every_thread() const { return false; }

  /** Share that has been read, 0..1, if the end is known. */
  virtual std::optional<double> progress() const { return std::nullopt; }

  void run_cpu(Batch&) override {}
};

/** An element that also gives packets on its own, apart from those that pass: it has kept them (Batch::keep), or makes
 *  them (replies, reports). The engine asks for them by its timer. Their place in the order is that of packets that
 *  arrive then.
 */
class Emitter : public Element {
 public:
  int timer_us() const override { return 100; }
  /** False: all that it gives are packets that it has kept, as they were. */
  bool changes_length() const override { return true; }

  /** Puts packets of thread `batch.thread` into `batch` (empty), at most batch.capacity(), with the columns of
   *  `carries` and next() = the output that each leaves by. `ending`: nothing arrives any more, and it is called until
   *  it gives no more. */
  virtual void emit(Batch& batch, bool ending) = 0;

  /** Whether it holds packets that it will give on its own, on any thread. Called from any thread. */
  virtual bool holds() const = 0;

  /** Whether `thread` should ask for packets now, and not wait for the timer: asked after each run_cpu() of that
   *  thread. */
  virtual bool due(int /*thread*/) const { return false; }
};

/** A pulled element with several inputs that chooses which of them packets are taken from (PrioSched). Packets then
 *  pass through it as through any element. One thread pulls. */
class PullScheduler : public Element {
 public:
  const char* ports() const override { return "1-/1"; }
  const char* processing() const override { return "l/l"; }
  /** The input to ask at the `attempt`-th attempt, 0 ... inputs - 1, of one pull. */
  virtual int choose(int attempt) = 0;
  /** Packets to take from an input before the next choice. */
  virtual int quantum() const { return 1; }
  /** `packets` have come from `input`. */
  virtual void taken(int /*input*/, int /*packets*/) {}
  void run_cpu(Batch&) override {}
};

/** A PullScheduler that looks at packets before it chooses one (TimeSortedSched). The engine takes them from the inputs
 *  for it, as they wait there: what stands between the source and the input sees them when they have been chosen. */
class LookAheadScheduler : public PullScheduler {
 public:
  int choose(int) override { return 0; }
  /** Whether it wants to see one more packet of `input`. */
  virtual bool wants(int input) const = 0;
  /** Keeps packet `i` of `batch` with `columns`; `origin` says where it enters the chain. */
  virtual void hold(int input, Batch& batch, int i, ColumnSet columns, int origin) = 0;
  /** Puts the packet that it has chosen into `batch`, which is empty; returns its origin, or -1: it has none. */
  virtual int release(Batch& batch) = 0;
  /** Whether it keeps packets now. */
  virtual bool holds() const = 0;
};

/** An element that only moves the packet's start, sets a column or counts: derive, and return the op. */
class NeutralElement : public Element {
 public:
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  int moves_head() const override;
  void run_cpu(Batch& batch) override;

  /** Packets and bytes that have come to the element, on a GPU and on the CPU; empty if it runs on the CPU alone. */
  std::function<std::pair<uint64_t, uint64_t>()> engine_counts;
};

/** The element classes of this program. Adding one is one line beside its code: HEDDLE_ELEMENT(Class). */
class Catalog {
 public:
  struct Entry {
    std::string class_name;
    std::function<std::unique_ptr<Element>()> make;
  };
  static Catalog& instance();
  void add(Entry entry) { entries_.push_back(std::move(entry)); }
  const Entry* find(std::string_view class_name) const;
  std::vector<std::string> names() const;  ///< sorted

 private:
  std::vector<Entry> entries_;
};

#define HEDDLE_ELEMENT_AS(Class, click_name)                                                   \
  static const bool heddle_registered_##Class = [] {                                           \
    ::heddle::Catalog::instance().add({click_name, [] { return std::make_unique<Class>(); }}); \
    return true;                                                                               \
  }()
#define HEDDLE_ELEMENT(Class) HEDDLE_ELEMENT_AS(Class, #Class)

/** A further name for a class. */
#define HEDDLE_ELEMENT_NAMED(Class, other_name)                                                 \
  static const bool heddle_registered_##Class##_##other_name = [] {                             \
    ::heddle::Catalog::instance().add({#other_name, [] { return std::make_unique<Class>(); }}); \
    return true;                                                                                \
  }()

}  // namespace heddle
