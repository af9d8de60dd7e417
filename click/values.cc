#include "click/values.h"

#include <charconv>
#include <cmath>
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
  uint32_t address = 0;
  for (int part = 0; part < 4; ++part) {
    const size_t length = part < 3 ? text.find('.') : text.size();
    uint8_t byte = 0;
    if (length > 3 || !parse_all(text.substr(0, length), byte)) return false;
    address = address << 8 | byte;
    text.remove_prefix(part < 3 ? length + 1 : length);
  }
  value.value = address;
  return true;
}

bool parse(std::string_view text, Ipv4Prefix& value) {
  const size_t slash = text.find('/');
  Ipv4Address address, mask;
  if (slash == text.npos || !parse(text.substr(0, slash), address)) return false;
  const std::string_view after = text.substr(slash + 1);
  unsigned length = 0;
  if (parse(after, mask)) {
    while (length < 32 && (mask.value << length & 0x80000000u) != 0) ++length;
  } else if (!parse_all(after, length) || length > 32) {
    return false;
  } else {
    mask.value = length == 0 ? 0 : ~uint32_t{0} << (32 - length);
  }
  if (length < 32 && mask.value << length != 0) return false;  // a mask with a hole
  value = {address.value & mask.value, static_cast<int>(length)};
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

bool parse(std::string_view text, Duration& value) {
  constexpr std::pair<const char*, double> kUnits[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
  for (const auto& [unit, factor] : kUnits) {
    if (!text.ends_with(unit)) continue;
    double number = 0;
    const std::string_view digits = trim(text.substr(0, text.size() - std::string_view(unit).size()));
    if (!parse_all(digits, number) || std::signbit(number) || !(number * factor < 1e18)) return false;
    value.microseconds = static_cast<uint64_t>(std::llround(number * factor));
    return true;
  }
  return false;
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
std::string expectation(Duration) { return "a time such as 200us, 1ms or 2s"; }

}  // namespace heddle::click
