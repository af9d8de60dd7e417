#pragma once

#include <cstdint>

namespace heddle {

/** Bytes of an IPv6 header without extension headers (RFC 8200, section 3). */
constexpr uint32_t kIp6HeaderBytes = 40;

}  // namespace heddle
