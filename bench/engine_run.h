#pragma once

#include <map>
#include <string>

#include "engine/engine.h"

namespace heddle::bench {

/** Makes an engine for `chain` (Click text, with $NAME from `variables`); throws Error with the mistakes. */
std::unique_ptr<Engine> make_engine(const std::string& chain, const PlanOptions& plan, const RunOptions& options,
                                    const std::map<std::string, std::string>& variables = {});

/** Packets a second, in millions, that `chain` receives in `seconds` of running. */
double engine_mpps(const std::string& chain, const PlanOptions& plan, const RunOptions& options, double seconds);

}  // namespace heddle::bench
