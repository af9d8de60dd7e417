#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/element.h"

namespace heddle {

/** ScheduleInfo: says how often elements' tasks run.
 *
 *      ScheduleInfo(ELEMENT PARAM, ...)
 *
 *  ELEMENT: a source or what pulls (Unqueue, a pulled sink); it gets 1024 × PARAM tickets, as its handler `tickets`
 *  says: of two such elements on one packet thread, one with PARAM 2 runs four times as often as one with PARAM 0.5.
 *  Others run as if PARAM was 1. ELEMENT may be a compound element: PARAM is then a factor for all in it. Within a
 *  compound element names are looked for there first, then around it; an element that several ScheduleInfos mention,
 *  itself or with a compound element around it, has the product. PARAM: 0 to 32; there is at least one ticket, and at
 *  most 32768. It is an error if ELEMENT does not exist. No ports.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> q :: Queue -> u :: Unqueue -> ToDump(out.pcap); ScheduleInfo(u 2);
 */
class ScheduleInfo : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& elements) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}

  /** Elements and the factors that they get; once it is linked. */
  const std::vector<std::pair<const Element*, double>>& factors() const { return factors_; }

 private:
  std::vector<std::pair<std::string, double>> named_;
  std::vector<std::pair<const Element*, double>> factors_;
};

}  // namespace heddle
