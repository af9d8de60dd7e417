#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "measure/generate/random.h"

namespace heddle::bench {

/** Words that look like a language's: consonants and vowels in turn, letters about as often as in English
 *  identifiers. */
class Words {
 public:
  Words();
  /** A word of `length` small letters. */
  std::string operator()(Random& random, size_t length) const;

 private:
  Discrete consonants_, vowels_;
};

/** A length out of counts for `first`, `first` + 1, ... */
class Lengths {
 public:
  Lengths(size_t first, const std::vector<double>& counts) : first_(first), pick_(counts) {}
  size_t operator()(Random& random) const { return first_ + pick_(random); }

 private:
  size_t first_;
  Discrete pick_;
};

}  // namespace heddle::bench
