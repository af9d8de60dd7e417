#pragma once

#include <memory>

namespace heddle {

class Engine;

/** Offers the counters of a running engine to Prometheus, at http://127.0.0.1:PORT/metrics. They are read when someone
 *  asks, by the library's own threads; packet threads do not notice. */
class Metrics {
 public:
  /** Throws Error if the port cannot be had. */
  explicit Metrics(int port);
  ~Metrics();
  /** Until then it has nothing to say. The engine has been started and outlives this object. */
  void offer(const Engine& engine);

 private:
  struct Server;
  std::unique_ptr<Server> server_;
};

}  // namespace heddle
