// chain-cpu: the four functions of chains/c4.click, firewall (1,000 filters), NIDS (147 patterns), router (500,000
// routes) and IPsec (1,024 tunnels), on CPU cores between net_null ports, against rte_acl, Hyperscan, rte_fib and
// intel-ipsec-mb with the same rules in a bare receive-and-transmit loop: on one core, and on all. net_null gives
// buffers with whatever they held, so an element, and the bare loop in the same way, first writes the next of 2,048
// frames into each. Every packet passes; candidates of the NIDS go on with the others.

#define ALLOW_EXPERIMENTAL_API  // rte_vect_set_max_simd_bitwidth
extern "C" {                    // DPDK 22.11 forgets it
#include <rte_vect.h>
}

#include <arpa/inet.h>
#include <hs/hs.h>
#include <intel-ipsec-mb.h>
#include <rte_acl.h>
#include <rte_fib.h>
#include <rte_ip.h>

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "bench/bare_loop.h"
#include "bench/bench.h"
#include "bench/engine_run.h"
#include "bench/route_tables.h"
#include "bench/text_file.h"
#include "click/arguments.h"
#include "core/checksum.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/classifier/rule_file.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ipsec/associations.h"
#include "functions/nids/rules_for_bench.h"
#include "io/dpdk/dpdk.h"
#include "measure/generate/associations.h"
#include "measure/generate/filter_set.h"

namespace heddle::bench {
namespace {

constexpr double kSeconds = 0.25;
constexpr size_t kFilters = 1000, kPatterns = 147, kRoutes = 500'000, kFrames = 2048;
constexpr uint32_t kTunnels = 1024, kLink = 14, kPayload = 42;
constexpr uint32_t kTunnelShift = 22;  // the tunnels divide all destinations

std::string text_of(const std::vector<ip_lookup::Route>& routes) {
  std::string text;
  for (const auto& route : routes)
    text += format("%u.%u.%u.%u/%d %u\n", route.address >> 24, route.address >> 16 & 255, route.address >> 8 & 255,
                   route.address & 255, route.length, route.hop.port);
  return text;
}

/** Rules of all four, and frames. */
struct Inputs {
  Inputs() {
    const classifier::Actions none{
        .read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = uint16_t{0}};
    std::vector<std::string> errors;
    filters = classifier::parse_rules("acl", filter_text, none, errors);
    signatures.load(patterns);
    associations.load(ipsec::read_association_file(keys.path(), errors), kLink);
    if (!errors.empty() || associations.count() != kTunnels) throw Error("chain-cpu: bad rules");
  }
  const std::vector<std::vector<uint8_t>>& frames(uint32_t length) {
    auto& made = frames_[length];
    std::mt19937 random(1);
    while (made.size() < kFrames) {
      const classifier::Rule& filter = filters[random() % filters.size()];
      const auto field = [&](size_t f) { return random() % 2 == 0 ? filter.low[f] : filter.high[f]; };
      std::vector<uint8_t> frame(length);
      frame[12] = 8, frame[kLink] = 0x45, frame[kLink + 8] = 64, frame[kLink + 9] = 17;
      frame[kLink + 2] = static_cast<uint8_t>((length - kLink) >> 8);
      frame[kLink + 3] = static_cast<uint8_t>(length - kLink);
      const auto& route = routes[random() % routes.size()];
      const uint32_t address =
          route.address | (static_cast<uint32_t>(random()) & ~ip_lookup::prefix_mask(route.length));
      const uint32_t addresses[2] = {htonl(field(classifier::kSource)), htonl(address)};
      const uint16_t ports[2] = {htons(static_cast<uint16_t>(field(classifier::kSourcePort))),
                                 htons(static_cast<uint16_t>(field(classifier::kDestinationPort)))};
      std::memcpy(&frame[26], addresses, sizeof addresses), std::memcpy(&frame[34], ports, sizeof ports);
      const uint16_t sum = ip4_checksum(&frame[kLink], 20);
      std::memcpy(&frame[24], &sum, sizeof sum);
      const std::string text = text_for(patterns, signatures.now().automata, length - kPayload, random);
      std::memcpy(&frame[kPayload], text.data(), text.size());
      made.push_back(std::move(frame));
    }
    return made;
  }

  std::string filter_text = to_text(generate_filters(parameters_like("acl"), {.count = kFilters}));
  std::vector<classifier::Rule> filters;
  nids::RuleSet patterns = content_rules(kPatterns);
  nids::RuleTable signatures;
  std::vector<ip_lookup::Route> routes = bgp_like_routes(kRoutes, 4, 1);
  ipsec::Associations associations;
  TextFile filter_file{filter_text}, rule_file{to_rules(generate_patterns(kPatterns, 1))}, route_file{text_of(routes)},
      keys{generate_associations(kTunnels, EspSuite::ctr_sha1, 1)};

 private:
  std::map<uint32_t, std::vector<std::vector<uint8_t>>> frames_;
};

Inputs& inputs() {
  static Inputs all;
  return all;
}

/** Writes frame after frame. */
class FrameWriter {
 public:
  explicit FrameWriter(uint32_t length, size_t first = 0) : all_(&inputs().frames(length)), at_(first % kFrames) {}
  void write(uint8_t* frame) {
    const auto& from = (*all_)[at_++ % kFrames];
    std::memcpy(frame, from.data(), from.size());
  }

 private:
  const std::vector<std::vector<uint8_t>>* all_;
  size_t at_;
};

/** BenchTexts(LENGTH) */
class BenchTexts : public Element {
 public:
  void configure(click::Arguments& arguments) override { arguments.required("LENGTH", length_, 60u, 1514u); }
  Access access(Processor) const override { return {.writes = {{Base::head, 0, static_cast<int>(length_)}}}; }
  void start(const Environment& environment) override {
    writers_.clear();
    for (int thread = 0; thread < environment.threads; ++thread)
      writers_.push_back({FrameWriter(length_, 97 * static_cast<size_t>(thread))});
  }
  void run_cpu(Batch& batch) override {
    FrameWriter& writer = writers_[static_cast<size_t>(batch.thread)].one;
    for (int i = 0; i < batch.size(); ++i) writer.write(batch.frame(i));
  }

 private:
  struct alignas(64) Writer {
    FrameWriter one;
  };
  uint32_t length_ = 60;
  std::vector<Writer> writers_;  // [threads]
};
HEDDLE_ELEMENT(BenchTexts);

/** The four libraries' own tables. */
class Libraries {
 public:
  static constexpr size_t kFields = classifier::kFields;
  RTE_ACL_RULE_DEF(AclRule, kFields);

  Libraries() {
    dpdk::start_eal({"-m", "2048"}, 1);
    if (__builtin_cpu_supports("avx512f")) rte_vect_set_max_simd_bitwidth(512);
    build_acl();
    build_fib();
    build_scanner();
  }
  ~Libraries() {
    rte_acl_free(acl);
    rte_fib_free(fib);
    hs_free_database(patterns);
  }
  Libraries(const Libraries&) = delete;
  Libraries& operator=(const Libraries&) = delete;

  rte_acl_ctx* acl;
  rte_fib* fib;
  hs_database_t* patterns = nullptr;
  bool vector_fib = false;

 private:
  void build_acl() {
    const auto& rules = inputs().filters;
    const rte_acl_param parameters{"chain-cpu", 0, RTE_ACL_RULE_SZ(kFields), static_cast<uint32_t>(rules.size())};
    acl = rte_acl_create(&parameters);
    std::vector<AclRule> acl_rules;
    for (uint32_t number = 0; number < rules.size(); ++number) acl_rules.push_back(acl_rule(rules[number], number));
    rte_acl_config config{};
    config.num_categories = 1;
    config.num_fields = kFields;
    // Where they lie in a packet, from the protocol on, as in DPDK's l3fwd.
    config.defs[0] = {RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, 0};
    config.defs[1] = {RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, 3};
    config.defs[2] = {RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, 7};
    config.defs[3] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, 11};
    config.defs[4] = {RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, 13};
    if (acl == nullptr ||
        rte_acl_add_rules(acl, reinterpret_cast<rte_acl_rule*>(acl_rules.data()),
                          static_cast<uint32_t>(acl_rules.size())) != 0 ||
        rte_acl_build(acl, &config) != 0)
      throw Error("rte_acl refuses the filters");
  }
  static AclRule acl_rule(const classifier::Rule& rule, uint32_t number) {
    using namespace classifier;
    AclRule result{};
    result.data = {
        .category_mask = 1, .priority = RTE_ACL_MAX_PRIORITY - static_cast<int32_t>(number), .userdata = number + 1};
    result.field[0].value.u8 = static_cast<uint8_t>(rule.low[kProtocol]);
    result.field[0].mask_range.u8 = rule.low[kProtocol] == rule.high[kProtocol] ? 0xff : 0;
    for (const Field f : {kSource, kDestination}) {
      result.field[1 + f].value.u32 = rule.low[f];
      result.field[1 + f].mask_range.u32 = 32 - static_cast<uint32_t>(std::bit_width(rule.low[f] ^ rule.high[f]));
    }
    for (const Field f : {kSourcePort, kDestinationPort}) {
      result.field[1 + f].value.u16 = static_cast<uint16_t>(rule.low[f]);
      result.field[1 + f].mask_range.u16 = static_cast<uint16_t>(rule.high[f]);
    }
    return result;
  }
  void build_fib() {
    rte_fib_conf config{};
    config.type = RTE_FIB_DIR24_8;
    config.max_routes = static_cast<int>(2 * kRoutes);
    config.dir24_8.nh_sz = RTE_FIB_DIR24_8_2B;
    config.dir24_8.num_tbl8 = ip_lookup::kGroups;
    fib = rte_fib_create("chain-cpu", SOCKET_ID_ANY, &config);
    if (fib == nullptr) throw Error("rte_fib_create failed: run chain-cpu alone, or give EAL more memory");
    for (const auto& route : inputs().routes)
      if (rte_fib_add(fib, route.address, route.length, route.hop.port + 1) != 0) throw Error("rte_fib_add failed");
    vector_fib = rte_fib_select_lookup(fib, RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512) == 0;
  }
  void build_scanner() {
    std::vector<const char*> texts;
    std::vector<size_t> lengths;
    for (const auto& pattern : inputs().signatures.now().automata.patterns()[0])
      texts.push_back(pattern.data()), lengths.push_back(pattern.size());
    const std::vector<unsigned> flags(texts.size(), HS_FLAG_CASELESS);
    hs_compile_error_t* problem = nullptr;
    if (hs_compile_lit_multi(texts.data(), flags.data(), nullptr, lengths.data(), static_cast<unsigned>(texts.size()),
                             HS_MODE_BLOCK, nullptr, &patterns, &problem) != HS_SUCCESS)
      throw Error("Hyperscan does not take the patterns");
  }
};

/** One core's loop over a burst, as a program would have it that needs nothing but these four libraries. */
class Bare {
 public:
  Bare(const Libraries& libraries, uint32_t length, int core)
      : libraries_(libraries),
        writer_(length, 97 * static_cast<size_t>(core)),
        manager_(alloc_mb_mgr(0)),
        next_(kTunnels, 1) {
    init_mb_mgr_auto(manager_, nullptr);
    if (hs_alloc_scratch(libraries_.patterns, &scratch_) != HS_SUCCESS) throw Error("Hyperscan has no memory");
  }
  ~Bare() {
    free_mb_mgr(manager_);
    hs_free_scratch(scratch_);
  }
  Bare(const Bare&) = delete;
  Bare& operator=(const Bare&) = delete;

  void run(rte_mbuf** packets, uint16_t n) {
    const uint8_t* keys[kMax];
    uint32_t rules[kMax], destinations[kMax];
    uint64_t hops[kMax];
    for (uint16_t i = 0; i < n; ++i) {
      auto* const frame = rte_pktmbuf_mtod(packets[i], uint8_t*);
      writer_.write(frame);
      const auto* const header = reinterpret_cast<const rte_ipv4_hdr*>(frame + kLink);
      const uint32_t bytes = rte_be_to_cpu_16(header->total_length);
      if (header->version_ihl != 0x45 || bytes < 20 || bytes + kLink > packets[i]->pkt_len ||
          rte_ipv4_cksum(header) != 0)
        ++bad_;
      keys[i] = frame + kLink + 9;
      destinations[i] = rte_be_to_cpu_32(header->dst_addr);
    }
    rte_acl_classify(libraries_.acl, keys, rules, n, 1);
    for (uint16_t i = 0; i < n; ++i) bad_ += rules[i] > kFilters;  // none denies
    for (uint16_t i = 0; i < n; ++i) {
      const char* const payload = rte_pktmbuf_mtod_offset(packets[i], const char*, kPayload);
      const auto stop = [](unsigned, unsigned long long, unsigned long long, unsigned, void*) { return 1; };
      candidates_ += hs_scan(libraries_.patterns, payload, packets[i]->pkt_len - kPayload, 0, scratch_, stop,
                             nullptr) == HS_SCAN_TERMINATED;
    }
    rte_fib_lookup_bulk(libraries_.fib, destinations, hops, n);
    for (uint16_t i = 0; i < n; ++i) bad_ += hops[i] == 0 || hops[i] > 4;
    encipher(packets, destinations, n);
  }
  uint64_t bad() const { return bad_; }
  uint64_t candidates() const { return candidates_; }

 private:
  static constexpr int kMax = 64;

  void encipher(rte_mbuf** packets, const uint32_t* destinations, uint16_t n) {
    using namespace ipsec;
    IMB_JOB* jobs[kMax];
    if (IMB_GET_NEXT_BURST(manager_, n, jobs) != n) throw Error("intel-ipsec-mb has no jobs");
    for (uint16_t i = 0; i < n; ++i) {
      const Association& sa = inputs().associations[destinations[i] >> kTunnelShift];
      const uint32_t sequence = next_[destinations[i] >> kTunnelShift]++;
      const uint32_t inner_bytes = packets[i]->pkt_len - kLink, bytes = ciphertext_bytes(inner_bytes);
      auto* const inner = rte_pktmbuf_mtod(packets[i], uint8_t*) + kLink;
      const Inner plain = inner_of(load_word(inner), load_word(inner + 4), inner_bytes);
      auto* const frame = reinterpret_cast<uint8_t*>(rte_pktmbuf_prepend(packets[i], kFrontBytes));
      rte_pktmbuf_append(packets[i], static_cast<uint16_t>(bytes - inner_bytes + kIcvBytes));
      std::memcpy(frame, inner - kLink, kLink);
      uint32_t words[5];
      outer_header(words, sa, plain, sequence, kFrontBytes + bytes + kIcvBytes);
      std::memcpy(frame + kLink, words, sizeof words);
      uint8_t* const esp = frame + kLink + kIp4Bytes;
      const uint32_t head[2] = {sa.spi, swapped(sequence)};
      const uint64_t iv = sequence;
      std::memcpy(esp, head, sizeof head), std::memcpy(esp + kEspBytes, &iv, sizeof iv);
      const uint32_t padding = bytes - inner_bytes - kTrailerBytes;
      for (uint32_t at = inner_bytes; at < bytes; ++at)
        inner[at] = static_cast<uint8_t>(trailer_byte(at - inner_bytes, padding, kProtocolIp4));
      std::memcpy(ivs_[i], &sa.nonce, 4), std::memcpy(ivs_[i] + 4, &iv, sizeof iv);
      set(*jobs[i], sa, esp, bytes, ivs_[i]);
    }
    uint32_t done = IMB_SUBMIT_BURST(manager_, n, jobs);
    while (const uint32_t more = IMB_FLUSH_BURST(manager_, kMax, jobs)) done += more;
    bad_ += done != n;
  }
  static uint32_t load_word(const uint8_t* at) {
    uint32_t word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  static void set(IMB_JOB& job, const ipsec::Association& sa, uint8_t* esp, uint32_t bytes, const uint8_t* iv) {
    constexpr uint32_t kHead = ipsec::kEspBytes + ipsec::kIvBytes;
    job.cipher_mode = IMB_CIPHER_CNTR, job.hash_alg = IMB_AUTH_HMAC_SHA_1;
    job.cipher_direction = IMB_DIR_ENCRYPT, job.chain_order = IMB_ORDER_CIPHER_HASH;
    job.enc_keys = job.dec_keys = sa.round_keys;
    job.key_len_in_bytes = 16;
    job.iv = iv, job.iv_len_in_bytes = 12;
    job.src = esp, job.dst = esp + kHead;
    job.cipher_start_src_offset_in_bytes = kHead, job.msg_len_to_cipher_in_bytes = bytes;
    job.hash_start_src_offset_in_bytes = 0, job.msg_len_to_hash_in_bytes = kHead + bytes;
    job.auth_tag_output = esp + kHead + bytes, job.auth_tag_output_len_in_bytes = kIcvBytes;
    job.u.HMAC._hashed_auth_key_xor_ipad = reinterpret_cast<const uint8_t*>(sa.inner);
    job.u.HMAC._hashed_auth_key_xor_opad = reinterpret_cast<const uint8_t*>(sa.outer);
  }

  static constexpr uint32_t kIcvBytes = 12;
  const Libraries& libraries_;
  FrameWriter writer_;
  IMB_MGR* manager_;
  hs_scratch_t* scratch_ = nullptr;
  std::vector<uint32_t> next_;  // by tunnel; those of other cores are others
  uint64_t bad_ = 0, candidates_ = 0;
  alignas(16) uint8_t ivs_[kMax][16] = {};
};

double bare_mpps(const Libraries& libraries, uint32_t length, int cores) {
  std::vector<std::shared_ptr<Bare>> all;
  const double mpps = bare_loops_mpps(kSeconds, format(",size=%u", length).c_str(), cores, [&](int core) {
    all.push_back(std::make_shared<Bare>(libraries, length, core));
    return [bare = all.back()](rte_mbuf** packets, uint16_t n) { bare->run(packets, n); };
  });
  for (const auto& one : all)
    if (one->bad() != 0 || one->candidates() == 0) throw Error("the bare loop does something wrong");
  return mpps;
}

/** One chain for all cores, with ports for each. */
double chain_mpps(uint32_t length, int cores) {
  const Inputs& all = inputs();
  std::string chain = format(
      "from :: Null; to :: CPUSwitch; from -> BenchTexts(%u) -> CheckIPHeader(14) -> IPsecSequence(esp)"
      " -> Firewall(RULES %s, ACTION allow, DEFAULT allow) -> ids :: NIDS(%s) -> rt :: DirectIPLookup(FILE %s);"
      "ids[1] -> rt; rt[0], rt[1], rt[2], rt[3] -> esp :: IPsecEncap(%s, OFFSET 14) -> to;",
      length, all.filter_file.path(), all.rule_file.path(), all.route_file.path(), all.keys.path());
  for (int core = 0; core < cores; ++core)
    chain += format(
        "from%d :: FromDPDKDevice(\"net_null%d,size=%u\") -> from; to[%d] -> ToDPDKDevice(net_null%d);"
        "StaticThreadSched(from%d %d);",
        core, 2 * core, length, core, 2 * core + 1, core, core);
  RunOptions options;
  options.pin = true;
  options.threads = cores;
  return engine_mpps(chain, {}, options, kSeconds);
}

std::vector<Result> chain_cpu() {
  const Libraries libraries;
  std::vector<Result> results;
  const int most = std::min(core_count(), 16);  // DPDK has 32 ports
  for (const int cores : {1, most})
    for (const uint32_t length : {60u, 1460u}) {
      results.push_back(paired(
          format("chain-cpu-%u-%d", length == 60 ? 64 : length, cores), "Mpps", cores == 1 ? 0.9 : 0,
          cores == 1 ? 5 : 3, [&] { return chain_mpps(length, cores); },
          [&] { return bare_mpps(libraries, length, cores); }));
      results.back().note =
          format("%d core%s, %.1f Gb/s; baseline: rte_acl, Hyperscan, %s, intel-ipsec-mb", cores, cores == 1 ? "" : "s",
                 results.back().value * length * 8e-3, libraries.vector_fib ? "rte_fib with AVX-512" : "rte_fib");
    }
  return results;
}

const Register registered("chain-cpu", false, chain_cpu);

}  // namespace
}  // namespace heddle::bench
