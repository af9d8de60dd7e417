// gopt-aho-corasick: 23,331 patterns in 450 automata, batches of 8,192 packets of 64 to 1,460 bytes, on one core: in
// turns and sorted by automaton and length against packet by packet (figure 12 of "Raising the Bar for Using GPUs in
// Software Packet Processing", NSDI 2015), and what each of the two is worth alone. Payloads are words and beginnings
// of patterns.
//
// gpu-aho-corasick: AhoCorasick in the persistent kernel on prepared packets with the same patterns and payloads, which
// are read in place over PCIe; destination ports of UDP choose the automata. What becomes of a sample of the packets is
// compared with what the CPU finds.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "bench/bench.h"
#include "bench/gpu_slots.h"
#include "bench/probe.h"
#include "core/cores.h"
#include "core/error.h"
#include "functions/aho_corasick/table.h"
#include "measure/generate/patterns.h"

namespace heddle::bench {
namespace {

using aho_corasick::Automata;
using aho_corasick::Match;
using aho_corasick::Text;

constexpr size_t kPatterns = 23331, kAutomata = 450, kBatch = 8192, kBatches = 4;
constexpr int kRounds = 11;

struct Traffic {
  std::vector<std::string> payloads;
  std::vector<Text> texts;
};

/** `shortest` to `longest` bytes; of a packet in 64 a whole pattern. */
Traffic traffic(const std::vector<std::vector<std::string>>& patterns, size_t shortest, size_t longest) {
  Traffic made;
  std::mt19937 random(3);
  for (size_t i = 0; i < kBatch * kBatches; ++i) {
    const auto automaton = static_cast<uint32_t>(random() % kAutomata);
    const auto& mine = patterns[automaton];
    const size_t bytes = shortest + random() % (longest - shortest + 1);
    std::string text;
    while (text.size() < bytes) {
      for (size_t letters = 2 + random() % 8; letters > 0; --letters) text += static_cast<char>('a' + random() % 26);
      text += ' ';
      const std::string& pattern = mine[random() % mine.size()];
      if (random() % 8 == 0) text += pattern.substr(0, pattern.size() / 2);
    }
    text.resize(bytes);
    if (random() % 64 == 0) {
      const std::string& pattern = mine[random() % mine.size()];
      text.replace(random() % (bytes / 2), pattern.size(), pattern);
      text.resize(bytes, ' ');
    }
    made.payloads.push_back(std::move(text));
    made.texts.push_back({nullptr, static_cast<uint32_t>(bytes), automaton});
  }
  for (size_t i = 0; i < made.texts.size(); ++i)
    made.texts[i].bytes = reinterpret_cast<const uint8_t*>(made.payloads[i].data());
  return made;
}

std::vector<Result> against_one_by_one(const Automata& automata, const std::vector<std::vector<std::string>>& patterns,
                                       const std::string& name, size_t shortest, size_t longest) {
  const Traffic all = traffic(patterns, shortest, longest);
  const double gigabits = 8e-9 * std::accumulate(all.texts.begin(), all.texts.end(), 0.0,
                                                 [](double sum, const Text& text) { return sum + text.length; });
  std::vector<std::vector<Match>> found(kBatch * kBatches);
  Automata::Batch batch;
  const auto rate = [&](size_t step, const auto& search) {
    for (auto& matches : found) matches.clear();
    const double start = cpu_seconds();
    for (size_t at = 0; at < all.texts.size(); at += step) search(std::span(all.texts).subspan(at, step), &found[at]);
    return gigabits / (cpu_seconds() - start);
  };
  const auto one_by_one = [&] { return rate(8, [&](auto texts, auto* matches) { automata.search(texts, matches); }); };
  const auto together = [&] {
    return rate(Automata::kTogether, [&](auto texts, auto* matches) { automata.search_together(texts, matches); });
  };
  const auto sorted = [&] {
    return rate(kBatch, [&](auto texts, auto* matches) { automata.search_sorted(texts, matches, batch); });
  };
  one_by_one();
  const auto right = found;
  together();
  if (found != right) throw Error("searching in turns finds something else");
  sorted();
  if (found != right) throw Error("searching sorted texts finds something else");
  size_t matches = 0;
  for (const auto& of_one : found) matches += of_one.size();
  std::vector<Result> results{paired(name, "Gb/s", 2.4, kRounds, sorted, one_by_one),
                              paired(name + "-unsorted", "Gb/s", 0, kRounds, together, one_by_one)};
  for (Result& result : results)
    result.note = format("baseline: packet by packet; %zu-%zu bytes, %zu states, %.0f MB, %.2f matches a packet",
                         shortest, longest, automata.states(), static_cast<double>(automata.bytes().size()) / 1e6,
                         static_cast<double>(matches) / static_cast<double>(found.size()));
  return results;
}

struct Patterns {
  std::vector<std::vector<std::string>> of = [] {
    std::vector<std::vector<std::string>> made(kAutomata);
    std::mt19937 random(1);
    for (const Pattern& pattern : generate_patterns(kPatterns, 1)) made[random() % kAutomata].push_back(pattern.bytes);
    return made;
  }();
  Automata automata = [this] {
    std::vector<std::vector<aho_corasick::Pattern>> numbered(of.size());
    for (size_t a = 0; a < of.size(); ++a)
      for (uint32_t p = 0; p < of[a].size(); ++p) numbered[a].push_back({of[a][p], p});
    return Automata(numbered);
  }();
};

const Register aho_corasick_benchmark("gopt-aho-corasick", false, [] {
  pin_to_core(0);
  const Patterns patterns;
  auto results = against_one_by_one(patterns.automata, patterns.of, "aho-corasick", 64, 1460);
  const auto small = against_one_by_one(patterns.automata, patterns.of, "aho-corasick-64", 64, 64);
  results.insert(results.end(), small.begin(), small.end());
  return results;
});

/** For bench/figures/gopt-figure-12.py: bytes 0 are the mixture. */
const RegisterProbe probe("gopt-aho-corasick", [](Probe::Parameters& parameters) -> std::vector<Probe::Value> {
  const auto bytes = static_cast<size_t>(parameters.number("bytes", 0, 0, 9000));
  parameters.expect_all_used();
  static const Patterns patterns;
  const auto results =
      against_one_by_one(patterns.automata, patterns.of, "", bytes != 0 ? bytes : 64, bytes != 0 ? bytes : 1460);
  return {{"one_by_one", "Gb/s", results[0].baseline},
          {"in_turns", "Gb/s", results[1].value},
          {"sorted", "Gb/s", results[0].value},
          {"speedup", "1", results[0].ratio}};
});

/** The same patterns, those of automaton a for UDP port kFirstPort + a. */
class GpuSetup {
 public:
  GpuSetup(size_t shortest, size_t longest) : lengths_(kPackets), expected_(kPackets) {
    const Patterns patterns;
    std::vector<aho_corasick::PatternLine> lines;
    for (size_t a = 0; a < kAutomata; ++a)
      for (const std::string& bytes : patterns.of[a])
        lines.push_back({aho_corasick::Protocol::udp, kFirstPort + static_cast<int>(a), bytes, ""});
    table_.load(std::move(lines), kMatched);
    Traffic all = traffic(patterns.of, shortest, longest);
    const aho_corasick::Image& image = table_.now().automata.image();
    std::vector<uint16_t> ports;
    for (Text& text : all.texts) {
      ports.push_back(static_cast<uint16_t>(kFirstPort + text.automaton));
      text.automaton = image.automaton_of(aho_corasick::Protocol::udp, true, 0, ports.back());
    }
    std::vector<Match> first(all.texts.size());
    Automata::Batch batch;
    table_.now().automata.find_first(all.texts, first.data(), batch);
    for (uint32_t i = 0; i < kPackets; ++i) {
      const size_t t = i % all.texts.size();
      put_packet(i, all.texts[t], ports[t]);
      expected_[i] = first[t].pattern == aho_corasick::kNoPattern ? kOut : kMatched;
    }
    payload_ = std::accumulate(lengths_.begin(), lengths_.end(), 0.0) / kPackets - kPayload;

    const auto exit = [](Exit which) { return static_cast<uint16_t>(gpu::kExit + which); };
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("AhoCorasick"),
                   {},
                   slots_.device().add_table(table_.bytes()),
                   slots_.device().add_state(sizeof(aho_corasick::GpuMatches)),
                   {exit(kOut), exit(kMatched)},
                   {exit(kDropped)}}};
    spec.columns = spec.columns_in = kIn;
    slots_.start(spec);
  }

  /** Of payload. */
  double gigabits() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      for (uint32_t p = 0; p < gpu::kSlotPackets; ++p) {
        GpuSlots::column(slot, kIn, Column::l3)[p] = kL3, GpuSlots::column(slot, kIn, Column::l4)[p] = kL4;
        place[p] = slots_.place(first + p, lengths_[first + p]);
      }
    };
    return slots_.packets_per_second(0.5, fill, GpuSlots::sample_of(expected_)) * payload_ * 8e-9;
  }
  std::string note() const {
    return format("%.0f bytes of payload, %zu states, %.0f MB, %.1f %% matched", payload_,
                  table_.now().automata.states(), static_cast<double>(table_.bytes().size()) * 1e-6,
                  100.0 * static_cast<double>(std::ranges::count(expected_, kMatched)) / kPackets);
  }

 private:
  enum Exit : uint32_t { kOut, kMatched, kDropped };
  static constexpr uint32_t kPackets = GpuSlots::kPackets, kL3 = 14, kL4 = 34, kPayload = 42;
  static constexpr int kFirstPort = 1000;
  static constexpr ColumnSet kIn = columns(Column::l3, Column::l4);

  void put_packet(uint32_t i, const Text& text, uint16_t port) {
    uint8_t* at = slots_.frame(i);
    std::memset(at, 0, kPayload);
    at[kL3] = 0x45, at[kL3 + 9] = 17;
    at[kL4 + 2] = static_cast<uint8_t>(port >> 8), at[kL4 + 3] = static_cast<uint8_t>(port);
    std::memcpy(at + kPayload, text.bytes, text.length);
    lengths_[i] = kPayload + text.length;
  }

  std::vector<uint32_t> lengths_;   // [kPackets], in bytes
  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  double payload_ = 0;              // bytes of a packet, on average
  aho_corasick::PatternTable table_;
  GpuSlots slots_;
};

const Register gpu_aho_corasick("gpu-aho-corasick", true, [] {
  std::vector<Result> results;
  for (const auto& [name, shortest, longest] :
       {std::tuple{"gpu-aho-corasick", 64, 1460}, std::tuple{"gpu-aho-corasick-64", 64, 64}}) {
    GpuSetup setup(static_cast<size_t>(shortest), static_cast<size_t>(longest));
    results.push_back(absolute(name, "Gb/s", 1, false, 5, [&] { return setup.gigabits(); }));
    Result& result = results.back();
    result.baseline = result.ratio = result.low = result.high = result.target = 0;  // nothing is asked of it
    result.note = setup.note();
  }
  return results;
});

}  // namespace
}  // namespace heddle::bench
