#include "elements/basic/print.h"

#include <algorithm>
#include <cstdio>

#include "click/arguments.h"

namespace heddle {

void Print::configure(click::Arguments& arguments) {
  arguments.optional("LABEL", label_).optional("MAXLENGTH", max_length_, -1, 65535);
  arguments.keyword("CONTENTS", contents_).keyword("ACTIVE", active_);
}

void Print::run_cpu(Batch& batch) {
  if (!active_) return;
  char line[4096];
  for (int i = 0; i < batch.size(); ++i) {
    const uint8_t* bytes = batch.frame(i);
    const uint32_t length = batch.length(i);
    flockfile(stderr);
    if (!label_.empty()) std::fprintf(stderr, "%s: ", label_.c_str());
    std::fprintf(stderr, "%4u", length);
    if (contents_) {
      const uint32_t shown = max_length_ < 0 ? length : std::min(length, static_cast<uint32_t>(max_length_));
      std::fputs(" |", stderr);
      for (uint32_t at = 0; at < shown;) {
        int used = 0;
        for (; at < shown && used < 4000; ++at)
          used += std::snprintf(line + used, sizeof line - static_cast<size_t>(used), "%s%02x", at % 4 == 0 ? " " : "",
                                bytes[at]);
        std::fputs(line, stderr);
      }
    }
    std::fputc('\n', stderr);
    funlockfile(stderr);
  }
}

HEDDLE_ELEMENT(Print);

}  // namespace heddle
