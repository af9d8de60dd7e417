#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/huge_pages.h"
#include "core/packet_pool.h"
#include "engine/gpus.h"

namespace heddle {

/** What a run takes from the machine: devices, packet memory, ports. */
class Resources {
 public:
  struct Wanted {
    int threads, batch_size;             ///< threads: that elements run on
    int lanes;                           ///< GPU: through a segment
    int slots;                           ///< GPU: of a segment, over all threads
    unsigned handed_over;                ///< packets on their way through masters, beside those in slots
    unsigned packets;                    ///< 0 = as many as ports, batches and slots need
    std::vector<std::string> dpdk_args;  ///< passed on to EAL
  };

  /** Takes what `plan` needs; returns its GPUs, null if it uses none. Throws Error; what was taken until then goes with
   *  the object. */
  std::shared_ptr<Gpus> acquire(const Router& router, const Plan& plan, const Wanted& wanted);

  /** GPUs for another plan, with its ports; packet memory stays. Those that acquire() has opened have been stopped.
   *  Throws Error. */
  std::shared_ptr<Gpus> gpus_for(const Router& router, const Plan& plan, std::unique_ptr<GpuPorts> ports, int lanes,
                                 int slots) const;
  /** Whether there is packet memory that GPUs reach. */
  bool reached_by_gpus() const { return gpus_ != nullptr; }

  PacketPool& packets() const { return *packets_; }
  PacketPool& large_packets() const { return *large_packets_; }

 private:
  unsigned packets_needed(const Wanted& wanted) const;
  void make_packet_memory(const Plan& plan, const Wanted& wanted);

  std::shared_ptr<Gpus> gpus_;  // the first ones, to which the packet memory belongs
  HugePages host_memory_;       // packet memory when there is no GPU
  PacketMemory memory_;
  std::unique_ptr<PacketPool> packets_, large_packets_;
};

}  // namespace heddle
