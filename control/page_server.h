#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <string>
#include <thread>

namespace heddle {

/** Serves one page over HTTP at 127.0.0.1, on a thread of its own. Every connection has one request. There may be
 *  kMaxClients connections at a time: for one more, the one that has been silent for longest is closed. */
class PageServer {
 public:
  static constexpr size_t kMaxClients = 64;

  /** Takes the port; those who connect wait for serve(). Throws Error if it cannot be had. */
  explicit PageServer(int port);
  ~PageServer();
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;

  /** Answers requests for `path` with what `page` gives at that moment, a text of type `type`. */
  void serve(const std::string& path, const std::string& type, std::function<std::string()> page);

 private:
  using Clock = std::chrono::steady_clock;
  struct Client {
    int socket;
    Clock::time_point heard_at;  // the last bytes that went either way
    std::string request{}, reply{};
    bool answered = false;  // what it still sends is thrown away
    bool hung_up = false, gone = false;
  };
  void loop();
  void accept_clients();
  void read_from(Client& client);
  void write_to(Client& client) const;
  std::string answer(const std::string& request) const;

  int listener_ = -1, wake_ = -1;
  std::string path_, type_;
  std::function<std::string()> page_;
  std::list<Client> clients_;
  std::thread thread_;
};

}  // namespace heddle
