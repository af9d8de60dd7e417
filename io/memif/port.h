#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "io/memif/session.h"

namespace heddle::memif {

struct PortConfig {
  std::string socket;
  Role role = Role::client;
  Interface interface;
};

/** A memif interface whose peer comes and goes. A server listens; a client tries to connect again and again. One thread
 *  uses it, and waits between two calls of serve() until descriptor() can be read, or for a while.
 *
 *  The port makes connections and no more: packets are its user's affair. A client makes two regions before it,
 *
 *      Region rings(ClientSession::rings_bytes(config.interface));  // each session writes it anew
 *      Region buffers(packets * 2048);                              // laid out as it likes
 *      Port port(config, &rings, &buffers);
 *      port.open();
 *
 *  and then, when session() is there and its number() is new, has rings of that session: transmitting()[q] and
 *  receiving()[q], with all indices 0. First it writes a buffer into each descriptor of the receiving rings
 *  (ClientSession::kBufferRegion, length, offset) and sets their heads to the number of them. To send, it fills a
 *  buffer, writes it into the descriptor behind the last, and moves the head there, with a release; packets have come
 *  up to the receiving ring's tail, which is read with an acquire, and their buffers are given back by the head. A
 *  server (ServerSession) finds buffers in the client's descriptors and their memory in regions(), and moves the other
 *  index of each ring: see ring.h. examples/ring_client.cc is a whole client. */
class Port {
 public:
  /** A client gives `rings` and `buffers` to its peers (ClientSession); they outlive the port. */
  Port(PortConfig config, const Region* rings, const Region* buffers);
  ~Port();

  /** Called before a connection that was up goes, with its memory, unless that is taken. */
  std::function<void(Session&)> on_down = [](Session&) {};

  /** Begins: listens, or tries to connect. Throws Error if it cannot listen. */
  void open();
  /** Whatever is to be done. */
  void serve();
  /** What to wait for: that of the peer, or the listener's; -1: nothing but time. */
  int descriptor() const;

  /** The connection, if it is up. A new one has another number(). */
  const Session* session() const;
  /** The same as a server's. */
  const ServerSession* server_session() const { return dynamic_cast<const ServerSession*>(session()); }
  uint64_t number() const { return number_; }
  /** Ends the connection. Another one may come. */
  void disconnect(const std::string& reason);
  /** Why the last connection or attempt has ended, "" = none has. */
  const std::string& problem() const { return problem_; }
  /** Whether the last connection has ended before it was up. */
  bool refused() const { return refused_; }
  /** Why the server has not been reached the last time, "" = it has, or this end is the server. */
  const std::string& unreachable() const { return unreachable_; }
  const PortConfig& config() const { return config_; }

 private:
  using Clock = std::chrono::steady_clock;
  void take_callers();
  void call();
  void begin(std::unique_ptr<Session> session);
  void drop_session();

  const PortConfig config_;
  const Region* rings_;
  const Region* buffers_;
  File listener_;
  SocketFile listener_file_;  // removed first
  std::unique_ptr<Session> session_;
  bool was_up_ = false, refused_ = false;
  Clock::time_point begun_{};  ///< of the session, or of the last attempt
  uint64_t number_ = 0;
  std::string problem_, unreachable_;
};

}  // namespace heddle::memif
