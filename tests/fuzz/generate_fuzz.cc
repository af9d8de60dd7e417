// Any text as what `heddle gen` reads: a value or an Error; what was read comes back from its own text, and what is
// made of it is made. The first byte says which reader.

#include "core/error.h"
#include "measure/generate/filter_parameters.h"
#include "measure/generate/filter_set.h"
#include "measure/generate/filters.h"
#include "measure/generate/patterns.h"
#include "measure/generate/route_profile.h"
#include "measure/generate/routes.h"

namespace heddle::bench {
namespace {

void expect(bool right) {
  if (!right) __builtin_trap();
}

void read(char which, std::string_view text) {
  constexpr size_t kMade = 50;
  switch (which) {
    case 'f': {
      const auto filters = parse_filters("f", text);
      expect(parse_filters("f", to_text(filters)) == filters);
      if (!filters.empty()) {
        for (const auto& made : generate_headers(filters, kMade, 1, 0, 1))
          expect(filters[made.filter].matches(made.header));
        generate_filters(parameters_of(filters), {.count = kMade});
      }
      break;
    }
    case 'p': {
      const FilterParameters parameters = parse_parameters("p", text);
      parse_parameters("p", to_text(parameters));
      expect(generate_filters(parameters, {.count = kMade}).size() <= kMade);
      break;
    }
    case 'h': {
      const auto headers = parse_headers("h", text);
      expect(parse_headers("h", to_text(headers)).size() == headers.size());
      break;
    }
    case 'c':
      expect(parse_patterns("c", to_text(parse_patterns("c", text))).size() == parse_patterns("c", text).size());
      break;
    case 'r': {
      const RouteProfile profile = parse_profile("r", text);
      parse_profile("r", to_text(profile));
      expect(generate_prefixes(profile, kMade, 1).size() == kMade);
      break;
    }
    default:
      break;
  }
}

}  // namespace
}  // namespace heddle::bench

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    heddle::bench::read(static_cast<char>(data[0]), {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const heddle::Error&) {
  }
  return 0;
}
