#include "click/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "click/quoting.h"
#include "core/error.h"

namespace heddle::click {

namespace {

/** All of the text as a number without sign. */
template <class T, class... Base>
bool parse_all(std::string_view text, T& value, Base... base) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  return failure == std::errc() && end == text.data() + text.size();
}

bool parse_magnitude(std::string_view text, uint64_t& value) {
  if (text.starts_with("0x") || text.starts_with("0X")) return parse_all(text.substr(2), value, 16);
  return parse_all(text, value, text.size() > 1 && text[0] == '0' ? 8 : 10);
}

/** Removes a sign; true if it was a minus. */
bool take_minus(std::string_view& text) {
  const bool minus = text.starts_with('-');
  if (minus || text.starts_with('+')) text.remove_prefix(1);
  return minus;
}

/** At least `least` of the four bytes of an IPv4 address, the others being zero. */
bool parse_address(std::string_view text, uint32_t& value, int& parts, int least) {
  uint32_t address = 0;
  for (parts = 0; parts < 4; ++parts) {
    const size_t length = std::min(text.find('.'), text.size());
    uint8_t byte = 0;
    if (length > 3 || !parse_all(text.substr(0, length), byte)) return false;
    address |= uint32_t{byte} << (24 - 8 * parts);
    if (length == text.size()) break;
    text.remove_prefix(length + 1);
  }
  if (parts == 4 || ++parts < least) return false;  // a fifth part, or too few
  value = address;
  return true;
}

/** A number that is not negative, in units of one of those given; the number of units before a unit's name. */
bool parse_with_unit(std::string_view text, std::initializer_list<std::pair<std::string_view, double>> units,
                     uint64_t& value) {
  for (const auto& [unit, factor] : units) {
    if (!text.ends_with(unit)) continue;
    const std::string_view digits = trim(text.substr(0, text.size() - unit.size()));
    double number = 0;
    if (!parse_all(digits, number) || std::signbit(number) || !(number * factor < 1e18)) continue;
    value = static_cast<uint64_t>(std::llround(number * factor));
    return true;
  }
  return false;
}

}  // namespace

bool parse(std::string_view text, bool& value) {
  const bool yes = text == "true" || text == "yes" || text == "1";
  if (!yes && text != "false" && text != "no" && text != "0") return false;
  value = yes;
  return true;
}

bool parse(std::string_view text, uint64_t& value, uint64_t min, uint64_t max) {
  uint64_t number = 0;
  const bool minus = take_minus(text);
  if (!parse_magnitude(text, number) || (minus && number != 0) || number < min || number > max) return false;
  value = number;
  return true;
}

bool parse(std::string_view text, int64_t& value, int64_t min, int64_t max) {
  uint64_t magnitude = 0;
  const bool minus = take_minus(text);
  const uint64_t limit = minus ? uint64_t{1} << 63 : (uint64_t{1} << 63) - 1;
  if (!parse_magnitude(text, magnitude) || magnitude > limit) return false;
  const auto number = static_cast<int64_t>(minus ? -magnitude : magnitude);
  if (number < min || number > max) return false;
  value = number;
  return true;
}

bool parse(std::string_view text, double& value, double min, double max) {
  double number = 0;
  const bool minus = take_minus(text);
  if (text.starts_with('-') || !parse_all(text, number) || !std::isfinite(number)) return false;
  if (minus) number = -number;
  if (number < min || number > max) return false;
  value = number;
  return true;
}

bool parse(std::string_view text, std::string& value) {
  if (split_words(text).size() != 1) return false;
  value = unquote(text);
  return true;
}

bool parse(std::string_view text, std::filesystem::path& value) {
  std::string name;
  if (!parse(text, name) || name.empty() || name.find('\0') != name.npos) return false;
  value = name;
  return true;
}

bool parse(std::string_view text, Ipv4Address& value) {
  int parts = 0;
  return parse_address(text, value.value, parts, 4);
}

bool parse(std::string_view text, Ipv4Prefix& value) {
  const size_t slash = text.find('/');
  uint32_t address = 0;
  int parts = 0;
  if (slash == text.npos || !parse_address(text.substr(0, slash), address, parts, 1)) return false;
  const std::string_view after = text.substr(slash + 1);
  Ipv4Address mask;
  unsigned length = 0;
  if (parts == 4 && parse(after, mask)) {
    while (length < 32 && (mask.value << length & 0x80000000u) != 0) ++length;
  } else if (!parse_all(after, length) || length > 32 || length > 8u * static_cast<unsigned>(parts)) {
    return false;
  } else {
    mask.value = length == 0 ? 0 : ~uint32_t{0} << (32 - length);
  }
  if (length < 32 && mask.value << length != 0) return false;  // a mask with a hole
  value = {address & mask.value, static_cast<int>(length)};
  return true;
}

bool parse(std::string_view text, EthernetAddress& value) {
  EthernetAddress address;
  const bool colons = text.find(':') != text.npos;
  for (size_t i = 0; i < 6; ++i) {
    const size_t length = std::min(text.find(colons ? ':' : '-'), text.size());
    if (length > 2 || !parse_all(text.substr(0, length), address.bytes[i], 16)) return false;
    if ((length < text.size()) != (i < 5)) return false;
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  value = address;
  return true;
}

bool parse(std::string_view text, std::vector<Ipv4Address>& value) {
  std::vector<Ipv4Address> addresses;
  for (const std::string_view word : split_words(text))
    if (!parse(word, addresses.emplace_back())) return false;
  if (addresses.empty()) return false;
  value = std::move(addresses);
  return true;
}

bool parse(std::string_view text, Port& value) { return parse(text, value.number); }

bool parse(std::string_view text, Duration& value) {
  return parse_with_unit(text,
                         {{"us", 1},
                          {"ms", 1e3},
                          {"ns", 1e-3},
                          {"s", 1e6},
                          {"sec", 1e6},
                          {"m", 6e7},
                          {"min", 6e7},
                          {"h", 3.6e9},
                          {"hr", 3.6e9},
                          {"", 1e6}},
                         value.microseconds);
}

bool parse(std::string_view text, Bandwidth& value) {
  for (const auto& [prefix, factor] : {std::pair("k", 1e3), {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"", 1.0}}) {
    const auto unit = [prefix = std::string(prefix)](const char* name) { return prefix + name; };
    const std::string bits = unit("bps"), bits_too = unit("b/s"), bytes = unit("Bps"), bytes_too = unit("B/s");
    if (parse_with_unit(text, {{bits, factor / 8}, {bits_too, factor / 8}, {bytes, factor}, {bytes_too, factor}},
                        value.bytes_per_second))
      return true;
  }
  return parse_with_unit(text, {{"", 1}}, value.bytes_per_second);
}

std::string to_text(Ipv4Address value) {
  const uint32_t a = value.value;
  return format("%u.%u.%u.%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255);
}

std::string to_text(Ipv4Prefix value) {
  return to_text(Ipv4Address{value.address}) + "/" + std::to_string(value.length);
}

std::string to_text(EthernetAddress value) {
  const auto& b = value.bytes;
  return format("%02X-%02X-%02X-%02X-%02X-%02X", b[0], b[1], b[2], b[3], b[4], b[5]);
}

std::string expectation(bool) { return "a truth value (true or false)"; }
std::string expectation(double) { return "a number"; }
std::string expectation(double, double min, double max) { return format("a number from %g to %g", min, max); }
std::string expectation(const std::string&) { return "a string (in quotes if it has spaces or commas)"; }
std::string expectation(const std::filesystem::path&) { return "a file name (in quotes if it has spaces or commas)"; }
std::string expectation(Ipv4Address) { return "an IPv4 address such as 10.0.0.1"; }
std::string expectation(Ipv4Prefix) { return "an IPv4 prefix such as 10.0.0.0/8"; }
std::string expectation(const std::vector<Ipv4Address>&) {
  return "a list of IPv4 addresses such as 10.0.0.1 10.0.0.2";
}
std::string expectation(EthernetAddress) { return "an Ethernet address such as 00-1A-2B-03-04-05"; }
std::string expectation(Port value) {
  static constexpr const char* kOf[] = {"", "TCP ", "UDP "};
  return format("a %sport from 0 to 65535, or a name of one such as domain", kOf[value.protocol]);
}
std::string expectation(Duration) { return "a time such as 200us, 1ms or 2s"; }
std::string expectation(Bandwidth) { return "a bandwidth such as 10Mbps or 1GBps"; }

}  // namespace heddle::click
