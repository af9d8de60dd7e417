#pragma once

#include <cstdint>

#include "functions/crc32/rule.h"

namespace heddle::crc32 {

/** Lets DPDK's CRC use the widest instructions that this CPU has. Before crc(). */
void choose_instructions();

/** The CRC of `length` bytes, as SetCRC32 stores it in this machine's byte order. */
uint32_t crc(const uint8_t* data, uint32_t length, Variant variant);

}  // namespace heddle::crc32
