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
    memif::PortConfig memif;         ///< the interface's rings and their size are those of a soft NIC, too
    dpdk::Port* soft_nic = nullptr;  ///< whose frames a soft NIC moves that this program plays; null: none
    std::string nic_socket;          ///< where a process is found that plays the NIC; "": none does
    uint32_t buffer_bytes = 2048;
    int warp_batch = 0;  ///< packets of a ring pair that warps work on at a time; 0: as many as the functions want
    bool split = false;  ///< three kernels serve what it receives: to receive, for the functions, to transmit
    /** Else it is a memif. */
    bool is_nic() const { return soft_nic != nullptr || !nic_socket.empty(); }
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
  std::shared_ptr<softnic::Counts> losses;  ///< of the port, its other element's, too; null: it has not been opened
  bool has_peer = true;                     ///< another program, which comes and goes

 private:
  static void check_nic(click::Arguments& arguments, const char* keyword, const Config& config);
  static dpdk::Port* request_device(const std::string& device, const Config& config);

  std::string port_;
  std::optional<Config> config_;
};

}  // namespace heddle
