#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "measure/campaign/nvml.h"
#include "measure/campaign/setup.h"
#include "measure/campaign/target.h"
#include "measure/campaign/wired_chain.h"

namespace heddle::bench {

/** The text of a chain, and the options that a point's setup does not have. */
struct Chain {
  std::string text, file;                        ///< file: what messages call it
  std::map<std::string, std::string> variables;  ///< those of a setup win
  unsigned packets = 0;                          ///< as RunOptions has it
  bool pin = true;
  std::vector<std::string> dpdk_args;
};

/** Reads the chain as `setup` wants it, and checks both the chain as written and the one on the wire; throws Error with
 *  all mistakes. Nothing is started. */
WiredChain check_chain(const Chain& chain, const Setup& setup);

/** How a trial goes. */
struct TrialProgress {
  Trial trial;
  double elapsed_s = 0;  ///< warm-up included
  double mpps = 0;       ///< that come out now
};
/** Called now and then while a trial runs, from another thread; false ends it, and Interrupted is thrown. */
using TrialWatch = std::function<bool(const TrialProgress&)>;

/** A chain that runs, with a generator at the other end of its ports or, if it makes its own packets, without. Packet
 *  threads have the first cores, the generator those behind them, if there are enough. */
std::unique_ptr<Target> start_router(const Chain& chain, const Setup& setup, const Nvml* gpu, TrialWatch watch);

}  // namespace heddle::bench
