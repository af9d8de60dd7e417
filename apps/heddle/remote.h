#pragma once

#include <string>

#include "core/error.h"

namespace heddle {

/** A connection to a ControlSocket of a running router. */
class Remote {
 public:
  /** `address`: a file (Unix socket), PORT of this machine, or HOST:PORT. Throws Error. */
  explicit Remote(const std::string& address);
  ~Remote();
  Remote(const Remote&) = delete;
  Remote& operator=(const Remote&) = delete;

  /** The value of a handler. Throws Error with what the router says, or when the connection has ended. */
  std::string read(const std::string& handler);
  void write(const std::string& handler, const std::string& value);

 private:
  void send(const std::string& text);
  std::string line();
  std::string bytes(size_t count);
  void fill();
  /** Reads a reply; throws Error if it is one. */
  void expect_good();

  std::string address_, input_;
  int socket_ = -1;
};

}  // namespace heddle
