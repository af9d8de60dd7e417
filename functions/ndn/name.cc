#include "functions/ndn/name.h"

#include <algorithm>
#include <charconv>

#include "core/error.h"
#include "functions/ndn/rule.h"

namespace heddle::ndn {
namespace {

constexpr uint32_t kGeneric = 8;

struct Text {
  std::string_view text;
  uint64_t bytes(uint32_t at, uint32_t n) const {
    uint64_t word = 0;
    for (uint32_t b = 0; b < n; ++b) word |= static_cast<uint64_t>(static_cast<uint8_t>(text[at + b])) << 8 * b;
    return word;
  }
};

void put_number(std::string& wire, uint32_t number) {
  const int size = number < 253 ? 0 : number < 65536 ? 2 : 4;
  if (size > 0) wire += static_cast<char>(size == 2 ? 253 : 254);
  for (int byte = std::max(size, 1) - 1; byte >= 0; --byte) wire += static_cast<char>(number >> 8 * byte & 255);
}

/** Undoes %HH; false if it is none. */
bool unescape(std::string_view text, std::string& value) {
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      value += text[at];
      continue;
    }
    uint32_t byte = 0;
    if (text.size() - at < 3) return false;
    const char* digits = text.data() + at + 1;
    if (const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
        error != std::errc() || end != digits + 2)
      return false;
    value += static_cast<char>(byte);
    at += 2;
  }
  return true;
}

std::string put_component(std::string_view text, std::string& wire) {
  uint32_t type = kGeneric;
  std::string_view escaped = text;
  if (const size_t equals = text.find('='); equals != std::string_view::npos) {
    const char* last = text.data() + equals;
    if (const auto [end, error] = std::from_chars(text.data(), last, type);
        error != std::errc() || end != last || type == 0 || type > kMaxType)
      return "'" + std::string(text.substr(0, equals)) + "' is not the type of a component, 1 to 65535";
    escaped.remove_prefix(equals + 1);
  }
  const bool periods = escaped.find_first_not_of('.') == std::string_view::npos;
  if (periods && escaped.size() < 3) return "a component of fewer than three periods is none; an empty one is '...'";
  std::string value;
  if (periods)
    value.assign(escaped.size() - 3, '.');
  else if (!unescape(escaped, value))
    return "'%' does not begin two hexadecimal digits";
  put_number(wire, type);
  put_number(wire, static_cast<uint32_t>(value.size()));
  wire += value;
  return "";
}

}  // namespace

std::string parse_name(std::string_view text, std::string& wire, int& components) {
  if (text.starts_with("ndn:")) text.remove_prefix(4);
  if (!text.starts_with('/')) return "a name begins with '/'";
  wire.clear();
  components = 0;
  for (text.remove_prefix(1); !text.empty(); ++components) {
    const size_t end = std::min(text.find('/'), text.size());
    if (std::string problem = put_component(text.substr(0, end), wire); !problem.empty()) return problem;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (components > kMaxComponents)
    return "it has " + std::to_string(components) + " components; the most are " + std::to_string(kMaxComponents);
  return "";
}

std::string name_text(std::string_view wire) {
  const Text bytes{wire};
  std::string text;
  Tlv tlv{0, 0, 0};
  while (read_tlv(bytes, tlv.end, static_cast<uint32_t>(wire.size()), tlv)) {
    text += '/';
    if (tlv.type != kGeneric) text += std::to_string(tlv.type) + "=";
    const std::string_view value = wire.substr(tlv.value, tlv.end - tlv.value);
    if (value.find_first_not_of('.') == std::string_view::npos) text += "...";
    for (const char c : value) {
      const bool plain = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '-' ||
                         c == '.' || c == '_' || c == '~';
      text += plain ? std::string(1, c) : format("%%%02X", static_cast<unsigned>(static_cast<uint8_t>(c)));
    }
  }
  return text.empty() ? "/" : text;
}

}  // namespace heddle::ndn
