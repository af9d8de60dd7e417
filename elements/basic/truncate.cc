#include "elements/basic/truncate.h"

#include "click/arguments.h"

namespace heddle {

void Truncate::configure(click::Arguments& arguments) {
  arguments.required("LENGTH", bytes_, 0u, 65535u);
  arguments.keyword("EXTRA_LENGTH", extra_length_).keyword("EXTRA_ANNO", extra_length_);
}

void Truncate::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    if (length(packet) <= bytes_) continue;
    if (extra_length_ && has_capture_info(packet)) {
      CaptureInfo info = capture_info(packet);
      info.missing_bytes += length(packet) - bytes_;
      set_capture_info(packet, info);
    }
    packet->data_len = static_cast<uint16_t>(bytes_);
    packet->pkt_len = bytes_;
  }
}

HEDDLE_ELEMENT(Truncate);

}  // namespace heddle
