#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heddle::ip_filter {

/** One question about a packet: whether low <= (word & mask) <= high, where `word` is the big-endian number in the four
 *  bytes at `offset` of a header; or how many bytes the packet has from there on. */
struct Test {
  enum Base : uint8_t {
    kNetwork,         ///< offset counts from the IPv4 header
    kTransport,       ///< from the transport header
    kLink,            ///< from the Ethernet header, kLinkBytes before the IPv4 header
    kNetworkBytes,    ///< the word is the number of bytes from the IPv4 header to the packet's end
    kTransportBytes,  ///< the same from the transport header
    kBytesBefore,     ///< the word is the number of bytes before the IPv4 header
  };
  static constexpr int kLinkBytes = 14;
  Base base = kNetwork;
  int offset = 0;
  uint32_t mask = 0, low = 0, high = 0;

  static Test equal(Base base, int offset, uint32_t mask, uint32_t value) {
    return {base, offset, mask, value & mask, value & mask};
  }
  static Test at_least(Base base, uint32_t bytes) { return {base, 0, ~0u, bytes, ~0u}; }

  bool about_length() const { return base >= kNetworkBytes; }
  bool same_word(const Test& other) const { return base == other.base && offset == other.offset; }
  bool operator==(const Test&) const = default;
};

/** A pattern as a tree. */
struct Expression {
  enum Kind : uint8_t {
    kTrue,
    kTest,
    kNot,     ///< of parts[0]
    kAll,     ///< and
    kAny,     ///< or
    kChoose,  ///< parts are condition, value, condition, value, ..., last value
  };
  Kind kind = kTrue;
  Test test{};
  std::vector<Expression> parts{};

  static Expression of(Test test) { return {kTest, test, {}}; }
  static Expression all(std::vector<Expression> parts) { return {kAll, {}, std::move(parts)}; }
  static Expression any(std::vector<Expression> parts) { return {kAny, {}, std::move(parts)}; }
  static Expression negated(Expression part) {
    Expression result{kNot, {}, {}};
    result.parts.push_back(std::move(part));
    return result;
  }
};

/** What is wrong with a pattern; thrown by the parser. */
struct Mistake {
  size_t at;             ///< where in the pattern, in bytes from 0
  std::string word;      ///< what stands there
  std::string expected;  ///< completes "'word' is not ..."
};

}  // namespace heddle::ip_filter
