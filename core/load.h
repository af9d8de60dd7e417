#pragma once

#include <cstdint>
#include <cstring>

namespace heddle {

// Unaligned loads and stores of packet bytes on the CPU, in memory order (a field stays in network byte order).
inline uint16_t load_u16(const uint8_t* at) {
  uint16_t v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
inline uint32_t load_u32(const uint8_t* at) {
  uint32_t v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
inline uint64_t load_u64(const uint8_t* at) {
  uint64_t v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
inline void store_u16(uint8_t* at, uint16_t v) { std::memcpy(at, &v, sizeof v); }
inline void store_u32(uint8_t* at, uint32_t v) { std::memcpy(at, &v, sizeof v); }

}  // namespace heddle
