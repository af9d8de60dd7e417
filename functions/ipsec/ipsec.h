#pragma once

#include <utility>

#include "functions/ipsec/associations.h"

namespace heddle {

namespace ipsec {
class Burst;
}

/** IPsecEncap: puts IP packets into ESP tunnels over IPv4 (RFC 4303).
 *
 *      IPsecEncap(FILE [, keywords OFFSET, DEVICE, BLOCKING])
 *
 *  FILE: security associations, as `ip xfrm state` prints them; its mode must be 0600 or stricter, and keys appear
 *  nowhere else. Up to 100,000; in tunnel mode over IPv4, with AES-CTR and keys of 128, 192 or 256 bits (RFC 3686: `enc rfc3686(ctr(aes))`) and
 *  HMAC-SHA1-96 (RFC 2404: `auth-trunc hmac(sha1) KEY 96`). OFFSET: where the IP header begins, default 0; what is
 *  before it (an Ethernet header) stays before the outer header, and its last two bytes become 0x0800. DEVICE: cpu or
 *  gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop
 *  ("no_slot").
 *
 *  Needs the columns sa, esp_sequence and esp_iv: an IPsecSequence before it sets them, on the CPU, so that the
 *  sequence numbers of an association are in the order in which packets came, also where a GPU does the rest.
 *
 *  Inner packets are IPv4 or IPv6. What a link has padded behind them goes. The outer header takes over DSCP, ECN and
 *  DF (for IPv6: DF is set), unless the association has `extra-flag dont-encap-dscp`, `flag noecn` or `flag
 *  nopmtudisc`. Packets grow by 50 to 53 bytes; there is no fragmentation. On the CPU intel-ipsec-mb does the work.
 *  Columns l3 and l4 mean nothing behind it.
 *
 *  Drops: "no_sa" (the column sa is no association of FILE), "malformed" (no IPv4 or IPv6 packet, or it is cut).
 *
 *  Handlers: `associations` (r): a line each: place in FILE, SPI, outer source, outer destination. Statistics:
 *  `associations`.
 *
 *  Errors: FILE cannot be read, others than its owner may use it, what is wrong in it by line; two associations with
 *  one SPI.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPsecSequence(esp)
 *        -> esp :: IPsecEncap(tunnels.keys, OFFSET 14) -> ToDump(out.pcap);
 */
class IPsecEncap : public Element {
 public:
  IPsecEncap();
  ~IPsecEncap() override;
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  int moves_head() const override { return -static_cast<int>(ipsec::kFrontBytes); }
  int prepends() const override { return static_cast<int>(ipsec::kFrontBytes); }
  int appends() const override {
    return static_cast<int>(ipsec::kMostPadding + ipsec::kTrailerBytes + ipsec::kIcvBytes);
  }
  bool changes_length() const override { return true; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  ipsec::Associations& associations() { return associations_; }

 private:
  ipsec::Associations associations_;
  std::vector<std::unique_ptr<ipsec::Burst>> bursts_;
};

/** IPsecSequence: chooses the security association of packets and takes a sequence number for each.
 *
 *      IPsecSequence(ENCAP [, keywords SPI, BY])
 *
 *  ENCAP: the name of the IPsecEncap that the packets go to. It sets the columns sa, esp_sequence and esp_iv, which
 *  that reads. SPI: the association with this number gets all packets. BY: `selector` (default): the one whose `sel`
 *  line in ENCAP's FILE has the inner IPv4 addresses, with the longest destination prefix (without a `sel` line:
 *  0.0.0.0/0); `column`: the one that the column sa says already.
 *
 *  Numbers rise by one a packet, in the order in which packets come to a thread, from what FILE says (oseq) on.
 *  Initialisation vectors are that number and a random one of this run, so that a FILE that is used again does not
 *  encipher different packets with the same key stream. Runs on the CPU.
 *
 *  Drops: "no_sa" (no selector has the addresses, the packet is not IPv4 and BY is selector, or column sa is no
 *  association), "exhausted" (all 4,294,967,295 numbers of the association have been used: it needs a new key).
 *
 *  Errors: ENCAP is no IPsecEncap of this chain; SPI is none of its FILE.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPsecSequence(esp, SPI 0x1001)
 *        -> esp :: IPsecEncap(tunnels.keys, OFFSET 14) -> ToDump(out.pcap);
 */
class IPsecSequence : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  enum class By { selector, column, spi };
  std::string encap_name_;
  By by_ = By::selector;
  uint32_t spi_ = 0, only_ = 0;  // only_: the association that `spi_` names
  ipsec::Associations* associations_ = nullptr;
};

class IPsecReplay;

/** IPsecDecap: takes IP packets out of ESP tunnels over IPv4 (RFC 4303).
 *
 *      IPsecDecap(FILE [, keyword OFFSET])
 *
 *  FILE and OFFSET are those of IPsecEncap. Runs on the CPU. The association is the one with the packet's SPI and outer
 *  destination. What is before the outer header stays before the inner packet, and its last two bytes become 0x0800 or,
 *  for IPv6, 0x86dd. Sets the columns sa and esp_sequence. On the CPU intel-ipsec-mb does the work. Columns l3 and l4
 *  mean nothing behind it.
 *
 *  A packet leaves only if its ICV is right, which is compared in constant time. The inner header stays as it is: ECN
 *  marks of the outer one are not taken over.
 *
 *  It also judges replays, when the association's replay-window is not 0: a sequence number must come for the
 *  first time, and not be below the window of that many (RFC 4303, 3.4.3). Where there
 *  is an IPsecReplay behind it, that judges instead.
 *
 *  Drops: "not_esp" (no IPv4 packet of protocol 50, or a fragment), "short" (cut, or no room for an ESP packet),
 *  "no_sa", "replayed", "bad_icv", "bad_padding" (RFC 4303, 2.4), "not_ip" (the content is no IPv4 or IPv6 packet; also
 *  dummy packets).
 *
 *  Handlers and statistics: those of IPsecEncap. Errors: those of IPsecEncap; with an IPsecReplay and
 *  associations with a replay-window: a way from it to the end of the chain that no IPsecReplay is on.
 *
 *  Example:
 *
 *      FromDump(esp.pcap) -> IPsecDecap(tunnels.keys, OFFSET 14) -> CheckIPHeader(14) -> ToDump(plain.pcap);
 */
class IPsecDecap : public Element {
 public:
  IPsecDecap();
  ~IPsecDecap() override;
  void configure(click::Arguments& arguments) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool head_varies() const override { return true; }
  bool changes_length() const override { return true; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  ipsec::Associations& associations() { return associations_; }
  /** Leaves the anti-replay check to an element behind. False if another one has it already. Before start(). */
  bool leave_replays_to(const Element* judge) { return std::exchange(judge_, judge) == nullptr; }

 private:
  struct Work;
  bool judges_replays() const { return judge_ == nullptr; }
  /** Throws Error if packets can leave the chain without the anti-replay check. */
  void require_judge() const;
  void finish(Batch& batch, ipsec::Burst& burst, const Work* work);
  ipsec::Associations associations_;
  const Element* judge_ = nullptr;
  std::vector<std::unique_ptr<ipsec::Burst>> bursts_;
};

/** IPsecReplay: drops packets whose ESP sequence number has come before (RFC 4303, 3.4.3).
 *
 *      IPsecReplay(DECAP)
 *
 *  DECAP: the name of the IPsecDecap that the packets have come from, and which leaves the check to it. Goes by the columns sa and esp_sequence, which that sets: no IPsecSequence may be between the two. Each
 *  association's replay-window says how far below the highest number one may be; of several packets with one number the
 *  first goes on. With replay-window 0 all do. Runs on the CPU.
 *
 *  What is between the two sees replayed packets.
 *
 *  Drops: "replayed", "no_sa" (column sa is no association of DECAP's).
 *
 *  Errors: DECAP is no IPsecDecap of this chain, or has another IPsecReplay.
 *
 *  Example:
 *
 *      FromDump(esp.pcap) -> out :: IPsecDecap(tunnels.keys, OFFSET 14) -> IPsecReplay(out)
 *        -> CheckIPHeader(14) -> ToDump(plain.pcap);
 */
class IPsecReplay : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  std::string decap_name_;
  ipsec::Associations* associations_ = nullptr;
};

}  // namespace heddle
