#pragma once

#include <vector>

#include "core/element.h"
#include "elements/basic/held_ahead.h"
#include "elements/endpoints/end_call.h"

namespace heddle {

/** TimeSortedSched: merges packet streams by their time stamps.
 *
 *      TimeSortedSched([keywords STOP, BUFFER, END_CALL])
 *
 *  Gives the earliest of the packets that its inputs have now; of several with one time stamp, that of the lowest
 *  input. Each input's packets should come in the order of their time stamps. BUFFER: packets of each input that it
 *  looks at, default 1, up to 65,536: an input may be out of order by so many. STOP: end the program when the inputs'
 *  sources are exhausted, default false; it ends then anyway if nothing else keeps it. END_CALL: as of InfiniteSource.
 *  Pull inputs, one pull output.
 *
 *  Time stamps are those with which packets wait before it: what stands between there and the input sees packets when
 *  they have been chosen. Packets that have none (from ports) get the present time.
 *
 *  Hot reconfiguration: packets that it has looked at go over to the element of the same name with the same inputs.
 *
 *  Handlers: `well_ordered` (r): whether all have left in the order of time stamps so far.
 *
 *  Example:
 *
 *      t :: TimeSortedSched -> Unqueue -> ToDump(merged.pcap); FromDump(a.pcap) -> [0]t; FromDump(b.pcap) -> [1]t;
 */
class TimeSortedSched : public LookAheadScheduler {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  uint64_t packets_held() const override { return heap_.size(); }
  bool keeps_running() const override { return end_call_.pending(); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  bool wants(int input) const override { return held_[static_cast<size_t>(input)] < buffer_ && !free_.empty(); }
  void hold(int input, Batch& batch, int i, ColumnSet columns, int origin) override;
  int release(Batch& batch) override;
  bool holds() const override { return !heap_.empty(); }

 protected:
  EndCall end_call_;
  std::vector<uint32_t> held_;  // by input

 private:
  /** A packet that waits. */
  struct Held {
    HeldAhead ahead;
    int input;
  };
  struct Place {
    int64_t time_ns;
    uint64_t arrival;
    int input;
    uint32_t held;
    /** For a heap with the earliest on top. */
    bool operator<(const Place& other) const {
      if (time_ns != other.time_ns) return time_ns > other.time_ns;
      return input != other.input ? input > other.input : arrival > other.arrival;
    }
  };
  void give_all_to(TimeSortedSched& heir);

  uint32_t buffer_ = 1;
  std::vector<const Source*> sources_;  // that its packets come from, and buffers on the way
  std::vector<Held> all_;               // [inputs * buffer_]
  std::vector<uint32_t> free_;          // of these
  std::vector<Place> heap_;             // of the others
  uint64_t arrivals_ = 0, left_ = 0;
  int64_t last_ns_ = 0;
  std::atomic<bool> well_ordered_{true};
  bool ended_ = false;
};

/** MergeByTimestamp: merges packet streams by their time stamps, and may give up those that have paused.
 *
 *      MergeByTimestamp([keywords STOP, NULL_IS_DEAD, END_CALL])
 *
 *  As TimeSortedSched with BUFFER 1, by which Click has replaced it. NULL_IS_DEAD: whether nothing is pulled any more
 *  from an input that has once had no packet when it was asked for one, default false. STOP, END_CALL: as of
 *  TimeSortedSched.
 *
 *  Handlers: those of TimeSortedSched.
 *
 *  Example:
 *
 *      m :: MergeByTimestamp(STOP true) -> Unqueue -> ToDump(merged.pcap);
 *      FromDump(a.pcap) -> [0]m; FromDump(b.pcap) -> [1]m;
 */
class MergeByTimestamp : public TimeSortedSched {
 public:
  void configure(click::Arguments& arguments) override;
  void start(const Environment& environment) override;
  bool wants(int input) const override;
  int release(Batch& batch) override;

 private:
  bool null_is_dead_ = false;
  std::vector<bool> dead_;  // by input
};

}  // namespace heddle
