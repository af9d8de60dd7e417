#include "engine/one_packet.h"

#include <bit>

#include "core/error.h"
#include "engine/walk_back.h"

namespace heddle {
namespace {

enum class Use { ordinary, one_packet };
constexpr Use use_of(Use use = Use::ordinary) { return use; }

constexpr Use one_packet = Use::one_packet;
constexpr ColumnSet kOnePacketColumns = 0
#define HEDDLE_COLUMN(name, bits, ...) | (use_of(__VA_ARGS__) == one_packet ? columns(Column::name) : 0)
#include "columns.inc"
#undef HEDDLE_COLUMN
    ;

/** Whether what leaves may be another packet than what came: a copy, a fragment, a reply. */
bool makes_packets(const Node& node) {
  const Element& element = *node.element;
  const bool gives_later = (element.inputs > 0 && dynamic_cast<const Source*>(&element) != nullptr) ||
                           dynamic_cast<const Emitter*>(&element) != nullptr;
  return element.copies() > 1 || (gives_later && element.changes_length());
}

/** Who sets the column, and as few others as anybody does: Idle sets all. */
std::string setter_of(const Router& router, Column which) {
  std::string name = "what sets it";
  int fewest = kColumns + 1;
  for (const Node& node : router.nodes) {
    const ColumnSet writes = node.element->access(Processor::cpu).column_writes;
    if ((writes & columns(which)) == 0 || std::popcount(writes) >= fewest) continue;
    fewest = std::popcount(writes), name = node.element->name;
  }
  return name;
}

}  // namespace

ColumnSet taken_by(const Node& node, const Access& access) {
  return kOnePacketColumns & (makes_packets(node) ? kAllColumns : access.column_reads);
}

std::string why_taken(const Router& router, const Plan& plan, int to, Column which) {
  std::string why;
  walk_back(router, to, [&](int before) {
    const auto p = static_cast<size_t>(before);
    const Node& node = router.nodes[p];
    const Access access = node.element->access(plan.nodes[p].processor);
    if (why.empty() && (plan.nodes[p].columns & taken_by(node, access) & columns(which)) != 0)
      why = format("the %s annotation is good for one packet only, and %s '%s' %s; put '%s' between the two",
                   kColumnNames[static_cast<int>(which)], node.element->class_name.c_str(), node.element->name.c_str(),
                   makes_packets(node) ? "may make others of it" : "has used it", setter_of(router, which).c_str());
    return why.empty();
  });
  return why;
}

}  // namespace heddle
