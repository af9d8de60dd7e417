#pragma once

#include <array>
#include <map>

#include "elements/endpoints/from_ip_summary_dump.h"

namespace heddle {

/** FromTcpdump: makes packets from the text that tcpdump prints.
 *
 *      FromTcpdump(FILENAME [, keywords TIMING, CHECKSUM, ZERO, SAMPLE, ACTIVE, STOP, END_CALL, BURST])
 *
 *  FILENAME: what `tcpdump -tt -n` has printed, a line a packet, "-" for standard input; also that of old versions
 *  (3.x), whose lines say "S 1:1(0) win 512" in place of "Flags [S], seq 1, win 512, length 0". The keywords are those
 *  of FromIPSummaryDump.
 *
 *  A packet has what its line says: TCP's flags, numbers, window and options, the number of bytes of TCP, UDP and
 *  ICMP's echoes, of old versions TTL, identification, DF and TOS; the rest is zero (TTL: 100). tcpdump prints sequence
 *  numbers relative to a connection's first ones, unless option -S has been given; they become what they were, as far
 *  as the first packets are in the file, and a packet without data gets the number behind the last one before it.
 *  Whether they are relative is told from the first acknowledgement that is not its connection's first. Each connection
 *  of TCP takes some hundred bytes of memory.
 *
 *  No input, one output, as FromIPSummaryDump. Lines about something else (ARP, IPv6, other ICMP messages, fragments,
 *  the further lines of -v and -x) make no packet and are counted (statistic `others`). Lines of TCP, UDP and ICMP's
 *  echoes that cannot be understood are counted (`bad_lines`); the first one is reported at the end, and the program
 *  then exits with an error.
 *
 *  Handlers: those of FromIPSummaryDump.
 *
 *  Example:
 *
 *      FromTcpdump(trace.txt, CHECKSUM true) -> ToDump(trace.pcap, ENCAP IP);
 */
class FromTcpdump : public FromIPSummaryDump {
 public:
  void configure(click::Arguments& arguments) override { configure_reading(arguments); }
  void take_state(Element& old) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 protected:
  bool read_packet(std::string_view line) override;

 private:
  /** Of both directions of a TCP connection, the lower end's first. */
  struct Connection {
    std::array<uint32_t, 2> first{}, next{};  // sequence numbers: of the first packet, behind the last one
    bool known = false;
  };
  /** What a line says of a TCP segment. */
  struct Segment {
    std::string flags, options;
    uint32_t sequence = 0, acknowledged = 0, length = 0;
    bool has_sequence = false, has_acknowledged = false;
  };
  bool other();
  /** Sets a field of the draft; false, and the line is reported, if that is no such value. */
  bool say(const char* field, std::string_view text);
  bool read_ends(std::string_view source, std::string_view target, bool ports);
  bool read_segment(std::string_view text, Segment& segment);
  bool read_old_segment(std::string_view text, Segment& segment);
  bool read_old_header(std::string_view text);
  /** The option as ip summaries write it, with what is relative made absolute by adding `offset`. */
  static std::string option_text(std::string_view option, uint32_t offset);
  bool add_segment(Segment& segment);

  std::map<std::array<uint32_t, 3>, Connection> connections_;  // by addresses and ports, the lower end first
  int absolute_ = -1;  // whether sequence numbers are as they were; below 0: it is not known
  std::atomic<uint64_t> others_{0};
};

}  // namespace heddle
