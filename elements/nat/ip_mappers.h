#pragma once

#include <memory>
#include <string>
#include <vector>

#include "click/address_book.h"
#include "click/graph.h"
#include "core/element.h"
#include "elements/nat/pattern.h"

namespace heddle {

/** An element that an input specification names: patterns, one of which each new flow is rewritten by. No ports. */
class IPMapper : public Element {
 public:
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}

  /** Its patterns as input specifications, and how it chooses one. */
  const std::vector<nat::InputSpec>& specs() const { return specs_; }
  const std::shared_ptr<nat::MapperChoice>& choice() const { return choice_; }

 protected:
  /** Reads a pattern, which is `argument` or the beginning of it; `form`: what that is to be. */
  void read_pattern(click::Arguments& arguments, const click::Argument& argument, const std::string& pattern,
                    const char* form);

  std::vector<nat::InputSpec> specs_;
  std::shared_ptr<nat::MapperChoice> choice_;
};

/** RoundRobinIPMapper: shares the new flows of an IPRewriter out among patterns, one after the other.
 *
 *      RoundRobinIPMapper(SADDR SPORT DADDR DPORT OUT BACK, ...)
 *
 *  Each argument is a pattern as IPRewriter takes it, without the word before it; OUT and BACK are outputs of the
 *  rewriter. No ports. An input specification of an IPRewriter, TCPRewriter or UDPRewriter is then the name of this
 *  element: the first new flow is rewritten by the first pattern, the next by the second, and after the last one the
 *  first has its turn again. A pattern by which a flow cannot be rewritten, as all of its ports are in use, is left
 *  out. Rewriters that name one RoundRobinIPMapper take turns together. Flows that are known keep what they have.
 *
 *  Hot reconfiguration: it begins with the first pattern again.
 *
 *  Example, a balancer before two servers:
 *
 *      servers :: RoundRobinIPMapper(- - 10.0.0.1 - 0 1, - - 10.0.0.2 - 0 1);
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> [0]r :: IPRewriter(servers, drop);
 *      FromDump(back.pcap) -> Strip(14) -> CheckIPHeader -> [1]r;
 *      r[0] -> ToDump(there.pcap); r[1] -> ToDump(out.pcap);
 */
class RoundRobinIPMapper : public IPMapper {
 public:
  void configure(click::Arguments& arguments) override;
};

/** SourceIPHashMapper: shares the new flows of an IPRewriter out among patterns, by their source addresses.
 *
 *      SourceIPHashMapper(NODES SEED, SADDR SPORT DADDR DPORT OUT BACK ID, ...)
 *
 *  As RoundRobinIPMapper, but all flows from one source address are rewritten by one pattern, which consistent hashing
 *  finds: each pattern has NODES places (1 to 10,000) on a ring, which depend on SEED, a number, and ID, 0 to 65535,
 *  and an address is that pattern's whose place is the next one behind its own. So when patterns come or go, addresses
 *  keep theirs unless it is that one; the more places, the more even are the shares. IDs must differ. A flow that
 *  cannot be rewritten by its pattern, as all of its ports are in use, is rewritten by no other. (D. Karger et al.,
 *  "Consistent Hashing and Random Trees", STOC 1997.)
 *
 *  Example, a balancer before two servers:
 *
 *      servers :: SourceIPHashMapper(100 7, - - 10.0.0.1 - 0 1 1, - - 10.0.0.2 - 0 1 2);
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> [0]r :: IPRewriter(servers, drop);
 *      FromDump(back.pcap) -> Strip(14) -> CheckIPHeader -> [1]r;
 *      r[0] -> ToDump(there.pcap); r[1] -> ToDump(out.pcap);
 */
class SourceIPHashMapper : public IPMapper {
 public:
  void configure(click::Arguments& arguments) override;
};

}  // namespace heddle
