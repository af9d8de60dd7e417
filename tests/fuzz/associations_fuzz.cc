// Any bytes as a file of security associations: associations or errors, none of which quotes a key.

#include "functions/ipsec/association_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heddle::ipsec;
  std::vector<std::string> errors;
  const auto list = parse_associations({reinterpret_cast<const char*>(data), size}, "f", errors);
  for (const auto& association : list)
    if (association.sa.spi == 0 || association.window > kLargestWindow || association.selector.source.length > 128 ||
        association.selector.destination.length > 128 || association.sa.suite.icv_bytes > 16 ||
        (association.sa.extended && association.window == 0))
      __builtin_trap();
  for (const auto& error : errors)
    if (error.find("00112233445566778899aabbccddeeff") != error.npos) __builtin_trap();
  return 0;
}
