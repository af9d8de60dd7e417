#pragma once

#include <atomic>
#include <chrono>
#include <list>
#include <string>
#include <thread>

#include "control/protocol.h"
#include "core/handlers.h"
#include "core/socket_file.h"

namespace heddle {

/** A socket through which other programs call handlers, with its clients; what a ControlSocket element has. It outlives
 *  the element when another takes its place in a new configuration, maybe while one of its clients waits for just
 *  that. */
class ControlServer {
 public:
  struct Config {
    bool next_port = false;  ///< the first free one from `port` on
    int descriptor = -1;     ///< instead of a socket to listen to: a connection that is open
    bool tcp = false, localhost = true, retry_warnings = true;
    uint16_t port = 0;
    std::string path;  ///< of a Unix socket
    int retries = 0;   ///< how often to try again to open it
  };

  /** How its clients are served; may change while they are connected. */
  struct Manners {
    bool read_only = false, verbose = false;
    std::string proxy;  ///< full name of a handler that is called for those of elements; "": none
  };

  /** Opens the socket and serves it on a thread of its own. `name`: of the element, in messages. Throws Error. */
  ControlServer(std::string name, Config config, Manners manners, Control& control);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  /** Whether what `wanted` asks for is the socket that it has, but for LOCALHOST. */
  bool is_at(const Config& wanted) const;
  const Config& config() const { return config_; }
  /** Which TCP port it listens to. */
  uint16_t port() const { return port_; }
  /** From the next command on. Any thread. */
  void set(const Manners& manners);

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    int socket;
    Protocol protocol;
    Clock::time_point heard_at;  // the last bytes that went either way
    std::string reply{};         // not yet sent
    bool hung_up = false;        // it will send nothing more
    bool broken = false;
    Clock::time_point leave_at{};  // all has been said: what it still sends is read until then, and thrown away
    bool leaving() const { return leave_at != Clock::time_point{}; }
  };
  void open();  // throws Error
  void open_tcp();
  void open_unix();
  void take_connection();
  void serve();
  bool try_to_open();
  void accept_client();
  void add_client(int socket);
  void read_from(Client& client);
  bool execute(Client& client);  // true: its replies have become too many for now
  void write_to(Client& client);
  void close_client(Client& client);
  void close_idlest();
  void close_all();  // when there is no thread

  std::string name_;
  Config config_;
  Control& control_;
  std::atomic<bool> verbose_{false};
  Protocol::Manners manners_;
  int retries_;
  std::atomic<uint16_t> port_{0};
  int listener_ = -1, wake_ = -1;
  SocketFile file_;  // of a Unix socket that listens
  std::list<Client> clients_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace heddle
