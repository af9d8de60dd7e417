#include "elements/basic/packet_time.h"

#include "core/error.h"

namespace heddle {

std::string time_text(int64_t ns) {
  const uint64_t size = ns < 0 ? 0 - static_cast<uint64_t>(ns) : static_cast<uint64_t>(ns);
  const uint64_t fraction = size % 1'000'000'000;
  const std::string whole = format("%s%ju.", ns < 0 ? "-" : "", uintmax_t{size / 1'000'000'000});
  return whole +
         (fraction % 1000 == 0 ? format("%06ju", uintmax_t{fraction / 1000}) : format("%09ju", uintmax_t{fraction}));
}

}  // namespace heddle
