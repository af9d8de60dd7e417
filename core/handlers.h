#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heddle {

/** A handler (Click): a named value of an element that people and programs read and write while the router runs, as
 *  text.
 */
struct Handler {
  std::string name;
  /** What it gives; `argument` is "" unless takes_argument. Throws Error if that is no value it knows. */
  std::function<std::string(const std::string& argument)> read{};
  /** Throws Error, and has changed nothing then, when `value` is not what it expects. */
  std::function<void(const std::string& value)> write{};
  bool takes_argument = false;  ///< a read may have an argument ("lookup 10.0.0.1")
  std::string remedy{};         ///< without `write`: what would let it be written, for the message; "": nothing would
};

/** The handlers of one element, in the order of their registration:
 *
 *      void Counter::handlers(Handlers& list) {
 *        list.read("count", [this] { return std::to_string(counts_.packets()); })
 *            .write("reset", [this](const std::string&) { counts_.reset(); });
 *      }
 *
 *  They are called on control threads, one at a time, while packet threads work. So a read takes what packet threads
 *  publish without stopping them (atomics, PerThreadCounts), and a write changes what they look at with one atomic
 *  store, or as a table patch. Packets that come after a write are given what it has set. If it has retired something
 *  (core/table.h), it returns when no packet thread works with a batch that it had begun before; if not, at once, and
 *  packets under way may still be given what was set before. */
class Handlers {
 public:
  Handlers& read(std::string name, std::function<std::string()> give) {
    at(std::move(name)).read = [give = std::move(give)](const std::string&) { return give(); };
    return *this;
  }
  Handlers& read_with_argument(std::string name, std::function<std::string(const std::string& argument)> give) {
    Handler& handler = at(std::move(name));
    handler.read = std::move(give);
    handler.takes_argument = true;
    return *this;
  }
  Handlers& write(std::string name, std::function<void(const std::string& value)> take) {
    at(std::move(name)).write = std::move(take);
    return *this;
  }

  /** It cannot be written as things are; `remedy` says what to do about that. */
  Handlers& read_only(std::string name, std::string remedy) {
    at(std::move(name)).remedy = std::move(remedy);
    return *this;
  }

  const Handler* find(std::string_view name) const {
    for (auto& handler : list_)
      if (handler.name == name) return &handler;
    return nullptr;
  }
  const std::vector<Handler>& list() const { return list_; }

 private:
  Handler& at(std::string name) {
    for (auto& handler : list_)
      if (handler.name == name) return handler;
    list_.push_back({std::move(name)});
    return list_.back();
  }
  std::vector<Handler> list_;
};

/** Everybody's handlers, for elements that call them (Script, ControlSocket). Names are "element.handler", or "handler"
 *  for the router's own. */
class Control {
 public:
  virtual ~Control() = default;
  virtual std::string read(const std::string& name, const std::string& argument = {}) = 0;  ///< throws Error
  virtual void write(const std::string& name, const std::string& value) = 0;                ///< throws Error
  /** The handler with that name, a copy: elements may go when the chain is reconfigured. Throws Error if there is
   *  none. */
  virtual Handler find(const std::string& name) = 0;
  /** Runs `work` while no handler runs on another thread; it may call handlers. */
  virtual void exclusively(const std::function<void()>& work) = 0;

  /** Asks for the end of the run: calls what on_stop() has set, else end(). */
  virtual void stop() = 0;
  virtual void on_stop(std::function<void()> action) = 0;
  /** Ends the run as Ctrl-C does: packets on their way are processed to the end. */
  virtual void end() = 0;
  /** Whether all sources are exhausted and no packet is on its way. */
  virtual bool exhausted() = 0;
  /** Returns when what packet threads had done before is in the counts that handlers read: after a millisecond or so.
   *  A packet thread that waits for the caller must be one of those that ActsBeside has wait. */
  virtual void await_counts() = 0;
};

}  // namespace heddle
