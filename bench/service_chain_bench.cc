// gpu-c1, gpu-c2, gpu-c3, gpu-c4: the functions of chains/c1.click to c4.click in one kernel: firewall (1,000 filters,
// in what ENGINE auto takes for a GPU), NIDS (3,000 patterns), router (500,000 routes), IPsec (1,000 associations); by
// default with 256 slots, -slots512 with 512. The host writes columns, and anew the headers, where ciphertext stands by
// then. A packet is enciphered with the same key stream each time, which it must never be elsewhere: so its payload is
// its text again every other time. What becomes of each packet is compared with what the CPU says, and at the end each
// authenticates.
// gpu-c4-rings: those of C4 between memif rings that the GPU drives, with CheckIPHeader and IPsecSequence before them,
// against gpu-c4 right before it. Candidates go on. A peer writes the headers anew, of packets that the firewall
// allows; payloads are ciphertext from the second time on.

#include <cstring>
#include <memory>

#include "bench/nids_packets.h"
#include "bench/ring_functions.h"
#include "bench/route_tables.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/table.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/keys.h"
#include "measure/generate/filter_set.h"

namespace heddle::bench {
namespace {

constexpr size_t kAssociations = 1000, kRoutes = 500000, kFilters = 1000;

/** What the functions of C1 to C4 look up. */
struct ChainTables {
  explicit ChainTables(std::mt19937& random) {
    const classifier::Actions none{
        .read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = uint16_t{0}};
    std::vector<std::string> errors;
    filters = classifier::parse_rules("acl", to_text(generate_filters(parameters_like("acl"), {.count = kFilters})),
                                      none, errors);
    for (size_t f = 0; f < filters.size(); f += 50) filters[f].next = kDrop | 2;  // denied
    classifier::EngineChoice choice;
    firewall = classifier::make_gpu_engine(classifier::numbered(filters), {.most_bytes = size_t{1} << 30}, choice);
    patterns = content_rules(kPatterns);
    signatures.load(patterns);
    auto routes = bgp_like_routes(kRoutes, 4, 1);
    routes.push_back({});  // 0.0.0.0/0 to output 0
    router.load(routes);
    std::vector<ipsec::FileAssociation> list(kAssociations);
    for (uint32_t i = 0; i < kAssociations; ++i) {
      uint8_t key[20];
      for (auto& byte : key) byte = static_cast<uint8_t>(random());
      list[i].sa.spi = ipsec::swapped(0x1000 + i);
      ipsec::expand_key(std::span(key).first<16>(), list[i].sa);
      ipsec::start_hmac(key, list[i].sa);
    }
    associations.load(list, kL3);
  }

  /** Whether the firewall drops packets with this key. */
  bool denies(const classifier::Key& key) const {
    const uint32_t* fields[classifier::kFields];
    for (size_t f = 0; f < classifier::kFields; ++f) fields[f] = &key[f];
    classifier::Outcome found;
    firewall->classify(fields, &found, 1);
    return found.next >= kDrop;
  }

  std::vector<classifier::Rule> filters;
  std::unique_ptr<classifier::RuleEngine> firewall;
  nids::RuleSet patterns;
  nids::RuleTable signatures;
  ip_lookup::DirectTable router;
  ipsec::Associations associations;
};

enum class Stage { firewall, nids, router, ipsec };
using Stages = std::vector<Stage>;
const Stages kC1{Stage::nids, Stage::ipsec}, kC2{Stage::nids, Stage::router, Stage::ipsec},
    kC3{Stage::firewall, Stage::nids, Stage::ipsec}, kC4{Stage::firewall, Stage::nids, Stage::router, Stage::ipsec};

/** A chain of these functions, of which NIDS and, at the end, IPsec are always there. */
class ServiceChain {
 public:
  ServiceChain(const ChainTables& tables, const Stages& stages, uint32_t length, bool gather, int slots)
      : length_(length),
        stages_(stages),
        columns_in_(columns(Column::l3, Column::l4, Column::sa, Column::esp_sequence, Column::esp_iv) |
                    (has(Stage::router) ? columns(Column::dst) : 0)),
        headers_(kPackets),
        packets_(kPackets),
        tables_(tables) {
    std::mt19937 random(1);
    const Texts texts(tables_.patterns, tables_.signatures.now().automata, length_ - kPayload, random);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, texts, random);
    start(gather, slots);
  }

  double gigabits() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      const auto column = [&](Column which) { return GpuSlots::column(slot, columns_in_, which); };
      uint32_t *l3 = column(Column::l3), *l4 = column(Column::l4), *sa = column(Column::sa),
               *sequence = column(Column::esp_sequence), *iv = column(Column::esp_iv);
      uint32_t* const dst = has(Stage::router) ? column(Column::dst) : nullptr;
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        const uint32_t i = first + p;
        std::memcpy(slots_.frame(i) + kL3, headers_[i].data(), kHeaderBytes);
        if (dst != nullptr) std::memcpy(&dst[p], headers_[i].data() + 16, sizeof dst[p]);
        l3[p] = kL3, l4[p] = kL4, sa[p] = i % kAssociations, sequence[p] = kSequence;
        const uint64_t its_iv = i;
        std::memcpy(&iv[2 * p], &its_iv, sizeof its_iv);
        place[p] = slots_.place(i, length_);
      }
    };
    const auto check = [&](const gpu::SlotRing& ring, int index, uint32_t first) {
      bool right = true;
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        Packet& packet = packets_[first + p];
        const uint32_t exit = ring.outcome(index, static_cast<int>(p)).exit;
        const uint32_t wanted = packet.dropped ? kDropped : packet.candidate[packet.enciphered] ? kCandidates : kOut;
        right = right && exit == wanted;
        if (exit == kOut) packet.enciphered = !packet.enciphered, packet.out = true;
      }
      return right;
    };
    return slots_.packets_per_second(kSeconds, fill, check) * length_ * 8e-9;
  }

  /** Throws Error unless each packet that left the tunnel last authenticates, and deciphers to its headers. */
  void check_packets() {
    size_t seen = 0;
    ipsec::Burst burst;
    for (uint32_t i = 0; i < kPackets; ++i) {
      if (!packets_[i].out || packets_[i].candidate[0] || packets_[i].candidate[1]) continue;
      uint8_t* const plain = slots_.frame(i) + kL3;
      burst.begin(1);
      burst.decipher(tables_.associations.details(i % kAssociations), plain - ipsec::kEspBytes - ipsec::kIvBytes,
                     enciphered_bytes());
      if (!burst.finish() || !burst.authentic(0)) throw Error(format("packet %u does not authenticate", i));
      if (std::memcmp(plain, headers_[i].data(), kHeaderBytes) != 0)
        throw Error(format("packet %u deciphers to something else", i));
      ++seen;
    }
    if (seen == 0) throw Error(format("only %zu packets left by the tunnel", seen));
  }
  std::string note() const {
    const auto share = [&](const auto& is) {
      return 100.0 * static_cast<double>(std::ranges::count_if(packets_, is)) / kPackets;
    };
    return format("%.1f %% denied, %.1f and %.1f %% candidates", share([](const Packet& p) { return p.dropped; }),
                  share([](const Packet& p) { return !p.dropped && p.candidate[0]; }),
                  share([](const Packet& p) { return !p.dropped && p.candidate[1]; }));
  }

 private:
  static constexpr uint32_t kSequence = 1;
  struct Packet {
    bool dropped = false, candidate[2] = {}, enciphered = false, out = false;  // candidate: as text, and enciphered
  };
  bool has(Stage stage) const { return std::ranges::count(stages_, stage) > 0; }
  uint32_t enciphered_bytes() const { return ipsec::ciphertext_bytes(length_ - kL3); }

  void put_packet(uint32_t i, const Texts& texts, std::mt19937& random) {
    const classifier::Rule& filter = tables_.filters[random() % tables_.filters.size()];
    classifier::Key key;
    for (size_t f = 0; f < classifier::kFields; ++f) key[f] = random() % 2 == 0 ? filter.low[f] : filter.high[f];
    key[classifier::kProtocol] = 17;
    packets_[i].dropped = has(Stage::firewall) && tables_.denies(key);
    headers_[i] = headers_of(length_, key);
    const std::string& text = texts.texts[i % Texts::kTexts];
    std::memcpy(slots_.frame(i) + kPayload, text.data(), text.size());
    packets_[i].candidate[0] = texts.found[i % Texts::kTexts] != 0;

    // Enciphered as the GPU will do it.
    std::vector<uint8_t> esp(ipsec::kEspBytes + ipsec::kIvBytes + enciphered_bytes() + ipsec::kMaxIcvBytes);
    uint8_t* const plain = esp.data() + ipsec::kEspBytes + ipsec::kIvBytes;
    const uint64_t iv = i;
    std::memcpy(esp.data() + ipsec::kEspBytes, &iv, sizeof iv);
    std::memcpy(plain + kHeaderBytes, text.data(), text.size());
    burst_.begin(1);
    burst_.encipher(tables_.associations.details(i % kAssociations), esp.data(), enciphered_bytes());
    if (!burst_.finish()) throw Error("intel-ipsec-mb fails");
    packets_[i].candidate[1] = finds(tables_.signatures.now().automata, plain + kHeaderBytes, text.size());
  }

  void start(bool gather, int slots) {
    gpu::Device& device = slots_.device();
    gpu::ProgramSpec spec;
    const auto add = [&](const char* name, std::span<const std::byte> table, std::vector<uint16_t> outputs,
                         size_t drops) {
      spec.nodes.push_back({gpu::function_id(name),
                            {},
                            device.add_table(table),
                            gpu::StateId::none,
                            std::move(outputs),
                            std::vector<uint16_t>(drops, kDropExit)});
    };
    for (const Stage stage : stages_) {
      const auto next = static_cast<uint16_t>(spec.nodes.size() + 1);
      if (stage == Stage::firewall) {
        add("Firewall", tables_.firewall->table()->bytes(), {next}, 3);
        spec.nodes.back().state = device.add_state(classifier::kMaxRules * sizeof(classifier::GpuHits));
      }
      if (stage == Stage::nids) add("NIDS", tables_.signatures.bytes(), {next, kCandidateExit}, 1);
      if (stage == Stage::router) add("DirectIPLookup", tables_.router.bytes(), {next, next, next, next}, 1);
      if (stage == Stage::ipsec) add("IPsecEncap", tables_.associations.bytes(), {kOutExit}, 2);
    }
    spec.counts = device.add_state(spec.nodes.size() * sizeof(gpu::NodeCounts));
    spec.columns_in = columns_in_;
    spec.columns = columns_in_ | (has(Stage::firewall) ? columns(Column::rule) : 0);
    spec.writes_packets = spec.wide_results = true;
    spec.first_drop = kDropped;
    constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
    if (gather)
      spec.copies = {.in = kWhole,
                     .out = {gpu::Span::kFromStart, gpu::Span::kToEnd},
                     .before = ipsec::kFrontBytes,
                     .behind = ipsec::kMaxPadding + ipsec::kTrailerBytes + ipsec::kMaxIcvBytes};
    slots_.start(spec, slots);
  }

  uint32_t length_;
  const Stages& stages_;
  ColumnSet columns_in_;
  std::vector<Headers> headers_;
  std::vector<Packet> packets_;
  const ChainTables& tables_;
  ipsec::Burst burst_;
  GpuSlots slots_;
};

std::vector<Result> gpu_chain(const char* name, const Stages& stages) {
  std::vector<Result> results;
  std::mt19937 random(1);
  const ChainTables tables(random);
  constexpr struct {
    const char* name;
    bool gather;
    int slots;  // as --slots has it
  } kWays[] = {{"-direct", false, GpuSlots::kSlots}, {"", true, GpuSlots::kSlots}, {"-slots512", true, 512}};
  for (const auto& [way, gather, slots] : kWays)
    for (const auto& [length, figure] : {std::pair{64u, 220.0}, {512u, 255.0}, {1460u, 255.0}}) {
      ServiceChain bench(tables, stages, length, gather, slots);
      const bool in_packets = length == 64;
      results.push_back(absolute(format("%s%s-%u", name, way, length), in_packets ? "Mpps" : "Gb/s", figure, false, 5,
                                 [&] { return bench.gigabits() * (in_packets ? 1e3 / (length * 8.0) : 1); }));
      if (!gather) results.back().target = 0;
      results.back().note = bench.note();
      bench.check_packets();
    }
  return results;
}

/** A header that one of the filters takes, and the firewall allows. */
RingHeader allowed_header(const ChainTables& tables, uint32_t length, std::mt19937& random) {
  for (;;) {
    const classifier::Rule& filter = tables.filters[random() % tables.filters.size()];
    classifier::Key key;
    for (size_t f = 0; f < classifier::kFields; ++f) key[f] = random() % 2 == 0 ? filter.low[f] : filter.high[f];
    key[classifier::kProtocol] = 17;
    if (tables.denies(key)) continue;
    RingHeader header = headers_of(length, key);
    seal(header);
    return header;
  }
}

std::unique_ptr<RingFunctions> rings_of_c4(const ChainTables& tables, const RingSetup& setup) {
  std::mt19937 random(1);
  const Texts texts(tables.patterns, tables.signatures.now().automata, setup.length - kPayload, random);
  RingTunnels tunnels;
  std::vector<RingHeader> headers;
  for (uint32_t i = 0; i < kPackets; ++i) headers.push_back(allowed_header(tables, setup.length, random));
  std::vector<RingRig::Function> functions{
      check_header(1),
      {"Firewall", copy_of(tables.firewall->table()->bytes()), {2}, classifier::kMaxRules},
      {"NIDS", copy_of(tables.signatures.bytes()), {3, 3}},
      {"DirectIPLookup", copy_of(tables.router.bytes()), {4, 4, 4, 4}},
  };
  for (auto&& one : tunnels.functions(4)) functions.push_back(std::move(one));
  auto rings = std::make_unique<RingFunctions>(
      setup,
      setup.encap_options(std::move(functions),
                          kHeaderColumns | columns(Column::rule, Column::sa, Column::esp_sequence, Column::esp_iv)),
      std::move(headers), true);
  rings->fill([&](size_t number) { return texts.texts[number % Texts::kTexts]; });
  rings->check([&](const uint8_t* frame, uint32_t length, const RingHeader& header) {
    tunnels.check(frame, setup.length, length, header);
  });
  return rings;
}

std::vector<Result> gpu_c4_rings() {
  std::vector<Result> results;
  std::mt19937 random(1);
  const ChainTables tables(random);
  for (const uint32_t length : {64u, 512u, 1460u}) {
    double base = 0;
    {
      ServiceChain prepared(tables, kC4, length, true, GpuSlots::kSlots);
      for (int round = 0; round < 2; ++round) base = std::max(base, prepared.gigabits());
      prepared.check_packets();
    }
    const auto rings = [&](const RingSetup& setup) { return rings_of_c4(tables, setup); };
    for (auto&& one : against_prepared("gpu-c4-rings", length, base, 0.8, rings)) results.push_back(one);
  }
  return results;
}

const Register c1("gpu-c1", true, [] { return gpu_chain("gpu-c1", kC1); }),
    c2("gpu-c2", true, [] { return gpu_chain("gpu-c2", kC2); }),
    c3("gpu-c3", true, [] { return gpu_chain("gpu-c3", kC3); }),
    c4("gpu-c4", true, [] { return gpu_chain("gpu-c4", kC4); }), c4_rings("gpu-c4-rings", true, gpu_c4_rings);
const RegisterProbe ring_c4("ring-c4", [](Probe::Parameters& parameters) {
  const RingSetup setup = RingSetup::of(parameters);
  std::mt19937 random(1);
  const ChainTables tables(random);
  return values_of(rings_of_c4(tables, setup)->forward(kSeconds), setup.length);
});

}  // namespace
}  // namespace heddle::bench
