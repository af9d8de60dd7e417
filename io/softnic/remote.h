#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "io/memif/region.h"
#include "io/softnic/link.h"
#include "io/softnic/soft_nic.h"

namespace heddle::softnic {

/** A NIC in a process of its own, as who drives its rings sees it. It comes and goes. One thread uses it, and waits
 *  between two calls of serve() until descriptor() can be read, or for a while. */
class Remote {
 public:
  explicit Remote(std::string socket) : socket_(std::move(socket)) {}

  /** Called before a connection that was up goes; the registers may be taken. */
  std::function<void()> on_down = [] {};

  /** What NICs are given, and the files beside it. Before serve(). */
  void offer(const Message& setup, std::vector<int> files) { setup_ = setup, files_ = std::move(files); }
  /** Whatever is to be done: tries to connect again and again. */
  void serve();
  /** What to wait for; -1: nothing but time. */
  int descriptor() const { return link_ ? link_->descriptor() : -1; }
  bool is_up() const { return up_; }
  uint64_t number() const { return number_; }  ///< of the connection
  /** The doorbells, while it is up. */
  const memif::Region& registers() const { return registers_; }
  memif::Region take_registers() { return std::move(registers_); }
  /** Lets the NIC receive no more, and returns when all that it has received has been taken, or it does not say so. */
  void close();
  void disconnect();
  /** Why the last connection has ended before it was up, "" = it has not. */
  const std::string& problem() const { return problem_; }
  /** Why the NIC has not been reached the last time, "" = it has. */
  const std::string& unreachable() const { return unreachable_; }
  const std::string& socket() const { return socket_; }

 private:
  using Clock = std::chrono::steady_clock;
  void call();
  void handle(Link::Received& received);

  const std::string socket_;
  Message setup_;
  std::vector<int> files_;
  std::optional<Link> link_;
  memif::Region registers_;
  bool asked_ = false, up_ = false, closed_ = false;
  Clock::time_point begun_{};
  uint64_t number_ = 0;
  std::string problem_, unreachable_;
};

}  // namespace heddle::softnic
