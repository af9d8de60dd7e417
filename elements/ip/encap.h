#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "click/arguments.h"
#include "core/batch.h"
#include "core/handlers.h"
#include "core/packet.h"

namespace heddle {

/** Argument PROTO: what follows an IP header. */
struct IpProtocol {
  int value = 0;
};
bool parse(std::string_view text, IpProtocol& value);
std::string expectation(IpProtocol);

/** Drop reasons of elements that put headers before packets. */
enum EncapReason : int { kNoHeadroom, kTooLong };
inline constexpr const char* kEncapReasons[] = {"no_headroom", "too_long"};

/** Makes room for `bytes` of headers before packet `i`; null if there is none, and it is dropped. */
inline uint8_t* prepend(Batch& batch, int i, int bytes) {
  Packet* packet = batch.packet(i);
  if (packet->data_off < bytes) {
    batch.drop(i, kNoHeadroom);
  } else if (length(packet) + static_cast<uint32_t>(bytes) > kMaxPacketBytes) {
    batch.drop(i, kTooLong);
  } else {
    move_head(packet, -bytes);
    return data(packet);
  }
  return nullptr;
}

/** A handler (rw) of a port in network byte order. */
void add_port(Handlers& list, const char* name, std::atomic<uint16_t>& port);

}  // namespace heddle
