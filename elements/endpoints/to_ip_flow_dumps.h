#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "core/element.h"
#include "elements/analysis/ended_flows.h"
#include "elements/endpoints/ip_summary.h"

namespace heddle {

/** ToIPFlowDumps: writes a line of text a packet, as ToIPSummaryDump does, to a file for each flow.
 *
 *      ToIPFlowDumps(OUTPUT_PATTERN [, keywords NOTIFIER, ABSOLUTE_TIME, ABSOLUTE_SEQ, ALL_TCP_OPT, TCP_OPT,
 *                    TCP_WINDOW, IP_ID, MINCOUNT, CAPACITY])
 *
 *  A flow is the packets with one value of the aggregate annotation, which AggregateIPFlows sets, with their direction
 *  as paint. OUTPUT_PATTERN: the name of its file, in which these stand for what the flow's first packet has: %n the
 *  aggregate, %x and %X the same in hexadecimal, %s and %d the addresses of source and destination, %S and %D their
 *  ports, %p the protocol (T or U), %% a percent sign. %.0s to %.3s (also d, n, x, X) are the bytes of an address or of
 *  the aggregate, the highest first, %.4n and %.5n (also x, X) the halves of the aggregate. A number before the point
 *  is a width, to be filled up with zeros if it begins with 0, else with underscores: %06n. Folders that are not there
 *  are made. Files that are there are overwritten; flows that have one name lie in its file one after another, in
 *  pieces that each begin with a header. Two such elements must not write files of one name. "-": standard output.
 *
 *  NOTIFIER: the name of the AggregateIPFlows; flows that have ended are then written and forgotten. CAPACITY: flows
 *  that it knows at a time, default 65,536; packets of further ones are not written (statistic `full`). Lines are
 *  written some kilobytes at a time (a flow takes up to 4 KB, a file some hundred bytes to the end), and when the flow
 *  has ended, when `clear` is written, and at the end. MINCOUNT: no file for flows of fewer packets, up to 100,000,
 *  whose lines are kept so long; default 0.
 *
 *  The lines before a flow's packets are "!IPSummaryDump 1.3", "!flowid ADDRESS PORT ADDRESS PORT T" (or U; source and
 *  destination), "!aggregate N", "!data" with the fields, and, for what numbers and times are relative to, "!firstseq >
 *  N", "!firstseq < N" and "!firsttime T". The fields: timestamp direction, ip_id if IP_ID is true; for UDP
 *  payload_len, for TCP tcp_flags tcp_seq payload_len tcp_ack, tcp_win if TCP_WINDOW is true, tcp_opt if TCP_OPT
 *  (maximum segment size, window scale, SACK) or ALL_TCP_OPT (all but those that fill up) is. Time stamps are relative
 *  to a microsecond before the first packet, unless ABSOLUTE_TIME is true; sequence numbers of either direction to the
 *  first one seen, unless ABSOLUTE_SEQ is true. ICMP errors that AggregateIPFlows counts to the flow are comments,
 *  "#TIMESTAMP > ICMP_error", with the absolute time. Click's BINARY and GZIP are not there.
 *
 *  One input; one output or none: packets go on if something is behind. Packets that belong to no flow (aggregate 0, or
 *  a flow's first packet that has no ports) are not written (statistic `no_flow`). When writing fails (full disk),
 *  packets go on; the program reports it and exits with an error; the packets are counted (`lost`). A capture that is
 *  being read is not overwritten. Where a named pipe is in a file's place, packets wait for its reader; once the
 *  program is to end, a reader that takes nothing for 2 seconds is waited for no longer, none for more than 10, and the
 *  next one not at all when 10 have passed.
 *
 *  Hot reconfiguration: with the same arguments, flows go on. With others, what there is of them is written, and what
 *  comes goes behind it.
 *
 *  Handlers: `clear` (w): writes what there is, and forgets all flows. Statistics: `flows` (so far), `written`,
 *  `no_flow`, `full`, `lost`.
 *
 *  FromIPSummaryDump reads such files.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> f :: AggregateIPFlows -> ToIPFlowDumps(flow%03n, NOTIFIER f);
 */
class ToIPFlowDumps : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/0-1"; }
  Access access(Processor) const override;
  void link(const Directory& directory) override { ended_.link(directory); }
  void start(const Environment& environment) override { stopping_ = environment.stopping; }
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  enum class Options : uint8_t { none, some, all };
  struct Flow {
    std::string file, id;  // the latter as after "!flowid "
    bool tcp = false;
    bool headed = false;     // the header has been written
    bool knows_seq[2] = {};  // by direction
    uint32_t first_seq[2] = {};
    uint64_t packets = 0, before_ns = 0;  // what time stamps are relative to
    std::string text;                     // not written yet
    uint64_t in_text = 0;                 // packets that it has
  };

  /** What OUTPUT_PATTERN makes of a flow's first packet; appends to `problem` what is wrong with the pattern. */
  std::string file_name(uint32_t aggregate, const uint8_t* ip, const uint8_t* ports, std::string& problem) const;
  /** The flow of a packet, a new one if need be; null if it is not to be written. */
  Flow* flow_of(uint32_t aggregate, const summary::View& view);
  void add(Flow& flow, const summary::View& view);
  void add_options(Flow& flow, const summary::View& view);
  /** A sequence number of a direction, as it is written. */
  uint32_t relative(Flow& flow, uint32_t direction, uint32_t sequence);
  std::string header(uint32_t aggregate, const Flow& flow) const;
  void write(uint32_t aggregate, Flow& flow);
  /** Appends to a file, a new one unless `goes_on`, or writes to what else is there. Throws Error. */
  void write(const std::string& file, std::string_view text, bool goes_on);
  bool is_to_end() const { return stopping_ && stopping_(); }
  /** Whether the reader of a file is waited for. */
  bool has_patience_with(const std::string& file);
  /** Writes what is left of a flow that has ended. */
  void end(uint32_t aggregate, Flow& flow);
  void end_all();

  std::string pattern_;
  EndedFlows ended_;
  bool absolute_time_ = false, absolute_seq_ = false, window_ = false, ip_id_ = false;
  Options options_ = Options::none;
  uint32_t min_count_ = 0, capacity_ = 65536;
  std::mutex writing_;                                    // for what follows
  std::unordered_map<uint32_t, Flow> flows_;              // by aggregate
  std::unordered_map<std::string, uint32_t> wrote_last_;  // by file: the aggregate
  std::string failure_;
  std::function<bool()> stopping_;
  std::optional<std::chrono::steady_clock::time_point> stopping_since_;
  std::unordered_set<std::string> given_up_;  // files whose readers have had their time
  std::atomic<uint64_t> count_{0}, written_{0}, no_flow_{0}, full_{0}, lost_{0};
};

}  // namespace heddle
