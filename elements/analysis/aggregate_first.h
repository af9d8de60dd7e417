#pragma once

#include <functional>
#include <vector>

#include "core/column_pack.h"
#include "core/element.h"
#include "elements/analysis/aggregate_table.h"
#include "elements/analysis/ended_flows.h"
#include "elements/basic/handler_call.h"

namespace heddle {

/** AggregateFirst: lets the first packet of each aggregate pass.
 *
 *      AggregateFirst([keywords NOTIFIER, CAPACITY])
 *
 *  The first packet with each value of the aggregate annotation leaves by output 0, those that come after it by output
 *  1 or, if that is not connected, they are dropped ("not_first"). CAPACITY: most aggregates, default 1,048,576, up to
 *  134,217,728; each takes some 20 to 40 bytes, of memory that is used when they come. When there are so many all
 *  packets of others leave by output 0, for whether they are the first is not known (statistic `full`). Threads that
 *  come here at once wait for each other. NOTIFIER: the name of the AggregateIPFlows that has set the aggregates; those
 *  of flows that have ended, which no packet has any more, are then forgotten and make room for others.
 *
 *  Hot reconfiguration: aggregates stay known if CAPACITY is the same.
 *
 *  Handlers: `clear` (w): forgets all aggregates. `nagg` (r): how many are known.
 *
 *  Example, a packet of each flow:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIPFlows -> AggregateFirst -> ToDump(flows.pcap);
 */
class AggregateFirst : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override { return {.column_reads = columns(Column::aggregate)}; }
  std::span<const char* const> drop_reasons() const override;
  void link(const Directory& directory) override { ended_.link(directory); }
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  uint32_t capacity_ = 1u << 20;
  EndedFlows ended_;
  AggregateTable table_;
  std::atomic<uint64_t> full_{0};
};

/** AggregateLast: lets the last packet of each aggregate pass.
 *
 *      AggregateLast([keywords NOTIFIER, STOP_AFTER_CLEAR, CAPACITY])
 *
 *  Keeps the latest packet with each value of the aggregate annotation; the one before it leaves by output 1 or, if
 *  that is not connected, is dropped ("not_last"). Those that are kept leave by output 0, in ascending order of their
 *  aggregates, when `clear` is written, and when no packets come any more. (In Click only `clear` lets them go.) They
 *  then stand for all packets of their aggregate: ToIPSummaryDump shows their number as `count`, and wire_len is their
 *  length. (Click's time stamp of the first packet is no annotation here.)
 *
 *  NOTIFIER: the name of the AggregateIPFlows that has set the aggregates; packets of flows that have ended leave at
 *  once then. STOP_AFTER_CLEAR: whether the program stops when the packets have left after `clear`, default false.
 *  CAPACITY: most packets that are kept, default 2,048, up to 1,048,576; they are of the packet memory, so more of them
 *  want more of that (`--packets`). When there are so many, packets of other aggregates leave by output 1 or are
 *  dropped ("full"; statistic `full`). Push input, push outputs.
 *
 *  Hot reconfiguration: packets stay, if CAPACITY is the same and they have the annotations that are read behind.
 *
 *  Handlers: `clear` (w): lets all packets go that are kept. `nagg` (r): how many are.
 *
 *  Example, a line for each flow with the number of its packets:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> f :: AggregateIPFlows -> AggregateLast(NOTIFIER f)
 *        -> ToIPSummaryDump(flows.txt, FIELDS aggregate ip_src ip_dst count);
 */
class AggregateLast : public Emitter {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "h/h"; }
  Access access(Processor) const override {
    // What packets have again when they leave, so that the engine does not clear it: once started.
    return {.reads = {kWholePacket}, .column_reads = columns(Column::aggregate), .column_writes = carries};
  }
  std::span<const char* const> drop_reasons() const override;
  void link(const Directory& directory) override { ended_.link(directory); }
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  void emit(Batch& batch, bool ending) override;
  bool holds() const override { return packets_held() > 0; }
  bool due(int) const override { return clearing_.load(std::memory_order_relaxed) || ended_.any(); }
  bool keeps_running() const override { return stop_call_.under_way(); }
  uint64_t packets_held() const override { return table_.size() + leaving_count_.load(std::memory_order_relaxed); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  /** Packets with their aggregates and columns, by places. */
  struct Store {
    std::vector<Packet*> packets;      // [capacity]
    std::vector<uint32_t> aggregates;  // [capacity]
    std::vector<std::byte> columns;    // [capacity][bytes of pack_]
  };
  std::byte* columns_of(Store& store, size_t place) { return store.columns.data() + place * pack_.bytes(); }
  void keep(Batch& batch, int i, size_t place);
  /** Packet `i` takes the place of an older one, which becomes packet `i`. */
  void replace(Batch& batch, int i, size_t place);
  /** All that are kept leave from now on. */
  void let_all_go();
  /** Packet `place` of a store leaves. */
  void let_go(Batch& batch, Store& store, size_t place);
  void let_go(Batch& batch, uint32_t aggregate);

  bool stops_ = false;
  uint32_t capacity_ = 2048;
  EndedFlows ended_;
  ColumnPack pack_;
  HandlerCall stop_call_;  // packet threads cannot stop the program
  std::atomic<bool> clearing_{false};
  std::atomic<uint64_t> full_{0}, leaving_count_{0};

  // Within a Lock of the table, which has each aggregate's place in kept_.
  AggregateTable table_;
  Store kept_, leaving_;
  std::vector<uint32_t> order_;  // places in leaving_ of those that have yet to leave, the next one last
  bool cleared_ = false;         // they leave because of `clear`
};

}  // namespace heddle
