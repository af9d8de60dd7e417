#pragma once

#include <memory>
#include <random>
#include <string>

#include "core/element.h"
#include "elements/endpoints/end_call.h"
#include "elements/endpoints/ip_summary.h"
#include "elements/endpoints/line_reader.h"
#include "elements/endpoints/time_window.h"

namespace heddle {

/** FromIPSummaryDump: makes packets from the lines of an IP summary dump.
 *
 *      FromIPSummaryDump(FILENAME [, keywords TIMING, DEFAULT_FIELDS, PROTO, CHECKSUM, ZERO, MULTIPACKET, SAMPLE,
 *                        ACTIVE, STOP, END_CALL, BURST])
 *
 *  FILENAME: a dump as ToIPSummaryDump and ipsumdump write it, "-" for standard input. TIMING: as for FromDump.
 *  DEFAULT_FIELDS (or DEFAULT_CONTENTS, CONTENTS, FIELDS): what the lines say before the first "!data" line, names as
 *  for ToIPSummaryDump. PROTO (or DEFAULT_PROTO): the IP protocol of lines that say none, default 6 (TCP). CHECKSUM:
 *  set the checksums of IP, TCP, UDP and ICMP, default false. ZERO: accepted for Click's sake: what a line does not say
 *  is zero in any case (TTL: 100). MULTIPACKET: make as many packets as `count` says, default false: one that remembers
 *  the count for ToIPSummaryDump. SAMPLE: the probability with which a packet is taken, default 1. ACTIVE: whether it
 *  reads, default true. STOP, END_CALL: as for InfiniteSource. BURST: lines read at a time, default 64.
 *
 *  No input, one output, push or pull. Packets are IP packets without a link header; the header and destination
 *  annotations are set, link, paint and direction become the paint annotation, aggregate that of this name, packets
 *  have the time of their line. Runs on the first packet thread, or where StaticThreadSched puts it.
 *
 *  Headers have the lengths that ip_hl and tcp_off say (20 to 60 bytes, filled with options that mean nothing), else 20
 *  and what ip_opt and tcp_opt need, which also may be eol and nop (a source route without "^" is at its first address
 *  or, if it has room, ssrr{10.0.0.1}+2, at the first place of that). A packet has as many bytes as ip_len says, but
 *  its IP header at least. payload and payload_len include the header of ICMP, as in Click. ip_proto, ip_ecn, icmp_type
 *  and icmp_code are names or numbers (a code's name stands behind its type), a payload without blanks needs no quotes,
 *  and a timestamp may begin with its point.
 *
 *  Lines of a file of ToIPFlowDumps: "!flowid ADDRESS PORT ADDRESS PORT T" says source and destination of the packets
 *  that follow, unless a field does, and of those with direction < the other way round; "!aggregate N" says their
 *  aggregate. Sequence numbers and time stamps are as the lines say.
 *
 *  Lines that cannot be understood make no packet and are counted (`bad_lines`); the first one is reported at the end,
 *  and the program then exits with an error. Binary dumps (!binary) are not read. Errors: the file is missing; one that
 *  cannot be read to its end is reported then, and the program exits with an error.
 *
 *  Handlers: `count` (r), `reset_counts` (w), `active` (rw), `stop` (w), `reset_timing` (w), `filename` (r),
 *  `filesize` (r), `filepos` (r), `sampling_prob` (r), `encap` (r, "IP").
 *
 *  Example:
 *
 *      FromIPSummaryDump(flows.txt, CHECKSUM true) -> ToDump(flows.pcap, ENCAP IP);
 */
class FromIPSummaryDump : public Source {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void receive(Batch& batch) override;
  // Not while STOP and END_CALL are under way: what waits for the end would hear of it twice.
  bool exhausted() const override { return (ended_ && left_ == 0 && !end_call_.pending()) || !active_; }
  bool keeps_running() const override { return end_call_.pending(); }
  std::optional<double> progress() const override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  /** Reads the arguments that have nothing to do with what lines say. */
  void configure_reading(click::Arguments& arguments);
  /** Whether `other` reads the same file, and goes on here when the chain is reconfigured. */
  bool goes_on_from(const Element* other) const;
  /** Fills draft(); false: the line makes no packet. */
  virtual bool read_packet(std::string_view line);
  summary::Draft& draft() { return draft_; }
  void bad_line(const std::string& what);

 private:
  void look_at_fields();
  bool read_line(std::string_view line);
  bool take_fields(std::string_view line);
  void take_flow(std::string_view line);
  bool append_packet(Batch& batch);

  std::string file_;
  std::unique_ptr<LineReader> reader_;
  summary::Fields fields_;
  size_t protocol_field_ = SIZE_MAX;  // its place among the fields
  uint8_t protocol_ = 6;
  bool says_fields_ = false, says_protocol_ = false;  // whether the file has, in the place of the arguments
  bool checksum_ = false, multipacket_ = false;
  Pace pace_;
  double sample_ = 1;
  int burst_ = 64;
  summary::Draft draft_{6}, flow_{6};
  bool says_flow_ = false;  // flow_ has the addresses and ports that a "!flowid" line says
  bool has_ends_ = false;   // a field has one of these
  uint32_t left_ = 0;       // packets of the draft that are still to be made
  std::unique_ptr<uint8_t[]> scratch_;
  std::string first_problem_;
  PacketPool *packets_ = nullptr, *large_packets_ = nullptr;
  std::mt19937_64 random_;
  std::atomic<bool> active_{true}, ended_{false};
  std::atomic<uint64_t> count_{0}, bad_lines_{0}, position_{0};
  EndCall end_call_;
};

}  // namespace heddle
