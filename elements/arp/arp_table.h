#pragma once

#include "elements/arp/arp_querier.h"

namespace heddle {

/** ARPTable: the IPv4 and Ethernet addresses of neighbours, for several ARPQueriers.
 *
 *      ARPTable([keywords TIMEOUT, ENTRY_CAPACITY, CAPACITY])
 *
 *  No inputs, no outputs. ARPQueriers that name it (keyword TABLE) use what it knows and add what they learn; what
 *  waits in one for an address that another has learnt goes on within a tenth of a second. TIMEOUT: how long an address
 *  is good for, default 5 min, 0: for ever. ENTRY_CAPACITY: addresses that it knows at a time, default 1024, 0:
 *  1,048,576; see ARPQuerier for their memory, and for those that have to go. CAPACITY: accepted for Click's sake;
 *  packets wait in the ARPQueriers, each of which has its own.
 *
 *  Hot reconfiguration: addresses stay known.
 *
 *  Handlers: `table` (r), as that of ARPQuerier, with what its ARPQueriers ask for; `count` (r): addresses of that;
 *  `insert` (w, IP ETH), `delete` (w, IP), `clear` (w).
 *
 *  Example:
 *
 *      table :: ARPTable(TIMEOUT 1min);
 *      FromDevice(eth0) -> c :: Classifier(12/0806 20/0002, 12/0800);
 *      q :: ARPQuerier(10.0.0.1, 2:0:0:0:0:1, TABLE table);
 *      c[1] -> Strip(14) -> CheckIPHeader -> q -> ToDevice(eth0); c[0] -> [1]q;
 */
class ARPTable : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
  void take_state(Element& old) override { known.take(static_cast<ARPTable&>(old).known); }
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  ARPQuerier::Known known;  ///< for ARPQueriers, which any thread may run
};

}  // namespace heddle
