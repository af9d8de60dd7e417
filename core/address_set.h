#pragma once

#include <cstdint>

namespace heddle {

/** An element that knows IPv4 addresses: a table of routes. Others ask it by its name (Socket's ALLOW and DENY). */
class AddressSet {
 public:
  virtual ~AddressSet() = default;
  /** Whether one of its routes covers the address, in host byte order. From packet threads, while handlers change
   *  it. */
  virtual bool has_route(uint32_t address) const = 0;
};

}  // namespace heddle
