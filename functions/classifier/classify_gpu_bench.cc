// gpu-classify: BitVectorClassifier in the persistent kernel on prepared packets of 64 bytes, without ports. Four host
// threads fill slots of 32 packets as fast as they can; headers are read in place over PCIe, from a pool of 65,536
// packets. The GPU's rule of a sample of the packets is compared with the CPU's. Sets of filters like ClassBench's
// access lists and firewalls, and of random rules; the engine is what ENGINE auto takes for a GPU. A set that it has no
// engine for is left out, and standard error says why.
// gpu-classify-memory: what the memory is worth in which the limits lie that such a kernel searches (Schramm 2022,
// section 3.4), in a kernel that does nothing else: a warp finds the range of a value among 1,024 or 8,192, as many as
// constant and shared memory have room for; in texture, constant and shared memory against ordinary loads.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "bench/experiments/experiments.h"
#include "bench/gpu_slots.h"
#include "bench/probe.h"
#include "core/error.h"
#include "functions/classifier/engine.h"
#include "functions/classifier/rule_file.h"
#include "functions/classifier/table.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/random_rules.h"

namespace heddle::bench {
namespace {

using namespace classifier;
using gpu::kSlotPackets;

constexpr uint32_t kPackets = GpuSlots::kPackets, kLength = 64, kL3 = 14, kL4 = 34;
constexpr ColumnSet kColumnsIn = columns(Column::l3, Column::l4);
constexpr uint16_t kOutputs = 16;
constexpr double kSeconds = 0.5;

std::vector<Rule> rules_like(const std::string& like, size_t count) {
  const Actions none{.read = [](std::string_view) { return std::nullopt; }, .expected = "none", .usual = 0};
  std::vector<std::string> errors;
  std::vector<Rule> rules = parse_rules(
      like,
      like == "random" ? random_rules(count, 1) : to_text(generate_filters(parameters_like(like), {.count = count})),
      none, errors);
  for (size_t i = 0; i < rules.size(); ++i) rules[i].next = static_cast<uint16_t>(i % kOutputs);
  return rules;
}

/** An engine with the rules. */
std::unique_ptr<RuleEngine> load(EngineKind kind, SearchForm form, const std::vector<Rule>& rules) {
  auto engine = make_engine(kind, {kDrop, size_t{16} << 30, {}, form});
  engine->load(numbered(rules));
  return engine;
}

/** What ENGINE auto takes for a GPU. Throws Error. */
std::unique_ptr<RuleEngine> load(const std::vector<Rule>& rules, EngineChoice& choice) {
  constexpr size_t kLarge = 100'000;  // rules, for which bit vectors are too large for MEMORY's default
  return make_gpu_engine(numbered(rules), {kDrop, size_t{rules.size() < kLarge ? 16u : 4u} << 30}, choice);
}

class Setup {
 public:
  Setup(const std::vector<Rule>& rules, std::unique_ptr<RuleEngine> engine, int slots = GpuSlots::kSlots)
      : expected_(kPackets), engine_(std::move(engine)), rules_(rules.size()) {
    std::mt19937 random(1);
    for (uint32_t i = 0; i < kPackets; ++i) put_packet(i, rules, random);

    std::vector<uint16_t> outputs;
    for (uint16_t port = 0; port < kOutputs; ++port) outputs.push_back(gpu::kExit + port);
    const uint16_t dropped = gpu::kExit + kOutputs;
    gpu::ProgramSpec spec;
    spec.nodes = {{gpu::function_id("BitVectorClassifier"),
                   {},
                   slots_.device().add_table(engine_->table()->bytes()),
                   slots_.device().add_state(kMaxRules * sizeof(GpuHits)),
                   outputs,
                   {dropped, dropped, dropped}}};
    spec.columns_in = kColumnsIn;
    spec.columns = spec.columns_in | columns(Column::rule);
    slots_.start(spec, slots);
  }

  double mpps() {
    const auto fill = [&](gpu::Slot& slot, uint32_t first, uint64_t* place) {
      uint32_t *l3 = GpuSlots::column(slot, kColumnsIn, Column::l3),
               *l4 = GpuSlots::column(slot, kColumnsIn, Column::l4);
      for (uint32_t p = 0; p < kSlotPackets; ++p) {
        place[p] = slots_.place(first + p, kLength);
        l3[p] = kL3, l4[p] = kL4;
      }
    };
    const auto check = [&](const gpu::SlotRing& ring, int index, uint32_t first) {
      if (first / kSlotPackets % 16 != 0) return true;
      bool right = true;
      for (uint32_t i = 0; i < kSlotPackets; ++i)
        right = right && ring.outcome(index, static_cast<int>(i)).exit == expected_[first + i];
      return right;
    };
    return slots_.packets_per_second(kSeconds, fill, check) * 1e-6;
  }
  double megabytes() const { return static_cast<double>(engine_->table()->bytes().size()) / 1e6; }
  std::string note() const { return format("%zu rules, %.0f MB", rules_, megabytes()); }

 private:
  /** Writes a packet, which lies at a corner of a rule (80 %) or anywhere. */
  void put_packet(uint32_t i, const std::vector<Rule>& rules, std::mt19937& random) {
    const Rule& rule = rules[random() % rules.size()];
    const bool inside = random() % 5 != 0;
    Key key;
    for (size_t f = 0; f < kFields; ++f)
      key[f] = (!inside             ? static_cast<uint32_t>(random())
                : random() % 2 == 0 ? rule.low[f]
                                    : rule.high[f]) &
               kLargest[f];
    uint8_t* at = slots_.frame(i);
    std::memset(at, 0, kLength);
    at[kL3] = 0x45;
    at[kL3 + 9] = static_cast<uint8_t>(key[kProtocol]);
    for (uint32_t b = 0; b < 4; ++b) {
      at[kL3 + 12 + b] = static_cast<uint8_t>(key[kSource] >> (24 - 8 * b));
      at[kL3 + 16 + b] = static_cast<uint8_t>(key[kDestination] >> (24 - 8 * b));
      at[kL4 + b] = static_cast<uint8_t>((key[kSourcePort] << 16 | key[kDestinationPort]) >> (24 - 8 * b));
    }
    if (!has_ports(key[kProtocol] << 24)) key[kSourcePort] = key[kDestinationPort] = 0;
    const uint32_t* const fields[kFields] = {&key[0], &key[1], &key[2], &key[3], &key[4]};
    Outcome found;
    engine_->classify(fields, &found, 1);
    expected_[i] = found.id == kNoId ? kOutputs : found.next;
  }

  std::vector<uint32_t> expected_;  // [kPackets], the exit that each should take
  std::unique_ptr<RuleEngine> engine_;
  size_t rules_;
  GpuSlots slots_;
};

std::vector<Result> gpu_classify() {
  struct Set {
    const char* like;
    const char* name;
    size_t count;
    double figure;  // Mpps that are asked for; 0: none
  };
  constexpr Set kSets[] = {{"acl", "1k", 1000, 300},    {"acl", "4k", 4000, 300},     {"acl", "16k", 16000, 300},
                           {"acl", "50k", 50000, 150},  {"acl", "500k", 500'000, 60}, {"fw", "1k", 1000, 300},
                           {"fw", "4k", 4000, 300},     {"fw", "16k", 16000, 300},    {"fw", "50k", 50000, 150},
                           {"fw", "500k", 500'000, 60}, {"random", "1k", 1000, 0},    {"random", "4k", 4000, 0},
                           {"random", "16k", 16000, 0}};
  std::vector<Result> results;
  for (const auto& [like, size, count, figure] : kSets) {
    const std::string name =
        std::string("gpu-classify-") + (std::string_view(like) == "acl" ? "" : like + std::string("-")) + size;
    try {
      const std::vector<Rule> rules = rules_like(like, count);
      EngineChoice choice{};
      const double start = seconds_now();
      auto engine = load(rules, choice);
      const double seconds = seconds_now() - start;
      Setup setup(rules, std::move(engine));
      Result result = absolute(name, "Mpps", figure == 0 ? 1 : figure, false, 3, [&] { return setup.mpps(); });
      if (figure == 0) result.baseline = result.ratio = result.low = result.high = result.target = 0;
      result.note = format("%s, built in %.2f s; ", std::string(name_of(choice.kind)).c_str(), seconds) + setup.note();
      results.push_back(std::move(result));
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: %s\n", name.c_str(), error.what());
    }
  }
  return results;
}

/** The same with any number of rules, by each engine that a GPU has, and bit vectors by each way to find ranges; with
 *  any number of slots, as --slots has it. */
std::vector<Probe::Value> gpu_probe(Probe::Parameters& parameters) {
  const std::string like = parameters.text("like", "acl", {"acl", "fw", "ipc", "random"});
  const std::string search = parameters.text("search", "packed", {"packed", "plain", "binary"});
  const std::string engine = parameters.text("engine", "bitvector", {"bitvector", "hypersplit", "tuple"});
  const auto count = static_cast<size_t>(parameters.number("rules", 1000, 1, 1'000'000));
  const int slots = parameters.number("slots", GpuSlots::kSlots, 4, 4096);
  parameters.text("processor", "gpu", {"gpu"});
  parameters.expect_all_used();
  try {
    const std::vector<Rule> rules = rules_like(like, count);
    const SearchForm form = search == "packed"  ? SearchForm::packed
                            : search == "plain" ? SearchForm::plain
                                                : SearchForm::binary;
    const EngineKind kind = engine == "bitvector" ? EngineKind::bitvector
                            : engine == "tuple"   ? EngineKind::tuple
                                                  : EngineKind::hypersplit;
    Setup setup(rules, load(kind, form, rules), slots);
    return {{"mpps", "Mpps", setup.mpps()}, {"megabytes", "MB", setup.megabytes()}};
  } catch (const Error&) {
    return {{"refused", "1", 1}};
  }
}

std::vector<Result> gpu_classify_memory() {
  using gpu::LimitMemory;
  constexpr int kSearches = 1 << 20;
  const auto experiments = gpu::open_experiments("gpu");
  std::mt19937 random(5);
  for (int i = 0; i < kSearches; ++i) experiments->input()[i] = static_cast<uint32_t>(random());
  std::vector<Result> results;
  for (const size_t count : {1024u, 8192u}) {
    std::vector<uint32_t> limits(count);
    for (uint32_t& limit : limits) limit = static_cast<uint32_t>(random());
    std::ranges::sort(limits);
    experiments->load_limits(limits);
    const auto rate = [&](LimitMemory memory) { return kSearches / experiments->search_s(memory, kSearches) * 1e-6; };
    for (const auto& [memory, name] : {std::pair{LimitMemory::texture, "texture"},
                                       {LimitMemory::constant, "constant"},
                                       {LimitMemory::shared, "shared"}}) {
      results.push_back(paired(
          format("gpu-classify-memory-%s-%zu", name, count), "M/s", 0, 11,
          [&, memory = memory] { return rate(memory); }, [&] { return rate(LimitMemory::global); }));
      for (int i = 0; i < kSearches; i += 997)
        if (experiments->output()[i] != std::ranges::lower_bound(limits, experiments->input()[i]) - limits.begin())
          throw Error("the GPU found another range");
    }
  }
  return results;
}

const RegisterProbe probe("classifier-gpu", gpu_probe);
const Register registered_memory("gpu-classify-memory", true, gpu_classify_memory);
const Register registered("gpu-classify", true, gpu_classify);

}  // namespace
}  // namespace heddle::bench
