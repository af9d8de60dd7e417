#pragma once

#include <memory>
#include <string>
#include <vector>

#include "measure/wire/frames.h"
#include "measure/wire/toeplitz.h"

namespace heddle::bench {

/** Where packets go other than by IPv4: frames that are made from a flow's 5-tuple, so that nothing is kept for each
 *  flow, and different ones for different tuples. */
class Destinations {
 public:
  virtual ~Destinations() = default;

  /** A frame of `bytes` bytes in memory, or longer, if what it carries needs more. */
  virtual std::vector<uint8_t> frame(const FiveTuple& flow, const MacAddresses& addresses, uint32_t bytes) const = 0;

  /** Of frames of `bytes` bytes the longest one, in memory. */
  virtual uint32_t longest(uint32_t bytes) const { return bytes; }

  /** Bytes of the shortest frame with this protocol, in memory. */
  virtual uint32_t shortest(uint8_t protocol) const = 0;
  virtual const char* network() const = 0;  ///< what error messages call it

  /** Whether frames end in padding that has room for a signature, and know no protocol. */
  virtual bool padded() const { return false; }

  /** What a NIC would spread the flow's frames over queues by. */
  virtual uint32_t hash(const FiveTuple& flow, const HashKey& key) const { return toeplitz_hash(flow, key); }
};

/** "uniform6": random IPv6 addresses (of 2000::/3, which is where unicast ones are: RFC 4291, section 2.4).
 *  "routes6:FILE": destinations within the routes of a table, as ip6_lookup reads it. "macs:FILE": IPv4 between
 *  Ethernet addresses of a table, as L2Switch reads it. "names:FILE": NDN Interests (packet format 0.3) for names of a
 *  table, as NDNLookup reads it, whose outputs may be left out, each with one more component behind it; NICs know
 *  nothing of names, so these are spread by a hash of the tuple. Each entry of a table is as likely as the others. Null
 *  for anything else. Throws Error when a file is wrong. */
std::unique_ptr<Destinations> destinations_of(const std::string& addresses);

}  // namespace heddle::bench
