// Fuzzes the elements that parse packets: the first byte chooses a chain, the rest is a packet, of which exactly the
// last byte ends its memory, so that the sanitizer sees a read behind it. The chains run in the real engine's order of
// things: configure() from Click text, run_cpu() on a batch. What is packets of one connection or association is so
// from input to input.
//
// Needs everything that the heddle program links but its main(): heddle_all.

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
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
    "CheckIPHeader(14) -> DirectIPLookup(10.0.0.0/8 0, 0.0.0.0/1 1) -> "
    "ToIPSummaryDump(/dev/null, BAD_PACKETS true, FIELDS timestamp eth_src ip_src ip_dst ip_tos ip_ttl ip_proto ip_id "
    "ip_sum ip_frag ip_fragoff ip_len ip_capture_len ip_hl "
    "ip_v sport dport tcp_seq tcp_ack tcp_off tcp_flags tcp_win tcp_sum tcp_urp udp_len udp_sum icmp_type icmp_code "
    "payload_len payload wire_len)",
    "Strip(14) -> CheckIPHeader(CHECKSUM false) -> "
    "ToIPSummaryDump(/dev/null, FIELDS payload tcp_flags icmp_type sport)",
    "Classifier(12/0800 23/06, 12/0806 20/0001, 14/4?%f0 !22/00, -) -> EtherMirror -> XOR(3)",
    "GetIPAddress(16) -> DirectIPLookup(0.0.0.0/0 0) -> Strip(14) -> Unstrip(14) -> EtherMirror",
    "Paint(2) -> L2Switch(0:0:0:0:0:2 1, CAPACITY 16, TIMEOUT 0) -> NDNLookup(/ 0, /8=a 1, /8=a/8=b 2, DATA 3) -> Echo",
    "CheckIP6Header(OFFSET 14) -> LookupIP6Route(::/0 0, 2001:db8::/32 1, 2001:db8::5/128 2) -> DecIP6HLIM",
    "MarkIP6Header(14) -> DecIP6HLIM -> LookupIP6Route(2001:db8::/32 1, 2001:db8::/127 2, ENGINE trie)",
    "EtherMirror -> Print(x, -1, ACTIVE false) -> ToDump(/dev/null)",
    // The second packet of a connection has a mapping.
    "CheckIPHeader(14) -> FTPPortMapper(r, r, 0) -> r :: IPRewriter(pattern 1.0.0.1 1024-65535 - - 0 0)",
    "CheckIPHeader(14) -> AggregateIPFlows(ICMP true, CAPACITY 16) -> IPRateMonitor(BYTES, 1, 1, 100)",
    // RULES, PATTERNS and KEYS are names of files with what follows.
    "CheckIPHeader(14, CHECKSUM false) -> NIDS(RULES, EVE /dev/null)",
    "CheckIPHeader(14, CHECKSUM false) -> ids :: NIDS(RULES) -> NIDSConfirm(ids, EVE /dev/null)",
    "CheckIPHeader(14, CHECKSUM false) -> flows :: FlowTable(CAPACITY 64, TIMESTAMPS true) -> ids :: NIDS(RULES, "
    "STREAM "
    "true) -> NIDSConfirm(ids, FLOWS flows, MEMORY 1, EVE /dev/null)",
    "CheckIPHeader(14, CHECKSUM false) -> IPsecSequence(esp) -> esp :: IPsecEncap(KEYS, OFFSET 14) -> IPsecDecap(KEYS, "
    "OFFSET 14)",
    "IPsecDecap(KEYS, OFFSET 14)",
    "CheckIPHeader(14, CHECKSUM false) -> AhoCorasick(PATTERNS)",
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

/** A file for its owner alone that has this text. */
std::string file_of(const char* text) {
  char path[] = "/tmp/heddle_packets_fuzz_XXXXXX";
  const int file = mkstemp(path);
  const size_t bytes = std::strlen(text);
  if (file < 0 || write(file, text, bytes) != static_cast<ssize_t>(bytes) || close(file) != 0) abort();
  return path;
}

/** `text` with the names of these files in place of RULES, PATTERNS and KEYS. */
std::string with_files(std::string text, const std::string& rules, const std::string& patterns,
                       const std::string& keys) {
  for (const auto& [word, path] :
       {std::pair<std::string, std::string>{"(RULES", rules}, {"(PATTERNS", patterns}, {"(KEYS", keys}})
    for (size_t at = 0; (at = text.find(word, at)) != text.npos;) text.replace(at, word.size(), "(" + path);
  return text;
}

struct Chain {
  std::vector<std::unique_ptr<Element>> elements;
  size_t appends = 0;  // bytes behind a packet that its elements may need
};

/** The elements of a chain, configured. */
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
    element.inputs = 1;
    const bool goes_on = text.find("NIDSConfirm") == text.npos && declaration.class_name == "NIDS";  // a monitor
    element.outputs = declaration.class_name == "IPRateMonitor" || goes_on ? 1 : 4;  // the former has as many as inputs
    click::Arguments arguments(declaration, diagnostics);
    element.configure(arguments);
    chain.appends += static_cast<size_t>(element.appends());
  }
  const auto named = [&chain](std::string_view name) {
    std::vector<Element*> found;
    for (auto& element : chain.elements)
      if (element->name == name) found.push_back(element.get());
    return found;
  };
  for (auto& element : chain.elements) element->link(named);
  if (!diagnostics.ok()) {
    std::fputs(diagnostics.text().c_str(), stderr);
    abort();
  }
  return chain;
}

constexpr unsigned kPackets = 8, kRoom = 4096;

struct World {
  std::unique_ptr<std::byte, void (*)(std::byte*)> memory;
  PacketPool pool;
  Batch batch{64};
  std::vector<Chain> chains;

  World()
      : memory(static_cast<std::byte*>(std::aligned_alloc(64, (PacketPool::bytes_for(kPackets, kRoom) + 63) / 64 * 64)),
               [](std::byte* p) { std::free(p); }),
        pool("packets", kPackets, kRoom, memory.get()) {
    Environment environment;
    environment.packets = environment.large_packets = &pool;
    const std::string rules = file_of(kRules), patterns = file_of(kPatterns), keys = file_of(kKeys);
    for (const char* text : kChains) {
      chains.push_back(make(with_files(text, rules, patterns, keys)));
      for (auto& element : chains.back().elements) element->start(environment);
    }
    for (const std::string* path : {&rules, &patterns, &keys}) unlink(path->c_str());
  }
};

void run(World& world, const Chain& chain, const uint8_t* bytes, size_t size) {
  // The packet's bytes lie in memory of their own whose end the sanitizer guards.
  const size_t room = RTE_PKTMBUF_HEADROOM + size + chain.appends;
  std::unique_ptr<uint8_t[]> guarded(new uint8_t[room]);
  std::memset(guarded.get(), 0xa5, RTE_PKTMBUF_HEADROOM);
  std::memcpy(guarded.get() + RTE_PKTMBUF_HEADROOM, bytes, size);
  Batch& batch = world.batch;
  Packet* packet = nullptr;
  if (!world.pool.allocate(&packet, 1)) abort();
  void* const own = packet->buf_addr;
  const uint16_t own_bytes = packet->buf_len;
  packet->buf_addr = guarded.get();
  packet->buf_len = static_cast<uint16_t>(room);
  packet->data_len = static_cast<uint16_t>(size);
  packet->pkt_len = static_cast<uint32_t>(size);
  set_capture_info(packet, {1, 0});
  rte_mbuf_refcnt_update(packet, 1);  // a sink that frees it leaves it to us
  batch.resize(1);
  batch.packets()[0] = packet;
  for (int c = 0; c < kColumns; ++c) batch.column(static_cast<Column>(c))[0] = 0;
  for (auto& element : chain.elements) {
    batch.next()[0] = 0;
    element->run_cpu(batch);
    if (batch.empty() || batch.next()[0] >= kDrop) {
      if (!batch.empty() && (batch.next()[0] & 0xff) >= element->drop_reasons().size()) abort();
      break;
    }
    // Whatever an element made of it: the packet lies within its buffer.
    if (packet->data_off + length(packet) > room || packet->pkt_len != packet->data_len) abort();
  }
  rte_mbuf_refcnt_set(packet, 1);
  packet->buf_addr = own;
  packet->buf_len = own_bytes;
  rte_pktmbuf_free(packet);
}

}  // namespace
}  // namespace heddle

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static heddle::World world;
  if (size < 1 || size > 3000) return 0;
  heddle::run(world, world.chains[bytes[0] % world.chains.size()], bytes + 1, size - 1);
  return 0;
}
