#pragma once

#include "measure/campaign/target.h"
#include "measure/wire/generator.h"

namespace heddle::bench {

/** What a generator has counted in a trial. */
Outcome outcome_of(Counts counts);

}  // namespace heddle::bench
