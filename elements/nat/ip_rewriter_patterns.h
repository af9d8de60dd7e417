#pragma once

#include <map>
#include <memory>
#include <string>

#include "core/element.h"
#include "elements/nat/pattern.h"

namespace heddle {

/** IPRewriterPatterns: names patterns for IPRewriter and its like.
 *
 *      IPRewriterPatterns(NAME SADDR SPORT DADDR DPORT, ...)
 *
 *  Each argument is a name and a pattern as IPRewriter takes it. No ports. Input specifications anywhere in the chain
 *  may then say NAME OUT BACK, and those with one NAME take ports from one range.
 *
 *  Example:
 *
 *      IPRewriterPatterns(to_world 1.0.0.1 1024-65535 - -);
 *      FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> r :: IPRewriter(to_world 0 0) -> ToDump(out.pcap);
 */
class IPRewriterPatterns : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
  /** Null: there is none. */
  std::shared_ptr<nat::Pattern> find(const std::string& name) const;

 private:
  std::map<std::string, std::shared_ptr<nat::Pattern>> patterns_;
};

}  // namespace heddle
