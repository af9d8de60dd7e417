#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/conversation.h"
#include "core/handlers.h"

namespace heddle {

/** One conversation in Click's ControlSocket protocol, version 1.3: bytes in, replies out; no sockets. */
class Protocol {
 public:
  static constexpr const char* kGreeting = "Click::ControlSocket/1.3\r\n";
  static constexpr size_t kMaxBytes = size_t{1} << 20;  ///< of a line, or of the data after it

  /** How all conversations of a server are led; may change at any time, on any thread. */
  class Manners {
   public:
    explicit Manners(bool read_only = false, std::string proxy = {})
        : read_only_(read_only), proxy_(std::move(proxy)) {}
    /** `proxy`: the full name of a handler that is called for those of all elements, with their name before the
     *  argument; "": none. */
    void set(bool read_only, std::string proxy) {
      const std::lock_guard lock(changing_);
      read_only_ = read_only, proxy_ = std::move(proxy);
    }
    bool read_only() const { return read_only_; }
    std::string proxy() const {
      const std::lock_guard lock(changing_);
      return proxy_;
    }

   private:
    std::atomic<bool> read_only_;
    mutable std::mutex changing_;
    std::string proxy_;
  };

  Protocol(Control& control, const Manners& manners) : control_(control), manners_(manners) {}

  /** Takes bytes from the client. */
  void receive(std::string_view bytes);
  /** The client will send nothing more: what is left is the last command. */
  void end_of_input() { ended_ = true; }
  /** Executes at most one command, and appends its reply. False: it needs more bytes first. */
  bool step(std::string& reply);
  /** Nothing more will be answered. */
  bool closed() const { return closed_; }
  /** Bytes that wait for step(). */
  size_t waiting() const { return input_.size(); }

 private:
  /** A command that has been read and wants data. */
  struct Pending {
    std::string command, handler;
    size_t length = 0;       // ...DATA: bytes
    std::string terminator;  // ...UNTIL: the line after them
  };
  void execute(std::string_view line, std::string& reply);
  bool take_data(std::string& reply);
  bool take_until(std::string& reply);
  bool end_pending(std::string& reply, const char* why);
  void call(const std::string& command, const std::string& handler, const std::string& data, std::string& reply);
  void read(const std::string& handler, const std::string& argument, std::string& reply);
  void write(const std::string& handler, const std::string& value, std::string& reply);
  void check(const std::string& name, bool write, std::string& reply);
  /** What is called for `handler` with `argument`. */
  struct Target {
    std::string handler, argument;
  };
  Target target(const std::string& handler, const std::string& argument = {}) const;
  std::string_view take_line(size_t end);
  void skip(size_t bytes);
  void give_up(std::string& reply, int code, const std::string& why);

  Control& control_;
  const Manners& manners_;
  Conversation conversation_;
  std::string input_;
  size_t scanned_ = 0;  // of input_: holds no end of line (or terminator) up to here
  size_t skip_ = 0;     // bytes to come that nobody wants
  std::string line_;
  Pending pending_;        // command "": none
  bool after_cr_ = false;  // a line feed that comes next belongs to the line before
  bool ended_ = false, closed_ = false;
};

}  // namespace heddle
