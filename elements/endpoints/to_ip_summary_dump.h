#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "core/element.h"
#include "elements/endpoints/ip_summary.h"
#include "io/capture/output_file.h"

namespace heddle {

/** ToIPSummaryDump: writes a line of text a packet, as Click's and ipsumdump do.
 *
 *      ToIPSummaryDump(FILENAME [, keywords FIELDS, HEADER, VERBOSE, BANNER, BAD_PACKETS, CAREFUL_TRUNC, UNBUFFERED])
 *
 *  FILENAME: is created or overwritten; "-" for standard output. FIELDS (or CONTENTS, or DATA): what a line says, names
 *  separated by spaces, default "timestamp ip_src": timestamp ts_sec ts_usec ts_usec1 utimestamp ntimestamp eth_src
 *  eth_dst ip_v ip_hl ip_src ip_dst ip_tos ip_dscp ip_ecn ip_ttl ip_proto ip_id ip_sum ip_frag ip_fragoff ip_len ip_opt
 *  ip_capture_len wire_len sport dport tcp_seq tcp_ack tcp_off tcp_flags tcp_win tcp_sum tcp_urp tcp_opt udp_len
 *  udp_sum icmp_type icmp_type_name icmp_code icmp_code_name icmp_sum icmp_flowid icmp_seq icmp_nextmtu payload_len
 *  payload count direction link paint aggregate. A field that the packet does not have is "-". timestamp has six digits
 *  behind the point, or nine if it needs them; utimestamp has always six, ntimestamp always nine; ts_usec1 is in
 *  microseconds. eth_src and eth_dst are those of a header that lies right before IP's. ip_proto is T, U, I or a
 *  number; ip_ecn no, ect1, ect2 or ce; ip_frag F (first fragment), f (a later one), "!" (none may be made) or ".";
 *  ip_fragoff in bytes, with + when more follow and ! when none may be made; ip_hl and tcp_off in bytes; payload_len
 *  without the headers of IP, TCP and UDP; count is what FromIPSummaryDump has read, else 1; tcp_flags the letters
 *  FSRPAUECN or "."; icmp_type_name and icmp_code_name names such as echo and needfrag, or numbers that have none;
 *  icmp_flowid (the identifier) and icmp_seq those of messages that ask and answer, icmp_nextmtu that of needfrag;
 *  direction, link and paint come from the paint annotation (0 is >, 1 is <), aggregate from the annotation that
 *  AggregateIPFlows sets. ip_opt and tcp_opt are options, separated by semicolons, "." if there are none, "?" if they
 *  are wrong: mss1460, wscale7, sackok, sack95-98, ts123:456; rr{10.0.0.1}+2 (with room for two more),
 *  lsrr{10.0.0.1^10.0.0.2}, ssrr{...} ("^": what the pointer stands before); ts{1,!45}+2++3 (time stamps, "!": not in
 *  milliseconds since midnight; room for two more; three that found none), ts.ip{10.0.0.1=1}+2 (with addresses),
 *  ts.preip{10.0.0.1=1^10.0.0.2} (of these addresses; the second one has none yet); others NUMBER=BYTE:BYTE. Those that
 *  fill up are left out.
 *
 *  HEADER: write the lines "!IPSummaryDump 1.3" and "!data FIELDS" first, default true. VERBOSE: also !host and
 *  !runtime, default false. BANNER: text of a !creator line. BAD_PACKETS: write "!bad WHY" before packets with a bad
 *  header, default false. CAREFUL_TRUNC: write "!bad truncated IP missing N" before packets of which the capture has
 *  less than they are long, default true. UNBUFFERED: write every batch at once, default false.
 *
 *  One input; one output or none: packets go on if something is behind. Fields of Ethernet and IP need to know where
 *  the header is: CheckIPHeader, MarkIPHeader, or FromDump's FORCE_IP before. Several threads may share one; each batch
 *  is then written as a piece.
 *
 *  Errors: the file cannot be created, or another element (or option, for "-") writes there. When writing fails later
 *  (full disk, closed pipe), packets go on or, if nothing is behind, are dropped ("write_failed"); the program goes on,
 *  reports it and exits with an error; packets whose lines were on their way then are counted (`lost`).
 *
 *  Handlers: `count` (r), `reset_counts` (w), `filename` (r). Statistics: `written`, `lost`.
 *
 *  Example:
 *
 *      FromDump(in.pcap, FORCE_IP true)
 *        -> ToIPSummaryDump(out.txt, FIELDS timestamp ip_src sport ip_dst dport ip_proto);
 */
class ToIPSummaryDump : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/0-1"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return 10000; }
  void on_timer(int thread) override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  void write_header();
  void add_line(const summary::View& view);
  void flush(bool waits = true);

  std::string file_, banner_;
  summary::Fields fields_;
  bool header_ = true, verbose_ = false, bad_packets_ = false, careful_ = true, unbuffered_ = false;
  bool needs_ip_ = false, needs_paint_ = false, needs_aggregate_ = false, shared_ = false;
  std::unique_ptr<capture::Output> output_;
  std::string text_;  // not written yet; has room for a batch beyond kTextBytes
  std::mutex writing_;
  uint64_t in_text_ = 0;  // packets whose lines text_ has
  std::atomic<uint64_t> count_{0}, lost_{0};
  std::atomic<bool> unflushed_{false}, failed_{false};
  std::string failure_;
  std::function<bool()> stopping_;  // Environment::stopping
};

}  // namespace heddle
