#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::echo {

/** What a table says: how many ports, and from which number on random numbers are drawn. */
struct Image {
  uint64_t seed;
  uint32_t ports;
};

/** The port of the packet with number `number`: a random one, each as likely as the others to within 2^-32. The
 *  finaliser of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which makes random numbers of numbers that follow one
 *  another. */
HEDDLE_HD inline uint32_t port_of(const Image& image, uint64_t number) {
  uint64_t x = image.seed + number * 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return static_cast<uint32_t>(((x ^ x >> 31) >> 32) * image.ports >> 32);
}

}  // namespace heddle::echo
