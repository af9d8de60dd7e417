// Any bytes as an MRT file: routes or an Error, and nothing read outside of them.

#include "convert/routes/mrt.h"
#include "core/error.h"
#include "functions/ip_lookup/route.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle;
  ip_lookup::MemoryStream stream({data, size});
  try {
    ip_lookup::read_mrt(stream, [](const ip_lookup::LearnedRoute& route) {
      if (route.length > 32 || (route.address & ~ip_lookup::prefix_mask(route.length)) != 0) __builtin_trap();
    });
  } catch (const Error&) {
  }
  return 0;
}
