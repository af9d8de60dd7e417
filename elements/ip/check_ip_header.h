#pragma once

#include <vector>

#include "core/element.h"

namespace heddle {

/** CheckIPHeader: lets valid IPv4 headers pass and marks them.
 *
 *      CheckIPHeader([OFFSET, keywords BADSRC, GOODDST, CHECKSUM])
 *
 *  OFFSET: byte of the packet where the IPv4 header begins, default 0; 14 in an Ethernet frame. BADSRC: source
 *  addresses that are not accepted, separated by spaces; default none. GOODDST: destinations that are accepted whatever
 *  the source. CHECKSUM: whether to verify the header checksum, default true.
 *
 *  For packets that pass it sets the annotations dst (destination address), l3 and l4 (header offsets), and cuts bytes
 *  behind the IPv4 packet (Ethernet padding), as Click does.
 *
 *  Output 0: valid packets. Output 1, if connected: the others, with their annotations 0. If not, they are dropped:
 *  "short" (ends before the header does), "bad_version", "bad_header_length", "bad_length" (total length smaller than
 *  the header, or larger than the packet), "bad_checksum", "bad_source". RFC 791; RFC 1812, 5.2.2.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> ToDump(valid.pcap);
 */
class CheckIPHeader : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  bool changes_length() const override { return true; }  // cuts what lies behind the IP packet
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

  enum Reason : int { kValid = -1, kShort, kBadVersion, kBadHeaderLength, kBadLength, kBadChecksum, kBadSource };

 private:
  Reason check(const uint8_t* header, uint32_t room) const;

  int offset_ = 0;
  bool checksum_ = true;
  std::vector<uint32_t> bad_sources_, good_destinations_;  // network byte order
};

}  // namespace heddle
