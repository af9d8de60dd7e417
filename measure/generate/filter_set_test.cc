#include "measure/generate/filter_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "measure/generate/address_trie.h"
#include "measure/generate/random.h"
#include "measure/generate/test_support.h"
#include "measure/generate/text.h"

namespace heddle::bench {
namespace {

const char* const kOurs[] = {"acl", "fw", "ipc"};

// How the filters' protocols and port pairs differ from the parameters', in all: half the sum of the differences.
double application_distance(const FilterParameters& a, const FilterParameters& b) {
  std::map<std::pair<int, size_t>, double> difference;
  for (const auto& protocol : a.protocols)
    for (size_t i = 0; i < kPortPairs; ++i)
      difference[{protocol.number, i}] += protocol.probability * protocol.port_pairs[i];
  for (const auto& protocol : b.protocols)
    for (size_t i = 0; i < kPortPairs; ++i)
      difference[{protocol.number, i}] -= protocol.probability * protocol.port_pairs[i];
  double sum = 0;
  for (const auto& [key, value] : difference) sum += std::abs(value);
  return sum / 2;
}

double mean_length(const std::vector<Filter>& filters) {
  double sum = 0;
  for (const Filter& filter : filters) sum += filter.source_length + filter.destination_length;
  return sum / static_cast<double>(filters.size());
}

TEST(FilterSet, IsTheSameForTheSameSeed) {
  const auto text = [](uint64_t seed) {
    return to_text(generate_filters(parameters_like("acl"), {.count = 2000, .seed = seed}));
  };
  EXPECT_EQ(checksum(text(1)), 3158422869053500498u);
  EXPECT_NE(text(1), text(2));
}

TEST(FilterSet, HasTheStatisticsOfItsParameters) {
  for (const char* like : kOurs) {
    const auto parameters = parameters_like(like);
    const auto filters = generate_filters(parameters, {.count = 5000});
    EXPECT_EQ(filters.size(), 5000u);
    EXPECT_EQ(std::set(filters.begin(), filters.end()).size(), 5000u);
    const auto made = parameters_of(filters);
    EXPECT_LT(application_distance(parameters, made), 0.05) << like;
    // Lengths, over all port pairs: Kolmogorov-Smirnov's distance of the total length. Filters that come out twice are
    // dropped, which costs short prefixes more.
    double below_wanted = 0, below_made = 0, distance = 0;
    for (size_t total = 0; total <= 64; ++total) {
      for (const auto& protocol : parameters.protocols)
        for (size_t i = 0; i < kPortPairs; ++i)
          below_wanted += protocol.probability * protocol.port_pairs[i] * parameters.lengths[i].total[total];
      for (const Filter& filter : filters)
        below_made += filter.source_length + filter.destination_length == static_cast<int>(total) ? 1.0 / 5000 : 0;
      distance = std::max(distance, std::abs(below_wanted - below_made));
    }
    EXPECT_LT(distance, 0.05) << like;
    for (size_t level = 1; level <= 8; ++level)
      EXPECT_NEAR(made.correlation[level], parameters.correlation[level], 0.2) << like << " " << level;
  }
}

TEST(FilterSet, PutsTheMoreSpecificFirst) {
  const auto filters = generate_filters(parameters_like("fw"), {.count = 300});
  const auto within = [](const Filter& a, const Filter& b) {
    const auto ports = [](PortRange x, PortRange y) { return y.low <= x.low && x.high <= y.high; };
    const auto prefix = [](uint32_t x, int xl, uint32_t y, int yl) {
      return yl <= xl && (yl == 0 || (x ^ y) >> (32 - yl) == 0);
    };
    return prefix(a.source, a.source_length, b.source, b.source_length) &&
           prefix(a.destination, a.destination_length, b.destination, b.destination_length) &&
           ports(a.source_ports, b.source_ports) && ports(a.destination_ports, b.destination_ports) &&
           (!b.protocol_exact || (a.protocol_exact && a.protocol == b.protocol)) &&
           (a.flags_mask & b.flags_mask) == b.flags_mask && (a.flags & b.flags_mask) == b.flags;
  };
  int pairs = 0;
  for (size_t i = 0; i < filters.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      EXPECT_FALSE(within(filters[i], filters[j])) << to_text(filters[j]) << to_text(filters[i]);
      pairs += within(filters[j], filters[i]);
    }
  EXPECT_GT(pairs, 10);  // there is something to order
}

TEST(FilterSet, ObeysItsAdjustments) {
  const auto parameters = parameters_like("ipc");
  const auto with = [&](FilterSetOptions options) {
    options.count = 2000;
    return generate_filters(parameters, options);
  };
  const double plain = mean_length(with({}));
  EXPECT_LT(mean_length(with({.address_scope = 0.8})), plain - 3);
  EXPECT_GT(mean_length(with({.address_scope = -0.8})), plain + 2);
  const auto wild = [](const std::vector<Filter>& filters) {
    return std::count_if(filters.begin(), filters.end(),
                         [](const Filter& filter) { return port_pair_of(filter) == 0; });
  };
  EXPECT_GT(wild(with({.port_scope = 0.9})), wild(with({})) + 200);
  EXPECT_LT(wild(with({.port_scope = -0.9})), wild(with({})) - 50);  // any protocol has no ports anyway
  const auto lengths = [](const std::vector<Filter>& filters) {
    std::set<std::pair<int, int>> seen;
    for (const Filter& filter : filters) seen.insert({filter.source_length, filter.destination_length});
    return seen.size();
  };
  EXPECT_GT(lengths(with({.smoothness = 8})), 2 * lengths(with({})));
  const auto addresses = [](const std::vector<Filter>& filters) {
    std::set<uint32_t> seen;
    for (const Filter& filter : filters) seen.insert(filter.source);
    return seen.size();
  };
  EXPECT_GT(addresses(generate_filters(parameters, {.count = 20'000})),
            2 * addresses(generate_filters(parameters, {.count = 20'000, .address_scaling = false})));
}

TEST(FilterSet, SmoothingIsADistribution) {
  FilterParameters::Lengths spike;
  spike.total[40] = 1;
  spike.source[40][24] = 1;
  EXPECT_EQ(smoothed(spike, 0).total, spike.total);
  const auto lengths = smoothed(spike, 3);
  double sum = 0, mean = 0;
  for (size_t total = 0; total <= 64; ++total) {
    sum += lengths.total[total];
    mean += static_cast<double>(total) * lengths.total[total];
    EXPECT_EQ(lengths.total[total] > 0, 37 <= total && total <= 43) << total;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_NEAR(mean, 40, 1e-9);
  EXPECT_NEAR(lengths.total[40], 20.0 / 64, 1e-9);  // the binomial distribution's middle
  EXPECT_GT(smoothed(spike, 64).total[0], 0);
}

TEST(FilterSet, OneAndTooMany) {
  EXPECT_EQ(generate_filters(parameters_like("acl"), {.count = 1}).size(), 1u);
  const auto few =
      parameters_of(parse_filters("few", "@0.0.0.0/0 0.0.0.0/0 0 : 65535 80 : 80 0x06/0xFF 0x0000/0x0000\n"));
  EXPECT_EQ(generate_filters(few, {.count = 100}).size(), 1u);
}

TEST(AddressTrie, HasTheShapeThatItIsGiven) {
  // Half of the nodes at levels 0 to 9 branch, three to one.
  TrieShape shape;
  for (size_t level = 0; level < 10; ++level) shape.levels[level] = {0.5, 0.5, 2.0 / 3};
  std::vector<WantedPrefix> wanted(20'000);
  for (auto& one : wanted) one.length = 24;
  Random random(5);
  shape.nesting = 4;
  choose_addresses(wanted, shape, {}, random);
  std::vector<Prefix> prefixes;
  for (const auto& one : wanted) prefixes.push_back(one.chosen);
  const TrieShape made = shape_of(prefixes);
  EXPECT_EQ(made.nesting, 1);
  double two = 0;
  for (size_t level = 4; level < 10; ++level) two += made.levels[level].two_children / 6;
  EXPECT_NEAR(two, 0.5, 0.15);
  for (size_t level = 4; level < 10; ++level) {
    EXPECT_NEAR(made.levels[level].skew, 2.0 / 3, 0.1) << level;
  }
  EXPECT_EQ(made.levels[12].two_children, 0);
}

TEST(AddressTrie, MeasuresNestingAndSkew) {
  const auto prefix = [](const char* text) {
    Prefix result;
    EXPECT_TRUE(parse_prefix(text, Family::ipv4, result)) << text;
    return result;
  };
  const auto shape = shape_of({prefix("0.0.0.0/0"), prefix("128.0.0.0/1"), prefix("128.0.0.0/2"), prefix("128.0.0.0/2"),
                               prefix("0.0.0.0/1"), prefix("192.0.0.0/2")});
  EXPECT_EQ(shape.nesting, 3);
  EXPECT_EQ(shape.levels[0].two_children, 1);
  EXPECT_EQ(shape.levels[0].skew, 0.75);  // one against four
  EXPECT_EQ(shape.levels[1].skew, 0.5);   // 128/2 twice, 192/2 once
}

TEST(Headers, MatchTheirFilters) {
  for (const char* like : kOurs) {
    const auto filters = generate_filters(parameters_like(like), {.count = 500});
    const auto trace = generate_headers(filters, 20'000, 1, 0.1, 9);
    EXPECT_EQ(trace.size(), 20'000u);
    std::set<size_t> used;
    for (const auto& [header, filter] : trace) {
      ASSERT_LT(filter, filters.size());
      EXPECT_TRUE(filters[filter].matches(header)) << to_text(filters[filter]);
      used.insert(filter);
    }
    EXPECT_GT(used.size(), 490u);
  }
}

TEST(Headers, RepeatAsParetoSays) {
  const auto filters = generate_filters(parameters_like("acl"), {.count = 1000});
  const auto runs = [&](double a, double b) {
    const auto trace = generate_headers(filters, 100'000, a, b, 4);
    std::vector<size_t> lengths = {1};
    for (size_t i = 1; i < trace.size(); ++i) {
      const auto &x = trace[i - 1], &y = trace[i];
      const bool same = x.filter == y.filter && x.header.source == y.header.source &&
                        x.header.destination == y.header.destination && x.header.source_port == y.header.source_port &&
                        x.header.destination_port == y.header.destination_port &&
                        x.header.protocol == y.header.protocol && x.header.flags == y.header.flags;
      same ? ++lengths.back() : (lengths.push_back(1), size_t{0});
    }
    return lengths;
  };
  EXPECT_GT(runs(1, 0).size(), 99'000u);
  // ceil(2 / u) is more than k with probability 2 / k.
  const auto many = runs(1, 2);
  for (const size_t k : {4u, 10u, 50u}) {
    const auto longer = std::count_if(many.begin(), many.end(), [&](size_t length) { return length > k; });
    EXPECT_NEAR(static_cast<double>(longer) / static_cast<double>(many.size()), 2.0 / static_cast<double>(k), 0.02)
        << k;
  }
  EXPECT_EQ(checksum(to_text(generate_headers(filters, 1000, 1, 0.1, 1))), 11553237217939905441u);
}

TEST(Headers, AreReadAgain) {
  const auto filters = generate_filters(parameters_like("fw"), {.count = 100});
  const auto text = to_text(generate_headers(filters, 100, 1, 1, 2));
  EXPECT_EQ(to_text(parse_headers("trace", text)), text);
  EXPECT_EQ(parse_headers("real", "1218547724\t340094249\t0\t1521\t6\t0\t-1\n").size(), 1u);
  EXPECT_NE(error_of([] { parse_headers("t", "1 2 3 4 5 6 7\n1 2 70000 4 5 6\n"); }).find("t:2: expected SOURCE"),
            std::string::npos);
  EXPECT_NE(error_of([] { parse_headers("t", "1 2 3 4 5 6 x\n"); }).find("t:1: 'x' is not the number of a filter"),
            std::string::npos);
  EXPECT_NE(error_of([] { generate_headers({}, 1, 1, 1, 1); }).find("at least one filter"), std::string::npos);
}

}  // namespace
}  // namespace heddle::bench
