#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "click/quoting.h"
#include "core/error.h"

namespace heddle::click {

/** An IPv4 address in host byte order, written a.b.c.d. */
struct Ipv4Address {
  uint32_t value = 0;
  auto operator<=>(const Ipv4Address&) const = default;
};

/** The addresses whose first `length` bits are those of `address`, written a.b.c.d/length or a.b.c.d/m.m.m.m; with a
 *  length, zero bytes at the end may be left out (10/8). Host byte order; the bits after the first `length` are zero
 *  whatever was written. */
struct Ipv4Prefix {
  uint32_t address = 0;
  int length = 0;
  bool operator==(const Ipv4Prefix&) const = default;
};

/** An Ethernet address, written with dashes or colons: 00-1A-2b-3-4-5, 0:1a:2b:3:4:5. */
struct EthernetAddress {
  std::array<uint8_t, 6> bytes{};
  auto operator<=>(const EthernetAddress&) const = default;
};

/** A port of TCP, of UDP or of both: a number from 0 to 65535 or, as an argument, a name that the address book knows
 *  for `protocol`. Host byte order. */
struct Port {
  enum Protocol : uint8_t { kTcpOrUdp, kTcp, kUdp };
  Protocol protocol = kTcpOrUdp;
  uint16_t number = 0;
};

/** A time in s, sec, ms, us, ns, m, min, h or hr, such as 200us, 1.5ms or 2 min; a number without unit is in
 *  seconds. */
struct Duration {
  uint64_t microseconds = 0;
  auto operator<=>(const Duration&) const = default;
};

/** A rate in bytes (Bps, B/s) or bits (bps, b/s) per second, with k, M or G before the unit; a number without unit is
 *  in bytes per second. */
struct Bandwidth {
  uint64_t bytes_per_second = 0;
  auto operator<=>(const Bandwidth&) const = default;
};

/** The integer types that hold numbers. */
template <class T>
concept Integer = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char>;

// parse() turns the text of an argument into a value; if the text does not fit the type, it returns false and leaves
// the value alone. expectation() says what text fits, to complete "... is not ": "an integer from 0 to 255". To make
// another type an argument type, give it these two functions in its own namespace.

/** true, yes and 1; false, no and 0. */
bool parse(std::string_view text, bool& value);
/** As in C: decimal, 0x for hexadecimal, a leading 0 for octal; a sign before it. */
bool parse(std::string_view text, int64_t& value, int64_t min, int64_t max);
bool parse(std::string_view text, uint64_t& value, uint64_t min, uint64_t max);
/** Decimal, finite. */
bool parse(std::string_view text, double& value, double min = std::numeric_limits<double>::lowest(),
           double max = std::numeric_limits<double>::max());
/** One word; quoted if it has spaces or commas. */
bool parse(std::string_view text, std::string& value);
bool parse(std::string_view text, std::filesystem::path& value);
bool parse(std::string_view text, Ipv4Address& value);
bool parse(std::string_view text, Ipv4Prefix& value);
/** One or more, separated by spaces. */
bool parse(std::string_view text, std::vector<Ipv4Address>& value);
bool parse(std::string_view text, EthernetAddress& value);
/** A number; its protocol stays. */
bool parse(std::string_view text, Port& value);
bool parse(std::string_view text, Duration& value);
bool parse(std::string_view text, Bandwidth& value);

template <Integer T>
bool parse(std::string_view text, T& value, std::type_identity_t<T> min = std::numeric_limits<T>::min(),
           std::type_identity_t<T> max = std::numeric_limits<T>::max()) {
  std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t> wide = 0;
  if (!parse(text, wide, min, max)) return false;
  value = static_cast<T>(wide);
  return true;
}

std::string expectation(bool);
std::string expectation(double);
std::string expectation(double, double min, double max);
std::string expectation(const std::string&);
std::string expectation(const std::filesystem::path&);
std::string expectation(Ipv4Address);
std::string expectation(Ipv4Prefix);
std::string expectation(const std::vector<Ipv4Address>&);
std::string expectation(EthernetAddress);
std::string expectation(Port);
std::string expectation(Duration);
std::string expectation(Bandwidth);

// As Click writes values.
std::string to_text(Ipv4Address value);      ///< 10.0.0.1
std::string to_text(Ipv4Prefix value);       ///< 10.0.0.0/8
std::string to_text(EthernetAddress value);  ///< 00-1A-2B-03-04-05

template <Integer T>
std::string expectation(T, std::type_identity_t<T> min = std::numeric_limits<T>::min(),
                        std::type_identity_t<T> max = std::numeric_limits<T>::max()) {
  return "an integer from " + std::to_string(min) + " to " + std::to_string(max);
}

/** The value that a handler has been given, with white space around it or a newline behind it or not; throws Error
 *  with what was expected. */
template <class T, class... Limits>
T value_of(std::string_view text, Limits... limits) {
  T value{};
  if (!parse(trim(text), value, limits...))
    throw Error("'" + std::string(text.substr(0, 80)) + "' is not " + expectation(value, limits...));
  return value;
}

}  // namespace heddle::click
