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

/** Packets a second, in millions, that an engine which runs receives in `seconds`, with everything in `beside` going
 *  on. */
double running_mpps(Engine& engine, double seconds, const std::vector<Beside>& beside = {});
/** Ends it; throws Error if it has a problem or packets were dropped. */
void end(Engine& engine);

/** The same of a `chain` that runs for this alone. */
double engine_mpps(const std::string& chain, const PlanOptions& plan, const RunOptions& options, double seconds);

}  // namespace heddle::bench
