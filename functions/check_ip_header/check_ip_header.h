#pragma once

#include <array>
#include <vector>

#include "core/chooses.h"
#include "core/element.h"
#include "core/gpu_state.h"
#include "core/parses.h"
#include "functions/check_ip_header/rule.h"

namespace heddle {

/** CheckIPHeader: lets valid IPv4 headers pass and marks them.
 *
 *      CheckIPHeader([OFFSET, keywords INTERFACES, BADSRC, GOODDST, CHECKSUM, VERBOSE, DETAILS, DEVICE, BLOCKING])
 *
 *  OFFSET: byte of the packet where the IPv4 header begins, default 0, up to 16384; 14 in an Ethernet frame. BADSRC:
 *  source addresses that are not accepted, separated by spaces; default none. GOODDST: destinations that are accepted
 *  whatever the source. INTERFACES: addresses of this router with their networks, separated by spaces: 18.26.4.9/24
 *  18.32.9.44/28 means BADSRC 18.26.4.255 18.32.9.47 0.0.0.0 255.255.255.255 and GOODDST 18.26.4.9 18.32.9.44.
 *  CHECKSUM: whether to verify the header checksum, default true. VERBOSE: whether to print a line to standard error
 *  for every bad packet, default false (Click then prints the first one; here the final report says what was dropped
 *  and why). DETAILS: whether there is a handler `drop_details`, default false. Click's old CheckIPHeader(BADSRC,
 *  OFFSET), in which 0.0.0.0 and 255.255.255.255 are bad, too, is understood.
 *
 *  For packets that pass it sets the annotations dst (destination address), l3 and l4 (header offsets), and cuts bytes
 *  behind the IPv4 packet (Ethernet padding), as Click does.
 *
 *  DEVICE gpu, which --device does not imply: it runs on the GPU, where packets then are with functions behind it that
 *  want what it sets, and between GPU ports. There VERBOSE is an error, and so are more than 60 addresses in all.
 *  BLOCKING: as for EtherMirror.
 *
 *  Output 0: valid packets. Output 1, if connected: the others, with the annotation dst 0 and without headers. If not,
 *  they are dropped: "short" (ends before the header does), "bad_version", "bad_header_length", "bad_length" (total
 *  length smaller than the header, or larger than the packet), "bad_checksum", "bad_source". RFC 791; RFC 1812, 5.2.2
 *  and 5.3.7.
 *
 *  With --isolate each function on a GPU behind it parses headers for itself: before all but the first one the CPU
 *  checks them again, and sets the annotations, unless what lies between has changed them. Packets whose header is not
 *  valid any more go on with the annotations that they have. Statistics: `parsed_again`, how many were valid then.
 *
 *  Handlers: `count` (r): valid packets; `drops` (r): others, whether dropped or sent to output 1; `drop_details` (r):
 *  these by reason, a line each, the number, a tab and Click's words for it.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> ToDump(valid.pcap);
 */
class CheckIPHeader : public Element, public Chooses, public KeepsGpuState, public Parses {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  bool changes_length() const override { return true; }  // cuts what lies behind the IP packet
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  int parses_at() const override { return offset_; }
  void parse_again(Batch& batch, ColumnSet columns) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;
  void handlers(Handlers& list) override;
  /** The CPU has the header in its cache anyway if anything else of the packet is wanted there. */
  bool follows_device() const override { return false; }
  void placed(bool on_gpu) override;
  std::string choice() const override { return {}; }

 private:
  using Reason = check_ip::Reason;
  static constexpr int kReasons = check_ip::kReasons;

  Reason check(const uint8_t* header, uint32_t room) const;
  /** Takes packets [first, end) of a batch, as many as are looked at side by side, if all are valid and have no
   *  options; else false, and l3 is set for some. */
  bool pass_usual(Batch& batch, int first, int end) const;
  /** Looks at each of them. Returns how many it has refused. */
  int check_each(Batch& batch, int first, int end);
  /** What happens to a bad packet. */
  void refuse(Batch& batch, int i, Reason reason);
  /** What the GPU has counted so far. */
  check_ip::Counts counted_there() const;
  uint64_t bad(int reason) const;

  int offset_ = 0;
  bool checksum_ = true, verbose_ = false, details_ = false;
  std::vector<uint32_t> bad_sources_, good_destinations_;  // network byte order
  FixedTable<check_ip::Image> image_;

  PerThreadCounts valid_{counts}, parsed_again_{counts};
  /** Written by one thread, read by any. */
  struct alignas(kCacheLine) Tally {
    std::array<std::atomic<uint64_t>, kReasons> bad{};
  };
  std::array<Tally, kMaxThreads> tally_;  // by thread
};

}  // namespace heddle
