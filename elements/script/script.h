#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/acts_beside.h"
#include "core/clock.h"
#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

namespace click {
struct Argument;
}

/** Script: runs a script of handler calls.
 *
 *      Script(INSTRUCTION, ... [, keyword TYPE])
 *
 *  TYPE: ACTIVE (default) runs from the start, and keeps the program running until it ends; PASSIVE runs when its `run`
 *  handler is called; DRIVER is what DriverManager is; the others run when something happens, each time from the
 *  beginning:
 *
 *      SIGNAL NAME ...   when the program gets one of these signals, by name (INT, HUP, USR1) or number. What the
 *                        signal does otherwise, such as INT's end of the program, it does again after `exit`, and while
 *                        the script waits; scripts answer in their order. It comes once, however often it has come when
 *                        the script gets to run. Other scripts that wait go on when it has been answered, and the
 *                        program ends then
 *      PROXY             when a handler of the element is called that it does not have: $0 is its name, $args the
 *                        argument, $write whether it is written; the value is that of `return`
 *      PACKET            for each packet: $input (or $args) is the number of its input; it leaves by the output that
 *                        `return` says, by output 0 if the script ends otherwise; `exit` drops it ("exit"). Scripts run
 *                        beside packet threads, so packets wait for it, others overtake them: 1,024 at most, more are
 *                        dropped ("busy"), as are those that wait when the program is stopped. With `--batch 1` the
 *                        next packet comes when this one has its answer, as in Click. Drops: "no_output", that is not
 *                        connected. It must not wait
 *
 *  Of these, PACKET has inputs and outputs (push), the others have no ports.
 *
 *  Instructions run one after the other, while no handler runs elsewhere:
 *
 *      set VAR TEXT, setq VAR TEXT          sets $VAR
 *      init VAR TEXT, initq VAR TEXT        sets $VAR once, at the start
 *      export VAR [TEXT], exportq           the same, and makes a read handler VAR of it
 *      print [>FILE | >>FILE] TEXT          prints a line: HANDLER [ARGUMENTS] if it begins with a letter, '@' or '_',
 *      printn, printq, printnq              else text, unquoted; printn: without newline; printq: argument unquoted
 *      read HANDLER, readq HANDLER          prints "HANDLER:", its value and an empty line on standard error
 *      write HANDLER [VALUE], writeq        calls a write handler; $? is 0, or negative if it failed
 *      save HANDLER [ARGUMENTS] FILE        writes a handler's value to a file ("-": as a line to standard output);
 *      append                               append: behind what it has
 *      pause [COUNT]                        waits for COUNT (1) calls of `step`; wait, wait_step and wait_stop likewise
 *      wait TIME, wait_time, wait_for       waits TIME (seconds, or 100ms, 1.5s, 2m), or for a `step`; that sources are
 *                                           exhausted, a driver's step, does not end it
 *      label LABEL, goto LABEL [CONDITION]  also to begin, loop, end, exit, stop, error
 *      loop                                 goes to the first instruction
 *      end, exit                            ends the script
 *      stop                                 ends the script and the program (DriverManager may see to that)
 *      return [VALUE], returnq              ends it; the value of `run`
 *      error [TEXT], errorq                 ends it with an error
 *
 *  A "q" at an instruction's end: what substitution gives is unquoted. $x and ${x} stand for variables, $(HANDLER
 *  [ARGUMENTS]) for what a handler gives, $$ for the program's process; they nest. In a `run`, $args are its arguments,
 *  $1, $2 ... single ones, $# their number. Handlers are "element.handler" (inside a compound element, elements of that
 *  first), one of the script's own, or a global one. A script that makes 1000 jumps without waiting is stopped.
 *
 *  Handlers: `step` (w, COUNT), `goto` (w, LABEL), `run` (rw, ARGUMENTS), `get` (r, VAR), `set` (w, VAR VALUE), and, as
 *  functions (r, ARGUMENTS): `add` `sub` `mul` `div` `idiv` `mod` `rem` `neg` `abs` `min` `max`, `eq` `ne` `lt` `le`
 *  `gt` `ge` (of two numbers, else bytewise), `not` `and` `or` `nand` `nor`, `if` CONDITION A B, `in` WORD LIST,
 *  `first`, `length`, `unquote`, `sprintf` FORMAT ..., `random` [[FROM] TO], `now`, `htons` `htonl` `ntohs` `ntohl`;
 *  within the script also `cat` FILE and `kill` SIGNAL PROCESS ...
 *
 *  Hot reconfiguration: it begins anew, unless nothing but another element's arguments has changed (`config`), and it
 *  has no ports: then it goes on where it is.
 *
 *  Example, which prints the rate of each second:
 *
 *      FromDPDKDevice(0) -> c :: Counter -> Discard;
 *      Script(set old 0, label again, wait 1s, set new $(c.count), print $(sub $new $old), set old $new, goto again);
 */
class Script : public Emitter, public ActsBeside {
 public:
  enum class Type { active, passive, driver, signal, proxy, packet };
  explicit Script(Type type = Type::active) : type_(type) {}
  ~Script() override;
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "-/-"; }
  const char* processing() const override { return "h/h"; }
  bool tells_inputs() const override { return true; }
  Access access(Processor) const override;
  bool changes_length() const override { return false; }
  std::span<const char* const> drop_reasons() const override;
  int timer_us() const override { return inputs > 0 ? 100 : 0; }
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return packets_held_.load(std::memory_order_acquire) > 0; }
  bool due(int) const override { return ready_ > 0; }
  bool acts() const override { return unanswered_.load(std::memory_order_acquire) > 0; }
  bool keeps_running() const override { return keeps_running_; }
  bool decides_end() const override { return type_ == Type::driver; }
  /** Called again when another configuration has taken the running element over: it goes on where it is. */
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  std::string stop() override;
  void handlers(Handlers& list) override;

  /** Another configuration has taken the place of its own, at its own word perhaps: it goes on no more. Within
   *  Control::exclusively, as all that runs it. */
  void halt() { stopping_ = true; }

 protected:
  /** Reads these instructions. */
  void configure_instructions(click::Arguments& arguments, const std::vector<click::Argument>& given);

 private:
  using Clock = RouterClock;
  enum class Op {
    set,
    init,
    export_,
    print,
    read,
    write,
    save,
    append,
    pause,
    wait,
    label,
    goto_,
    end,
    exit,
    stop,
    return_,
    error
  };
  struct Word {
    Op op;
    bool unquote = false, newline = true;
  };
  struct Instruction {
    Op op;
    bool unquote = false, newline = true;
    std::string name;  // of a variable, label or handler
    std::string text;
    int count = 0;   // of pause
    int target = 0;  // of goto: an index, or -1 - Op
  };

  // Reading (script_read.cc).
  static std::optional<Word> word(const std::string& name);
  bool read_instruction(std::string_view text, Instruction& instruction, std::string& problem) const;
  int find_label(const std::string& label) const;  // throws Error

  // Running. Everything below happens under Control::exclusively.
  void execute();
  bool execute_one(const Instruction& instruction);  // false: it waits, or the script has ended
  bool wait_for(const Instruction& instruction);
  bool jump(int target);
  void finish(Op how);
  void go_to(size_t position);
  void print(const Instruction& instruction);
  void save(const Instruction& instruction);
  /** A handler's name, and the argument behind it. */
  static std::pair<std::string, std::string> call_of(std::string_view text, bool unquote);
  std::string call(std::string_view handler_and_argument, bool unquote = false);
  std::string run(const std::string& arguments);
  void step(int count);
  std::string expand(std::string_view text, bool quote = false);
  std::string value(const Instruction& instruction);
  std::optional<std::string> meaning(const std::string& reference, bool call);
  std::string resolve(const std::string& handler) const;
  void report(const std::string& problem);
  void serve();
  static constexpr auto kLookForSignals = std::chrono::microseconds(20);
  void await_signals() const;
  void wait_for_work(std::unique_lock<std::mutex>& lock);
  bool waits_to_be_called() const { return type_ != Type::active && type_ != Type::driver; }

  // Types of scripts that run when something happens (script_types.cc).
  void read_type(click::Arguments& arguments);
  void start_type(const Environment& environment);
  void stop_type();
  /** From another thread: signal `number` has come; false: it does not take it. */
  bool signalled(int number);
  /** On the script's own thread: what has happened since. */
  void answer_signals();
  void await_turn();
  void answer_packets();
  void answer_packet(size_t which);
  std::string proxy(const std::string& name_and_argument, bool write);

  Type type_;
  std::vector<Instruction> instructions_;
  Control* control_ = nullptr;

  size_t position_ = 0;
  std::map<std::string, std::string> variables_;
  std::string arguments_, result_;
  int write_status_ = 0, steps_ = 0, left_ = 0, jumps_ = 0;
  bool executing_ = false, blocked_ = false;
  bool collecting_ = false;  // errors go to whoever has called run
  std::string errors_;
  Clock::time_point deadline_{};
  std::atomic<bool> keeps_running_{false}, stopping_{false};
  std::atomic<bool> has_written_{false};  // since the thread last looked whether all sources have ended
  std::atomic<bool> exhausted_{false};    // whether they had then

  std::mutex mutex_;  // of what follows: when the thread has something to do
  std::condition_variable changed_;
  Clock::time_point wake_at_ = Clock::time_point::max();
  Clock::Sleeper sleeper_;
  std::thread thread_;

  std::vector<int> signals_;
  std::atomic<bool> armed_{false};  // takes its signals
  bool exited_ = false;             // and will take none any more
  uint64_t signals_come_ = 0;       // a bit each, from signal 1 on; under mutex_
  std::deque<uint64_t> turns_;      // to answer these; under mutex_
  std::atomic<int> signals_unanswered_{0};
  std::string called_;  // PROXY: $0 and $write
  bool called_to_write_ = false;

  /** Packets that wait for the script, or, answered, to leave. */
  struct Waiting {
    Packet* packet = nullptr;
    uint32_t input = 0;
    uint16_t next = 0;
    std::vector<std::byte> columns;
  };
  static constexpr size_t kMaxPackets = 1024;
  std::vector<Waiting> ring_;                     // [kMaxPackets], by number modulo that
  ColumnPack columns_;                            // of them
  uint64_t come_ = 0, answered_ = 0, given_ = 0;  // numbers: packets [given_, answered_) may go; under packets_
  std::mutex packets_;
  std::atomic<uint64_t> packets_held_{0}, unanswered_{0}, ready_{0};
  std::function<bool()> program_stops_;  // Environment::stopping
};

}  // namespace heddle
