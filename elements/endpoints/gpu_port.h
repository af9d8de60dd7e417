#pragma once

#include <atomic>
#include <optional>

#include "core/element.h"
#include "io/memif/port.h"

namespace heddle {

/** What From- and ToGPUPort have in common: the arguments of the port that both name, and what its engine tells them. */
class GPUPort : public Element {
 public:
  struct Config {
    memif::PortConfig memif;
    uint32_t buffer_bytes = 2048;
  };

  void configure(click::Arguments& arguments) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"connections", connections}}; }
  /** The engine drives the rings: no packet comes by here. */
  void run_cpu(Batch&) override {}

  const std::string& port() const { return port_; }
  /** Nothing if the port's other element has the arguments. */
  const std::optional<Config>& config() const { return config_; }

  // Set by the engine while it runs.
  std::atomic<bool> connected{false}, failed{false};
  std::atomic<uint64_t> connections{0};

 private:
  std::string port_;
  std::optional<Config> config_;
};

}  // namespace heddle
