#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::ip_filter {

/** Protocols beyond the 256 of an IPv4 header. */
constexpr int kTcpOrUdp = 256, kAnyTransport = 257;
constexpr int kIcmp = 1, kTcp = 6, kUdp = 17;

/** What the language can say about a packet. */
enum class Type : uint8_t {
  kNone,
  kHost,
  kEther,
  kNet,
  kProto,
  kPort,
  kTcpOption,
  kFragment,
  kUnfragmented,
  kEct,
  kCe,
  kField
};

/** Bits of a header: `length` bits from bit `offset` on, 1 to 32. `proto`: of that transport header; -1: of IPv4. */
struct Field {
  int proto = -1, offset = 0, length = 0;
};

/** The word that says what a directive is about: "port", "ttl", ... */
struct TypeWord {
  const char* name;
  Type type;
  Field field;
};

const TypeWord* find_type(std::string_view word);
/** "tcp", "icmp", ...: the number in the IPv4 header, or one of the two above. */
std::optional<int> find_protocol(std::string_view word);
/** "syn", "ack", ...: the bit in the header. */
std::optional<uint32_t> find_tcp_option(std::string_view word);
std::optional<uint32_t> find_icmp_type(std::string_view word);

std::string protocol_name(int proto);

/** Every word of the language, for suggestions. */
const std::vector<std::string>& all_words();

}  // namespace heddle::ip_filter
