#pragma once

#include <string>

#include "core/acts_beside.h"
#include "core/element.h"
#include "elements/analysis/aggregate_table.h"
#include "elements/basic/count_call.h"

namespace heddle {

/** AggregateCounter: counts packets or bytes for each aggregate.
 *
 *      AggregateCounter([keywords BYTES, IP_BYTES, MULTIPACKET, EXTRA_LENGTH, AGGREGATE_FREEZE, AGGREGATE_STOP,
 *                       AGGREGATE_CALL, COUNT_FREEZE, COUNT_STOP, COUNT_CALL, BANNER, CAPACITY])
 *
 *  Each value of the aggregate annotation (AggregateIP and others set it) has a count. While it is frozen only the
 *  counts that it has go on. Packets of input 1, which may be left out, are counted as if it were frozen. Packets pass
 *  unchanged, by output 0; if output 1 is connected those that have not been counted leave there.
 *
 *  BYTES: whether to count bytes, default false: packets. IP_BYTES: whether bytes before the network header, which
 *  annotation l3 marks, are left out, default false. MULTIPACKET: whether a packet that stands for several (a line of
 *  FromIPSummaryDump with a count) counts as so many, default true. EXTRA_LENGTH: whether bytes count that a packet had
 *  on the wire and a capture does not have, default true.
 *
 *  AGGREGATE_FREEZE N: freezes when, after N aggregates, a packet of a further one comes, which is not counted.
 *  AGGREGATE_STOP N: then counts no more (`active` is false) and stops the program. AGGREGATE_CALL "N HANDLER [VALUE]":
 *  then VALUE is written to HANDLER, once, by a thread beside, while packets go on; with `--batch 1` they wait for it.
 *  COUNT_FREEZE, COUNT_STOP, COUNT_CALL: the same when the sum of all counts reaches N. At most one of three.
 *
 *  CAPACITY: most aggregates, default 1,048,576, up to 134,217,728. Each takes some 20 to 40 bytes, of memory that is
 *  used when they come. Packets of further ones are not counted then (statistic `full`, in the final report and
 *  --json): the counts that there are stay right. Threads that come here at once wait for each other.
 *
 *  Hot reconfiguration: counts go on, if what is counted and CAPACITY are the same.
 *
 *  Handlers: `write_text_file` or `write_ascii_file` (w, a file name, - for standard output): lines "!IPAggregate 1.0",
 *  BANNER, "!num_nonzero N", and for each aggregate in ascending order itself and its count, in decimal.
 *  `write_ip_file` (w): aggregates as addresses, behind a line "!ip". `write_pdf_file` (w): shares of the sum in place
 *  of counts. `write_file` (w): behind a line "!packed_le" (or "!packed_be"), 8 bytes for each, aggregate and count, as
 *  32-bit integers of that byte order; counts beyond are 4,294,967,295. A file is written whole or not at all.
 *  `freeze` (rw), `active` (rw, false: counts nothing), `stop` (w): not active, and the program stops. `clear` (w).
 *  `reaggregate_counts` or `counts_pdf` (w): counts become the aggregates, and how many aggregates had each becomes its
 *  count; packets wait meanwhile. `banner` (rw), `aggregate_call` and `count_call` (rw; read: the call to come; written
 *  empty: none). `count` (r, the sum of all counts), `nagg` (r, the number of aggregates).
 *
 *  Example, packets by destination:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIP(ip dst) -> a :: AggregateCounter -> Discard;
 *      DriverManager(wait_stop, write a.write_ip_file -);
 */
class AggregateCounter : public Element, public ActsBeside {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1-2/1-2"; }
  const char* processing() const override { return "a/ah"; }
  bool tells_inputs() const override { return true; }
  Access access(Processor) const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  bool acts() const override;
  bool keeps_running() const override { return aggregate_.call.pending() || count_.call.pending(); }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  enum class Format : uint8_t { text, packed, addresses, shares };
  /** What happens once a number reaches a limit: it freezes or stops, or a handler is called. */
  struct Limit {
    uint64_t freeze = UINT64_MAX, stop = UINT64_MAX;
    CountCall call;
  };

  void configure(click::Arguments& arguments, const std::string& name, Limit& limit);
  /** Within a Lock. */
  bool count(uint32_t aggregate, uint64_t amount, bool frozen);
  void reached(Limit& limit, uint64_t number);
  uint64_t amount_of(const Packet* packet, uint32_t l3) const;
  void reaggregate();
  void clear();
  std::string file(Format format) const;

  bool bytes_ = false, ip_bytes_ = false, multipacket_ = true, extra_length_ = true;
  uint32_t capacity_ = 1u << 20;
  std::string banner_;  // of control threads
  AggregateTable table_;
  Limit aggregate_, count_;
  HandlerCall stop_call_;  // packet threads cannot stop the program
  Control* control_ = nullptr;
  std::atomic<uint64_t> sum_{0}, full_{0};
  std::atomic<bool> frozen_{false}, active_{true};
};

}  // namespace heddle
