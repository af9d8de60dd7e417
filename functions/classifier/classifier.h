#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "core/element.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/table.h"

namespace heddle {

/** What BitVectorClassifier and Firewall have in common: arguments, handlers and the way of a packet. They differ in the
 *  actions that their rules may have. */
class RuleElement : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;
  void run_cpu(Batch& batch) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"rules", count_.load()}}; }

  const classifier::BitVectorTable& rules() const { return table_; }

 protected:
  RuleElement() {
    table = &table_;
    retiring.push_back(&table_);
  }
  enum Reason : int { kShort, kNoMatch, kDenied };
  /** The actions of this element; `usual` is set if rules need none. */
  virtual classifier::Actions actions() const = 0;
  /** What becomes of packets that hit no rule, unless DEFAULT says; nothing if it must. */
  virtual std::optional<uint16_t> usual_default() const = 0;

 private:
  /** The rules of RULES and of the arguments. Reports mistakes as text lines. */
  std::vector<classifier::Rule> read_rules(std::vector<std::string>& errors) const;
  void reload();
  std::string lookup_text(const std::string& key) const;

  classifier::BitVectorTable table_;
  std::string file_;
  classifier::Actions actions_;
  std::vector<classifier::Rule> own_rules_;  // those of the arguments
  uint16_t default_ = 0;
  size_t most_megabytes_ = 4096;
  std::atomic<size_t> count_{0};  // rules in the table, for statistics(), which runs beside changes
};

/** BitVectorClassifier: sorts IPv4 packets by rules on addresses, ports and protocol; the first rule that matches counts.
 *
 *      BitVectorClassifier(RULE1, RULE2, ... [, keywords RULES, FORMAT, ACTION, DEFAULT, MEMORY, DEVICE, BLOCKING])
 *
 *  Each argument is a rule as ClassBench writes filters, and what becomes of its packets:
 *
 *      @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [ACTION]
 *
 *  prefixes, ranges of source and destination ports, the protocol (mask 0xFF) or any (0x00/0x00), and TCP flags, which are
 *  ignored. ACTION: an output, or `deny`. RULES: a file with one such rule a line ("#" starts a comment). Rules are
 *  numbered from 0, those of the file first; the lowest number wins. FORMAT: of the file; classbench, which is the only
 *  one. ACTION: that of rules that name none, default 0. DEFAULT: what becomes of packets that hit no rule, an output or
 *  `deny`; if it is missing they are dropped ("no_match"). MEMORY: most megabytes that the rules' bit vectors may take, default
 *  4096. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in flight, wait (true, default)
 *  or drop ("no_slot").
 *
 *  One input, one or more outputs. Needs the annotations l3 and l4: put CheckIPHeader before it. Sets the annotation rule to
 *  the number of the rule, 4294967295 for none. Drops: "short", "no_match", "denied" (an action says so).
 *
 *  Ports are those of TCP, UDP, DCCP, SCTP and UDP-Lite. Packets of other protocols and fragments other than the first
 *  have no ports: both count as 0, so a rule that asks for other ports does not match them. Packets without a whole IPv4
 *  header, or with one of these protocols and fewer than 4 bytes behind the header, are dropped ("short").
 *
 *  The algorithm is that of aggregated bit vectors (Baboescu, Varghese, SIGCOMM 2001). Memory grows with the square of the
 *  number of rules: at most 5 MB for 1,000, 500 MB for 10,000. It is computed first, and a set that needs more than MEMORY is
 *  refused with the size that it needs.
 *
 *  Handlers:
 *      lookup SRC DST SPORT DPORT PROTO  (read) "RULE ACTION" that such a packet gets; RULE is -1 if it hits none
 *      rules                             (read) number of rules
 *      memory                            (read) bytes of the bit vectors and all that belongs to them
 *      reload                            (write) reads RULES again and replaces all rules at once, while packets flow; a file
 *                                        with errors changes nothing. SIGHUP does it for all elements with this handler
 *
 *  Errors: every line and argument that is no rule, with the reason; an output that is not connected; too many rules for
 *  MEMORY. Statistics: `rules`.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14)
 *          -> c :: BitVectorClassifier(@10.0.0.0/8 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF 1, DEFAULT 0);
 *      c[0] -> ToDump(rest.pcap); c[1] -> ToDump(web.pcap);
 */
class BitVectorClassifier : public RuleElement {
 public:
  const char* ports() const override { return "1/1-"; }

 protected:
  classifier::Actions actions() const override;
  std::optional<uint16_t> usual_default() const override;
};

/** Firewall: lets IPv4 packets pass or denies them by rules on addresses, ports and protocol; the first that matches counts.
 *
 *      Firewall(RULE1, RULE2, ..., DEFAULT allow|deny [, keywords RULES, FORMAT, ACTION, MEMORY, DEVICE, BLOCKING])
 *
 *  DEFAULT, which is mandatory: what becomes of packets that hit no rule. The action of a rule is `allow` or `deny`; ACTION: that
 *  of rules that name none (files of ClassBench); without it, each rule must name one. Rules, the other keywords, annotations,
 *  handlers, errors, and what counts as the ports of fragments and of other protocols are those of BitVectorClassifier
 *  (heddle elements BitVectorClassifier).
 *
 *  Output 0: packets that are allowed. Output 1, if connected: those denied. If not, they are dropped ("denied"). Packets that
 *  are too short are dropped in any case ("short").
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14)
 *          -> Firewall(@0.0.0.0/0 10.0.0.0/8 0 : 65535 22 : 22 0x06/0xFF deny, DEFAULT allow)
 *          -> ToDump(allowed.pcap);
 */
class Firewall : public RuleElement {
 public:
  const char* ports() const override { return "1/1-2"; }

 protected:
  classifier::Actions actions() const override;
  std::optional<uint16_t> usual_default() const override { return std::nullopt; }
};

}  // namespace heddle
