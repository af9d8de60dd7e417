#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/element.h"

namespace heddle {

/** StaticThreadSched: says which packet thread runs an element's task.
 *
 *      StaticThreadSched(ELEMENT THREAD, ...)
 *
 *  ELEMENT: a source (FromDump, FromDPDKDevice, RatedSource ...), what pulls (Unqueue, a pulled sink), or Pipeliner; or
 *  a compound element, which means all such elements in it. Within a compound element names are looked for there first,
 *  then around it; the last mention of an element counts. THREAD: 0 to the number of threads (-j) less one, or, as
 *  FastClick has it, NODE/NUMBER: of the threads whose cores (with --pin) are on that NUMA node, the NUMBER-th, from 0.
 *  What a task pushes to runs on the same thread. Without it, devices are received from on every thread and everything
 *  else runs on thread 0. It is an error if ELEMENT does not exist or THREAD does not; with --workers the last thread
 *  has the GPU and runs no element. No ports.
 *
 *  Example, for two packet threads (-j 2):
 *
 *      FromDump(in.pcap) -> Queue -> u :: Unqueue -> ToDump(out.pcap); StaticThreadSched(u 1);
 */
class StaticThreadSched : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& elements) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}

 private:
  std::vector<std::pair<std::string, int>> homes_;
};

}  // namespace heddle
