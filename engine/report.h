#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"

namespace heddle {

/** Whether packets enter the chain at `node`, other than at a buffer. */
bool is_origin(const Node& node);

/** Adds to what a list says of `name`. */
void add_to(std::vector<std::pair<std::string, uint64_t>>& list, const std::string& name, uint64_t more);
/** Adds the packets, bytes and drops of another generation. */
void add_to(Report::Element& entry, const Report::Element& more);

}  // namespace heddle
