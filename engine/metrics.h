#pragma once

#include "control/page_server.h"

namespace heddle {

class Engine;

/** Offers the counters of a running engine to Prometheus, at http://127.0.0.1:PORT/metrics. They are read when someone
 *  asks, by the server's own thread; packet threads do not notice. */
class Metrics {
 public:
  /** Throws Error if the port cannot be had. */
  explicit Metrics(int port);
  /** Until then those who connect wait. The engine has been started and outlives this object. */
  void offer(const Engine& engine);

 private:
  PageServer server_;
};

}  // namespace heddle
