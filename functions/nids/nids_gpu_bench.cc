// gpu-nids: NIDS in the persistent kernel on prepared packets, with 3,000 patterns: payloads are read in place over
// PCIe.
// gpu-nids-groups: the same with rules for services, whose packets are searched for their patterns only, against the
// same rules for any packet.
// gpu-c4: the functions of chains/c4.click in one kernel: firewall (1,000 filters), NIDS (3,000 patterns), router
// (500,000 routes), IPsec (1,000 associations). The host writes columns, and anew the headers, where ciphertext stands
// by then. A packet is enciphered with the same key stream each time, which it must never be elsewhere: so its payload
// is its text again every other time. What becomes of each packet is compared with what the CPU says, and at the end
// each authenticates.
//
// gpu-nids-rings, gpu-c4-rings: the same functions between memif rings that the GPU drives, with CheckIPHeader, and for
// C4 IPsecSequence, before them, against those right before it. Candidates go on. For C4 a peer writes the headers
// anew, of packets that the firewall allows; payloads are ciphertext from the second time on. For NIDS it writes
// descriptors only.

#include <cstring>
#include <deque>
#include <memory>

#include "bench/gpu_slots.h"
#include "bench/ring_functions.h"
#include "bench/route_tables.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/table.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/burst.h"
#include "functions/ipsec/keys.h"
#include "functions/nids/rules_for_bench.h"
#include "measure/generate/filter_set.h"

namespace heddle::bench {
namespace {

constexpr uint32_t kPackets = GpuSlots::kPackets, kL3 = 14, kL4 = 34, kPayload = 42, kHeaderBytes = kPayload - kL3;
constexpr size_t kPatterns = 3000, kAssociations = 1000, kRoutes = 500000, kFilters = 1000;
constexpr double kSeconds = 0.5;
enum Exit : uint32_t { kOut, kCandidates, kDropped };
constexpr auto kOutExit = static_cast<uint16_t>(gpu::kExit + kOut),
               kCandidateExit = static_cast<uint16_t>(gpu::kExit + kCandidates),
               kDropExit = static_cast<uint16_t>(gpu::kExit + kDropped);

/** IPv4 and UDP header of a packet, as the bytes lie. */
using Headers = std::array<uint8_t, kHeaderBytes>;

Headers headers_of(uint32_t length, const classifier::Key& key) {
  Headers headers{};
  headers[0] = 0x45, headers[8] = 64, headers[9] = 17;
  headers[2] = static_cast<uint8_t>((length - kL3) >> 8), headers[3] = static_cast<uint8_t>(length - kL3);
  for (uint32_t b = 0; b < 4; ++b) {
    headers[12 + b] = static_cast<uint8_t>(key[classifier::kSource] >> (24 - 8 * b));
    headers[16 + b] = static_cast<uint8_t>(key[classifier::kDestination] >> (24 - 8 * b));
  }
  for (uint32_t b = 0; b < 2; ++b) {
    headers[20 + b] = static_cast<uint8_t>(key[classifier::kSourcePort] >> (8 - 8 * b));
    headers[22 + b] = static_cast<uint8_t>(key[classifier::kDestinationPort] >> (8 - 8 * b));
  }
  return headers;
}

/** Texts that packets have, each many of them, and whether the automata find something in them: to make one for every
 *  packet would take longer than the measurement. */
struct Texts {
  Texts(const nids::RuleSet& rules, const nids::Automata& automata, size_t bytes, std::mt19937& random) {
    for (size_t t = 0; t < kTexts; ++t) {
      texts.push_back(text_for(rules, automata, bytes, random));
      found.push_back(finds(automata, texts[t].data(), bytes));
    }
  }
  static constexpr size_t kTexts = 4096;
  std::vector<std::string> texts;
  std::vector<uint8_t> found;
};

constexpr Service kAnyService{"any", nids::Protocol::udp, 4, 1};

class NidsBench {
 public:
  /** Packets of `service` with texts that have a pattern of content_rules() now and then. `sets`: rules with these
   *  patterns. */
  NidsBench(uint32_t length, const std::vector<nids::RuleSet>& sets, const Service& service)
      : length_(length), searches_(sets.size()) {
    nids::RuleTable any;
    any.load(content_rules(kPatterns));
    const bool tcp = service.protocol == nids::Protocol::tcp;
    const uint32_t payload = kL4 + (tcp ? nids::kTcpBytes : nids::kUdpBytes);
    std::mt19937 random(1);
    const Texts texts(sets[0], any.now().automata, length - payload, random);
    Headers headers = headers_of(length, {1, 2, 3, service.port, 17});
    if (tcp) headers[9] = nids::kTcpNumber;
    for (uint32_t i = 0; i < kPackets; ++i) {
      const std::string& text = texts.texts[i % Texts::kTexts];
      uint8_t* const frame = slots_.frame(i);
      std::memcpy(frame + kL3, headers.data(), headers.size());
      if (tcp) frame[kL4 + 12] = nids::kTcpBytes / 4 << 4;
      std::memcpy(frame + payload, text.data(), text.size());
    }
    for (size_t set = 0; set < sets.size(); ++set) {
      Search& search = searches_[set];
      search.table.load(sets[set]);
      const nids::Automata& automata = search.table.now().automata;
      search.group = automata.image().group_of(service.protocol, true, 3, service.port);
      for (const std::string& text : texts.texts)
        search.found.push_back(
            automata.finds(search.group, {reinterpret_cast<const uint8_t*>(text.data()), text.size()}));
      gpu::ProgramSpec spec;
      spec.nodes = {{gpu::function_id("NIDS"),
                     {},
                     slots_.device().add_table(search.table.bytes()),
                     gpu::StateId::none,
                     {kOutExit, kCandidateExit},
                     {kDropExit}}};
      spec.columns = spec.columns_in = kIn;
      search.program = slots_.device().add_program(spec);
    }
    slots_.start(searches_[0].program);
  }

  /** With the rules of a set. */
  double gigabits(size_t set = 0) {
    const std::vector<uint8_t>& found = searches_[set].found;
    slots_.use(searches_[set].program);
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        GpuSlots::column(slot, kIn, Column::l3)[p] = kL3, GpuSlots::column(slot, kIn, Column::l4)[p] = kL4;
        place[p] = slots_.place(first + p, length_);
      }
    };
    const auto check = [&](const gpu::SlotRing& ring, int index, uint32_t first) {
      bool right = true;
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p)
        right = right && ring.outcome(index, static_cast<int>(p)).exit ==
                             (found[(first + p) % Texts::kTexts] != 0 ? kCandidates : kOut);
      return right;
    };
    return slots_.packets_per_second(kSeconds, fill, check) * length_ * 8e-9;
  }
  std::string note(size_t set = 0) const {
    const Search& search = searches_[set];
    const nids::Automata& automata = search.table.now().automata;
    return format("%zu of %zu patterns, %zu automata, %.1f MB, %.1f %% candidates",
                  automata.patterns()[search.group.number].size(), automata.pattern_count(), automata.patterns().size(),
                  static_cast<double>(search.table.bytes().size()) * 1e-6,
                  100.0 * static_cast<double>(std::ranges::count(search.found, true)) / Texts::kTexts);
  }

 private:
  static constexpr ColumnSet kIn = columns(Column::l3, Column::l4);
  struct Search {
    nids::RuleTable table;
    nids::PortGroup group{};     // of the packets
    std::vector<uint8_t> found;  // by text, whether it makes a candidate
    gpu::ProgramId program{};
  };
  uint32_t length_;
  std::deque<Search> searches_;  // tables stay where they are
  GpuSlots slots_;
};

/** What the functions of C4 look up. */
struct C4Tables {
  explicit C4Tables(std::mt19937& random) {
    const classifier::Actions none{
        .read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = uint16_t{0}};
    std::vector<std::string> errors;
    filters = classifier::parse_rules("acl", to_text(generate_filters(parameters_like("acl"), {.count = kFilters})),
                                      none, errors);
    for (size_t f = 0; f < filters.size(); f += 50) filters[f].next = kDrop | 2;  // denied
    firewall.load(filters, 0, size_t{1} << 30);
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

  std::vector<classifier::Rule> filters;
  classifier::BitVectorTable firewall;
  nids::RuleSet patterns;
  nids::RuleTable signatures;
  ip_lookup::DirectTable router;
  ipsec::Associations associations;
};

class C4 {
 public:
  C4(const C4Tables& tables, uint32_t length, bool gather)
      : length_(length), headers_(kPackets), packets_(kPackets), tables_(tables) {
    std::mt19937 random(1);
    const Texts texts(tables_.patterns, tables_.signatures.now().automata, length_ - kPayload, random);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, texts, random);
    start(gather);
  }

  double gigabits() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      const auto column = [&](Column which) { return GpuSlots::column(slot, kIn, which); };
      uint32_t *dst = column(Column::dst), *l3 = column(Column::l3), *l4 = column(Column::l4), *sa = column(Column::sa),
               *sequence = column(Column::esp_sequence), *iv = column(Column::esp_iv);
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        const uint32_t i = first + p;
        std::memcpy(slots_.frame(i) + kL3, headers_[i].data(), kHeaderBytes);
        std::memcpy(&dst[p], headers_[i].data() + 16, sizeof dst[p]);
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
  static constexpr ColumnSet kIn =
      columns(Column::dst, Column::l3, Column::l4, Column::sa, Column::esp_sequence, Column::esp_iv);
  static constexpr uint32_t kSequence = 1;
  struct Packet {
    bool dropped = false, candidate[2] = {}, enciphered = false, out = false;  // candidate: as text, and enciphered
  };
  uint32_t enciphered_bytes() const { return ipsec::ciphertext_bytes(length_ - kL3); }

  void put_packet(uint32_t i, const Texts& texts, std::mt19937& random) {
    const classifier::Rule& filter = tables_.filters[random() % tables_.filters.size()];
    classifier::Key key;
    for (size_t f = 0; f < classifier::kFields; ++f) key[f] = random() % 2 == 0 ? filter.low[f] : filter.high[f];
    key[classifier::kProtocol] = 17;
    const uint32_t rule = classifier::lookup(tables_.firewall.image(), key);
    packets_[i].dropped = tables_.firewall.image().outcome(rule).next >= kDrop;
    headers_[i] = headers_of(length_, key);
    const std::string& text = texts.texts[i % Texts::kTexts];
    std::memcpy(slots_.frame(i) + kPayload, text.data(), text.size());
    packets_[i].candidate[0] = texts.found[i % Texts::kTexts] != 0;

    // Enciphered as the GPU will do it.
    std::vector<uint8_t> esp(ipsec::kEspBytes + ipsec::kIvBytes + enciphered_bytes() + ipsec::kMostIcvBytes);
    uint8_t* const plain = esp.data() + ipsec::kEspBytes + ipsec::kIvBytes;
    const uint64_t iv = i;
    std::memcpy(esp.data() + ipsec::kEspBytes, &iv, sizeof iv);
    std::memcpy(plain + kHeaderBytes, text.data(), text.size());
    burst_.begin(1);
    burst_.encipher(tables_.associations.details(i % kAssociations), esp.data(), enciphered_bytes());
    if (!burst_.finish()) throw Error("intel-ipsec-mb fails");
    packets_[i].candidate[1] = finds(tables_.signatures.now().automata, plain + kHeaderBytes, text.size());
  }

  void start(bool gather) {
    gpu::Device& device = slots_.device();
    const auto function = [&](const char* name, std::span<const std::byte> table, std::vector<uint16_t> outputs,
                              size_t drops) {
      return gpu::ProgramSpec::Node{gpu::function_id(name),  {},
                                    device.add_table(table), gpu::StateId::none,
                                    std::move(outputs),      std::vector<uint16_t>(drops, kDropExit)};
    };
    gpu::ProgramSpec spec;
    spec.nodes = {function("Firewall", tables_.firewall.bytes(), {1}, 3),
                  function("NIDS", tables_.signatures.bytes(), {2, kCandidateExit}, 1),
                  function("DirectIPLookup", tables_.router.bytes(), {3, 3, 3, 3}, 1),
                  function("IPsecEncap", tables_.associations.bytes(), {kOutExit}, 2)};
    spec.nodes[0].state = device.add_state(classifier::kMostRules * sizeof(classifier::GpuHits));
    spec.counts = device.add_state(spec.nodes.size() * sizeof(gpu::NodeCounts));
    spec.columns_in = kIn;
    spec.columns = kIn | columns(Column::rule);
    spec.writes_packets = spec.wide_results = true;
    spec.first_drop = kDropped;
    constexpr gpu::Span kWhole{0, gpu::Span::kToEnd};
    if (gather)
      spec.copies = {.in = kWhole,
                     .out = {gpu::Span::kFromStart, gpu::Span::kToEnd},
                     .before = ipsec::kFrontBytes,
                     .behind = ipsec::kMostPadding + ipsec::kTrailerBytes + ipsec::kMostIcvBytes};
    slots_.start(spec);
  }

  uint32_t length_;
  std::vector<Headers> headers_;
  std::vector<Packet> packets_;
  const C4Tables& tables_;
  ipsec::Burst burst_;
  GpuSlots slots_;
};

std::vector<Result> gpu_nids() {
  std::vector<Result> results;
  for (const uint32_t length : {64u, 512u, 1460u}) {
    NidsBench bench(length, {content_rules(kPatterns)}, kAnyService);
    results.push_back(absolute(format("gpu-nids-%u", length), "Gb/s", 370, false, 5, [&] { return bench.gigabits(); }));
    if (length == 64) results.back().target = 0;
    results.back().note = bench.note();
  }
  return results;
}

std::vector<Result> gpu_nids_groups() {
  std::vector<Result> results;
  for (const Service& service : kServices)
    for (const uint32_t length : {512u, 1460u}) {
      NidsBench bench(length, {content_rules(kPatterns), service_rules(kPatterns)}, service);
      results.push_back(paired(
          format("gpu-nids-groups-%s-%u", service.name, length), "Gb/s", 0, 5, [&] { return bench.gigabits(1); },
          [&] { return bench.gigabits(0); }));
      results.back().note = bench.note(1);
    }
  return results;
}

std::vector<Result> gpu_c4() {
  std::vector<Result> results;
  std::mt19937 random(1);
  const C4Tables tables(random);
  for (const bool gather : {false, true})
    for (const auto& [length, figure] : {std::pair{64u, 220.0}, {512u, 255.0}, {1460u, 255.0}}) {
      C4 bench(tables, length, gather);
      const bool in_packets = length == 64;
      results.push_back(absolute(format("gpu-c4%s-%u", gather ? "" : "-direct", length), in_packets ? "Mpps" : "Gb/s",
                                 figure, false, 5,
                                 [&] { return bench.gigabits() * (in_packets ? 1e3 / (length * 8.0) : 1); }));
      if (!gather) results.back().target = 0;
      results.back().note = bench.note();
      bench.check_packets();
    }
  return results;
}

constexpr ColumnSet kHeaderColumns = columns(Column::dst, Column::l3, Column::l4);

std::unique_ptr<RingFunctions> rings_of_nids(const RingSetup& setup) {
  const nids::RuleSet set = content_rules(kPatterns);
  nids::RuleTable table;
  table.load(set);
  std::mt19937 random(1);
  const Texts texts(set, table.now().automata, setup.length - kPayload, random);
  std::vector<RingHeader> headers;
  for (uint32_t i = 0; i < kPackets; ++i) headers.push_back(ring_header(setup.length, random));
  auto rings = std::make_unique<RingFunctions>(
      setup,
      setup.options({check_header(1), {"NIDS", copy_of(table.bytes()), {RingRig::kTransmit, RingRig::kTransmit}}},
                    kHeaderColumns),
      std::move(headers), false);
  rings->fill([&](size_t number) { return texts.texts[number % Texts::kTexts]; });
  rings->check([&](const uint8_t*, uint32_t length, const RingHeader&) {
    if (length != setup.length) throw Error("a frame came back with another length");
  });
  return rings;
}

/** A header that one of the filters takes, and the firewall allows. */
RingHeader allowed_header(const C4Tables& tables, uint32_t length, std::mt19937& random) {
  for (;;) {
    const classifier::Rule& filter = tables.filters[random() % tables.filters.size()];
    classifier::Key key;
    for (size_t f = 0; f < classifier::kFields; ++f) key[f] = random() % 2 == 0 ? filter.low[f] : filter.high[f];
    key[classifier::kProtocol] = 17;
    const auto& image = tables.firewall.image();
    if (image.outcome(classifier::lookup(image, key)).next >= kDrop) continue;
    RingHeader header = headers_of(length, key);
    seal(header);
    return header;
  }
}

std::unique_ptr<RingFunctions> rings_of_c4(const C4Tables& tables, const RingSetup& setup) {
  std::mt19937 random(1);
  const Texts texts(tables.patterns, tables.signatures.now().automata, setup.length - kPayload, random);
  RingTunnels tunnels;
  std::vector<RingHeader> headers;
  for (uint32_t i = 0; i < kPackets; ++i) headers.push_back(allowed_header(tables, setup.length, random));
  std::vector<RingRig::Function> functions{
      check_header(1),
      {"Firewall", copy_of(tables.firewall.bytes()), {2}, classifier::kMostRules},
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

std::vector<Result> gpu_nids_rings() {
  std::vector<Result> results;
  for (const uint32_t length : {64u, 512u, 1460u}) {
    double base = 0;
    {
      NidsBench prepared(length, {content_rules(kPatterns)}, kAnyService);
      for (int round = 0; round < 2; ++round) base = std::max(base, prepared.gigabits());
    }
    for (auto&& one : against_prepared("gpu-nids-rings", length, base, 0.9, rings_of_nids)) results.push_back(one);
  }
  return results;
}

std::vector<Result> gpu_c4_rings() {
  std::vector<Result> results;
  std::mt19937 random(1);
  const C4Tables tables(random);
  for (const uint32_t length : {64u, 512u, 1460u}) {
    double base = 0;
    {
      C4 prepared(tables, length, true);
      for (int round = 0; round < 2; ++round) base = std::max(base, prepared.gigabits());
      prepared.check_packets();
    }
    const auto rings = [&](const RingSetup& setup) { return rings_of_c4(tables, setup); };
    for (auto&& one : against_prepared("gpu-c4-rings", length, base, 0.8, rings)) results.push_back(one);
  }
  return results;
}

const Register nids_rings_registered("gpu-nids-rings", true, gpu_nids_rings),
    c4_rings_registered("gpu-c4-rings", true, gpu_c4_rings);
const RegisterProbe ring_nids("ring-nids", [](Probe::Parameters& parameters) {
  const RingSetup setup = RingSetup::of(parameters);
  return values_of(rings_of_nids(setup)->forward(kSeconds), setup.length);
});
const RegisterProbe ring_c4("ring-c4", [](Probe::Parameters& parameters) {
  const RingSetup setup = RingSetup::of(parameters);
  std::mt19937 random(1);
  const C4Tables tables(random);
  return values_of(rings_of_c4(tables, setup)->forward(kSeconds), setup.length);
});

const Register nids_registered("gpu-nids", true, gpu_nids), c4_registered("gpu-c4", true, gpu_c4),
    groups_registered("gpu-nids-groups", true, gpu_nids_groups);

}  // namespace
}  // namespace heddle::bench
