#pragma once

#include <array>

#include "core/element.h"
#include "functions/echo/rule.h"

namespace heddle {

/** Echo: sends every packet to a random output.
 *
 *      Echo([keywords SEED, DEVICE, BLOCKING])
 *
 *  One input, one or more outputs, each as likely as the others. It looks at no byte of a packet, and so shows what it
 *  costs to receive, decide and send: the router that Kalia et al. (NSDI 2015) measure others against. SEED: where the
 *  random numbers begin, default 0. The numbers are drawn in order of arrival by each packet thread, or by a GPU in the
 *  order in which its tiles come by; so only a chain on one CPU thread repeats its choices. DEVICE: cpu or gpu;
 *  default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> e :: Echo; e[0] -> ToDump(a.pcap); e[1] -> ToDump(b.pcap);
 */
class Echo : public Element {
 public:
  Echo() { table = &table_; }
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  void run_cpu(Batch& batch) override;

 private:
  struct alignas(kCacheLine) Count {
    uint64_t packets = 0;
  };
  FixedTable<echo::Image> table_;
  std::array<Count, kMaxThreads> counts_;  // by thread
};

}  // namespace heddle
