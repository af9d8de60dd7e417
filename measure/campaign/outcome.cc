#include "measure/campaign/outcome.h"

#include <utility>

namespace heddle::bench {
namespace {

Latency latency_of(const Histogram& ns) {
  const auto us = [&](double percent) { return static_cast<double>(ns.percentile(percent)) * 1e-3; };
  return {ns.mean() * 1e-3, us(50), us(90), us(99), us(99.9), us(100)};
}

}  // namespace

Outcome outcome_of(Counts counts) {
  Outcome outcome;
  outcome.seconds = counts.seconds, outcome.behind = counts.behind;
  outcome.intended = counts.intended, outcome.offered = counts.offered, outcome.sending_s = counts.sending_s;
  outcome.forwarded = counts.arrived, outcome.lost = counts.lost;
  outcome.reordered = counts.reordered, outcome.duplicated = counts.duplicated;
  outcome.unrecognised = counts.foreign;
  outcome.forwarded_bits = 8 * static_cast<double>(counts.arrived_bytes);
  if (outcome.known() && counts.latency_ns.count() > 0) {
    outcome.latency = latency_of(counts.latency_ns);
    outcome.latency_ns = std::move(counts.latency_ns);
  }
  return outcome;
}

}  // namespace heddle::bench
