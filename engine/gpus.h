#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/gpu_ports.h"
#include "engine/gpu_segment.h"
#include "engine/lane.h"
#include "engine/plan.h"
#include "gpu/device.h"

namespace heddle {

class GpuLane;
class LandingArea;

/** The GPUs of a run: devices by number, the segments of the plan on them, copies of tables, counters. */
class Gpus {
 public:
  /** Opens the devices that the plan uses. `ports`: the chain's. Throws Error. */
  Gpus(const Router& router, const Plan& plan, std::unique_ptr<GpuPorts> ports);
  ~Gpus();

  bool any() const { return !devices_.empty(); }

  /** Memory for packets that all of them reach; what lanes, `lanes` a segment, pack into, and what their packets land
   *  in, comes on top of it. `slots`: of these together. `packet_bytes`: of a packet, at most, as a rule. */
  PacketMemory packet_memory(size_t bytes, int lanes, int slots, size_t packet_bytes);
  /** Instead: that of `other`, which has been stopped, and stays as long as this. Throws Error if lanes that pack, or
   *  whose packets land, find no room there. */
  void use_packet_memory_of(const Gpus& other, int lanes, int slots);
  /** Puts segments and tables on the devices; from now on copies follow their tables. */
  void make_segments();
  /** A way through segment `s`, a GPU segment, with `slots` slots, for one thread. */
  std::unique_ptr<Lane> make_lane(size_t s, int slots);
  /** Makes everything resident, but for the kernels of rings. */
  void start();
  /** From now on these have the ports, also those that former ones have had, and rings are served. */
  void take_over_ports() noexcept { ports_->take_over(); }
  /** Ends the kernels, when all packets are back, for go_on(); what comes to ports whose rings they drive waits. */
  void pause();
  /** Makes everything resident again, with the slots of the lanes empty; takes no memory. A device that cannot go on
   *  has failed, and says so. */
  void go_on();
  /** Ends it all, when all packets are back: counters keep their last values, copies of tables are freed, ports are
   *  closed that no others have taken over. */
  void stop();

  /** What the devices that have failed say, but for those where the CPU goes on with every segment. */
  std::vector<std::string> failures();

  /** Packets and bytes that have come to a node inside a GPU segment; nothing for a segment's first node that the host
   *  feeds and counts. Any thread. */
  std::pair<uint64_t, uint64_t> counts(int node);

  /** Packets that were dropped at a node of a segment with rings, by reason. Any thread. */
  std::vector<uint64_t> ring_drops(int node);

  /** When it returns, rings run no program that is not the newest. */
  void renew_rings() { ports_->renew(); }

  /** For those of the next configuration. */
  const GpuPorts& ports() const { return *ports_; }

  /** "gpu0 (MODEL), gpu1 (MODEL)", "" if there is none. */
  std::string text() const;

 private:
  /** Lets the elements of segment `s` read what their functions keep. */
  void offer_states(size_t s);
  /** Bytes of staging memory that the plan's lanes want; sets staging_bytes_. */
  size_t staging_wanted(int lanes, int slots);
  /** Lanes whose packets land, with `lanes` a segment. */
  size_t areas_wanted(int lanes) const;

  const Router& router_;
  const Plan& plan_;
  std::unique_ptr<GpuPorts> ports_;                      // before the devices: their memory goes after them
  std::map<int, std::unique_ptr<gpu::Device>> devices_;  // by number
  PacketMemory packets_;                                 // with the staging memory behind them
  size_t packet_bytes_ = 0;                              // of a packet, at most, as a rule
  size_t staging_bytes_ = 0;                             // of a lane that packs
  std::byte* first_staging_ = nullptr;                   // behind the packets, up to the end of the memory
  std::byte* staging_ = nullptr;                         // of the next such lane
  /** Between the packets and the staging memory: of the program's first plan, for packets may lie there for long. */
  std::vector<std::shared_ptr<LandingArea>> areas_;
  size_t areas_used_ = 0;
  std::map<std::pair<int, Table*>, std::unique_ptr<TableCopy>> tables_;
  std::vector<std::shared_ptr<StateReader>> states_;   // that elements read
  std::vector<std::unique_ptr<GpuSegment>> segments_;  // by index of the plan's segment; null for the CPU's
  std::vector<GpuLane*> lanes_;                        // that make_lane() has given, as long as it runs
  std::mutex counting_;                                // guards what follows
  bool stopped_ = false;
  std::map<int, std::pair<uint64_t, uint64_t>> last_counts_;  // by node
  std::map<size_t, std::vector<gpu::RingCount>> last_exits_;  // by segment
};

}  // namespace heddle
