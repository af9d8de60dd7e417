#include "engine/copies.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace heddle {

constexpr uint64_t kMaxCopies = 4096;

void check_copies(const Router& router, click::Diagnostics& diagnostics) {
  std::vector<uint64_t> arrive(router.nodes.size(), 1);  // copies of a packet that come to the ends behind each node
  for (size_t i = router.nodes.size(); i-- > 0;) {       // nodes are sorted: those behind it are known
    const Node& node = router.nodes[i];
    if (node.is_buffer() || node.targets.empty()) continue;
    uint64_t sum = 0, largest = 1;
    for (const int target : node.targets) {
      sum += arrive[static_cast<size_t>(target)];
      largest = std::max(largest, arrive[static_cast<size_t>(target)]);
    }
    arrive[i] = node.element->copies() > 1 ? sum : largest;
    if (arrive[i] <= kMaxCopies) continue;
    diagnostics.error(node.where, format("'%s': a packet becomes %ju copies from here on, at most %ju are possible; "
                                         "copy less often, or put Queue and Unqueue between",
                                         node.element->name.c_str(), uintmax_t{arrive[i]}, uintmax_t{kMaxCopies}));
    return;
  }
}

}  // namespace heddle
