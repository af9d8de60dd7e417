#pragma once

#include "simt/fibers.h"

namespace heddle::simt {

/** Up to this many blocks of a grid are co-resident, each on an OS thread of its own, so that they may wait for one
 *  another. A larger grid's blocks go in order through a few OS threads. */
inline constexpr unsigned kResidentBlocks = 64;

/** Runs every block of the grid and returns when they have ended. */
void run_grid(const Grid& grid);

}  // namespace heddle::simt
