#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace heddle::bench {

/** Makes an engine for `chain` (Click text, with $NAME from `variables`); throws Error with the mistakes. */
std::unique_ptr<Engine> make_engine(const std::string& chain, const PlanOptions& plan, const RunOptions& options,
                                    const std::map<std::string, std::string>& variables = {});

/** Something that goes on while packets flow, on a thread of its own, until `stop` is set. */
using Beside = std::function<void(Engine& engine, const std::atomic<bool>& stop)>;

/** Packets a second, in millions, that `chain` receives in `seconds` of running, with everything in `beside` going on. */
double engine_mpps(const std::string& chain, const PlanOptions& plan, const RunOptions& options, double seconds,
                   const std::vector<Beside>& beside = {});

}  // namespace heddle::bench
