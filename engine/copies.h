#pragma once

#include "click/diagnostics.h"
#include "engine/router.h"

namespace heddle {

/** Refuses a chain in which one packet becomes more than 4096, as with thirteen Tees in a row: a packet thread runs all
 *  copies to their ends, or into a buffer, before it looks at anything else. */
void check_copies(const Router& router, click::Diagnostics& diagnostics);

}  // namespace heddle
