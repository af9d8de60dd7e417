// gopt-chase, gopt-cuckoo, gopt-dir24 and gopt-ip6-trie: lookups that gopt has transformed against the same as written,
// with group prefetching by hand, by gopt's group prefetching, and as coroutines, on one core. The probe gopt-lookup
// measures one of them, with its instructions, for bench/figures/gopt-figure-8.py and -9.py.

#include <algorithm>

#include "bench/bench.h"
#include "bench/gopt/kinds.h"
#include "bench/instructions.h"
#include "bench/probe.h"
#include "core/cores.h"
#include "core/error.h"

namespace heddle::bench {
namespace {

constexpr int kRounds = 11;

/** The ratios of a lookup's transformed form to the others. */
std::vector<Result> compare(const std::string& name, const LookupKind& kind) {
  std::vector<Result> results;
  const auto against = [&](const std::string& suffix, double wanted, const char* other, const char* baseline) {
    if (!kind.forms.contains(other)) return;
    results.push_back(paired(
        name + suffix, "M/s", wanted, kRounds, [&] { return rate_of(kind, "gopt"); },
        [&] { return rate_of(kind, other); }));
    results.back().note = std::string("baseline: ") + baseline + kind.note;
  };
  against("", kind.target, "as-written", "as written");
  against("-by-hand", 0.9, "by-hand", "group prefetching by hand");
  against("-group", 0, "group", "gopt --backend group");
  against("-coroutine", 1, "coroutine", "gopt --backend coroutine");
  return results;
}

std::vector<Result> on_one_core(const std::string& name, LookupKind (*kind)()) {
  pin_to_core(0);
  return compare(name, kind());
}
const Register chase_benchmark("gopt-chase", false,
                               [] { return on_one_core("gopt-chase", [] { return chase_kind(28); }); });
const Register cuckoo_benchmark("gopt-cuckoo", false, [] { return on_one_core("gopt-cuckoo", cuckoo_kind); });
const Register ip6_benchmark("gopt-ip6-trie", false, [] { return on_one_core("gopt-ip6-trie", ip6_kind); });
const Register dir24_benchmark("gopt-dir24", false, [] {
  pin_to_core(0);
  std::vector<Result> results = compare("gopt-dir24", dir24_kind(1));
  const std::vector<Result> larger = compare("gopt-dir24x32", dir24_kind(32));
  results.insert(results.end(), larger.begin(), larger.end());
  return results;
});

/** The kind that was asked for last stays: making it takes seconds. */
const LookupKind& kind_named(const std::string& name, int bits) {
  static std::pair<std::string, int> last;
  static LookupKind kind;
  if (last != std::pair(name, bits)) kind = {}, kind = kind_of(name, bits), last = {name, bits};
  return kind;
}

std::vector<Probe::Value> lookup(Probe::Parameters& parameters) {
  const std::string task = parameters.text("task", "chase", {"chase", "cuckoo", "ip6", "dir24", "dir24x32"});
  const std::string form = parameters.text("form", "gopt", {"as-written", "gopt", "by-hand", "group", "coroutine"});
  const int rounds = parameters.number("rounds", 5, 1, 1000);
  const int counted = parameters.number("counted", 256, 0, 8192);  // lookups whose instructions are counted
  const int bits = task == "chase" ? parameters.number("bits", 28, 8, 30) : 0;
  parameters.expect_all_used();
  const LookupKind& kind = kind_named(task, bits);
  if (!kind.forms.contains(form)) throw Error("there is no form '" + form + "' of " + task);
  std::vector<double> rates, speedups;
  for (int round = 0; round <= rounds; ++round) {
    const double baseline = rate_of(kind, "as-written"), rate = rate_of(kind, form);
    if (round == 0) continue;  // warm-up
    rates.push_back(rate), speedups.push_back(rate / baseline);
  }
  const double rate = percentile(rates, 0.5);
  std::vector<Probe::Value> values = {{"rate", "M/s", rate}, {"speedup", "1", percentile(speedups, 0.5)}};
  if (counted == 0) return values;
  const double instructions =
      instructions_of([&] { kind.forms.at(form)(static_cast<size_t>(counted)); }) / (counted * kind.accesses);
  const double cycles = time_stamp_rate() / (rate * 1e6);
  values.push_back({"instructions", "1", instructions});
  if (cycles > 0) values.push_back({"cycles", "1", cycles}), values.push_back({"ipc", "1", instructions / cycles});
  return values;
}
const RegisterProbe gopt_lookup("gopt-lookup", lookup);

}  // namespace
}  // namespace heddle::bench
