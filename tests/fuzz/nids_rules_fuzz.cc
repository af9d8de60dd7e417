// Rule files, and classifications, of any bytes: what is accepted keeps its bounds, and a packet that consists of a
// rule's contents one after the other, if these may follow so, is one that the pattern stage finds.

#include <cstdlib>
#include <string_view>
#include <utility>

#include "functions/nids/automata.h"
#include "functions/nids/match.h"
#include "functions/nids/rule_file.h"

using namespace heddle::nids;

namespace {

/** One of them, the first or last of a range. */
uint16_t some_port(const Ranges& ports, size_t which) {
  const Ranges::Range& range = ports.all()[which % ports.all().size()];
  return static_cast<uint16_t>(which % 2 == 0 ? range.low : range.high);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Variables variables;
  std::vector<std::string> errors;
  RuleSet set = parse_rules("rules", {reinterpret_cast<const char*>(data), size}, size % 2 == 0, variables, errors);
  if (errors.size() > 101) abort();
  std::vector<std::string> mistakes;
  for (const auto& [name, one] : parse_classification("classes", {reinterpret_cast<const char*>(data), size}, mistakes))
    if (name.empty() || one.priority < 1 || one.priority > 255) abort();
  if (set.rules.size() > 64) set.rules.resize(64);
  for (const Signature& rule : set.rules) {
    if (rule.sid == 0 || rule.sources.empty() || rule.source_ports.empty() || rule.destination_ports.empty()) abort();
    for (const Content& content : rule.contents)
      if (content.bytes.empty() == content.searches_bytes() || content.bytes.size() > 255) abort();
  }
  const Automata automata(set.rules);
  static Workspace workspace;
  for (const Signature& rule : set.rules) {
    std::string payload;
    for (const Content& content : rule.contents)
      if (!content.negated) payload += content.probe ? std::string(size % 4, '1') : content.bytes;
    View view{};
    view.protocol = rule.protocol == Protocol::ip && size % 3 != 0 ? Protocol::udp : rule.protocol;
    view.has_ports = names_ports(view.protocol) && size % 5 != 0;
    view.source_port = some_port(rule.source_ports, size),
    view.destination_port = some_port(rule.destination_ports, size);
    if (rule.both_ways && size % 7 == 0) std::swap(view.source_port, view.destination_port);
    view.payload = {reinterpret_cast<const uint8_t*>(payload.data()), payload.size()};
    const PortGroup& group = automata.group_of(view);
    const bool always = group.search == PortGroup::Search::always, found = automata.finds(group, view.payload);
    if (found && group.search == PortGroup::Search::nothing) abort();
    if (view.has_ports && !(rule.fast_pattern().empty() ? always : found)) abort();
    const bool matched = matches(rule, view, workspace);
    // A connection that is all in one segment, for rules that are for both.
    if (!payload.empty() && rule.streams == Signature::Streams::too && rule.reads_streams() &&
        matches(rule, view, {view.payload, 0, 0}, workspace) != matched)
      abort();
    if (!payload.empty())
      matches(rule, view, {view.payload, static_cast<uint32_t>(size % payload.size()), size % 5}, workspace);
    if (matched && !found && !always) abort();
  }
  return 0;
}
