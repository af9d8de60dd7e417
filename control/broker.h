#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "control/fair_mutex.h"
#include "core/element.h"
#include "core/error.h"

namespace heddle {

/** Why a handler could not be called. The codes are those of Click's ControlSocket protocol, version 1.3. */
struct HandlerError : Error {
  enum Code { syntax = 500, no_element = 510, no_handler = 511, write_failed = 520, denied = 530, read_failed = 590 };
  HandlerError(Code code, const std::string& what) : Error(what), code(code) {}
  Code code;
};

/** All handlers of a router by name: "element.handler", or "handler" for the router's own. Calls come from control
 *  threads, never from packet threads, and are made one at a time; a handler may call others (Script). An element's
 *  handler `*` is called for all names that it does not have; what it is given then begins with the name (Script of
 *  TYPE PROXY). */
class Broker final : public Control {
 public:
  /** One element's entry. */
  struct Member {
    Element* element;
    Handlers handlers;
  };
  /** What the broker needs of the engine. */
  struct Engine {
    /** Runs a change of an element as Engine::update does. */
    std::function<void(Element&, const std::function<void()>&)> update;
    std::function<void()> stop;
    std::function<std::optional<bool>()> exhausted;  // nothing: it cannot be told at present
    std::function<void()> await_counts;
  };
  explicit Broker(Engine engine);

  struct Members {
    std::deque<Member> list;
    std::function<void()> on_stop;  // empty: end()
    /** Without memory, which a std::deque takes when it is moved. */
    void swap(Members& other) noexcept { list.swap(other.list), on_stop.swap(other.on_stop); }
  };
  /** Adds an element with its own handlers and those that `more` adds; `config` are its arguments. */
  static void add(Members& members, Element& element, const std::string& config,
                  const std::function<void(Handlers&)>& more = {});
  /** From now on these are the elements, with what on_stop() has set among them; `members` becomes the former ones. */
  void replace(Members& members);
  /** The router's own handlers. */
  Handlers& global() { return global_; }

  std::string read(const std::string& name, const std::string& argument = {}) override;
  void write(const std::string& name, const std::string& value) override;
  Handler find(const std::string& name) override;
  void exclusively(const std::function<void()>& work) override;
  void stop() override;
  void on_stop(std::function<void()> action) override;
  void end() override { engine_.stop(); }
  bool exhausted() override;
  void await_counts() override { engine_.await_counts(); }

  const std::deque<Member>& members() const { return members_.list; }

 private:
  struct Found {
    Element* element;  // null: the router's own
    const Handler* handler;
    std::string name{};  // that `*` is called for
    std::string given(const std::string& text) const { return name.empty() ? text : name + " " + text; }
  };
  Found look_up(const std::string& name) const;  // throws HandlerError

  Engine engine_;
  FairMutex calling_;
  Members members_;
  Handlers global_;
  // Writes so far and one, and as many as there were when sources were last known to be exhausted; 0: they were not.
  std::atomic<uint64_t> writes_{1}, exhausted_after_{0};
};

}  // namespace heddle
