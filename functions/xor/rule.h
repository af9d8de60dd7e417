#pragma once

#include <cstdint>

#include "core/macros.h"

namespace heddle::xor_bytes {

/** What the function works with on either processor: the key byte, four times. */
struct Key {
  uint32_t word;
};

HEDDLE_HD inline uint32_t changed(uint32_t word, const Key& key) { return word ^ key.word; }

}  // namespace heddle::xor_bytes
