#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/batch.h"
#include "core/clock.h"
#include "elements/ip/filter/program.h"
#include "engine/plan.h"
#include "engine/router.h"

namespace heddle {

/** The mark of a packet that is followed, 1 to 63, in a part of `ol_flags` that DPDK leaves to programs. Clones have it
 *  as well, and a packet that is allocated has none. */
constexpr int kTraceShift = 30;
constexpr uint64_t kTraceMark = uint64_t{63} << kTraceShift;

/** Follows a few packets through the chain: which elements they come to, and what each has changed. A packet is looked
 *  at when it comes to an element; what differs from the last time has been done by the element before. What happens to
 *  a packet on a GPU is seen at the end of its segment. */
class Tracer {
 public:
  static constexpr int kMax = 63;
  static constexpr size_t kMaxSteps = 256;  ///< of a packet: one on a cycle is not followed for ever

  /** Follows the next `count` packets that come from sources and match `filter`, a pattern of IPFilter's language, or
   *  "" for all. IPv4 lies behind the Ethernet header and VLAN tags. Forgets what it has. Throws Error. Returns a
   *  number for end_of(). Any thread. */
  uint64_t begin(int count, const std::string& filter);
  /** Chooses no more packets, and forgets what it has. Any thread. */
  void end();
  /** The same, unless another trace has begun since that one. */
  void end_of(uint64_t trace);
  /** Whether packets are to be chosen, or marked ones may be on their way. */
  bool active() const { return active_.load(std::memory_order_relaxed); }
  /** Packets that have got to an end. */
  int finished() const;
  /** The ways of the packets so far. Any thread. */
  std::string text() const;

  // For packet threads, if active().
  /** `batch` has come from a source. */
  void come(const Router& router, const Plan& plan, int node, Batch& batch);
  /** `batch` has come to a node. */
  void arrive(const Router& router, const Plan& plan, int node, Batch& batch);
  /** `packet` is dropped at a node, for the reason `why`. */
  void drop(const Router& router, int node, const std::string& why, const Packet* packet);
  /** A copy takes the place of `packet`; null: copies that are on their way already do. */
  void replace(const Packet* packet, const Packet* copy);
  /** `part` has become a part of `whole`, which is followed in its place, or as the first of its parts is. */
  void join(const Packet* part, Packet* whole);

 private:
  struct Step {
    std::string element;
    double us;  // since it came
    std::vector<std::string> changes;
  };
  /** A packet, or a copy of it, at its last step. */
  struct Seen {
    size_t step = 0;
    uint16_t start = 0;
    std::vector<uint8_t> bytes;
    std::map<int, uint64_t> columns;
  };
  struct Trace {
    RouterClock::time_point came;
    uint32_t bytes = 0;
    std::vector<Step> steps;
    std::map<const Packet*, Seen> there;  // those that are on their way
    Seen last;
  };
  void stop();
  void forget();
  bool matches(const Packet* packet) const;
  static Seen look(const NodePlan& here, Batch& batch, int i);
  static std::vector<std::string> differences(const Seen& before, const Seen& now);
  static std::string name_of(const Router& router, const Plan& plan, int node);
  Trace* trace_of(const Packet* packet);
  void step(Trace& trace, const std::string& element, const Packet* packet, Seen seen, bool end);

  std::atomic<bool> active_{false};
  mutable std::mutex mutex_;  // for what follows
  uint64_t begun_ = 0;        // traces
  int wanted_ = 0;
  bool filtered_ = false;
  ip_filter::Program filter_;
  uint64_t first_mark_ = 0;  // less 1; those before may be of packets of an earlier trace, which are still on their way
  std::vector<Trace> traces_;
};

}  // namespace heddle
