#include "elements/endpoints/fast_udp_source.h"

#include "click/arguments.h"

namespace heddle {

void FastUDPSource::configure(click::Arguments& arguments) {
  bool active = true;
  configure_frames(arguments, &ports_);
  configure_checksum(arguments);
  arguments.optional("INTERVAL", interval_).optional("ACTIVE", active);
  configure_end(arguments);
  active_ = active;
  headers_ = headers_with(ports_);
}

void FastUDPSource::receive(Batch& batch) {
  append_frames(batch, [this](uint64_t number) -> const Headers& {
    const uint64_t step = interval_ == 0 ? 0 : number / interval_;
    if (step != step_) {
      step_ = step;
      headers_ =
          headers_with({static_cast<uint16_t>(ports_.source + step), static_cast<uint16_t>(ports_.destination + step)});
    }
    return headers_;
  });
}

HEDDLE_ELEMENT(FastUDPSource);
HEDDLE_ELEMENT(FastUDPSourceIP6);

}  // namespace heddle
