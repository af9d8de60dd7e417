// Fuzzes the elements that parse packets: the first byte chooses a chain, the rest is a packet, of which exactly the
// last byte ends its memory, so that the sanitizer sees a read behind it. The chains run in the real engine's order of
// things: configure() from Click text, run_cpu() on a batch, emit() for what elements have kept. What is packets of one
// connection, association or fragmented packet is so from input to input, which are 10 ms apart.
//
// Needs everything that the heddle program links but its main(): heddle_all.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "click/arguments.h"
#include "click/flatten.h"
#include "click/parser.h"
#include "core/element.h"
#include "core/packet_pool.h"

namespace heddle {
namespace {

// Elements in the order in which every packet meets them, whatever output it would leave by.
constexpr const char* kChains[] = {
    "CheckIPHeader(14) -> DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/1 1) -> ToIPSummaryDump(/dev/null, BAD_PACKETS true, "
    "FIELDS timestamp eth_src ip_src ip_dst ip_tos ip_ttl ip_proto ip_id ip_sum ip_frag ip_fragoff ip_len "
    "ip_capture_len ip_hl ip_v sport dport tcp_seq tcp_ack tcp_off tcp_flags tcp_win tcp_sum tcp_urp udp_len udp_sum "
    "icmp_type icmp_code payload_len payload wire_len)",
    "Strip(14) -> CheckIPHeader(CHECKSUM false) -> ToIPSummaryDump(/dev/null, FIELDS payload tcp_flags icmp_type "
    "sport)",
    "Classifier(12/0800 23/06, 12/0806 20/0001, 14/4?%f0 !22/00, -) -> EtherMirror -> XOR(3)",
    "GetIPAddress(16) -> DirectIPLookup(0.0.0.0/0 0) -> Strip(14) -> Unstrip(14) -> EtherMirror",
    "Paint(2) -> L2Switch(0:0:0:0:0:2 1, CAPACITY 16, TIMEOUT 0) -> NDNLookup(/ 0, /8=a 1, /8=a/8=b 2, DATA 3) -> Echo",
    "CheckIP6Header(OFFSET 14) -> LookupIP6Route(::/0 0, 2001:db8::/32 1, 2001:db8::5/128 2) -> DecIP6HLIM",
    "MarkIP6Header(14) -> DecIP6HLIM -> LookupIP6Route(2001:db8::/32 1, 2001:db8::/127 2, ENGINE trie)",
    "EtherMirror -> Print(x, -1, ACTIVE false) -> ToDump(/dev/null)",
    // The second packet of a connection has a mapping.
    "CheckIPHeader(14) -> FTPPortMapper(r, r, 0) -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0)",
    "CheckIPHeader(14) -> AggregateIPFlows(ICMP true, CAPACITY 16) -> IPRateMonitor(BYTES, 1, 1, 100)",
    // $rules, $patterns, $keys and so on are names of files with what follows.
    "CheckIPHeader(14, CHECKSUM false) -> NIDS($rules, EVE /dev/null)",
    "CheckIPHeader(14, CHECKSUM false) -> ids :: NIDS($rules) -> NIDSConfirm(ids, EVE /dev/null)",
    "CheckIPHeader(14, CHECKSUM false) -> flows :: FlowTable(CAPACITY 64, TIMESTAMPS true) -> ids :: NIDS($rules, "
    "STREAM true) -> NIDSConfirm(ids, FLOWS flows, MEMORY 1, EVE /dev/null)",
    "CheckIPHeader(14, CHECKSUM false) -> IPsecSequence(esp) -> esp :: IPsecEncap($keys, OFFSET 14) -> "
    "IPsecDecap($keys, OFFSET 14)",
    "IPsecDecap($keys, OFFSET 14)",
    "CheckIPHeader(14, CHECKSUM false) -> AhoCorasick($patterns)",
    "CheckIPHeader(14, CHECKSUM false) -> ids :: NIDS($stopping) -> NIDSConfirm(ids, EVE /dev/null) -> TCPReset -> "
    "CheckIPHeader(14) -> CheckTCPHeader",
    "CheckIPHeader(14, CHECKSUM false) -> flows :: FlowTable(CAPACITY 64, TIMESTAMPS true, TIMEOUT 10s) -> ids :: "
    "NIDS($streamed, STREAM true) -> NIDSConfirm(ids, FLOWS flows, MEMORY 1, EVE /dev/null) -> TCPReset",
    "CheckIPHeader(14, CHECKSUM false) -> TCPReset -> CheckIPHeader(14) -> CheckTCPHeader",
    "CheckIPHeader(14, CHECKSUM false) -> IPsecSequence(esp, MTU 1500) -> esp :: IPsecEncap($tunnels, OFFSET 14) -> "
    "decap :: IPsecDecap($tunnels, OFFSET 14) -> IPsecReplay(decap)",
    "decap :: IPsecDecap($tunnels, OFFSET 14) -> IPsecReplay(decap)",
    "CheckIPHeader(14, CHECKSUM false) -> BitVectorClassifier(RULES $classes, ENGINE bitvector) -> "
    "BitVectorClassifier(RULES $classes, ENGINE tuple) -> BitVectorClassifier(RULES $classes, ENGINE hypersplit)",
    "CheckIP6Header(OFFSET 14) -> BitVectorClassifier(RULES $classes, ENGINE bitvector) -> BitVectorClassifier(RULES "
    "$classes, ENGINE tuple) -> BitVectorClassifier(RULES $classes, ENGINE hypersplit)",
    "CheckIPHeader(14, CHECKSUM false) -> Firewall(@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 1023 0x06/0xFF deny, @0.0.0.0/0 "
    "0.0.0.0/0 53 : 53 0 : 65535 0x11/0xFF allow, DEFAULT deny)",
    "CheckIPHeader(14) -> flows :: FlowTable(CAPACITY 16, TIMESTAMPS true, TIMEOUT 1s) -> FlowCounter(flows) -> "
    "LoadBalancer(flows, 10.0.0.1, 10.0.0.2) -> RateLimiter(flows, 20, BURST 2) -> CheckIPHeader(14)",
    "CheckIPHeader(14, CHECKSUM false) -> flows :: FlowTable(CAPACITY 16, TIMESTAMPS true, TIMEOUT 1s) -> NAT(flows, "
    "192.0.2.1, PORTS 1024-1030)",
    "CheckIPHeader(14) -> IPReassembler(HIMEM 65536) -> IPFragmenter(68, false) -> IPReassembler(HIMEM 65536) -> "
    "ToIPSummaryDump(/dev/null, FIELDS ip_frag ip_fragoff ip_len sport payload)",
    "CheckIPHeader(14, CHECKSUM false) -> IPFragmenter(69) -> IPReassembler(HIMEM 65536) -> CheckIPHeader(14)",
    "CheckIPHeader(14, CHECKSUM false) -> ICMPRewriter(r) -> servers :: RoundRobinIPMapper(- - 10.0.0.1 - 0 1, 1.0.0.1 "
    "1024-1027# 10.0.0.2 80 0 1) -> r :: IPRewriter(servers, MAPPING_CAPACITY 16)",
    "CheckIPHeader(14, CHECKSUM false) -> IPAddrRewriter(pattern 1.0.0.0/30 - 0 1, MAPPING_CAPACITY 16) -> "
    "ICMPPingRewriter(pattern 2.0.0.1 1024-65535 - - 0 1)",
    "CheckIPHeader(14, CHECKSUM false) -> IPAddrPairRewriter(pattern 1.0.0.0/30 - 9.9.9.9 - 0 1) -> "
    "TCPRewriter(pattern 1.0.0.9 1024-1030 - - 0 1, MAPPING_CAPACITY 16)",
    "MarkIP6Header(14) -> IP6Reassembler(HIMEM 65536) -> IP6Fragmenter(72) -> IP6Reassembler(HIMEM 65536) -> "
    "IP6Fragmenter(1280) -> CheckIP6Header(OFFSET 14)",
    "MarkIP6Header(14) -> IP6Fragmenter(72) -> CheckIP6Header(OFFSET 14) -> GetIP6Address(38) -> DecIP6HLIM",
    "MarkIPHeader(14) -> IPMirror -> ForceTCP(0, true, 2) -> CheckTCPHeader -> ForceUDP -> CheckUDPHeader -> "
    "ForceICMP(unreachable, host) -> CheckICMPHeader",
    "Strip(14) -> ForceIP -> CheckIPHeader -> ForceTCP -> CheckTCPHeader -> IPMirror -> CheckTCPHeader",
    // Frames of ARP and IPv6 are answers to queriers, all else are packets that they send.
    "GetIPAddress(16) -> ARPQuerier(10.0.0.1/8, 2:0:0:0:0:1, CAPACITY 8, ENTRY_CAPACITY 8, POLL_TIMEOUT 0.01s)",
    "GetIP6Address(24) -> IP6NDSolicitor(2001:db8::1, 2:0:0:0:0:1, CAPACITY 8, ENTRY_CAPACITY 8)",
    "ARPResponder(10.0.0.1 2:0:0:0:0:1, 0.0.0.0/1 2:0:0:0:0:2) -> ARPPrint(ACTIVE false) -> EtherMirror",
    "IP6NDAdvertiser(2001:db8::/32 2:0:0:0:0:1, ::/1 2:0:0:0:0:2) -> EtherMirror",
    "Strip(14) -> CheckIPHeader(CHECKSUM false) -> ICMPPingResponder -> CheckICMPHeader -> ICMPPingResponder",
    "MarkIPHeader(14) -> CheckICMPHeader -> ICMPPingEncap(10.0.0.1, 10.0.0.2) -> CheckIPHeader -> CheckICMPHeader",
    "Strip(14) -> CheckIPHeader(CHECKSUM false) -> IPGWOptions(10.0.0.1) -> DecIPTTL -> ICMPError(10.0.0.1, "
    "unreachable, "
    "host) -> CheckIPHeader -> CheckICMPHeader",
    "Strip(14) -> MarkIPHeader -> ICMPError(10.0.0.1, redirect, host) -> CheckIPHeader -> CheckICMPHeader -> FixIPSrc("
    "10.0.0.9)",
    "Strip(14) -> CheckIP6Header -> ICMP6Error(2001:db8::1, packettoobig, PMTU 1280) -> CheckIP6Header -> IP6Mirror",
    "VLANDecap -> SetVLANAnno(VLAN_ID 7) -> VLANEncap(ANNO) -> VLANEncap(VLAN_ID 9) -> VLANDecap -> "
    "StripEtherVLANHeader("
    "-1) -> EtherVLANEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2, ANNO)",
    "StripEtherVLANHeader -> EnsureEther(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> HostEtherFilter(2:2:2:2:2:2) -> "
    "EtherRewrite(2:0:0:0:0:1, 2:0:0:0:0:2)",
    "CheckIPHeader(14, CHECKSUM false) -> AggregateIPFlows(ICMP true, CAPACITY 16) -> ToIPFlowDumps(/dev/null, "
    "TCP_OPT true, TCP_WINDOW true, IP_ID true, CAPACITY 1000)",
};

constexpr const char* kRules =
    "alert ip any any -> any any (content:\"a\"; sid:1;)\n"
    "alert tcp any any -> any any (content:\"ab\"; nocase; content:!\"c\"; distance:1; within:4; sid:2;)\n"
    "alert udp any 1:1024 <> [10.0.0.0/8,!10.1.0.0/16] any (content:\"b\"; offset:2; depth:9; endswith; sid:3;)\n"
    "alert tcp any any -> any any (pcre:\"/(a|b)+c/i\"; flow:established,to_server; sid:4;)\n"
    "alert ip any any -> any any (content:\"a\"; flow:to_client; sid:5;)\n"
    "alert udp any any -> any any (flow:not_established; dsize:<9; sid:6;)\n"
    "alert icmp any any -> any any (flow:established; threshold:type limit, track by_src, count 1, seconds 9; sid:7;)\n"
    "alert tcp any any -> any any (content:\"a\"; content:\"b\"; distance:-2; pcre:\"/c/R\"; sid:8;)\n";
// For a NIDS whose candidates are held.
constexpr const char* kStopping =
    "drop tcp any any -> any any (content:\"a\"; startswith; sid:1;)\n"
    "reject tcp any any -> any any (content:\"b\"; endswith; content:\"a\"; offset:1; sid:2;)\n"
    "pass udp any any -> any any (content:\"a\"; pcre:\"/^a+b/\"; sid:3;)\n"
    "alert ip any any -> any any (content:\"a\"; detection_filter:track by_both, count 2, seconds 9; sid:4;)\n"
    "reject ip any any -> any any (content:\"bc\"; fast_pattern; dsize:>2; sid:5;)\n";
// For one that follows connections.
constexpr const char* kStreamed =
    "alert tcp any any -> any any (content:\"ab\"; flow:established,to_server,only_stream; sid:1;)\n"
    "drop tcp any any -> any any (content:\"b\"; content:\"c\"; distance:1; within:9; flow:only_stream; sid:2;)\n"
    "reject tcp any any -> any any (content:\"aaa\"; flow:no_stream; sid:3;)\n"
    "alert tcp-pkt any any -> any any (content:\"abc\"; startswith; sid:4;)\n"
    "pass tcp any any -> any 80 (pcre:\"/d+e/R\"; sid:5;)\n"
    "alert tcp any any -> any any (content:\"a\"; threshold:type both, track by_rule, count 2, seconds 1; sid:6;)\n";
constexpr const char* kClasses =
    "@10.0.0.0/8 0.0.0.0/0 0 : 65535 0 : 1023 0x06/0xFF flags=0x02/0x12 0\n"
    "@0.0.0.0/0 10.0.0.0-10.0.0.9 1 : 99 0 : 65535 0x11/0xFF transport[8/4]=0x61000000-0xffffffff 1\n"
    "@2001:db8::/32 ::/0 0 : 65535 0 : 1023 0x06/0xFF 2\n"
    "@::/0 2001:db8::5-2001:db8:1::7 0 : 65535 0 : 65535 0x11/0xFF ip[6/2]=1-999 1\n"
    "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x01/0xFF "
    "frame[60/16]=0x00000000000000000000000000000001-0xffffffffffffffff0000000000000000 deny\n"
    "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 frame[0/1]=1/1 3\n"
    "@0.0.0.0/0 0.0.0.0/0 0 : 65535 0 : 65535 0x00/0x00 2\n";
constexpr const char* kPatterns = "ip any ab\ntcp any b|00|\nudp 53 |00 01|\ntcp 80 GET\nicmp any aaaaaaaa\n";
constexpr const char* kKeys = R"(src 198.51.100.1 dst 203.0.113.1
	proto esp spi 0x61626364 mode tunnel
	replay-window 64
	auth-trunc hmac(sha1) 0xde300000000000000000000000000000000000de 96
	enc rfc3686(ctr(aes)) 0xde300000000000000000000000000000000000de
	sel src 0.0.0.0/0 dst 192.0.2.0/24
src 198.51.100.1 dst 203.0.113.2
	proto esp spi 0x61626365 mode tunnel
	aead rfc4106(gcm(aes)) 0xde300000000000000000000000000000000001de 128
	sel src 0.0.0.0/0 dst 0.0.0.0/1
src 198.51.100.1 dst 203.0.113.3
	proto esp spi 0x61626366 mode transport
	auth-trunc hmac(sha256) 0xde300000000000000000000000000000000000000000000000000000000002de 128
	enc cbc(aes) 0xde3000000000000000000000000002de
	sel src 0.0.0.0/0 dst 203.0.113.3/32
)";

// What a GPU enciphers: extended numbers about to carry, tunnels of IPv6, ESP in UDP, limits.
constexpr const char* kTunnels = R"(src 198.51.100.1 dst 203.0.113.1
	proto esp spi 0x61626364 mode tunnel
	replay-window 0 flag esn
	auth-trunc hmac(sha1) 0xde300000000000000000000000000000000000de 96
	enc rfc3686(ctr(aes)) 0xde300000000000000000000000000000000000de
	anti-replay esn context:
	 seq-hi 0x1, seq 0xfffffff0, oseq-hi 0x1, oseq 0xfffffff0
	 replay_window 64, bitmap-length 2
	 00000000 00000000
	sel src 0.0.0.0/0 dst 192.0.2.0/24
src 2001:db8::1 dst 2001:db8::2
	proto esp spi 0x61626365 mode tunnel
	replay-window 32
	aead rfc4106(gcm(aes)) 0xde300000000000000000000000000000000001de 64
	limit: soft 100(packets), hard 100000(packets)
	sel src 0.0.0.0/0 dst 0.0.0.0/1
src 198.51.100.1 dst 203.0.113.3
	proto esp spi 0x61626366 mode tunnel
	aead rfc4106(gcm(aes)) 0xde300000000000000000000000000000000002de 96
	encap type espinudp sport 4501 dport 4500 addr 0.0.0.0
	limit: soft 9000(bytes), hard 10000000(bytes)
	sel src 0.0.0.0/0 dst 203.0.113.0/28
src 2001:db8::1 dst 2001:db8::3
	proto esp spi 0x61626367 mode transport
	replay-window 0 flag esn
	aead rfc4106(gcm(aes)) 0xde300000000000000000000000000000000003de 128
	anti-replay esn context:
	 seq-hi 0x0, seq 0x0, oseq-hi 0x0, oseq 0x0
	 replay_window 32, bitmap-length 1
	 00000000
	sel src ::/0 dst 2001:db8::3/128
)";
/** The words for files in chains, and what is in these. */
constexpr std::pair<const char*, const char*> kFiles[] = {
    {"$rules", kRules},       {"$stopping", kStopping}, {"$streamed", kStreamed}, {"$classes", kClasses},
    {"$patterns", kPatterns}, {"$keys", kKeys},         {"$tunnels", kTunnels}};

/** A file for its owner alone that has this text. */
std::string file_of(const char* text) {
  char path[] = "/tmp/heddle_packets_fuzz_XXXXXX";
  const int file = mkstemp(path);
  const size_t bytes = std::strlen(text);
  if (file < 0 || write(file, text, bytes) != static_cast<ssize_t>(bytes) || close(file) != 0) abort();
  return path;
}

struct Chain {
  std::vector<std::unique_ptr<Element>> elements;
  size_t appends = 0;  // bytes behind a packet that its elements may need
};

/** The elements of a chain, configured; each leads to the next. */
Chain make(const std::string& text) {
  Chain chain;
  click::Diagnostics diagnostics;
  const click::Graph graph = click::parse(text, "chain", {Catalog::instance().names(), {}}, diagnostics);
  for (auto& declaration : graph.elements) {
    const Catalog::Entry* entry = Catalog::instance().find(declaration.class_name);
    if (entry == nullptr) abort();
    chain.elements.push_back(entry->make());
    Element& element = *chain.elements.back();
    element.name = declaration.name;
    element.class_name = declaration.class_name;
    const bool asks = declaration.class_name == "ARPQuerier" || declaration.class_name == "IP6NDSolicitor";
    element.inputs = asks ? 2 : 1, element.pulled.assign(static_cast<size_t>(element.inputs), false);
    const bool goes_on = text.find("NIDSConfirm") == text.npos && declaration.class_name == "NIDS";  // a monitor
    element.outputs = declaration.class_name == "IPRateMonitor" || goes_on ? 1 : 4;  // the former has as many as inputs
    click::Arguments arguments(declaration, diagnostics);
    element.configure(arguments);
    chain.appends += static_cast<size_t>(element.appends());
  }
  const auto named = [&chain](std::string_view name) {
    std::vector<Element*> found;
    for (auto& element : chain.elements)
      if (element->name == name || name == "*") found.push_back(element.get());
    return found;
  };
  for (size_t i = 1; i < chain.elements.size(); ++i) {
    chain.elements[i]->before = {chain.elements[i - 1].get()};
    chain.elements[i - 1]->behind = {chain.elements[i].get()};
  }
  for (auto& element : chain.elements) element->link(named);
  if (!diagnostics.ok()) {
    std::fputs(diagnostics.text().c_str(), stderr);
    abort();
  }
  return chain;
}

constexpr unsigned kPackets = 4096, kRoom = 4096, kLargePackets = 4, kLargeRoom = 65535, kMinFree = 100;

struct Pool {
  std::unique_ptr<std::byte, void (*)(std::byte*)> memory;
  PacketPool pool;

  Pool(const char* name, unsigned packets, unsigned room)
      : memory(static_cast<std::byte*>(std::aligned_alloc(64, (PacketPool::bytes_for(packets, room) + 63) / 64 * 64)),
               [](std::byte* p) { std::free(p); }),
        pool(name, packets, room, memory.get()) {}
};

struct World {
  Pool packets{"packets", kPackets, kRoom}, large{"large", kLargePackets, kLargeRoom};
  std::vector<Chain> chains;
  uint64_t now_ns = 0;

  World() {
    Environment environment;
    environment.packets = &packets.pool, environment.large_packets = &large.pool;
    std::map<std::string, std::string> paths;  // by word
    for (const auto& [word, content] : kFiles) paths[word] = file_of(content);
    for (std::string text : kChains) {
      for (const auto& [word, path] : paths)
        for (size_t at = 0; (at = text.find(word, at)) != text.npos;) text.replace(at, word.size(), path);
      chains.push_back(make(text));
      for (auto& element : chains.back().elements) {
        element->carries = kAllColumns;
        element->start(environment);
      }
    }
    for (const auto& [word, path] : paths) unlink(path.c_str());
  }
  ~World() { release(); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  /** Has elements give up the packets that they keep. */
  void release();
};

void ask(Chain& chain, size_t from, bool ending);

/** Whether a frame goes to a querier's second input: ARP and IPv6. */
bool is_answer(const Packet* packet) {
  if (length(packet) < 14) return false;
  const uint8_t* const type = data(packet) + 12;
  return (type[0] == 0x08 && type[1] == 0x06) || (type[0] == 0x86 && type[1] == 0xdd);
}

/** Takes the packet of `batch` through the elements from `from` on, and asks each for packets that it has then. */
void pass(Chain& chain, size_t from, Batch& batch) {
  for (size_t i = from; i < chain.elements.size(); ++i) {
    Element& element = *chain.elements[i];
    batch.next()[0] = 0;
    if (element.inputs > 1) batch.column(Column::input)[0] = is_answer(batch.packet(0)) ? 1 : 0;
    element.run_cpu(batch);
    const bool taken = batch.empty() || batch.next()[0] == kKept, dropped = !taken && batch.next()[0] >= kDrop;
    if (dropped && (batch.next()[0] & 0xff) >= element.drop_reasons().size()) abort();
    if (taken || dropped) {
      if (dropped) batch.free_packets();
      batch.resize(0);
      return ask(chain, i, false);
    }
    // Whatever an element made of it: the packet lies within its buffer.
    const Packet* packet = batch.packet(0);
    if (packet->data_off + length(packet) > packet->buf_len || packet->pkt_len != packet->data_len) abort();
  }
  batch.free_packets();
}

/** Takes on what element `from` gives on its own. */
void ask(Chain& chain, size_t from, bool ending) {
  Batch batch(1);
  if (auto* buffer = dynamic_cast<Source*>(chain.elements[from].get())) {
    for (;;) {
      batch.resize(0);
      batch.clear_marks(1);
      batch.set_room(1);
      buffer->receive(batch);
      if (batch.empty()) return;
      pass(chain, from + 1, batch);
    }
  }
  auto* emitter = dynamic_cast<Emitter*>(chain.elements[from].get());
  if (emitter == nullptr) return;
  while (ending ? emitter->holds() : emitter->due(0)) {
    batch.resize(0);
    batch.clear_marks(1);
    emitter->emit(batch, ending);
    if (batch.empty()) return;
    if (batch.next()[0] >= kDrop)
      batch.free_packets();
    else
      pass(chain, from + 1, batch);
  }
}

void World::release() {
  for (Chain& chain : chains)
    for (size_t i = 0; i < chain.elements.size(); ++i) ask(chain, i, true);
}

/** Gives a packet a buffer of its own, with `room` bytes, which is freed with it: the sanitizer guards its end. */
void attach_guarded(Packet* packet, size_t room) {
  auto* shared = new rte_mbuf_ext_shared_info{.free_cb =
                                                  [](void* buffer, void* info) {
                                                    delete[] static_cast<uint8_t*>(buffer);
                                                    delete static_cast<rte_mbuf_ext_shared_info*>(info);
                                                  },
                                              .fcb_opaque = nullptr,
                                              .refcnt = 1};
  shared->fcb_opaque = shared;
  auto* buffer = new uint8_t[room];
  std::memset(buffer, 0xa5, room);
  rte_pktmbuf_attach_extbuf(packet, buffer, RTE_BAD_IOVA, static_cast<uint16_t>(room), shared);
  packet->data_off = RTE_PKTMBUF_HEADROOM;
}

void run(World& world, Chain& chain, const uint8_t* bytes, size_t size) {
  Packet* packet = nullptr;
  if (world.packets.pool.available() < kMinFree) world.release();
  if (!world.packets.pool.allocate(&packet, 1)) abort();
  attach_guarded(packet, RTE_PKTMBUF_HEADROOM + size + chain.appends);
  std::memcpy(data(packet), bytes, size);
  packet->data_len = static_cast<uint16_t>(size);
  packet->pkt_len = static_cast<uint32_t>(size);
  set_capture_info(packet, {world.now_ns += 10'000'000, 0});
  Batch batch(1);
  batch.resize(1);
  batch.packets()[0] = packet;
  each_column(kAllColumns, [&](Column which) {
    if (is_wide(which))
      batch.wide_column(which)[0] = 0;
    else
      batch.column(which)[0] = 0;
  });
  pass(chain, 0, batch);
}

}  // namespace
}  // namespace heddle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static heddle::World world;
  if (size < 1 || size > 3000) return 0;
  heddle::run(world, world.chains[bytes[0] % world.chains.size()], bytes + 1, size - 1);
  return 0;
}
