// Rule files of any bytes: what is accepted keeps its bounds, and a packet that consists of a rule's contents one after
// the other, if these may follow so, is one that the pattern stage finds.

#include <cstdlib>
#include <string_view>

#include "functions/nids/automaton.h"
#include "functions/nids/match.h"
#include "functions/nids/rule_file.h"

using namespace heddle::nids;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Variables variables;
  std::vector<std::string> errors;
  RuleSet set = parse_rules("rules", {reinterpret_cast<const char*>(data), size}, size % 2 == 0, variables, errors);
  if (errors.size() > 101) abort();
  if (set.rules.size() > 64) set.rules.resize(64);
  for (const Signature& rule : set.rules) {
    if (rule.sid == 0 || rule.sources.empty() || rule.destination_ports.empty()) abort();
    for (const Content& content : rule.contents)
      if (content.bytes.empty() != (content.regex != nullptr) || content.bytes.size() > 255) abort();
  }
  const Automaton automaton(set.rules);
  static Workspace workspace;
  for (const Signature& rule : set.rules) {
    std::string payload;
    for (const Content& content : rule.contents)
      if (!content.negated) payload += content.bytes;
    View view{};
    view.protocol = rule.protocol;
    view.payload = {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
    const bool found = automaton.finds(view.payload);
    if (!rule.fast_pattern().empty() && !found) abort();
    const bool matched = matches(rule, view, workspace);
    // A connection that is all in one segment.
    if (rule.reads_streams() && matches(rule, view, {view.payload, 0, 0}, workspace) != matched) abort();
    if (!payload.empty())
      matches(rule, view, {view.payload, static_cast<uint32_t>(size % payload.size()), size % 5}, workspace);
    if (matched && !found && !automaton.image().is_always(rule.protocol)) abort();
  }
  return 0;
}
