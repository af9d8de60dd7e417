// gpu-nids: NIDS in the persistent kernel on prepared packets, with 3,000 patterns: payloads are read in place over
// PCIe.
// gpu-nids-groups: the same with rules for services, whose packets are searched for their patterns only, against the
// same rules for any packet.
// gpu-nids-rings: NIDS, with CheckIPHeader before it, between memif rings that the GPU drives, against gpu-nids right
// before it. Candidates go on. A peer writes descriptors only.

#include <cstring>
#include <deque>
#include <memory>

#include "bench/nids_packets.h"
#include "bench/ring_functions.h"

namespace heddle::bench {
namespace {

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

const Register registered("gpu-nids", true, gpu_nids), groups_registered("gpu-nids-groups", true, gpu_nids_groups),
    rings_registered("gpu-nids-rings", true, gpu_nids_rings);
const RegisterProbe ring_nids("ring-nids", [](Probe::Parameters& parameters) {
  const RingSetup setup = RingSetup::of(parameters);
  return values_of(rings_of_nids(setup)->forward(kSeconds), setup.length);
});

}  // namespace
}  // namespace heddle::bench
