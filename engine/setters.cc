#include "engine/setters.h"

#include "core/checks_setter.h"
#include "core/error.h"
#include "engine/walk_back.h"

namespace heddle {

void check_setters(const Router& router, const Plan& plan, click::Diagnostics& diagnostics) {
  for (size_t i = 0; i < router.nodes.size(); ++i) {
    const Node& node = router.nodes[i];
    const auto* checks = dynamic_cast<const ChecksSetter*>(node.element.get());
    if (checks == nullptr) continue;
    each_column(node.element->access(plan.nodes[i].processor).column_reads, [&](Column which) {
      walk_back(router, static_cast<int>(i), [&](int before) {
        const auto p = static_cast<size_t>(before);
        const Element& element = *router.nodes[p].element;
        if ((element.access(plan.nodes[p].processor).column_writes & columns(which)) == 0) return true;
        if (const std::string wrong = checks->wrong_setter(which, element); !wrong.empty())
          diagnostics.error(node.where,
                            format("%s '%s': the %s annotation of its packets is set by '%s'%s",
                                   node.element->class_name.c_str(), node.element->name.c_str(),
                                   kColumnNames[static_cast<int>(which)], element.name.c_str(), wrong.c_str()));
        return false;
      });
    });
  }
}

}  // namespace heddle
