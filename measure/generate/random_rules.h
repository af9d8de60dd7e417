#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace heddle::bench {

/** Rules whose ranges are all drawn uniformly, as in Schramm, Offloading network packet classification to GPUs (2022),
 *  4.3 and listing 4.1: prefixes of 8 to 32 bits, ranges of both ports and of the protocol. A line a rule, as
 *  BitVectorClassifier reads them, without an action; the same for the same seed. */
std::string random_rules(size_t count, uint64_t seed);

}  // namespace heddle::bench
