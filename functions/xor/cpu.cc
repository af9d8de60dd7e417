#include <cstring>

#include "click/arguments.h"
#include "functions/xor/xor.h"

namespace heddle {

void Xor::configure(click::Arguments& arguments) {
  uint32_t key = 0x5a;
  arguments.optional("KEY", key, 0u, 255u);
  key_.value.word = key * 0x01010101u;
  table = &key_;
}

void Xor::run_cpu(Batch& batch) {
  const xor_bytes::Key key = key_.value;
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* bytes = batch.frame(i);
    const uint32_t length = batch.length(i);
    uint32_t at = 0;
    for (; at + 4 <= length; at += 4) {  // the compiler makes vectors of it
      uint32_t word;
      std::memcpy(&word, bytes + at, sizeof word);
      word = xor_bytes::changed(word, key);
      std::memcpy(bytes + at, &word, sizeof word);
    }
    for (; at < length; ++at) bytes[at] = static_cast<uint8_t>(xor_bytes::changed(bytes[at], key));
  }
}

HEDDLE_ELEMENT_AS(Xor, "XOR");

}  // namespace heddle
