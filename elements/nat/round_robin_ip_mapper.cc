#include "elements/nat/round_robin_ip_mapper.h"

#include "click/arguments.h"

namespace heddle {

void RoundRobinIPMapper::configure(click::Arguments& arguments) {
  constexpr int kMostOutputs = 256;  // which there are, the rewriter knows
  for (const auto& argument : arguments.rest()) {
    std::string mistake;
    specs_.push_back(nat::read_input_spec(arguments.names(), "pattern " + argument.text, kMostOutputs, mistake));
    if (!mistake.empty()) arguments.error(argument, "SADDR SPORT DADDR DPORT OUT BACK (" + mistake + ")");
  }
  if (specs_.empty()) arguments.error("expected patterns: SADDR SPORT DADDR DPORT OUT BACK, ...");
}

HEDDLE_ELEMENT(RoundRobinIPMapper);

}  // namespace heddle
