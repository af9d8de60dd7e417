#pragma once

#include "core/checks_setter.h"
#include "core/chooses.h"
#include "core/gpu_state.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/changes.h"
#include "functions/ipsec/replay_table.h"
#include "functions/ipsec/sequence_table.h"

namespace heddle {

namespace ipsec {
class Burst;
struct Arrived;
constexpr int kAnnounceUs = 100000;  ///< until reached limits are announced
}  // namespace ipsec

/** IPsecEncap: protects IP packets by ESP, in tunnels or end to end (RFC 4303).
 *
 *      IPsecEncap(FILE [, keywords OFFSET, DEVICE, BLOCKING])
 *
 *  FILE: path of a file of security associations, as `ip xfrm state` or `ip -s xfrm state` prints them; its mode must
 *  be 0600 or stricter, its owner this program's user or root, and keys appear nowhere else. Up to 100,000, of which no
 *  two have one SPI and one destination, and up to 1,000 one SPI. OFFSET: where the IP header begins, default 0; what
 *  is before it (an Ethernet header) stays before the outer header, and its last two bytes become 0x0800 or, for IPv6,
 *  0x86dd. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true,
 *  default) or drop ("no_slot").
 *
 *  Of an association FILE may say:
 *
 *      src ADDRESS dst ADDRESS                     the outer addresses, IPv4 or IPv6
 *      proto esp spi NUMBER mode tunnel            or mode transport
 *      enc rfc3686(ctr(aes)) KEY                   AES-CTR (RFC 3686); or `enc cbc(aes) KEY` (RFC 3602); with
 *      auth-trunc hmac(sha1) KEY 96                HMAC-SHA1-96 (RFC 2404); or `auth-trunc hmac(sha256) KEY 128`
 *                                                  (RFC 4868)
 *      aead rfc4106(gcm(aes)) KEY 128              AES-GCM in place of both (RFC 4106); or an ICV of 64 or 96 bits
 *      replay-window N flag esn                    window of up to 4096; extended sequence numbers (RFC 4303, 2.2.1);
 *                                                  also from `anti-replay esn context:`
 *      encap type espinudp sport 4500 dport 4500 addr 0.0.0.0     tunnels over IPv4 in UDP (RFC 3948), without checksum
 *      limit: soft N(packets), hard N(packets)     and the same of (bytes): its lifetime
 *      expire add: soft N(sec), hard N(sec)        the same in seconds since it was added, or, with `use:`, since its
 *                                                  first packet; 0: no limit. Also `limit time-hard N` and the like
 *      sel src PREFIX dst PREFIX                   which packets IPsecSequence gives it
 *
 *  What says nothing of packets here is passed over: `lastused`, `output-mark`, `crypto offload parameters`, `coa`,
 *  `if_id`, `dir`, flags wildrecv and align4. What would make it another association is an error: `mark`, `tfcpad`,
 *  `comp`, flags decap-dscp and icmp, extra-flag oseq-may-wrap, protocols and ports of a `sel` line.
 *
 *  AES keys have 128, 192 or 256 bits. A GPU does all of this, also of several kinds in one FILE, but for cbc(aes);
 *  with such an association in FILE the element needs a CPU, where intel-ipsec-mb does the work, and on a GPU it is an
 *  error.
 *
 *  Needs the columns sa, esp_sequence and esp_iv: an IPsecSequence before it sets them, on the CPU or between GPU
 *  ports, so that the sequence numbers of an association are in the order in which packets came, also where a GPU does
 *  the rest. It may name another IPsecEncap with the same associations at the same places of its FILE.
 *
 *  Inner packets are IPv4 or IPv6. What a link has padded behind them goes. The outer header of a tunnel takes over
 *  DSCP, ECN and DF (for IPv6: DF is set), unless the association has `extra-flag dont-encap-dscp`, `flag noecn` or
 *  `flag nopmtudisc`. In transport mode ESP comes behind the packet's IP header and, of IPv6, its hop-by-hop and
 *  routing headers. There is no fragmentation. Columns l3 and l4 mean nothing behind it.
 *
 *  Drops: "no_sa" (the column sa is no association of FILE; in transport mode: the packet does not go to its address),
 *  "malformed" (no IPv4 or IPv6 packet, it is cut, or it would get longer than 65,535 bytes), "fragment" (in transport
 *  mode, which takes whole packets).
 *
 *  Handlers: `associations` (r): a line each: place, SPI, outer source, outer destination, algorithms; `lifetimes` (r):
 *  a line for each that has limits: place, SPI, packets, bytes, and fresh, soft or hard; if it has limits in seconds,
 *  also seconds since it was added, and since its first packet or "-". Statistics: `associations`; with limits
 *  `expiring` and `expired`.
 *
 *  These change associations while packets flow; what is wrong with one changes nothing and is answered by line, and no
 *  answer has keys:
 *
 *      reload          (w) reads FILE again; SIGHUP does it for all elements
 *      add PATH        (w) adds the associations of another such file
 *      remove SPI [DST]  (w) takes one away, if it goes to DST, which is wanted where several have the SPI
 *
 *  An association of the same SPI and keys goes on, whatever file it is from, and of several the one of the same
 *  destination: its numbers, initialisation vectors, window and lifetime are those that it has, and not those of the
 *  file; addresses, mode, `encap`, flags and `sel` line may be others, but neither limits, window size nor `flag esn`.
 *  Others begin as the file says. One that goes and comes again is a new one, whose oseq and seq must say where it goes
 *  on. Packets that IPsecSequence has given an association leave with that, also if it goes meanwhile, but not from a
 *  Queue between the two, where such a packet is dropped ("no_sa"). When the handler returns, its keys have been wiped.
 *
 *  All IPsecEncaps with the same FILE change together, and one with another FILE may not have the same associations.
 *  What the chain was planned for stays: an association that needs more room before or behind packets than all at the
 *  start, another start of packets where these had one, mode transport where there was none, or what a GPU cannot do
 *  where it has to, is an error; and so is any change where IPsecSequence runs on a GPU. hotconfig plans anew, and
 *  reads FILE. A change makes the whole table anew, beside the old one, so it takes memory for both, also of a GPU.
 *  There are 200,000 places for at most 100,000 associations: those that stay keep theirs, which column sa has, and new
 *  ones get the lowest that are free when the change begins; with a Queue or the like between IPsecSequence and this
 *  only places that nobody has had.
 *
 *  Hot reconfiguration reads FILE: associations of the same SPI and keys count on, numbers and lifetimes, also of
 *  another FILE, and also where a GPU takes the numbers.
 *
 *  Errors: FILE cannot be read, others than its owner may use it, what is wrong in it by line; two associations with
 *  one SPI and destination; on a GPU an association that this cannot do; numbers of an IPsecSequence for other
 *  associations, or of an IPsecDecap.
 *
 *  A NAT forgets an address that is silent: RFC 3948's keep-alives are a datagram of one byte, 255, every 20 seconds,
 *  which the last lines of the example send. Messages of IKE to the same port have four zeros behind the UDP header;
 *  before IPsecDecap a Classifier(23/11 36/1194 42/00000000, -) keeps those to port 4500, behind an Ethernet header and
 *  an IPv4 header without options.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> IPsecSequence(esp)
 *        -> esp :: IPsecEncap(tunnels.keys, OFFSET 14) -> out :: ToDump(out.pcap);
 *      TimedSource(20, \<ff>, LIMIT 10) -> UDPIPEncap(198.51.100.1, 4500, 203.0.113.1, 4500)
 *        -> EtherEncap(0x0800, 02:00:00:00:00:01, 02:00:00:00:00:02) -> out;
 */
class IPsecEncap : public Element, public Chooses, public ChecksSetter {
 public:
  IPsecEncap();
  ~IPsecEncap() override;
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  void placed(bool on_gpu) override;
  std::string choice() const override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  int moves_head() const override {
    return associations_.front_varies() ? 0 : -static_cast<int>(associations_.front_bytes());
  }
  bool head_varies() const override { return associations_.front_varies(); }
  int prepends() const override { return static_cast<int>(associations_.front_bytes()); }
  int appends() const override { return static_cast<int>(associations_.tail_bytes()); }
  bool changes_length() const override { return true; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void take_state(Element& old) override { associations_.take_over(static_cast<IPsecEncap&>(old).associations_); }
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;
  std::string wrong_setter(Column column, const Element& setter) const override;

  ipsec::Associations& associations() { return associations_; }

 private:
  struct Work;
  /** Writes everything but ciphertext and ICV. A reason to drop the packet, or kGood. */
  int prepare(Packet* packet, const ipsec::Association& sa, uint32_t sequence, uint64_t iv, Work& to) const;
  /** Whether packets may wait, other than on their way, between an IPsecSequence and this. */
  bool has_waiting_before() const;
  /** Why this association cannot come to the plan as it is, or "". */
  std::string problem_with(const ipsec::FileAssociation& from) const;
  std::string file_;
  ipsec::Associations associations_;
  ipsec::Changes changes_{associations_, [this](const ipsec::FileAssociation& from) { return problem_with(from); }};
  std::vector<std::unique_ptr<ipsec::Burst>> bursts_;
};

/** IPsecSequence: chooses the security association of packets and takes a sequence number for each.
 *
 *      IPsecSequence(ENCAP [, keywords SPI, BY, MTU, DEVICE])
 *
 *  ENCAP: the name of the IPsecEncap that the packets go to. It sets the columns sa, esp_sequence and esp_iv, which
 *  that reads. SPI: the only association with this number gets all packets, while there is one. BY: `selector`
 *  (default): the one whose `sel` line in ENCAP's FILE has the inner addresses, with the longest destination prefix
 *  (without a `sel` line: all of IPv4 and IPv6); `column`: the one that the column sa says already.
 *
 *  Numbers rise by one a packet, in the order in which packets come to a thread, from what FILE says (oseq) on.
 *  Initialisation vectors are that number and a random one of this run, so that a FILE that is used again does not
 *  encipher different packets with the same key stream.
 *
 *  DEVICE gpu, which --device does not imply: it runs between GPU ports (FromGPUPort), where the tiles of a ring pair
 *  have their turn in the order in which packets came, so that numbers rise as on the CPU; nowhere else on a GPU. Ring
 *  pairs share the numbers of an association. FILE may then have what a GPU enciphers, but no limits, and no other
 *  IPsecSequence may take numbers of the same associations.
 *
 *  Where FILE gives an association limits, packets count by their length behind OFFSET. When one is reached, a line on
 *  standard error says so within a tenth of a second: a soft limit asks for a successor, a hard one ends the
 *  association, which has then had exactly so many packets, or, with bytes, the packet that got there. On a CPU the
 *  same is said of sequence numbers: when fewer than 2^28 are left, and when a packet gets none (RFC 4303, 3.3.3).
 *
 *  Seconds count from when FILE is read, by the router's clock (--simtime), whether packets come or not. If `lifetime
 *  current:` says when the association was added, and first used, in local time, as `ip -s xfrm state` does, what has
 *  passed of them by then counts as well: what is left is what the kernel had left.
 *
 *  The numbers are for one packet each: between it and ENCAP there may be nothing that copies packets or makes others
 *  of them, such as Tee or IPFragmenter.
 *
 *  MTU: most bytes of an IP packet behind ENCAP, 256 to 65535, default 65535. Packets that would get longer leave by
 *  output 1, if that is connected, without a number; if not, they are dropped ("too_big"). Behind output 1 they can be
 *  cut into fragments or, those with DF, be answered by ICMP (RFC 4301, 8.2), as in the example; handler `inner_mtu`
 *  tells the length that IPFragmenter and ICMPError need.
 *
 *  Handlers: `mtu` (rw); `inner_mtu` (r): the longest packet that all tunnels of ENCAP can take within the MTU;
 *  `numbers` (r): a line for each association: its place, SPI, and the last number that has been taken.
 *
 *  Drops, before a number or lifetime is used: "no_sa" (no selector has the addresses, the packet is no IP packet and
 *  BY is selector, or column sa is no association), and what ENCAP would drop: "no_sa", "malformed", "fragment";
 *  "too_big". Also "exhausted" (all 4,294,967,295 numbers of the association have been used, or, extended, 2^63 - 1: it
 *  needs a new key), "expired" (it has reached a hard limit).
 *
 *  Errors: ENCAP is no IPsecEncap of this chain; its OFFSET is not where a CheckIPHeader on the way here has found the
 *  header; SPI is that of no association of its FILE, or of several; another IPsecSequence takes numbers of the same
 *  association for another IPsecEncap; BY is selector, and two associations have one selector; on a GPU what this
 *  cannot do.
 *
 *  Example:
 *
 *      // aead rfc4106(gcm(aes)) KEY 128 over IPv4: inner_mtu is 1446.
 *      FromDump(in.pcap) -> family :: Classifier(12/0800, 12/86dd);
 *      family[0] -> CheckIPHeader(14) -> s :: IPsecSequence(esp, SPI 0x1001, MTU 1500)
 *        -> esp :: IPsecEncap(tunnels.keys, OFFSET 14) -> ToDump(out.pcap);
 *      s[1] -> f :: IPFragmenter(1446) -> IPsecSequence(esp, SPI 0x1001, MTU 1500) -> esp;
 *      f[1] -> ICMPError(192.0.2.1, unreachable, needfrag, PMTU 1446) -> back :: ToDump(back.pcap, ENCAP IP);
 *      family[1] -> CheckIP6Header(OFFSET 14) -> s6 :: IPsecSequence(esp, SPI 0x1001, MTU 1500) -> esp;
 *      s6[1] -> ICMP6Error(2001:db8::1, packettoobig, PMTU 1446) -> back;
 */
class IPsecSequence : public Element, public Chooses, public KeepsGpuState {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  bool follows_device() const override { return false; }
  void placed(bool on_gpu) override;
  std::string choice() const override { return {}; }
  size_t gpu_states() const override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override;
  void on_timer(int thread) override;
  std::string stop() override;
  const char* ports() const override { return "1/1-2"; }
  void handlers(Handlers& list) override;

  const std::string& encap_name() const { return encap_name_; }
  /** Whether its numbers, and the places that it gives, are those of the same associations there. After link(). */
  bool numbers(const ipsec::Associations& others) const;

 private:
  static constexpr uint32_t kMinMtu = 256, kNoMtu = 65535;
  using By = ipsec::By;
  uint32_t inner_mtu() const;
  /** A line for each association: place, SPI, the last number that has been taken. */
  std::string numbers() const;
  /** Throw Error: if another IPsecEncap's numbers are those of the same association, or two have one selector. */
  void check_counts_alone(const Directory& directory);
  void check_selectors() const;
  void check_fits_gpu() const;
  /** Brings the associations up to the numbers that a GPU has taken. Throws Error. */
  void fetch_numbers();
  std::string encap_name_;
  By by_ = By::selector;
  uint32_t spi_ = 0, only_ = 0;  // only_: the association that `spi_` names
  std::atomic<uint32_t> mtu_{kNoMtu};
  ipsec::Associations* associations_ = nullptr;
  std::vector<const IPsecSequence*> beside_;  // others that take numbers of these
  ipsec::SequenceTable table_;
};

/** IPsecDecap: takes IP packets out of ESP, of tunnels or end to end (RFC 4303).
 *
 *      IPsecDecap(FILE [, keywords OFFSET, DEVICE, BLOCKING])
 *
 *  FILE and OFFSET are those of IPsecEncap, DEVICE and BLOCKING too. The association is the one with the packet's SPI
 *  and outer destination; one with `encap` takes UDP to its dport only, whatever port that comes from, and others take
 *  no UDP. What is before the outer header stays before the inner packet, and its last two bytes become 0x0800 or, for
 *  IPv6, 0x86dd. Sets the columns sa and esp_sequence and, where FILE has extended numbers, esp_iv, to whole ones.
 *  Columns l3 and l4 mean nothing behind it.
 *
 *  A packet leaves only if its ICV is right, which is compared in constant time, and if it is one of the association's
 *  `sel` line, should that have one (RFC 4301, 5.2). ECN marks of a tunnel's outer header are taken over (RFC 6040),
 *  unless the association has `flag noecn`; else the inner header stays as it is.
 *
 *  Replays are dropped when the association's window is not 0: a sequence number must come for the first time, and not
 *  be below the window of that many, up to 4096 (RFC 4303, 3.4.3); numbers up to FILE's `seq` count as having come. The
 *  upper half of extended numbers is inferred (RFC 4303, A2): a number is within 2^32 from the window's bottom or, with
 *  an IPsecReplay behind, before which packets may be under way on a GPU in any order, from 2^30 below the highest
 *  number that was authentic.
 *
 *  Limits of an association are those of its good packets and of the bytes that were protected in them, without
 *  padding; what is reached is said as by IPsecSequence.
 *
 *  A GPU does what it does for IPsecEncap, and neither windows nor `sel` lines nor limits, for all of which the order
 *  of arrival matters: IPsecReplay right behind it judges these, on the CPU or between GPU ports. Then this element
 *  leaves them to that one wherever it runs. Without it, and with an association in FILE that a GPU cannot do, or one
 *  in transport mode with limits, which IPsecReplay cannot count, it runs on a CPU, where intel-ipsec-mb does the work,
 *  and with DEVICE gpu it is an error, unless there is nothing to judge. With extended numbers the load does not decide
 *  (DEVICE auto is an error), for each side would know only its own highest numbers.
 *
 *  Drops: "not_esp" (no ESP, or a fragment; of UDP: to a port that no association has, or IKE's), "short" (cut, or no
 *  room for an ESP packet), "no_sa", "replayed", "bad_icv", "bad_padding" (RFC 4303, 2.4), "not_ip" (the content is no
 *  IPv4 or IPv6 packet; also dummy packets), "keepalive" (RFC 3948, 2.3), "expired" (the association has reached a hard
 *  limit), "selector" (it is none of the association's packets), "ecn" (congestion on the way that the inner header
 *  cannot say).
 *
 *  Hot reconfiguration: as IPsecEncap; replay windows, too. Of a window of another size, all numbers up to its highest
 *  count as having come.
 *
 *  Handlers, statistics and errors: those of IPsecEncap; and a CheckIPHeader on the way here that has found the header
 *  elsewhere than OFFSET says. Where IPsecReplay runs on a GPU associations cannot change. What is planned for is here
 *  that an association may have extended numbers, that a GPU can do all and, without IPsecReplay, need judge nothing.
 *  So that nothing is lost when an association is replaced by another, this end first gets both: `add`, or `reload` of
 *  a FILE with both, then the other end, then `remove`.
 *
 *  Example:
 *
 *      FromDump(esp.pcap) -> IPsecDecap(tunnels.keys, OFFSET 14) -> CheckIPHeader(14) -> ToDump(plain.pcap);
 */
class IPsecDecap : public Element, public Chooses, public KeepsGpuState {
 public:
  IPsecDecap();
  ~IPsecDecap() override;
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  bool follows_device() const override { return fits_gpu(); }
  void placed(bool on_gpu) override;
  std::string choice() const override;
  size_t gpu_states() const override { return associations_.has_extended() ? ipsec::kMaxPlaces : 1; }
  std::string hidden_from_cpu() const override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  bool head_varies() const override { return true; }
  bool changes_length() const override { return true; }
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return ipsec::kAnnounceUs; }  // limits may come with new associations
  void on_timer(int) override { associations_.announce(name); }
  std::string stop() override;
  void take_state(Element& old) override { associations_.take_over(static_cast<IPsecDecap&>(old).associations_); }
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  ipsec::Associations& associations() { return associations_; }
  /** An IPsecReplay is right behind it. */
  void judged_behind() { judged_behind_ = true; }
  /** Whether that one judges windows, selectors and lifetimes, which it does of what a GPU could decipher. */
  bool leaves_judging() const {
    constexpr uint32_t kNone = ipsec::Associations::kNone;
    return judged_behind_ && associations_.beyond_gpu() == kNone && associations_.counts_content() == kNone;
  }

 private:
  struct Work;
  using Generation = ipsec::Generation;
  bool fits_gpu() const;
  std::string why_on_cpu() const;
  /** Finds the packet's association among `all`. A reason to drop it, or kGood. */
  int prepare(const Generation& all, Packet* packet, Work& to) const;
  /** Takes out what has been deciphered, at `now`. The same. */
  int open(const Generation& all, Packet* packet, const Work& it, ipsec::Lifetime::Time now) const;
  void finish(const Generation& all, Batch& batch, ipsec::Burst& burst, const Work* work) const;
  /** As IPsecEncap. */
  std::string problem_with(const ipsec::FileAssociation& from) const;
  /** Whether an association may begin at a place that another had: a GPU remembers the highest extended number
   *  there. */
  bool may_reuse(uint32_t place, const ipsec::FileAssociation& from) const;
  std::string file_;
  ipsec::Associations associations_;
  ipsec::Changes changes_{associations_, [this](const ipsec::FileAssociation& from) { return problem_with(from); }};
  std::vector<std::unique_ptr<ipsec::Burst>> bursts_;
  bool judged_behind_ = false;
};

/** IPsecReplay: judges what an IPsecDecap right before it has deciphered, in the order in which packets came.
 *
 *      IPsecReplay(DECAP [, keyword DEVICE])
 *
 *  DECAP: the name of that IPsecDecap. Replays, `sel` lines and limits of its associations are judged here, as
 *  described there, so that it can run on a GPU. If an association of DECAP's FILE keeps that on the CPU, it judges for
 *  itself, and all packets pass here.
 *
 *  DEVICE gpu, which --device does not imply: it judges between GPU ports (FromGPUPort), where the tiles of a ring pair
 *  have their turn in the order in which packets came; nowhere else on a GPU. Ring pairs share the windows. FILE may
 *  then have no limits.
 *
 *  Padding and content have been judged before, so the number of a packet that IPsecDecap drops for them has not come.
 *  Columns l3 and l4 mean nothing behind it.
 *
 *  Drops: "replayed", "selector", "expired", as IPsecDecap.
 *
 *  Errors: DECAP is no IPsecDecap of this chain, or something stands between the two; on a GPU an association with
 *  limits.
 *
 *  Example:
 *
 *      FromDump(esp.pcap) -> d :: IPsecDecap(tunnels.keys, OFFSET 14) -> IPsecReplay(d) -> ToDump(plain.pcap);
 */
class IPsecReplay : public Element, public Chooses, public KeepsGpuState {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  bool follows_device() const override { return false; }
  void placed(bool on_gpu) override;
  std::string choice() const override { return {}; }
  size_t gpu_states() const override;
  std::span<const std::byte> first_gpu_state() const override;
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void run_cpu(Batch& batch) override;

 private:
  /** Brings the associations' windows up to those that a GPU keeps. Throws Error. */
  void fetch_windows();
  std::string decap_name_;
  IPsecDecap* decap_ = nullptr;
  ipsec::ReplayTable table_;
};

}  // namespace heddle
