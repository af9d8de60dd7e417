#pragma once

#include "engine/router.h"

namespace heddle {

/** Finds the tasks of a router whose nodes are connected: every source that pushes, and everything that pulls together
 *  with the source that it pulls from. Nothing is found of an input that is not connected, which is reported
 *  elsewhere. */
void find_tasks(Router& router);

}  // namespace heddle
