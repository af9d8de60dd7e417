// wire, wire-stamped, wire-latency: the generator alone. One core sends frames of 64 bytes into a ring and receives
// them from it; packets that are lost or damaged on this bare wire fail the benchmark.

#include "bench/bench.h"
#include "core/error.h"
#include "measure/wire/generator.h"
#include "measure/wire/wire.h"

namespace heddle::bench {
namespace {

constexpr int kRounds = 9;
constexpr double kSeconds = 0.3;

/** A run on a bare wire; throws when it is not as if the wire were not there. */
Counts bare_run(double rate_pps, bool stamps) {
  const Wire wire({.looped = true});
  Standalone ports(1);
  const Traffic traffic({}, 1, 1);
  Generator generator(traffic, wire.port_ids(), wire.sending_ids(), ports.pool(), {.threads = 1, .first_core = 0});
  Counts counts = generator.run({.rate_pps = rate_pps, .warmup_s = 0.05, .seconds = kSeconds, .stamps = stamps});
  if (counts.lost + counts.reordered + counts.duplicated + counts.foreign != 0 || counts.received == 0)
    throw Error(format("the bare wire gave back %lu packets: %lu lost, %lu reordered, %lu duplicated, %lu foreign",
                       counts.received, counts.lost, counts.reordered, counts.duplicated, counts.foreign));
  return counts;
}

double mpps(bool stamps) { return bare_run(0, stamps).arrived_pps() * 1e-6; }

const Register wire("wire", false, [] {
  return std::vector{absolute("wire", "Mpps", 25, false, kRounds, [] { return mpps(false); })};
});

const Register wire_stamped("wire-stamped", false, [] {
  return std::vector{absolute("wire-stamped", "Mpps", 12, false, kRounds, [] { return mpps(true); })};
});

const Register wire_latency("wire-latency", false, [] {
  const double rate_pps = 0.1e6 * mpps(true);
  return std::vector{absolute("wire-latency", "us", 5, true, kRounds, [&] {
    return static_cast<double>(bare_run(rate_pps, true).latency_ns.percentile(99)) * 1e-3;
  })};
});

}  // namespace
}  // namespace heddle::bench
