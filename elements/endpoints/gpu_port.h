#pragma once

#include <atomic>
#include <memory>
#include <optional>

#include "core/element.h"
#include "io/memif/port.h"
#include "io/softnic/soft_nic.h"

namespace heddle {

/** What From- and ToGPUPort have in common: the arguments of the port that both name, and what its engine tells
 *  them. */
class GPUPort : public Element {
 public:
  static constexpr int kMaxWarpBatch = 10240, kMaxSplitWarpBatch = 448;
  struct Config {
    memif::PortConfig memif;         ///< the interface's queues and size are those of a soft NIC, too
    dpdk::Port* soft_nic = nullptr;  ///< whose frames a soft NIC moves; null: it is a memif
    uint32_t buffer_bytes = 2048;
    int warp_batch = 0;  ///< packets of a ring pair that warps work on at a time; 0: as many as the functions want
    bool split = false;  ///< three kernels serve what it receives: to receive, for the functions, to transmit
  };

  void configure(click::Arguments& arguments) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;
  std::string stop() override;
  /** The engine drives the rings: no packet comes by here. */
  void run_cpu(Batch&) override {}

  const std::string& port() const { return port_; }
  virtual bool receives() const = 0;  ///< whether it is the port's FromGPUPort
  /** Nothing if the port's other element has the arguments. */
  const std::optional<Config>& config() const { return config_; }

  // Set by the engine while it runs.
  std::atomic<bool> connected{false}, failed{false};
  std::atomic<uint64_t> connections{0};
  std::shared_ptr<softnic::Counts> losses;  ///< of a soft NIC, those of its other element, too; null: it is a memif

 private:
  void configure_soft_nic(click::Arguments& arguments, const std::string& device, Config& config);

  std::string port_;
  std::optional<Config> config_;
};

}  // namespace heddle
