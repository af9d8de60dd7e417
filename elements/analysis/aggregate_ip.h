#pragma once

#include "core/element.h"
#include "elements/analysis/ip_field.h"

namespace heddle {

/** AggregateIP: sets the aggregate annotation from a field of IP packets.
 *
 *      AggregateIP(FIELD [, keywords INCREMENTAL, UNSHIFT_IP_ADDR])
 *
 *  Packets have an IPv4 header at annotation l3. The aggregate becomes the field's value. FIELD is a header and a field
 *  of it by name, by place, or part of a named one, and what is left of that:
 *
 *      ip         vers hl tos dscp ecn len id off rf df mf fragoff ttl proto sum src dst
 *      tcp        sport dport seq ackno hl flags fin syn rst psh ack urg win sum urp
 *      udp        sport dport len sum
 *      icmp       type code sum
 *      tcpudp     sport dport (also `ip sport`, or `sport` alone)
 *      [4] [4:2] [4-5]     byte 4; two bytes from byte 4 on; bytes 4 to 5
 *      {4} {4:2} {4-5}     the same of bits
 *      /8  & 0x3F0         the first 8 bits; the bits of a mask, whose ones are side by side
 *
 *  `off` is the whole word of the fragment offset, `fragoff` without flags; `ack` (or `ackf`) is TCP's flag, `ackno`
 *  its number. Places can be asked of any protocol by its name or as `ip proto 47`, of any transport header (`transp`),
 *  and of what TCP and UDP carry (`data`): "ip src/8", "ip[12]", "ip{96-103}" and "ip src & 0xFF000000" are the same.
 *  At most 32 bits. (Click wants them within an aligned word.) Click's [4, 2] is understood, too, in quotes.
 *
 *  INCREMENTAL: whether what the annotation was, times two to the number of the field's bits, is added, default false;
 *  so several of these put fields side by side. UNSHIFT_IP_ADDR: whether bits of an address stay where they are in it,
 *  default false: 10.0.0.0 rather than 10 for `ip src/8`.
 *
 *  Packets that lack the field leave by output 1 or, if that is not connected, are dropped ("no_field"): others than
 *  IPv4, of another protocol, too short, or, for all but `ip`, later fragments.
 *
 *  Handlers: `field` (r, in the same language), `header` (r, such as "ip", "tcp", "transp" or "payload"), `bit_offset`
 *  and `bit_length` (r).
 *
 *  Example, packets for each network and port:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> AggregateIP(ip dst/16) -> AggregateIP(sport, INCREMENTAL true)
 *        -> a :: AggregateCounter -> Discard;
 *      DriverManager(wait_stop, write a.write_text_file -);
 */
class AggregateIP : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  IPField field_;
  bool incremental_ = false;
  uint32_t unshift_ = 0;  // bits behind the field in its address
};

}  // namespace heddle
