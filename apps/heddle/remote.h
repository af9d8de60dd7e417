#pragma once

#include <csignal>
#include <string>

#include "core/error.h"

namespace heddle {

/** A connection to a ControlSocket of a running router. All members throw Error when it has ended, or when nothing
 *  comes for long: 5 s before the greeting, 30 s before an answer, 2 s from the time on at which `interrupted` is
 *  set. */
class Remote {
 public:
  /** `address`: a file (Unix socket), PORT of this machine, or HOST:PORT. `interrupted`: what a signal's handler sets;
   *  null: signals end the program. */
  explicit Remote(const std::string& address, const volatile std::sig_atomic_t* interrupted = nullptr);
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  /** The value of a handler. Throws Error with what the router says. */
  std::string read(const std::string& handler);
  void write(const std::string& handler, const std::string& value);

 private:
  void send(const std::string& text);
  std::string line();
  std::string bytes(size_t count);
  void fill();
  /** Reads a reply; throws Error if it is one. */
  void expect_good();
  Error no_control_socket() const;

  std::string address_, input_;
  const volatile std::sig_atomic_t* const interrupted_;
  bool greeted_ = false;
  int socket_ = -1;
};

}  // namespace heddle
