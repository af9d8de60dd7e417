#pragma once

#include <random>
#include <vector>

#include "core/element.h"

namespace heddle {

/** SetRandIPAddress: sets the destination address annotation at random.
 *
 *      SetRandIPAddress(PREFIX [, LIMIT])
 *
 *  PREFIX: the network whose addresses packets get, all equally probable, such as 10.0.0.0/8; one address alone is a
 *  network of 32 bits. LIMIT: how many different addresses there are at most, up to 1,048,576; negative (default) or 0:
 *  as many as the network has. One input, one output; the packet stays as it is: StoreIPAddress writes the address into
 *  it.
 *
 *  Example:
 *
 *      InfiniteSource(LENGTH 20, LIMIT 10) -> ForceIP -> SetRandIPAddress(10.0.0.0/8, 4) -> StoreIPAddress(dst)
 *          -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDump(out.pcap);
 */
class SetRandIPAddress : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override { return {.column_writes = columns(Column::dst)}; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;

 private:
  int limit_ = -1;                        // of addresses_
  uint32_t network_ = 0, host_mask_ = 0;  // host byte order; the bits that are drawn
  std::vector<uint32_t> addresses_;       // network byte order; none: any of the network
  std::vector<std::mt19937> random_;      // by thread
};

}  // namespace heddle
