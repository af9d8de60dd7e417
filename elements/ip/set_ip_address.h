#pragma once

#include "core/element.h"
#include "elements/ip/address_place.h"

namespace heddle {

/** SetIPAddress: sets the destination address annotation.
 *
 *      SetIPAddress(IPADDR [, ANNO])
 *
 *  IPADDR: an IPv4 address, as the next hop of ARPQuerier for example. ANNO: DST_IP (or its number in Click, 0), the
 *  only annotation of four bytes that there is. One input, one output; the packet stays as it is.
 *
 *  Handlers: `addr` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> SetIPAddress(10.0.0.2) -> StoreIPAddress(30) -> ToDump(out.pcap);
 */
class SetIPAddress : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override { return {.column_writes = columns(Column::dst)}; }
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> address_{0};  // network byte order
};

/** StoreIPAddress: writes an IPv4 address into packets.
 *
 *      StoreIPAddress(OFFSET)
 *      StoreIPAddress(IPADDR, OFFSET)
 *
 *  IPADDR: the address; without it, the packet's destination address annotation. OFFSET: byte of the packet where it
 *  goes, 0 to 16384; or `src` or `dst`: the address of the IPv4 header that annotation l3 marks, whose checksum, and
 *  that of TCP or UDP behind it, is corrected (RFC 1624). One input, one output. Drops packets that end before
 *  ("short").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> StoreIPAddress(10.0.0.1, src) -> ToDump(out.pcap);
 */
class StoreIPAddress : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  AddressPlace place_;
  bool own_ = false;      // an address of its own
  uint32_t address_ = 0;  // network byte order
};

}  // namespace heddle
