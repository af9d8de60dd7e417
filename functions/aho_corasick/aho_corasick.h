#pragma once

#include <atomic>
#include <vector>

#include "core/element.h"
#include "core/gpu_state.h"
#include "functions/aho_corasick/table.h"
#include "functions/classifier/hits.h"

namespace heddle {

/** AhoCorasick: finds packets whose payload has one of many patterns, chosen by protocol and port.
 *
 *      AhoCorasick(PATTERNS [, keywords DEVICE, BLOCKING])
 *
 *  PATTERNS: a text file with a pattern a line ("#" at its start makes it a comment):
 *
 *      # PROTOCOL PORT PATTERN
 *      tcp 80  GET |2f|login
 *      udp 53  |07|example|03|org|00|
 *      tcp any wget
 *      ip  any |de ad be ef|
 *
 *  PROTOCOL: tcp, udp, icmp (ICMP and ICMPv6), or ip, which is any. PORT: 0 to 65535 for tcp and udp, or any. PATTERN:
 *  all that follows, without the blanks around it; bytes in hexadecimal stand between bars, and a backslash before a
 *  backslash, bar, quote, semicolon or colon makes it the character, as in `content` of Snort's rules. 1 to 255 bytes;
 *  letters of different case are different. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with
 *  all slots in flight, wait (true, default) or drop ("no_slot").
 *
 *  Output 0: packets without a match. Output 1: packets in whose payload a pattern occurs that is for them. Without
 *  output 1 all packets go on by output 0, and matches are counted only. Packets without a whole IP header are
 *  dropped ("short").
 *
 *  There is an Aho-Corasick automaton for each port that has a line, for each protocol, and for all others. A packet is
 *  searched by one of them: by that of its destination port, if there is one, else by that of its source port, else by
 *  its protocol's. Each has the patterns of the wider lines as well: that of `tcp 80` those of `tcp any` and `ip any`.
 *  So between two ports that both have lines, those of the destination count.
 *
 *  Needs the annotations l3 and l4: put CheckIPHeader before it, and CheckIP6Header where IPv6 comes from. The payload
 *  is what lies behind the header of TCP, UDP, ICMP or ICMPv6, of UDP as far as its length says (all of it if no host
 *  takes that length: below 8, or beyond the packet). In later fragments, packets of other protocols and packets whose
 *  transport header is not whole, it is all that lies behind the IP headers, of IPv6 with extension headers
 *  (hop-by-hop, routing, fragment, destination options, AH); they have no ports. Each packet is searched by itself: a
 *  pattern that is cut by the border of a fragment or a segment is not found. Ethernet's padding behind the IP packet
 *  is payload as long as nobody has cut it off, which CheckIPHeader does.
 *
 *  On a CPU the packets of a batch are sorted by automaton and length, and 16 of them are searched in turns, a byte
 *  each, as in "Raising the Bar for Using GPUs in Software Packet Processing" (Kalia, Zhou, Kaminsky, Andersen, NSDI
 *  2015, section 5): MinBatch makes larger batches. On a GPU several threads share a packet. A state takes 512 bytes.
 *
 *  Of a packet the first match counts: the one that ends first, of those the longest, of equal patterns the one whose
 *  line is first.
 *
 *  Handlers:
 *      count     (read) packets with a match, since the start
 *      matches   (read) "PACKETS LINE" for each pattern, in the order of the file: packets whose first match it was,
 *                since the file was read
 *      patterns  (read) number of patterns
 *      memory    (read) bytes of the automata
 *      reload    (write) reads PATTERNS again and replaces all patterns at once, while packets flow; a file with errors
 *                changes nothing. SIGHUP does it for all elements with this handler
 *
 *  Hot reconfiguration: counts go on, those of patterns if a line for the same protocol and port has the same pattern
 *  in the PATTERNS that is read then.
 *
 *  Until the new patterns are ready, `reload` needs memory for the old automata and twice that for the new ones; a GPU
 *  has both meanwhile.
 *
 *  Errors: every line that is no pattern, with the reason; more than 1,048,576 patterns, 65,536 states of an automaton,
 *  4,194,304 of all, or 65,532 ports. Statistics: `patterns`, `matches` (packets).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> search :: AhoCorasick(my.patterns);
 *      search[0] -> ToDump(clean.pcap);
 *      search[1] -> ToDump(suspicious.pcap);
 */
class AhoCorasick : public Element, public KeepsGpuState {
 public:
  AhoCorasick() {
    table = &patterns_;
    retiring.push_back(&patterns_);
  }
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void take_state(Element& old) override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return on_gpu ? 5000 : 0; }
  void on_timer(int thread) override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

 private:
  /** What a thread searches a batch with. */
  struct Workspace {
    std::vector<aho_corasick::Text> texts;
    std::vector<aho_corasick::Match> first;
    aho_corasick::Automata::Batch batch;
  };
  /** Reads the file and takes its patterns; returns what is wrong, and then changes nothing. */
  std::vector<std::string> load();
  void fetch_matches();  // what a GPU has counted, for matches()
  void fetch_by_id();    // and for by_id_
  std::string matches_text();
  uint64_t matches() const {
    return former_.load(std::memory_order_relaxed) + on_cpu_.packets() + on_gpu_.load(std::memory_order_relaxed);
  }

  aho_corasick::PatternTable patterns_;
  std::string file_;
  std::vector<Workspace> workspaces_;  // by thread
  PerThreadCounts on_cpu_{counts};     // packets with a match
  std::atomic<uint64_t> on_gpu_{0};    // the same, as of the last fetch_matches()
  std::atomic<uint64_t> former_{0};    // and before a reconfiguration
  classifier::Hits by_id_;             // packets by their first match; handlers only, but for add()
  std::atomic<size_t> count_{0};       // of patterns
};

}  // namespace heddle
