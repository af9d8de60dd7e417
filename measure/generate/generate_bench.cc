// generate: a million of each thing that `heddle gen` makes, in millions a second; the figure to reach is "in seconds".

#include "bench/bench.h"
#include "core/error.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/names.h"
#include "measure/generate/patterns.h"
#include "measure/generate/routes.h"

namespace heddle::bench {
namespace {

constexpr size_t kMillion = 1'000'000;
constexpr double kFigure = 0.1;  // ten seconds
constexpr int kRounds = 3;

// `make` returns what was made, of which there must be a million.
template <class Make>
Result millions(const char* name, Make make) {
  return absolute(std::string("generate-") + name, "M/s", kFigure, false, kRounds, [&] {
    const double start = seconds_now();
    const size_t made = make().size();
    if (made != kMillion) throw Error(format("%s: %zu came out in place of a million", name, made));
    return 1 / (seconds_now() - start);
  });
}

const Register generate("generate", false, [] {
  const auto acl = parameters_like("acl");
  const auto filters = generate_filters(acl, {.count = 1000});
  return std::vector{
      millions("routes", [] { return generate_prefixes(real_profile(Family::ipv4), kMillion, 1); }),
      millions("routes-ipv6", [] { return generate_prefixes(real_profile(Family::ipv6), kMillion, 1); }),
      millions("filters", [&] { return generate_filters(acl, {.count = kMillion}); }),
      millions("headers", [&] { return generate_headers(filters, kMillion, 1, 0.1, 1); }),
      millions("patterns", [] { return generate_patterns(kMillion, 1); }),
      millions("names", [] { return generate_names(kMillion, NameForm::ndn, 1); }),
  };
});

}  // namespace
}  // namespace heddle::bench
