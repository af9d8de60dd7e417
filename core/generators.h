#pragma once

#include <random>
#include <vector>

#include "core/element.h"

namespace heddle {

/** The random numbers of an element, for each packet thread a generator of its own, seeded as Environment::seed_of()
 *  says. */
inline std::vector<std::mt19937> generators_of(const Element& element, const Environment& environment) {
  std::vector<std::mt19937> generators;
  for (int thread = 0; thread < environment.threads; ++thread)
    generators.emplace_back(environment.seed_of(element, thread));
  return generators;
}

}  // namespace heddle
