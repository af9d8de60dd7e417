#include "elements/basic/pass.h"

#include <cstdio>

#include "click/arguments.h"
#include "core/clock.h"
#include "core/error.h"

namespace heddle {

void Align::configure(click::Arguments& arguments) {
  uint32_t modulus = 4, offset = 0;
  arguments.required("MODULUS", modulus, 1u, 4096u).required("OFFSET", offset, 0u, 4095u);
  if (offset >= modulus) arguments.error("OFFSET is not below MODULUS");
}

void SetTimestamp::configure(click::Arguments& arguments) {
  double seconds = -1;
  arguments.optional("TIMESTAMP", seconds, 0.0, 1e10);
  now_ = seconds < 0;
  if (!now_) time_ns_ = static_cast<uint64_t>(seconds * 1e9 + 0.5);
}

void SetTimestamp::run_cpu(Batch& batch) {
  const uint64_t time_ns = now_ ? RouterClock::wall_ns() : time_ns_;
  for (int i = 0; i < batch.size(); ++i) {
    Packet* packet = batch.packet(i);
    CaptureInfo info = has_capture_info(packet) ? capture_info(packet) : CaptureInfo{};
    info.timestamp_ns = time_ns;
    packet->port = RTE_MBUF_PORT_INVALID;  // it has a time of its own now
    set_capture_info(packet, info);
  }
}

void Message::configure(click::Arguments& arguments) {
  arguments.required("MESSAGE", message_).optional("TYPE", type_);
  if (type_ != "MESSAGE" && type_ != "WARNING" && type_ != "ERROR")
    arguments.error("TYPE", "MESSAGE, WARNING or ERROR");
}

void Message::start(const Environment&) {
  if (type_ == "ERROR") throw Error(message_);
  std::fprintf(stderr, "%s%s\n", type_ == "WARNING" ? "warning: " : "", message_.c_str());
}

HEDDLE_ELEMENT(Align);
HEDDLE_ELEMENT(PushNull);
HEDDLE_ELEMENT(PullNull);
HEDDLE_ELEMENT(SetTimestamp);
HEDDLE_ELEMENT(Message);

}  // namespace heddle
