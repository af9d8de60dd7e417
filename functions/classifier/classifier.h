#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/chooses.h"
#include "core/element.h"
#include "core/gpu_state.h"
#include "functions/classifier/auto_engine.h"
#include "functions/classifier/hits.h"
#include "functions/classifier/key_reader.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/rule_set.h"

namespace heddle {

/** What BitVectorClassifier and Firewall have in common: arguments, handlers and the way of a packet. They differ in
 *  the actions that their rules may have. */
class RuleElement : public Element, public Chooses, public KeepsGpuState {
 public:
  void configure(click::Arguments& arguments) override;
  bool follows_device() const override;
  void placed(bool on_gpu) override;
  std::string choice() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  size_t gpu_states() const override { return classifier::kMaxRules; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void handlers(Handlers& list) override;
  void run_cpu(Batch& batch) override;
  /** Of now; for the thread that changes rules. */
  const classifier::RuleSet& rules() const { return rules_; }
  std::vector<std::pair<std::string, uint64_t>> statistics() const override { return {{"rules", count_.load()}}; }

 protected:
  enum Reason : int { kShort, kNoMatch, kDenied };
  /** The actions of this element; `usual` is set if rules need none. */
  virtual classifier::Actions actions() const = 0;
  /** What becomes of packets that hit no rule, unless DEFAULT says; nothing if it must. */
  virtual std::optional<uint16_t> usual_default() const = 0;

 private:
  /** The rules of RULES and of the arguments, numbered. Reports mistakes as text lines; also rules of RULES that ask
   *  for what is not in `layout`, unless that is null. */
  std::vector<classifier::SetRule> read_rules(std::vector<std::string>& errors, const classifier::Layout* layout) const;
  /** What rules are asked for: what FIELDS and these rules say. Throws Error. */
  classifier::Layout layout_of(const std::vector<classifier::SetRule>& rules) const;
  /** Takes the engine that ENGINE asks for, with these rules; it has none yet. Throws Error. */
  void take_rules(std::vector<classifier::SetRule> rules);
  /** Has builds of the engine end when the program is to end. */
  void watch();
  /** Takes an engine. `automatic`: it, if it chooses by itself. */
  void take_engine(std::unique_ptr<classifier::RuleEngine> engine, const classifier::AutoEngine* automatic = nullptr);
  /** Takes the engine that ENGINE auto takes for `rules_`, which stay as they are. Throws Error. */
  void choose_engine(bool for_gpu);
  void take_auto_engine();
  /** Makes `for_gpu_`. Throws Error. */
  void make_for_gpu() const;
  /** Makes the changes of lines "add ...", "replace ..." and "remove ...": all of them or none. */
  void change(const std::string& commands);
  /** One such line, `changes` being those before it. Throws Error. */
  void read_change(const std::string& line, std::map<uint32_t, std::optional<classifier::Rule>>& changes) const;
  void reload();
  /** Whether the other's rules mean the same here: outputs and fields are alike. */
  bool can_have_rules_of(const RuleElement& other) const;
  void swap_rules(RuleElement& other);
  /** Whether the other runs where ENGINE auto takes another engine. */
  bool has_moved_from(const RuleElement& other) const {
    return (automatic_ == nullptr) != (other.automatic_ == nullptr);
  }
  /** Makes a rule that comes later one that the engine knows. Throws Error if it asks for what the element does not
   *  look at. */
  void fit(classifier::Rule& rule) const;
  /** Fetches what a GPU has counted. */
  void fetch_hits();
  std::string lookup_text(const std::string& key) const;
  std::string hits_text(const std::string& number);

  std::optional<classifier::EngineKind> wanted_;  // ENGINE; none: auto
  std::unique_ptr<classifier::RuleEngine> engine_;
  mutable classifier::EngineChoice choice_{};                // of an engine that does not choose by itself
  const classifier::AutoEngine* automatic_ = nullptr;        // engine_, if it does
  mutable std::unique_ptr<classifier::RuleEngine> for_gpu_;  // what placed() is going to take, made when the plan asks
  mutable std::string why_no_gpu_;
  classifier::RuleSet rules_;
  classifier::Hits hits_;
  classifier::KeyReader reader_;
  std::string file_, fields_;
  classifier::Actions actions_;
  std::vector<classifier::Rule> own_rules_;  // those of the arguments
  classifier::RuleEngine::Limits limits_;
  uint32_t step_ = 1;
  std::function<bool()> stopping_;
  std::atomic<size_t> count_{0};  // rules in the set, for statistics(), which runs beside changes
};

/** BitVectorClassifier: sorts IP packets by rules on addresses, ports, protocol and other fields; the first that
 *  matches counts.
 *
 *      BitVectorClassifier(RULE1, RULE2, ... [, keywords RULES, ACTION, DEFAULT, ENGINE, SEARCH, STEP, MEMORY, CHANGES,
 *          FIELDS, DEVICE, BLOCKING])
 *
 *  Each argument is a rule as ClassBench writes filters, and what becomes of its packets:
 *
 *      @SOURCE/LENGTH DESTINATION/LENGTH LOW : HIGH LOW : HIGH PROTOCOL/MASK [FLAGS/MASK] [FIELD=VALUE ...] [ACTION]
 *
 *  prefixes, ranges of source and destination ports, the protocol (mask 0xFF) or any (0x00/0x00), and TCP flags, which
 *  are ignored. Addresses may also be LOW-HIGH, or prefixes or LOW-HIGH of IPv6, and the protocol LOW-HIGH. ACTION: an
 *  output, or `deny`. RULES: a file with one such rule a line ("#" starts a comment); `heddle rules convert` makes it
 *  of iptables-save, `nft list ruleset`, Click's IPFilter and others, `heddle rules check` looks for mistakes and for
 *  rules that nothing can hit, of which `heddle check` and `heddle run` say how many there are among up to 50,000, and
 *  `heddle rules explain` says why a packet hits a rule. Rules are numbered from 0, or 0, STEP, 2 * STEP and so on,
 *  those of the file first; the lowest number wins. All rules of a file may have a number of their own before them.
 *  STEP leaves room for rules that handlers add in between, default 1; a number stays with its rule. ACTION: that of
 *  rules that name none, default 0. DEFAULT: what becomes of packets that hit no rule, an output or `deny`; if it is
 *  missing they are dropped ("no_match"). ENGINE: what looks rules up, see below; default auto. SEARCH: how bit vectors
 *  find ranges, for comparison: packed (default; a k-ary search in limits of 8, 16 or 32 bits), plain (of 32 bits) or
 *  binary. MEMORY: most megabytes that the structure for that may take, default 4096. CHANGES: how many changes a
 *  second (writes of handlers) ENGINE auto is to reckon with, default 0. DEVICE: cpu or gpu; default: what --device
 *  says. BLOCKING: on a GPU with all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  One input, one or more outputs. Needs the annotations l3 and l4: put CheckIPHeader before it, and for packets of
 *  IPv6 CheckIP6Header. Sets the annotation rule to the number of the rule, 4294967295 for none. Drops: "short",
 *  "no_match", "denied" (an action says so).
 *
 *  Ports are those of TCP, UDP, DCCP, SCTP and UDP-Lite. Packets of other protocols and fragments other than the first
 *  have no ports: both count as 0, so a rule that asks for other ports does not match them. Packets without a whole
 *  IPv4 header, or with one of these protocols and fewer than 4 bytes behind the header, are dropped ("short").
 *
 *  FIELD=VALUE asks for a further field; VALUE is a number, LOW-HIGH, or VALUE/MASK, of which only the bits of the mask
 *  count. FIELD is
 *      flags                       TCP flags: flags=0x02/0x12 is SYN without ACK; the rule is one of TCP then
 *      vlan, paint                 the annotations of these names; vlan is the identifier, without the priority
 *      frame[OFFSET/LENGTH]        LENGTH bytes (1, 2, 4 or 16) from OFFSET of the packet, a big-endian number; of 16
 *                                  bytes the numbers are 0x and 32 digits each
 *      ip[OFFSET/LENGTH]           the same from the IP header on: ip[1/1]=0xb8/0xfc
 *      transport[OFFSET/LENGTH]    from what follows the IP header; later fragments have nothing there
 *      source, destination, sport, dport, protocol   bits of these: source=0x0a000001/0xff0000ff
 *      version                     of the IP header
 *      source6[0/16], destination6[0/16]   whole addresses of IPv6, as 16 bytes
 *  A rule cannot ask for a mask of a field and a range that is no prefix at once. What a packet does not have counts
 *  as 0. To engines a rule with a range of 16 bytes is up to 7 rules with ranges of 4, which have their memory and
 *  count as one. If rules have IPv6 addresses or ask for the version, packets of both versions are told apart, each
 *  address matches those of its own version, and 0.0.0.0/0 on both sides both; the protocol of an IPv6 packet is its
 *  next header, so that one with extension headers has no ports, and a rule about TCP does not match it. Where that
 *  must not be a way past a rule, drop the next headers 0, 43, 44, 51 and 60 (options, routing, fragments, AH) before
 *  it: `@::/0 ::/0 0 : 65535 0 : 65535 0x2c/0xFF deny` is the one for 44. Otherwise packets of other versions than 4
 *  hit no rule; but where rules ask for bytes of the frame, or for ip[0/LENGTH], rules see them, with addresses, ports
 *  and protocol that count as 0. Rules that handlers add may ask for what rules asked for at the start, and for FIELDS,
 *  names of these separated by blanks; `ip6`: IPv6 addresses.
 *
 *  Engines, which all find the same rules (`heddle plan` says which one is used, and why):
 *      bitvector  aggregated bit vectors (Baboescu, Varghese, SIGCOMM 2001), on CPU and GPU. Memory grows with the
 *                 square of the number of rules: at most 1.2 MB for 1,000 and 105 MB for 10,000; with further fields,
 *                 of which 27 are the most, 8.8 MB and 812 MB. Changes are listed, see below
 *      tuple      hash tables, each for rules of similar prefix lengths (TupleMerge, Daly et al. 2019), on CPU and GPU.
 *                 About 100 bytes a rule, and 12 for each further field; up to 4,194,304 rules; for a GPU, which reads
 *                 at most 27 further fields, about as much again. One rule is changed in microseconds,
 *                 and on a GPU by three or four patches of some words. Slow where many rules have the same prefixes and
 *                 differ in ranges of ports only
 *      acl        DPDK's rte_acl; CPU only. Starts DPDK, and takes its memory from there (256 MB without huge pages;
 *                 more with --dpdk "-m MEGABYTES"). The set is built when the program starts; any change builds all
 *                 anew
 *      hypersplit a decision tree with up to 15 children a node (HyperSplit, Qi et al. 2009, k-ary), on CPU and GPU.
 *                 Fast where the tree is small: access lists and rules with longer prefixes. Rules that ask for little
 *                 are in many leaves, so the tree of a firewall may grow beyond any MEMORY, which is known only when so
 *                 much has been built. Changes are listed
 *      auto       on a CPU the fastest of bitvector, tuple and hypersplit: all three are built of the rules, and look
 *                 synthetic keys up, four of five of which hit a rule, for some hundredths of a second; of those within
 *                 5 % of the fastest, the one that changes the fastest. Bit vectors or a tree of more than 256 MB are
 *                 not tried. An engine is not taken if changes would keep it busy for more than half of the time, with
 *                 as many a second as CHANGES says. If a change would take more than half a second, or changes take
 *                 more than half of the time while packets flow, tuple takes its place, until `reload` chooses anew.
 *                 Where ports of DPDK are in use, acl is tried as well when the program starts, with up to 16,384 rules
 *                 that are built within about 2 s, and taken if it is faster by more than 5 %; the handler `engine`
 *                 says so. Hash tables with the same rules lie beside acl then: a change goes to these, as fast as with
 *                 tuple, and they are used until no change has come for as long as acl takes to build, and a thread has
 *                 built it anew. On a GPU hypersplit, if its tree is built within about 4 s; else tuple, or bitvector
 *                 if that is more than twice as fast on the CPU, or tuple does not fit or keep up with CHANGES: on an
 *                 H100, with each set that was tried, a tree had 1.0 to 1.4 times the rate of hash tables, and these
 *                 1.1 to 1.9 times that of bit vectors. If --device sends the element to a GPU and nothing keeps up,
 *                 tuple reckoned with 0.1 ms a change, it stays on the CPU. There `reload` keeps the engine that was
 *                 chosen: arguments that are written to the handler `config` (with -R), or a new configuration in which
 *                 they differ, choose anew. With DEVICE auto, the load decides where packets go, and both sides have
 *                 the GPU's engine. `heddle plan` and the handler engine give all these rates, sizes and times
 *                 While it chooses, the three are there beside the set that is in use. To replace a whole set took at
 *                 most 2.6, 20 and 13 MB more, with 1,000, 10,000 and 50,000 rules like ClassBench's access lists, and
 *                 3.4, 102 and 527 MB with rules like its firewalls (`heddle_bench classify-replace`); an ENGINE by
 *                 name takes one new structure beside the old one
 *  Memory is computed first, and a set that needs more than MEMORY is refused with the size that it needs (bitvector,
 *  tuple); what a tree (hypersplit) needs is known when it is built: it is refused when it has outgrown MEMORY, with an
 *  estimate by what part of it has been built. If ENGINE bitvector is refused, the error says what the other engines
 *  would need. On a GPU the structure lies in the GPU's memory as well, beside 34 MB of hit counters. While a structure
 *  takes the place of another there (`reload`; bitvector and hypersplit built anew; tuple outgrowing its tables) both
 *  lie there, until no packet under way needs the one before. The error of a structure that finds no room names the
 *  sizes wanted and free; if it was to take the place of another, the GPU serves no more, and ON_GPU_ERROR says what
 *  follows.
 *
 *  bitvector and hypersplit take long to build, so a change lists the rules that come beside the structure and marks
 *  those that go, which takes microseconds; with a GPU it waits until the packets there are back. When 64 rules have
 *  come or gone, a thread builds a structure of all rules aside, which takes as much memory again meanwhile, and the
 *  first change after it has ended makes it the set. Up to then every packet is compared with each listed rule. As many
 *  rules can be listed as the structure was built of, 256 to 4,096. A change that finds no room waits for the thread.
 *  It builds all itself, and fails if that needs more than MEMORY, if the thread has failed, if it adds that many rules
 *  at once, if it asks for a field that no rule asked for, or, with hypersplit, if it removes a rule that hides half as
 *  many others: a tree leaves out rules where one before them takes every packet.
 *
 *  Handlers, all of which work while packets flow. Every packet is classified by the rules before a change or by those
 *  after it, whatever their number:
 *      add NUMBER RULE           (write) adds a rule; fails if there is one with this number
 *      replace NUMBER RULE       (write) puts a rule in the place of the one with this number
 *      remove NUMBER             (write) removes it
 *      ctrl                      (write) lines of "add ...", "replace ..." and "remove ...": all of them, or none if
 *                                one fails. One change, and acl builds all anew but once
 *      lookup SRC DST SPORT DPORT PROTO [FIELD=VALUE ...]  (read) "RULE ACTION" that such a packet gets; RULE is -1 if
 *                                it hits none; PROTO is a number or a name such as tcp
 *      hits [NUMBER]             (read) packets that have hit the rule; without a NUMBER a line "NUMBER HITS" for each
 *                                rule that has been hit. On a GPU they are counted there
 *      count, rules              (read) number of rules
 *      engine                    (read) the engine, and why
 *      memory                    (read) bytes of the engine's structure
 *      reload                    (write) reads RULES again and replaces all rules at once, those that handlers have
 *                                added as well, and hits begin anew; a file with errors changes nothing, and the error
 *                                names all of them, as when the program starts. SIGHUP does it for all elements with
 *                                this handler. Handlers are called one at a time, so others, of all elements, wait
 *                                while a large set is built; packets do not, and SIGTERM and SIGINT end it
 *  When the chain is reconfigured, rules that handlers have changed and hits stay, if the element has the same name,
 *  arguments and outputs, and its rules ask for the same fields; also if another DEVICE moves it between CPU and GPU,
 *  where ENGINE auto chooses for the rules of now.
 *
 *  Errors: every line and argument that is no rule, with the reason, of a file with more than 100 such lines the first
 *  100 and how many others there are; a file without rules and comments, and one of iptables-save, nft or IPFilter; an
 *  output that is not connected; too many rules for MEMORY, or for the GPU's memory; ENGINE acl on a GPU; further
 *  fields with ENGINE acl. Statistics: `rules`.
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

/** Firewall: lets IP packets pass or denies them by rules on addresses, ports, protocol and other fields; the first
 *  that matches counts.
 *
 *      Firewall(RULE1, RULE2, ..., DEFAULT allow|deny [, keywords RULES, ACTION, ENGINE, SEARCH, STEP, MEMORY,
 *          CHANGES, FIELDS, DEVICE, BLOCKING])
 *
 *  DEFAULT, which is mandatory: what becomes of packets that hit no rule. The action of a rule is `allow` or `deny`;
 *  ACTION: that of rules that name none (files of ClassBench); without it, each rule must name one. Rules, the other
 *  keywords, annotations, handlers, errors, and what counts as the ports of fragments and of other protocols are those
 *  of BitVectorClassifier (heddle elements BitVectorClassifier).
 *
 *  Output 0: packets that are allowed. Output 1, if connected: those denied. If not, they are dropped ("denied").
 *  Packets that are too short are dropped in any case ("short").
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
