#pragma once

#include "core/element.h"

namespace heddle {

/** SetIPDSCP: sets the differentiated services code point of IPv4 packets.
 *
 *      SetIPDSCP(DSCP)
 *
 *  DSCP: 0 to 63. The header is at annotation l3; its checksum is corrected (RFC 1624), the two bits of ECN stay. One
 *  input, one output. Drops packets without a header at l3 ("no_header"). RFC 2474.
 *
 *  Handlers: `dscp` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> SetIPDSCP(46) -> ToDump(out.pcap);
 */
class SetIPDSCP : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> dscp_{0};
};

/** SetIPECN: sets the explicit congestion notification of IPv4 packets.
 *
 *      SetIPECN(ECN)
 *
 *  ECN: 0 to 3, or a word: no (0), ect1 or ECT(1) (1), ect2 or ECT(0) (2), ce or CE (3). The header is at annotation
 *  l3; its checksum is corrected (RFC 1624), the code point beside it stays. One input, one output. Drops packets
 *  without a header at l3 ("no_header"). RFC 3168.
 *
 *  Handlers: `ecn` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> SetIPECN(ect1) -> ToDump(out.pcap);
 */
class SetIPECN : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<uint32_t> ecn_{0};
};

/** MarkIPCE: marks IPv4 packets that have met congestion.
 *
 *      MarkIPCE([FORCE])
 *
 *  Sets ECN to Congestion Experienced (3) in the header at annotation l3, whose checksum is corrected. FORCE: whether
 *  that is done for packets that do not take part in ECN (0), too, default false; else these are dropped ("not_ecn").
 *  One input, one output. Drops packets without a header at l3 ("no_header"). RFC 3168.
 *
 *  Handlers: `drops` (r).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> MarkIPCE(true) -> ToDump(out.pcap);
 */
class MarkIPCE : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  bool force_ = false;
  PerThreadCounts dropped_{counts};
};

}  // namespace heddle
