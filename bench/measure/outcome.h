#pragma once

#include "bench/measure/target.h"
#include "bench/wire/generator.h"

namespace heddle::bench {

/** What a generator has counted in a trial. */
Outcome outcome_of(Counts counts);

}  // namespace heddle::bench
