#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace heddle::memif {

constexpr uint16_t kVersion = 0x200;  ///< 2.0

enum class Type : uint16_t { none, ack, hello, init, add_region, add_ring, connect, connected, disconnect };

template <size_t bytes>
struct [[gnu::packed]] Text {
  char at[bytes];
  std::string text() const { return std::string(at, strnlen(at, bytes)); }
  /** Cut if it is too long, so that a zero byte is left. */
  void set(std::string_view from) {
    std::memset(at, 0, bytes);
    std::memcpy(at, from.data(), std::min(from.size(), bytes - 1));
  }
};

/** A message on the control socket, as memif 2.0 has it: always of this size, one a packet of the SEQPACKET socket,
 *  with at most one file descriptor beside it. Little-endian. */
struct [[gnu::packed]] Message {
  Type type;
  union {
    struct [[gnu::packed]] {  ///< server: first of all
      Text<32> name;
      uint16_t min_version, max_version, max_region, max_to_client_ring, max_to_server_ring;
      uint8_t max_log2_ring_size;
    } hello;
    struct [[gnu::packed]] {  ///< client: which interface it wants
      uint16_t version;
      uint32_t id;
      uint8_t mode;  ///< 0: Ethernet
      Text<24> secret;
      Text<32> name;
    } init;
    struct [[gnu::packed]] {  ///< client, with the region's file
      uint16_t index;
      uint64_t size;
    } add_region;
    struct [[gnu::packed]] {  ///< client, with an eventfd
      uint16_t flags;         ///< kToServer
      uint16_t index, region;
      uint32_t offset;
      uint8_t log2_size;
      uint16_t private_header_bytes;
    } add_ring;
    struct [[gnu::packed]] {
      Text<32> interface;
    } connect, connected;
    struct [[gnu::packed]] {
      uint32_t code;
      Text<96> reason;
    } disconnect;
    char bytes[126];
  };

  explicit Message(Type which = Type::none) : type(which), bytes{} {}
};
static_assert(sizeof(Message) == 128);
constexpr uint16_t kToServer = 1;

}  // namespace heddle::memif
