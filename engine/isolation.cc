// Where functions that are isolated from each other parse headers for themselves.

#include <algorithm>

#include "core/parses.h"
#include "core/sets_first.h"
#include "engine/plan.h"
#include "gpu/functions.h"

namespace heddle::passes {
namespace {

constexpr ColumnSet kParsed = columns(Column::dst, Column::l3, Column::l4);
constexpr int kMaxHeaderBytes = 60;  // RFC 791, 3.1

/** What is known of packets' headers on all ways to a node. */
struct Headers {
  int parser = -1;        ///< the node that has found them, -1: none, or several
  ColumnSet columns = 0;  ///< that are as it has set them, and are what it would find again
  bool taken = false;     ///< a function on a GPU has been given what it has found
};

Headers either(const Headers& a, const Headers& b) {
  if (a.parser != b.parser) return {};
  return {a.parser, a.columns & b.columns, a.taken || b.taken};
}

/** Whether `written`, which begins `moved` bytes behind where a header's parser sees packets begin, may reach bytes
 *  [from, to) of the header that is `offset` bytes behind that. */
bool reaches(const Interval& written, int moved, int offset, int from, int to) {
  int at = 0;
  if (written.base == Base::head)
    at = moved - offset;
  else if (written.base == Base::l4 && written.from >= 0)
    return false;
  else if (written.base != Base::l3)
    return true;
  return written.from + at < to && (written.to == kToEnd || written.to + at > from);
}

/** What is known of headers behind a node that has not parsed them. */
Headers behind(const Router& router, const Plan& plan, size_t i, Headers headers) {
  if (headers.parser < 0) return headers;
  const Element& element = *router.nodes[i].element;
  const NodePlan& here = plan.nodes[i];
  const auto parser = static_cast<size_t>(headers.parser);
  const int offset = dynamic_cast<const Parses&>(*router.nodes[parser].element).parses_at();
  const bool on_gpu = here.processor.is_gpu();
  bool changed = element.head_varies();
  for (const Processor processor : {Processor::cpu, here.processor}) {
    const Access access = element.access(processor);
    headers.columns &= ~(access.column_writes | sets_at(element, 0));
    for (const Interval& written : access.writes) {
      const auto touches = [&](int from, int to) {
        return (written.base == Base::head && here.head_varies) ||
               reaches(written, here.head - plan.nodes[parser].head, offset, from, to);
      };
      // What a GPU has written may be there only. Else the checksum is their concern, and other fields are not parsed.
      changed = changed || (on_gpu ? touches(0, kMaxHeaderBytes) : touches(0, 4) || touches(16, 20));
    }
  }
  if (changed || (headers.columns & columns(Column::l3)) == 0) return {};
  headers.taken = headers.taken || (on_gpu && gpu::function_id(element.class_name) >= 0);
  return headers;
}

}  // namespace

void find_parsers(const Router& router, Plan& plan) {
  if (!plan.options.isolate) return;
  std::vector<Headers> headers(router.nodes.size());
  std::vector<bool> reached(router.nodes.size());
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const Node& node = router.nodes[i];
    NodePlan& here = plan.nodes[i];
    // Packets that come back have been elsewhere.
    if (std::ranges::any_of(node.predecessors, [&](int before) { return static_cast<size_t>(before) >= i; }))
      headers[i] = {};
    const bool parses = dynamic_cast<const Parses*>(node.element.get()) != nullptr;
    const bool is_isolated = here.processor.is_gpu() && gpu::function_id(node.element->class_name) >= 0;
    if (is_isolated && !parses && headers[i].parser >= 0 && headers[i].taken)
      here.parser = headers[i].parser, here.parsed = headers[i].columns;
    const Headers passed =
        parses ? Headers{static_cast<int>(i), kParsed, is_isolated} : behind(router, plan, i, headers[i]);
    for (size_t port = 0; port < node.targets.size(); ++port) {
      const auto target = static_cast<size_t>(node.targets[port]);
      const Headers known = parses && port > 0 ? Headers{} : passed;  // output 1: those without a valid one
      headers[target] = reached[target] ? either(headers[target], known) : known;
      reached[target] = true;
    }
  }
}

}  // namespace heddle::passes
