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
    int threads, batch_size;
    int slots;                           ///< GPU: 0 = as the plan suits
    unsigned packets;                    ///< 0 = as many as ports, batches and slots need
    std::vector<std::string> dpdk_args;  ///< passed on to EAL
  };

  /** Takes what `plan` needs. Throws Error; what was taken until then goes with the object. */
  void acquire(const Router& router, const Plan& plan, const Wanted& wanted);

  /** Null if the plan uses none. */
  Gpus* gpus() const { return gpus_.get(); }
  /** Slots of a segment, over all threads. */
  int slots() const { return slots_; }
  PacketPool& packets() const { return *packets_; }
  PacketPool& large_packets() const { return *large_packets_; }

 private:
  unsigned packets_needed(const Wanted& wanted) const;
  void make_packet_memory(const Plan& plan, const Wanted& wanted);

  std::unique_ptr<Gpus> gpus_;
  HugePages host_memory_;  // packet memory when there is no GPU
  PacketMemory memory_;
  std::unique_ptr<PacketPool> packets_, large_packets_;
  int slots_ = 0;
};

}  // namespace heddle
