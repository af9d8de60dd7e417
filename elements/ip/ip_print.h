#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "core/element.h"
#include "elements/basic/packet_text.h"
#include "io/capture/output_file.h"

namespace heddle {

/** IPPrint: prints IPv4 packets in the manner of tcpdump.
 *
 *      IPPrint([LABEL, keywords CONTENTS, PAYLOAD, MAXLENGTH, ETHER, ID, TIMESTAMP, PAINT, AGGREGATE, TOS, TTL, SWAP,
 *               LENGTH, ACTIVE, OUTFILE])
 *
 *  One input, one output; packets pass unchanged. The header is the one that CheckIPHeader or MarkIPHeader has marked;
 *  packets without one pass in silence. A line goes to standard error for each packet:
 *
 *      LABEL: 1414141414.000001: 10.0.0.1.80 > 10.0.0.2.1024: P 17:27(10,64,50) ack 5 win 8192
 *
 *  For TCP: addresses and ports, flags (S, F, R, P, or a dot), sequence numbers (bytes of the segment, of the packet,
 *  of the IPv4 packet), acknowledgement, window. For UDP: "udp" and its length. For ICMP: type and code. Fragments end
 *  with "(frag ID:LENGTH@OFFSET+)". What ends too early is "truncated-ip", "truncated-tcp", "truncated-udp",
 *  "truncated-icmp".
 *
 *  LABEL: text before each line. CONTENTS: bytes of the packet on further lines: HEX, ASCII, NONE (default), true (HEX)
 *  or false. PAYLOAD: the same for the bytes behind the transport header; not together with CONTENTS. MAXLENGTH (also
 *  NBYTES): how many of these bytes, default 1500, -1 for all. TIMESTAMP: whether to print when the packet was
 *  captured, in seconds since 1970, default true. ETHER, ID, PAINT, AGGREGATE, TOS, TTL, LENGTH: whether to print the
 *  Ethernet addresses before the header, the IPv4 identification, the paint and aggregate annotations, and these
 *  fields; default false. SWAP: false prints ICMP identifiers and sequence numbers as a little-endian machine
 *  reads them, the two bytes exchanged, default true. ACTIVE: false lets packets pass in silence, default true.
 *  OUTFILE: file to print to instead, "-" for standard output. Click's CHANNEL is not there.
 *
 *  Handlers: `active` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPPrint(in, TTL true, OUTFILE packets.txt) -> Discard;
 */
class IPPrint : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  std::string stop() override;
  void handlers(Handlers& list) override;

 private:
  void describe(std::string& line, Batch& batch, int i) const;

  std::string label_;
  Contents contents_ = Contents::none, payload_ = Contents::none;
  int max_length_ = 1500;
  bool ether_ = false, id_ = false, timestamp_ = true, paint_ = false, aggregate_ = false, tos_ = false, ttl_ = false,
       length_ = false;
  bool swap_ = true;
  std::atomic<bool> active_{true};
  std::filesystem::path path_;
  std::unique_ptr<capture::Output> output_;
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace heddle
