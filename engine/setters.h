#pragma once

#include "click/diagnostics.h"
#include "engine/plan.h"

namespace heddle {

/** Reports elements whose packets may have a column from another element than they can use it from
 *  (core/checks_setter.h). */
void check_setters(const Router& router, const Plan& plan, click::Diagnostics& diagnostics);

}  // namespace heddle
