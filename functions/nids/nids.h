#pragma once

#include <array>

#include "core/element.h"
#include "core/gpu_state.h"
#include "functions/flow/flow.h"
#include "functions/nids/candidates.h"
#include "functions/nids/conversations.h"
#include "functions/nids/judge.h"
#include "functions/nids/streams.h"
#include "functions/nids/table.h"

namespace heddle {

/** NIDS: finds packets that may match a rule of a Snort or Suricata file.
 *
 *      NIDS(RULES [, keywords VARIABLES, CLASSIFICATION, SKIP_UNSUPPORTED, STREAM, EVE, DEVICE, BLOCKING])
 *
 *  RULES: a file of rules, one a line ("#" at its start makes it a comment, else a backslash at its end continues it):
 *
 *      alert tcp $EXTERNAL_NET any -> 10.0.0.0/8 [80,8080:8090] (msg:"a login page"; flow:established,to_server;
 *          content:"GET |2f|login"; nocase; offset:0; depth:64; content:!"cookie"; distance:1; within:400;
 *          sid:1; rev:2; classtype:web-application-attack;)
 *
 *  Actions, protocols, names of options, `any` and the words of flow may be in letters of any case. Actions: alert,
 *  pass, drop, reject. Protocols: ip (or any), ipv4 (or ip4), ipv6 (or ip6), tcp, tcp-pkt (packets only, as
 *  flow:no_stream), tcp-stream (connections only, as flow:only_stream), udp, icmp (ICMP and ICMPv6), icmpv4, icmpv6,
 *  and http, smtp, ftp, ssh, smb, tls and dns (see NIDSConfirm). Addresses, of IPv4 and IPv6, and ports: any, lists,
 *  ranges, `!`, variables. `any` is for both versions, and what names addresses of one version only for that one:
 *  `!10.0.0.0/8` matches no IPv6 address, and `[10.0.0.0/8, !2001:db8::/32]` all of IPv6 but these (as in Suricata).
 *  `->` or `<>`. Options: content with nocase, offset, depth, distance, within, startswith, endswith, fast_pattern
 *  (alone, `only`, or OFFSET,LENGTH), pcre with options i, s, m, x, A, E, G, B, R and those for buffers of HTTP, what
 *  names buffers of application protocols, isdataat, byte_test, byte_jump, byte_extract, base64_decode and base64_data
 *  (see NIDSConfirm), dsize (N or =N, !N or !=N, <N, >N, <=N, >=N, A<>B or A-B for what lies between both), flow
 *  (to_server or from_client, to_client or from_server; established, not_established or stateless; only_stream or
 *  no_stream), stream_size, flowbits and xbits (see NIDSConfirm), threshold and detection_filter (track by_src, by_dst,
 *  by_both or by_rule), fields of headers, noalert (the rule does all but alert), sid, rev, gid, msg, classtype,
 *  priority; metadata, reference, rawbytes and target are read and ignored. Lines `var`, `ipvar`, `portvar NAME VALUE`
 *  set variables. VARIABLES: a file of such lines that is read first. CLASSIFICATION: a file of lines
 *  `config classification: NAME,DESCRIPTION,PRIORITY`, for the category and severity of alerts. What asks for anything
 *  else is refused, by line and sid, or, with SKIP_UNSUPPORTED true (default false; `heddle run` and
 *  `check --skip-unsupported` set it where a chain does not say it), left out: standard error then has how many rules
 *  ask for what, and lines and sids of the first three, and the handler `unsupported` has all. STREAM: whether rules
 *  are looked for in TCP connections, and in the application protocols of these, as well, however these are cut into
 *  segments, default false; NIDSConfirm does it, so all packets of TCP are candidates. It leaves out segments with a
 *  wrong checksum: for captures taken where network cards were yet to fill it in, give it CHECKSUM false. EVE: without
 *  output 1, a file for alerts. DEVICE: cpu or gpu; default: what --device says. BLOCKING: on a GPU with all slots in
 *  flight, wait (true, default) or drop ("no_slot").
 *
 *  Fields of headers (Suricata 7.0, 8.3 to 8.6): ttl, tos, id, ip_proto (or a protocol's name), fragoffset, seq, ack,
 *  window, itype, icode, icmp_id and icmp_seq are N (decimal, or hexadecimal behind 0x or x), !N, <N, >N, <=N, >=N, or
 *  A<>B or A-B for what lies between both; = may stand before N. flags and fragbits are letters, FSRPAUEC12 and MDR:
 *  these are set and no others; with + others may be, with * one will do, with ! one is clear; flags:0 is none, and
 *  letters behind a comma do not matter. sameip: source and destination are one. TCP's may also be tcp.flags, tcp.seq,
 *  tcp.ack, tcp.window. A packet without the field does not match, and rules with any but ip_proto see packets only.
 *  IPv6 packets have no tos, id and fragbits; ttl is their hop limit, ip_proto the protocol behind their extension
 *  headers, itype, icode and the identifiers those of ICMPv6, and fragoffset the number in a fragment header, if there
 *  is one (Suricata 7.0.10 compares with eight times that). Suricata 7.0.10 finds less than that with * and ! of flags
 *  and + of fragbits, its manual notwithstanding.
 *
 *  Of rules with the same gid and sid, a later one with a higher rev takes the place of the one before, and standard
 *  error says so; any other is an error, and so is a rule whose contents need more payload than its dsize allows.
 *  Unlike in Suricata 7.0.10, `dsize:!N` is true of packets without payload, too, and a negated content with endswith
 *  of payloads in which it stands elsewhere only.
 *
 *  Each rule has a fast pattern: the content so marked, or, without that or if it is negated, the longest that is not.
 *  Output 0: packets in which no such pattern of a rule for their protocol and ports occurs; no rule matches them.
 *  Output 1: candidates, in which one occurs, in letters of any case, or for whose protocol and ports there is a rule
 *  without a content to look for. They go to a NIDSConfirm, which sees to all that the rules ask for. Packets without
 *  payload match no rule that has a content or pcre, negated or not.
 *
 *  A NIDS without output 1 is a monitor, which can be between GPU ports as well: all packets go on by output 0 at once,
 *  and it confirms candidates itself, by the same rules and with the same alerts as NIDSConfirm. EVE: see there;
 *  without it they are counted only. A GPU tells the host of its candidates, with all their bytes, in a ring of 4 MiB
 *  for up to 32,768 of them; every 5 ms the first packet thread confirms those. They are judged in the order in which
 *  the GPU found them, by the time at which that thread hears of them. Between GPU ports that is the order of arrival
 *  as long as packets are few, if the rules that the program starts with ask for `flow`: then fewer than 32 packets
 *  wait until those before them have been searched (not with KERNELS split). What has been written over by then is
 *  lost, and counted (`events_lost`, and standard error says so). Rules with `drop` or `reject`, and STREAM true, want
 *  candidates held: they need output 1. Between GPU ports there is no IPv6: CheckIP6Header is on the CPU.
 *
 *  Needs the annotations l3 and l4: put CheckIPHeader before it, and CheckIP6Header where IPv6 comes from. The payload
 *  is what lies behind the header of TCP, UDP, ICMP or ICMPv6, of UDP as far as its length says (all of it if no host
 *  takes that length: below 8, or beyond the packet). In later fragments, packets of other protocols and packets whose
 *  transport header is not whole, it is all that lies behind the IP headers; they have no ports, so rules that name
 *  ports do not match them. Extension headers of IPv6 (hop-by-hop, routing, fragment, destination options, AH) are
 *  passed over, however many they are; where one is cut off, it is the packet's protocol, and payload begins there.
 *  Each packet is judged by itself: a content that is cut by a fragment's border is not found (put IPReassembler
 *  before, and IP6Reassembler where IPv6 comes from), nor, without STREAM, by a segment's. Packets in tunnels are not
 *  looked into. Packets without a whole IP header are dropped ("short").
 *
 *  `flow` means what Suricata's manual says (7.0, Flow Keywords). A TCP connection is established when one side, the
 *  client, has sent a SYN and the other a SYN with ACK, and all packets of it with ACK and without SYN are; not, if its
 *  handshake was not seen (Suricata's midstream false). Then the client is the sender of the last SYN, or else of the
 *  first packet. Of other protocols it is the sender of the first packet, and a flow is established from the first
 *  answer on; it is over after 30 s, or, if established, 300 s without a packet. Packets without ports where there
 *  should be some, as later fragments, have no direction and are not established. `only_stream` rules match only bytes
 *  that were put in order, and want STREAM true; `no_stream` rules match packets only.
 *
 *  Flows are followed where packets are confirmed, so the packets that tell of them are candidates, too, as long as
 *  there is a rule that asks, by `flow` or `flowbits`: those of TCP with SYN, which a GPU sees by their header, and all
 *  of UDP, ICMP or another protocol that the rule is for. `to_server` and `to_client` without `established` want all of
 *  TCP as well, so `established` should stand with them. It takes 32 MB from the first such rule on, for 1,310,720
 *  pairs of endpoints, in groups of 10, and 10 MB more for each 64 names of flowbits, as far as flows have some. A new
 *  one takes the place of one that nobody has answered, else of a connection whose client has sent no candidate that
 *  acknowledges one of the server's first 64 KB, else of any, the longest idle first: floods of SYNs, answered or not,
 *  push out no connection that is further than that. TCP connections end when others take their ports or their place.
 *  What is known outlives a reload, but when a reload brings the first rule that asks, connections that have begun are
 *  not known. Both directions should come to one packet thread; where they come to several, a packet may be judged
 *  before a SYN that another thread still has. Between GPU ports, where blocks tell of what they find as it comes, the
 *  same holds for packets within microseconds.
 *
 *  Standard error names bits that rules ask for and no rule sets, perhaps because that one has been left out.
 *  `tag` (session or host, and perhaps NUMBER, packets, seconds or bytes, and src or dst) changes no alert, and the
 *  packets that Suricata logs for it are not logged: standard error says how many rules ask for that.
 *
 *  The patterns of rules for the same packets make a group, as in Snort and Suricata: a packet is searched for the
 *  patterns of the group that its protocol and ports lead to, which are those of all rules that these allow, and not at
 *  all if there are none. A group's patterns make an Aho-Corasick automaton of at most 65,536 states, for which long
 *  ones are shortened. Many groups have patterns in common, and each has its own copy: together they may have twice the
 *  states that one automaton of all patterns has, or 65,536 if that is more, and 262,144 in any case. Groups beyond
 *  that, and beyond the 256th, share an automaton, those first that have the most in common; ports beyond 256 sources
 *  or destinations that rules tell apart, or 1024 pairs of these for TCP or UDP, share a group. Then packets are
 *  searched for more patterns, never for fewer, and there are more candidates that NIDSConfirm refuses.
 *
 *  Several threads of a GPU search a packet; on a CPU Hyperscan looks for the same patterns. Its fork Vectorscan,
 *  which has the same interface, is not used: that of Debian 12, 5.4.9, misses patterns near the end of a text where
 *  the processor has AVX-512.
 *
 *  Handlers:
 *      rules        (read) number of rules
 *      patterns     (read) number of patterns
 *      groups       (read) number of groups that have patterns, each with an automaton
 *      memory       (read) bytes of the automata
 *      unsupported  (read) the rules that were left out, a line each
 *      counts       (read) "SID ALERTS", or "GID:SID ALERTS" where the gid is not 1, a line for each rule
 *                   that there is or has been
 *      alerts, lost, forgotten, gave_up  (read) of a monitor: as of NIDSConfirm
 *      events_lost  (read) of a monitor: candidates that a GPU has told of and that were not confirmed
 *      reload       (write) reads VARIABLES, CLASSIFICATION and RULES again and replaces all rules at once, while
 *                   packets flow; a file with errors changes nothing. SIGHUP does it for all elements with this handler
 *
 *  Until the new rules are ready, `reload` needs memory for the old ones, the new ones and what building these takes.
 *  Measured with 4000 rules of two contents and a pcre each on a CPU: the program had 115 MB before, up to 223 MB
 *  meanwhile, and 133 MB or less afterwards. A GPU has the automata of both meanwhile, of 5 MB each there (`memory`).
 *
 *  Errors: every line that is no rule, with its sid and the reason; a monitor with STREAM, or rules that stop packets;
 *  EVE with an output 1, or one that a NIDS reads (RULES, VARIABLES, CLASSIFICATION). A warning: candidates go nowhere
 *  but to Discards, and to no NIDSConfirm. Statistics: `rules`, `groups`, `unsupported`; of a monitor `alerts`,
 *  `gave_up`, `events_lost`, and `lost` if any were.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> version :: Classifier(12/0800, 12/86dd);
 *      version[0] -> CheckIPHeader(14) -> ids :: NIDS(local.rules);
 *      version[1] -> CheckIP6Header(OFFSET 14) -> ids;
 *      ids[0] -> out :: ToDump(out.pcap);
 *      ids[1] -> NIDSConfirm(ids, EVE alerts.json) -> out;
 */
class NIDS : public Element, public KeepsGpuState {
 public:
  NIDS() {
    table = &rules_;
    retiring.push_back(&rules_);
  }
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  const char* ports() const override { return "1/1-2"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void take_state(Element& old) override;
  void run_cpu(Batch& batch) override;
  bool prefers_order() const override { return monitors() && rules_.now().asks_flow; }
  int timer_us() const override { return monitors() ? 5000 : 0; }
  void on_timer(int thread) override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;

  nids::RuleTable& rules() { return rules_; }
  bool stream() const { return stream_; }
  bool monitors() const { return outputs == 1; }  ///< whether candidates go on, and it confirms them itself
  /** Throws Error if alerts would be written over a file that a NIDS of the chain reads. */
  static void spare_rules(const std::string& eve_file, const Directory& directory);

 private:
  nids::RuleSet read_rules(std::vector<std::string>& errors) const;
  /** Whether candidates go nowhere but to Discards, and nobody confirms them before. */
  bool loses_candidates() const;
  /** Takes those out that only look into TCP connections, which nobody follows. */
  void refuse_streams(nids::RuleSet& set, std::vector<std::string>& errors) const;
  void load(nids::RuleSet set);
  /** Confirms the candidates that a GPU tells of. `last`: no kernel runs any more. */
  void hear(bool last);

  nids::RuleTable rules_;
  std::string file_, variables_file_, classification_file_, eve_file_;
  bool skip_unsupported_ = false, stream_ = false;
  std::atomic<size_t> count_{0}, groups_{0}, unsupported_{0};  // for statistics(), which runs beside changes
  nids::Judge judge_{counts};
  nids::CandidateReader candidates_;
  std::atomic<uint64_t> events_lost_{0};
};

/** NIDSConfirm: judges the candidates of a NIDS by all that its rules ask for, and writes alerts.
 *
 *      NIDSConfirm(NIDS [, keywords EVE, FLOWS, MEMORY, CHECKSUM])
 *
 *  NIDS: the name of the NIDS whose output 1 leads here. EVE: a file for alerts, a line of JSON each, as Suricata
 *  writes them (timestamp, addresses, those of IPv6 with all zeros, ports, protocol, rule; the category is what
 *  CLASSIFICATION says of the classtype, or the classtype; the severity is the rule's priority, or that of
 *  CLASSIFICATION, or 3). Without it they are counted only. FLOWS: the name of the FlowTable before the NIDS, if that
 *  has STREAM true. MEMORY: megabytes for TCP connections, over all threads, default 64, up to 65536. CHECKSUM: whether
 *  TCP segments with a wrong one are left out of connections, default true; false is for captures taken where network
 *  cards were yet to fill it in. Standard error says so once if more than a tenth of the first 1,000 segments, or, at
 *  the end, of 10 or more, are wrong. Runs on the CPU.
 *
 *  Every rule that matches is an alert, in the order of the rules. A `pass` rule that matches makes the packet go on
 *  without alerts, whatever others say. If a rule with `drop` or `reject` matches, the packet goes no further: output 1
 *  gets it, or, if that is not connected, it is dropped ("drop", "reject"; drop is said if both are). Output 2, if it
 *  is connected, gets those that a rule with `reject` stops, and none with `drop`: a TCPReset and an ICMPError, of IPv6
 *  an ICMP6Error, there answer them. Output 0: all others.
 *
 *  A rule with a threshold matches as Suricata's does (manual 7.0, Thresholding Keywords), by the time at which packets
 *  were captured or arrived: `type limit` alerts for the first COUNT matches in SECONDS, `type threshold` for every
 *  COUNT-th, `type both` for the COUNT-th only, `detection_filter` for those behind the COUNT-th. Matches that come to
 *  nothing neither alert nor drop nor pass; those that a limit or `both` has silenced still do. `by_both` tracks pairs
 *  of addresses, in both directions. What is tracked outlives a reload, by gid and sid, and is judged by the rule as it
 *  is then. For IPv6 addresses, here and in flows, a keyed hash of 64 bits stands (SipHash-2-4). Of 65,536 addresses or
 *  pairs at once none is forgotten; of 100,000 one in two hundred is, and counted.
 *
 *  `flowbits` are bits of a flow, which both directions have together (Suricata 7.0, Flow Keywords):
 *
 *      flowbits:set,NAME   flowbits:unset,NAME   flowbits:toggle,NAME   flowbits:isset,NAME[|NAME...]
 *      flowbits:isnotset,NAME[|NAME...]          flowbits:noalert
 *
 *  isset and isnotset must hold for one of their names, and do not in packets without ports where there should be some.
 *  A rule that matches, whatever a threshold makes of it, changes bits at once, for the rules whose turn is behind its
 *  own: those with `pass` come first, then `drop`, `reject` and `alert`; of each, those that change bits, then those
 *  that ask as well, then those that only ask; of these, the more urgent priority; then they go as they stand. A flow's
 *  bits are gone with its place, with a new connection on its ports, as soon as that is answered, and, but for TCP,
 *  when it is over. They outlive a reload, and go over to a new configuration; names count from the start on, up to
 *  16,384.
 *
 *  `stream_size` asks for how much a side of a packet's TCP connection has sent, with that packet (Suricata 7.0, Flow
 *  Keywords):
 *
 *      stream_size:SIDE,OPERATOR,NUMBER
 *
 *  SIDE: client, server, both (each of them) or either (one of them). OPERATOR: < > = != <= >=. Sequence numbers count,
 *  as in Suricata 7.0.10: one for the SYN, one for each byte up to the farthest, whether those before have come or not,
 *  and one for a FIN as soon as that has been acknowledged; so a server that has said nothing has 1, before its SYN 0.
 *  After 4 GB they begin again. What belongs to no connection whose handshake has been seen, since the first rule that
 *  asks, does not match. Such rules want all packets of TCP, as `to_server` without `established` does, and 21 MB more.
 *  Unlike Suricata, this does not look at windows, and a new connection on the same ports counts from its answer on.
 *
 *  `xbits` are bits of an address, or of a pair in both directions (Suricata 7.0, Xbits Keyword):
 *
 *      xbits:set,NAME,track TRACK[,expire SECONDS]   (or unset, toggle, isset, isnotset)
 *
 *  TRACK: ip_src, ip_dst or ip_pair. An address has its bits whether it was source or destination. SECONDS: default 30,
 *  from the last `set` on. In one packet, rules that ask come before those that only change some, as in Suricata
 *  7.0.10. There is room for 65,536, as for thresholds.
 *
 *  Contents are searched as Suricata's manual says (7.0, section 8.7): depth counts from offset, within from distance,
 *  and a relative content may stand behind any match of the one before. Where a negative distance leaves within to end
 *  before the payload begins, nothing is found (Suricata 7.0.10 then searches all of it). Packets without a whole IP
 *  header go on without being judged.
 *
 *  `pcre:"/REGEX/OPTIONS"` is a Perl regular expression over bytes (pcre2pattern(3)), in order among the contents: with
 *  R it is searched behind the match before it, and relative contents behind it stand behind one of its matches. From
 *  each place of the payload it may go 3500 steps, Suricata's limit, and 1000 searches are made for a rule and a
 *  packet, or a transaction, one more for each byte before what is new of a connection: no payload stops the program.
 *  What is beyond is taken for no match, also of a negated one, and counted (`gave_up`). A rule of nothing but pcre
 *  makes all packets of its protocol candidates.
 *
 *  isdataat, byte_test, byte_jump and byte_extract are in order among the contents (Suricata 7.0, 8.7.10 to 8.7.16),
 *  and `relative` ones look behind any match of the one before, as a relative content does, which also counts from
 *  where a byte_jump leads or a byte_extract ends:
 *
 *      isdataat:[!]N [, relative] [, rawbytes]
 *      byte_test:BYTES, [!]OPERATOR, VALUE, OFFSET [, relative] [, ORDER] [, string, BASE] [, bitmask 0xHEX]
 *      byte_jump:BYTES, OFFSET [, relative] [, ORDER] [, string, BASE] [, multiplier N] [, align] [, from_beginning]
 *          [, from_end] [, post_offset N]
 *      byte_extract:BYTES, OFFSET, NAME [, relative] [, ORDER] [, string, BASE] [, multiplier N] [, align 2]
 *
 *  OPERATOR: = < > <= >=, & (some bit of VALUE is set) or ^ (it differs). ORDER: big (default) or little. BASE: dec,
 *  hex, oct. NAME may stand for N of isdataat, VALUE, OFFSET and BYTES of the next two, and the numbers of offset,
 *  depth, distance and within; up to 8 of a rule. Without `relative` they count from where `offset` does. A number that
 *  is not there whole is no match, nor is a jump behind the payload's end; one before its start leads there. Each
 *  variable read counts as a search does (see pcre below).
 *
 *  base64_decode and base64_data look into what Base64 stands for (RFC 4648; Suricata 7.0, Base64 keywords):
 *
 *      base64_decode:[bytes N][, offset N][, relative]; base64_data; CONTENTS
 *
 *  base64_decode decodes what stands in the payload, or in the buffer that it is for, offset N from its start or, with
 *  `relative`, from where a match of the one before ends: up to N characters (default, and 0: 65,535), to the first
 *  that is none of Base64, as a line's end. All contents, pcre, isdataat, byte_test, byte_jump and byte_extract behind
 *  base64_data, with which a rule ends, count from the first byte of that. Where nothing is decoded, nothing matches,
 *  negated or not. "=" may stand anywhere, as in Suricata 7.0.10, which looks behind the first match of a content only.
 *  Each decoding counts as a search, and so do each further 1024 characters. Rules of which all that is looked for in
 *  base64_data is negated see packets only, not connections.
 *
 *  With STREAM, each direction of a TCP connection is put in order, and the rules are looked for in what has come newly
 *  and the 2032 bytes before it, beside each packet by itself: a rule matches the packet that brings the last byte that
 *  its contents ask for. `offset` and `depth` count from the packet's first byte, and from the direction's. Rules with
 *  dsize, endswith, a negated isdataat or from_end, whose contents are all negated, or whose first content is relative,
 *  see packets only. Where a rule stops a packet that brought something new, the direction stays stopped until its next
 *  connection: all its payload goes the same way, without more alerts, also what is sent again.
 *
 *  Application protocols, with STREAM: rules for `http` (or http1), `smtp`, `ftp`, `ssh`, `smb`, `tls` (or ssl) and
 *  `dns`, those of `app-layer-protocol:` and one of these, and those that look into a buffer, which are for tcp, of DNS
 *  for udp, too. They match what connections say that speak it, and datagrams of DNS. As Suricata 7.0.10 does, it is
 *  known by the bytes with which one side begins, whichever is the first to do so: by the client's EHLO, HELO or QUIT
 *  (SMTP), FEAT, "USER ", "PASS " or "PORT ", or the server's "220 (" (FTP), in letters of any case; SSH- of either;
 *  the mark of SMB 1, 2 or 3 behind NetBIOS's header of either; a record of SSL 3 or TLS of either, unless the server
 *  has said something before the client, or an SSL 2 hello; at the server's port 53 a message of DNS. Who is the client
 *  is as with `flow`, which takes memory for that. From then on rules look into what both sides say, and have said
 *  within the 2032 bytes before. Unlike Suricata, a connection speaks one protocol to its end (STARTTLS is not
 *  followed; what is no record of TLS ends what is looked into, and not that it is TLS), each datagram to or from port
 *  53 is judged by itself, and app-layer-protocol is asked of both sides, where Suricata asks the side that the
 *  protocol is known by.
 *
 *  What rules look into as a whole is a request of HTTP or its response, the handshake of TLS, or a message of DNS. A
 *  buffer's name stands before its contents, pcre, isdataat, byte_test, byte_jump and byte_extract, which count from
 *  its first byte, up to the next name or pkt_data:
 *
 *      http.method http.uri http.uri.raw http.request_line http.host http.host.raw http.user_agent
 *      http.referer http.accept http.accept_enc http.accept_lang http.request_body           of requests
 *      http.stat_code http.stat_msg http.response_line http.server http.location http.response_body   of responses
 *      http.header http.header.raw http.header_names http.cookie http.content_type http.content_len http.connection
 *      http.protocol http.start file.data                                                     of either
 *      dns.query (or dns_query): the name of each question in a query of DNS, with dots, at most 1025 bytes; of a
 *        message 256 names, four times its bytes of names (4 to 64 KB), and 4096 labels and pointers behind pointers
 *      tls.sni (or tls_sni): the name in a ClientHello; tls.certs: each certificate of a chain, up to 64, in DER, as
 *        it came
 *
 *  Of those that there may be several of, one must have all that stands behind the name; named again it may be another.
 *  dns.opcode:N (or !N) is the opcode of a message, query or response. Buffers of HTTP may be named behind a content in
 *  the older way: http_method, http_uri, http_raw_uri, http_header, http_raw_header, http_host, http_raw_host,
 *  http_cookie, http_user_agent, http_client_body, http_server_body, http_stat_code, http_stat_msg, uricontent; and
 *  pcre's letters M U I H D W Z C V P Q S Y for them. Behind a name may stand dotprefix, to_lowercase, to_uppercase,
 *  header_lowercase, strip_whitespace, compress_whitespace, url_decode and xor:"HEX", then `bsize` with numbers as
 *  dsize has them; `urilen` is that of http.uri, or with `,raw` of http.uri.raw. All of a rule's buffers must be in one
 *  request, response, message, or side of a handshake, and a rule is an alert for each of these that matches, of the
 *  packet that brings the last of what it asks for; payload contents of such a rule must be there as well, in one of
 *  the packets or windows of that direction while it lasts. Headers behind a body count if they have come with those
 *  before it. A buffer that is not there matches nothing, negated or not.
 *
 *  Both directions may come to different threads but should come in order. libhtp, Suricata's parser, reads HTTP, which
 *  a connection is if its client's first bytes are a method that Suricata knows and a blank. Bodies are without chunks,
 *  and those of responses without gzip and deflate, up to two of them and libhtp's limits for bombs. The first 100 KB
 *  of a body are looked into as they come: all of it until there are 32 KB of a request's, or 40 KB of a response's,
 *  then with the 4 KB, or 16 KB, before. endswith, bsize, negated isdataat and from_end wait for a body's end, negated
 *  contents for that or for so many bytes; Suricata waits with all. A connection takes up to 1 MB, with headers of up
 *  to 64 KB a message and 512 transactions without an answer, and all together as much as MEMORY says, beside what that
 *  says itself; a connection that would take more, that is wrong beyond what can be made sense of, or behind which
 *  there is no room, is looked into no longer but for its payload, and counted (`lost_dialogues`). A gap in a body of
 *  HTTP is passed over, elsewhere it ends this, too. Of TLS what is not encrypted is looked into, as soon as it is
 *  there (Suricata waits for the end of the handshake): of TLS 1.3 that is tls.sni. A message of DNS over TCP that is
 *  none ends what is looked into of the connection, as in Suricata; rules with dns.query see port 53 only. Certificates
 *  are read however they are cut into records; Suricata 7.0.10 loses some that come in several small ones. Unlike
 *  Suricata, http.host is in lower case where a port stands behind it, too.
 *
 *  Segments with a wrong checksum, which no host takes, belong to no connection, and change nothing of what `flow` and
 *  `stream_size` ask for: they are judged with their packet, and counted (`bad_checksum`). Nor do payloads that come
 *  without ACK (`no_ack`) or with RST (`with_rst`). Others it depends on the host to take: what comes with a SYN
 *  (`with_syn`; Fast Open), acknowledges what the other side has not been seen to send, or 65,536 bytes or more less
 *  than before, or what lies before its SYN (`bad_ack`), or, where both SYNs have offered timestamps, has one older
 *  than that of a segment before it that came in order (`old_timestamp`; PAWS, RFC 7323), or, where both SYNs have been
 *  seen, has bytes beyond the window that the other side has told (`beyond_window`). They are judged with their
 *  packet, and wait, in up to 16 blocks of 2032 bytes a direction and an eighth of MEMORY in all; what comes without
 *  such a doubt in their place goes before them. What the other side acknowledges of them belongs to the connection; a
 *  rule that stops this stops what comes behind it.
 *  Where there is no more room they are followed as if without doubt, until something without doubt comes in their
 *  place. Where one direction only is seen nothing but a SYN is in doubt, whose payload belongs to the connection if
 *  what comes next is behind it. What a client sends before its SYN is answered counts no more from that answer on but
 *  as such.
 *
 *  Where segments overlap, bytes that were in order count, then those of the segment that begins first; the others are
 *  judged with their packet. Segments before their turn go on, and what they say is kept, in up to 64 blocks of 2032
 *  bytes a direction and half of MEMORY in all; small ones that lie side by side share a block, where each takes two
 *  bytes more. When the other side acknowledges what is missing before them, the host has it: then it is given up
 *  (`gaps`), and what lies behind it is looked into at once, with the packet that acknowledges it, by whose time and
 *  with the addresses of the one who sent it; a rule that stops this stops what comes behind it, not that packet.
 *  Without acknowledgements of it, it is given up when there is no more room, until it comes after all. A direction
 *  takes a block until its flow ends, or, where memory is short, until a FIN or a RST of either side; segments with
 *  bytes for which there is none, which are too far ahead, or which wait to the end for what is missing, are judged as
 *  packets only (`unfollowed`). Both directions must come to one packet thread, or neither is known to the other: then
 *  nothing is known to be acknowledged.
 *
 *  A SYN with another number, while a connection is there, begins another one only if a SYN with ACK answers it: both
 *  directions begin anew by what that says. Where only one direction is seen, a SYN begins it anew behind its FIN or
 *  RST. A connection goes over to a new configuration with its flow. Beside MEMORY, a direction takes 92 bytes, for as
 *  many as the FlowTable has places.
 *
 *  Where EVE is a pipe, a socket or a terminal, NIDSConfirm, or a NIDS that writes alerts itself, waits for whoever
 *  reads it, so that no alert of a capture is lost; but packets from a port, a tap or a Socket wait for nobody: then up
 *  to 4 MB of alerts wait for their reader, and what there is no room for is lost, counted (`lost`) and said on
 *  standard error. A program that is to end (a signal, `stop`, --time) gives a reader who takes nothing 2 seconds, and
 *  any 10 in all; then the rest is lost as well.
 *
 *  Hot reconfiguration: an element of the same name (or without one, if its arguments are the same) whose EVE has the
 *  same name goes on in that file, unless that has been moved away or could not be written; else the file is created
 *  anew, which is an error while another element has it open. A change waits until packets that wait for a reader have
 *  been written.
 *
 *  Handlers: `alerts` (r): alerts so far; `lost` (r): alerts that EVE could not take; `forgotten` (r): what thresholds
 *  and xbits have forgotten before its time; `gave_up` (r): searches for a pcre that reached a limit. By rule: `counts`
 *  of the NIDS. Statistics: `alerts`, `gave_up`, `lost` if any were; with STREAM `gaps`, `unfollowed`, `bad_checksum`,
 *  `no_ack`, `with_rst`, `with_syn`, `bad_ack`, `old_timestamp` and `beyond_window` (segments), and `lost_dialogues`
 *  (connections).
 *
 *  Errors: NIDS is none of this chain; EVE cannot be written, or a NIDS reads it (RULES, VARIABLES, CLASSIFICATION);
 *  STREAM without FLOWS, FLOWS or MEMORY without STREAM;
 *  FLOWS is no FlowTable of this chain, or packets come here from another one.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> CheckIPHeader(14) -> ids :: NIDS(local.rules);
 *      ids[0] -> out :: ToDump(out.pcap);
 *      ids[1] -> NIDSConfirm(ids, EVE alerts.json) -> out;
 */
class NIDSConfirm : public Element, public ChecksSetter, private flow::Watcher {
 public:
  void configure(click::Arguments& arguments) override;
  void link(const Directory& directory) override;
  void take_state(Element& old) override;
  const char* ports() const override { return "1/1-3"; }
  const char* processing() const override { return "a/ah"; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  int timer_us() const override { return eve_file_.empty() ? 0 : 100000; }
  void on_timer(int thread) override;
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;
  std::string wrong_setter(Column column, const Element& setter) const override {
    return flows_ == nullptr ? "" : flows_->wrong_setter(column, setter, "FLOWS");
  }

 private:
  void flow_ends(const flow::Entry& entry, int thread) override;
  /** The name in streams_ of a packet's direction, and what that has come to with the packet. */
  struct Followed {
    uint64_t name = 0;  // 0: none, as its addresses are not its flow's
    nids::Window window;
  };
  Followed follow(const nids::View& view, uint32_t flow, int thread);
  /** What `work` returns, which the thread's Streams do; and counts what these do meanwhile. */
  nids::Window counting(int thread, const auto& work);
  /** Judges a packet that is of no direction; returns Judge's stops. */
  unsigned judge_alone(const nids::Generation& rules, const Packet* packet, const nids::View& view, int thread);
  /** The same of one that is of the direction `followed`, which `key` names. */
  unsigned judge(const nids::Generation& rules, const Packet* packet, const nids::View& view, const flow::Key& key,
                 Followed followed, int thread);
  /** Judges what the packet, of the direction `name`, acknowledges, and could not be before. */
  void judge_acknowledged(const nids::Generation& rules, const Packet* packet, const nids::View& view, uint64_t name,
                          int thread);
  /** Whether no host takes the segment; counts it then. */
  bool has_wrong_checksum(const nids::View& view, int thread);
  /** Says so, if too many of the first segments have a wrong checksum. */
  void warn_of_checksums(uint32_t segments) const;
  uint16_t exit_of(unsigned stops) const;

  std::string nids_name_, eve_file_, flows_name_;
  uint32_t memory_mb_ = 0;  // 0: not said
  bool checks_checksums_ = true;
  std::atomic<uint32_t> first_segments_{0}, first_wrong_{0};  // of the first 1,000 that are checked
  NIDS* nids_ = nullptr;
  FlowTable* flows_ = nullptr;                           // with STREAM
  int word_ = 0;                                         // of each flow: its direction's name in streams_
  std::vector<std::unique_ptr<nids::Streams>> streams_;  // by thread
  std::unique_ptr<nids::Conversations> conversations_;   // with STREAM
  std::atomic<uint64_t> waiting_{0};                     // what did so to the end
  nids::Judge judge_{counts};
  PerThreadCounts gaps_{counts}, unfollowed_{counts}, bad_checksum_{counts}, lost_{counts};
  PerThreadCounts doubts_[nids::kDoubts]{// [Doubt]
                                         PerThreadCounts(counts), PerThreadCounts(counts), PerThreadCounts(counts),
                                         PerThreadCounts(counts), PerThreadCounts(counts), PerThreadCounts(counts),
                                         PerThreadCounts(counts)};
};

}  // namespace heddle
