#include "measure/generate/filter_set.h"

#include <algorithm>
#include <cstdlib>

#include "measure/generate/address_trie.h"
#include "measure/generate/random.h"

namespace heddle::bench {
namespace {

/** Picks by a number of 0 to 1 that need not be uniform: smaller numbers pick earlier ones. */
class Cumulative {
 public:
  template <class List, class Weight>
  Cumulative(const List& list, Weight weight) {
    double sum = 0;
    for (const auto& one : list) sums_.push_back(sum += weight(one));
  }
  bool empty() const { return sums_.empty() || sums_.back() == 0; }
  size_t operator()(double share) const {
    const auto found = std::upper_bound(sums_.begin(), sums_.end(), share * sums_.back());
    return std::min(static_cast<size_t>(found - sums_.begin()), sums_.size() - 1);
  }

 private:
  std::vector<double> sums_;
};
constexpr auto kItsProbability = [](const auto& one) { return one.probability; };
constexpr auto kItsValue = [](double share) { return share; };

// ClassBench's bias: 0 to 1, smaller than `share` for a positive scope, which picks the less specific.
double scoped(double share, double scope) { return share * (1 - scope * (1 - share)); }

class Maker {
 public:
  Maker(const FilterParameters& parameters, const FilterSetOptions& options)
      : parameters_(parameters),
        options_(options),
        random_(options.seed),
        protocols_(parameters.protocols, kItsProbability),
        source_ranges_(parameters.source_ranges, kItsProbability),
        source_exact_(parameters.source_exact, kItsProbability),
        destination_ranges_(parameters.destination_ranges, kItsProbability),
        destination_exact_(parameters.destination_exact, kItsProbability) {
    for (const auto& protocol : parameters.protocols) {
      port_pairs_.emplace_back(protocol.port_pairs, kItsValue);
      const auto flags = parameters.flags.find(protocol.number);
      flags_.emplace_back(flags == parameters.flags.end() ? std::vector<FilterParameters::Flags>() : flags->second,
                          kItsProbability);
    }
    for (const auto& plain : parameters.lengths) {
      const auto lengths = smoothed(plain, options.smoothness);
      totals_.emplace_back(lengths.total, kItsValue);
      auto& sources = sources_.emplace_back();
      for (const auto& source : lengths.source) sources.emplace_back(source, kItsValue);
    }
  }

  std::vector<Filter> make(size_t count) {
    std::vector<Filter> filters(count);
    std::vector<WantedPrefix> sources(count), destinations(count);
    for (size_t i = 0; i < count; ++i) {
      const size_t pair = choose_application(filters[i]);
      const size_t total = totals_[pair](scoped(random_.unit(), options_.address_scope));
      sources[i].length = static_cast<int>(sources_[pair][total](random_.unit()));
      destinations[i].length = static_cast<int>(total) - sources[i].length;
    }
    const double factor = static_cast<double>(count) / static_cast<double>(std::max<size_t>(1, parameters_.scale));
    const auto shape = [&](const TrieShape& plain) {
      return options_.address_scaling ? widened(plain, factor) : plain;
    };
    choose_addresses(sources, shape(parameters_.source), parameters_.correlation, random_);
    for (size_t i = 0; i < count; ++i) destinations[i].correlated = &sources[i].chosen;
    choose_addresses(destinations, shape(parameters_.destination), parameters_.correlation, random_);
    for (size_t i = 0; i < count; ++i) {
      filters[i].source = static_cast<uint32_t>(sources[i].chosen.address >> 96);
      filters[i].source_length = static_cast<uint8_t>(sources[i].length);
      filters[i].destination = static_cast<uint32_t>(destinations[i].chosen.address >> 96);
      filters[i].destination_length = static_cast<uint8_t>(destinations[i].length);
    }
    return filters;
  }

  Random& random() { return random_; }

 private:
  // Protocol, flags and ports; returns the port pair.
  size_t choose_application(Filter& filter) {
    const size_t at = protocols_(random_.unit());
    const auto& protocol = parameters_.protocols[at];
    filter.protocol = static_cast<uint8_t>(protocol.number);
    filter.protocol_exact = protocol.number != 0;
    if (!flags_[at].empty()) {
      const auto& flags = parameters_.flags.at(protocol.number)[flags_[at](random_.unit())];
      filter.flags = flags.value;
      filter.flags_mask = flags.mask;
    }
    const size_t pair = port_pairs_[at](scoped(random_.unit(), options_.port_scope));
    const PortPair& classes = kPortPairOrder[pair];
    filter.source_ports = choose_ports(classes.source, parameters_.source_ranges, source_ranges_,
                                       parameters_.source_exact, source_exact_);
    filter.destination_ports = choose_ports(classes.destination, parameters_.destination_ranges, destination_ranges_,
                                            parameters_.destination_exact, destination_exact_);
    return pair;
  }

  using Ports = std::vector<FilterParameters::Ports>;
  PortRange choose_ports(PortClass kind, const Ports& ranges, const Cumulative& pick_range, const Ports& exact,
                         const Cumulative& pick_exact) {
    switch (kind) {
      case PortClass::hi:
        return {1024, 65535};
      case PortClass::lo:
        return {0, 1023};
      case PortClass::ar:
        return ranges[pick_range(random_.unit())].range;
      case PortClass::em:
        return exact[pick_exact(random_.unit())].range;
      case PortClass::wc:
        break;
    }
    return {0, 65535};
  }

  const FilterParameters& parameters_;
  const FilterSetOptions& options_;
  Random random_;
  Cumulative protocols_, source_ranges_, source_exact_, destination_ranges_, destination_exact_;
  std::vector<Cumulative> port_pairs_, flags_;    // by protocol
  std::vector<Cumulative> totals_;                // by port pair
  std::vector<std::vector<Cumulative>> sources_;  // by port pair and total length
};

// The symmetric binomial distribution over 0 to n.
std::vector<double> binomial(int n) {
  std::vector<double> row = {1};
  for (int i = 0; i < n; ++i) {
    row.push_back(0);
    for (size_t k = row.size() - 1; k > 0; --k) row[k] = (row[k] + row[k - 1]) / 2;
    row[0] /= 2;
  }
  return row;
}

}  // namespace

FilterParameters::Lengths smoothed(const FilterParameters::Lengths& lengths, int smoothness) {
  if (smoothness == 0) return lengths;
  FilterParameters::Lengths result;
  const auto over_total = binomial(2 * smoothness);
  for (int total = 0; total <= 64; ++total) {
    const double spike = lengths.total[static_cast<size_t>(total)];
    for (int source = 0; spike > 0 && source <= 32; ++source) {
      const double share = spike * lengths.source[static_cast<size_t>(total)][static_cast<size_t>(source)];
      if (share == 0) continue;
      // Lengths (source, destination) within a Manhattan distance of `smoothness`.
      for (int off = -smoothness; off <= smoothness; ++off) {
        const int spread = (smoothness - std::abs(off)) / 2;
        const int first = source + std::min(off, 0) - spread, last = source + std::max(off, 0) + spread;
        const auto over_source = binomial(last - first);
        for (int at = first; at <= last; ++at) {
          const int rest = total + off - at;
          if (at < 0 || at > 32 || rest < 0 || rest > 32) continue;
          const double weight =
              share * over_total[static_cast<size_t>(off + smoothness)] * over_source[static_cast<size_t>(at - first)];
          result.total[static_cast<size_t>(total + off)] += weight;
          result.source[static_cast<size_t>(total + off)][static_cast<size_t>(at)] += weight;
        }
      }
    }
  }
  return result;
}

std::vector<Filter> generate_filters(const FilterParameters& parameters, const FilterSetOptions& options) {
  constexpr int kAttempts = 4;
  Maker maker(parameters, options);
  std::vector<Filter> filters;
  size_t wanted = options.count;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    filters = maker.make(wanted);
    std::sort(filters.begin(), filters.end());
    filters.erase(std::unique(filters.begin(), filters.end()), filters.end());
    if (filters.size() >= options.count) break;
    const double missing = static_cast<double>(options.count) / static_cast<double>(filters.size());
    wanted = static_cast<size_t>(static_cast<double>(wanted) * std::min(2.0, 1.05 * missing)) + 8;
  }
  maker.random().shuffle(filters);
  if (filters.size() > options.count) filters.resize(options.count);
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < filters.size(); ++i) order.emplace_back(filters[i].headers(), i);
  std::sort(order.begin(), order.end());
  std::vector<Filter> sorted;
  sorted.reserve(filters.size());
  for (const auto& [headers, i] : order) sorted.push_back(filters[i]);
  return sorted;
}

}  // namespace heddle::bench
