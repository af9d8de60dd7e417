#include "elements/basic/random_seed.h"

#include "click/arguments.h"

namespace heddle {

void RandomSeed::configure(click::Arguments& arguments) {
  std::string text;
  uint32_t seed = 0;
  arguments.optional("SEED", text);
  if (text.empty()) return;
  if (click::parse(text, seed, 0u, UINT32_MAX))
    seed_ = seed;
  else
    arguments.error("SEED", click::expectation(seed, 0u, UINT32_MAX));
}

HEDDLE_ELEMENT(RandomSeed);

}  // namespace heddle
