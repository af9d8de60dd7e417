#pragma once

#include "convert/routes/byte_stream.h"
#include "convert/routes/learned_route.h"

namespace heddle::ip_lookup {

/** Lines of a text as they come, without "\n" and "\r". Throws Error on one longer than 64 KiB. */
class Lines {
 public:
  explicit Lines(ByteStream& stream) : stream_(stream) {}
  bool next(std::string& line);
  uint64_t number() const { return number_; }  ///< of the line that next() gave, from 1

 private:
  ByteStream& stream_;
  std::string buffer_;
  size_t at_ = 0;
  uint64_t number_ = 0;
};

/** Reads what `ip route` (iproute2) prints: PREFIX [via GATEWAY] [dev INTERFACE] ..., "default" for 0.0.0.0/0. Routes
 *  that lead nowhere or to the host itself (blackhole, unreachable, prohibit, throw, local, broadcast, multicast,
 *  anycast) and IPv6 routes are passed over; returns how many. Of several `nexthop` lines the first counts. Throws
 *  Error, "line N: ...". */
uint64_t read_ip_route(ByteStream& stream, const RouteSink& sink);

/** Reads comma-separated values, a route a line: prefix, gateway, output. The first line may be a header with the
 *  columns' names in any order among others: prefix (network, destination), gateway (next_hop, nexthop, via), output
 *  (port), interface (dev, device). "" and "-": no gateway. Lines that start with # are comments. Throws Error, "line
 *  N: ...". */
void read_csv(ByteStream& stream, const RouteSink& sink);

}  // namespace heddle::ip_lookup
