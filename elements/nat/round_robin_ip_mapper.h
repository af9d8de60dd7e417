#pragma once

#include <string>
#include <vector>

#include "click/address_book.h"
#include "core/element.h"
#include "elements/nat/pattern.h"

namespace heddle {

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
class RoundRobinIPMapper : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}

  /** Its patterns as input specifications, and whose turn it is. */
  const std::vector<nat::InputSpec>& specs() const { return specs_; }
  const std::shared_ptr<std::atomic<uint32_t>>& turn() const { return turn_; }

 private:
  std::vector<nat::InputSpec> specs_;
  std::shared_ptr<std::atomic<uint32_t>> turn_ = std::make_shared<std::atomic<uint32_t>>(0);
};

}  // namespace heddle
