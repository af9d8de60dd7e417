#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "measure/campaign/router.h"
#include "measure/wire/wire.h"

namespace heddle::bench {

/** What a socket's name ends in if nothing is to be sent there. */
constexpr const char* kReceiveOnly = ":receive";

/** A router that is another process, whatever it runs: VPP, testpmd, FastClick, heddle run. */
class MemifRouter {
 public:
  /** Listens at `sockets`, files that are removed in the end; one that ends in kReceiveOnly is only received from.
   *  `longest`: bytes of frames in memory, for which DPDK's settings are changed. Throws Error. */
  MemifRouter(const std::vector<std::string>& sockets, uint32_t longest);
  ~MemifRouter();

  /** A chain for `heddle run` that connects to all. */
  std::string example() const;
  /** Returns when a router has connected to every socket. `keep_waiting` is asked ten times a second; false:
   *  Interrupted is thrown. */
  void wait(const std::function<bool()>& keep_waiting) const;

  /** The router as a target; of `setup`, what is sent to it and the trials count. The MemifRouter outlives it. */
  std::unique_ptr<Target> target(const Setup& setup, bool pin, TrialWatch watch);

 private:
  class Connection;
  std::unique_ptr<MemifWire> wire_;
  std::unique_ptr<Standalone> ports_;
  std::vector<uint16_t> receiving_, sending_;
  uint32_t longest_;
};

}  // namespace heddle::bench
