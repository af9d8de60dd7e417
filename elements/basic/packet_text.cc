#include "elements/basic/packet_text.h"

#include <algorithm>
#include <cctype>
#include <cstdarg>
#include <cstdio>

#include "click/values.h"

namespace heddle {

bool parse(std::string_view text, Contents& value) {
  bool shown = false;
  if (click::parse(text, shown)) {
    value = shown ? Contents::hex : Contents::none;
    return true;
  }
  std::string word(text);
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::toupper(c); });
  if (word != "NONE" && word != "HEX" && word != "ASCII") return false;
  value = word == "NONE" ? Contents::none : word == "HEX" ? Contents::hex : Contents::ascii;
  return true;
}

std::string expectation(Contents) { return "NONE, HEX, ASCII, true or false"; }

void append_bytes(std::string& line, std::span<const uint8_t> bytes, Contents how, bool rows) {
  const size_t group = how == Contents::hex ? 4 : 8, row = how == Contents::hex ? 24 : 48;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (rows && i % row == 0)
      line += "\n  ";
    else if (i > 0 && i % group == 0)
      line += ' ';
    if (how == Contents::ascii) {
      line += bytes[i] < 32 || bytes[i] > 126 ? '.' : static_cast<char>(bytes[i]);
    } else {
      line += "0123456789abcdef"[bytes[i] >> 4];
      line += "0123456789abcdef"[bytes[i] & 15];
    }
  }
}

void append_timestamp(std::string& line, const Packet* packet) {
  uint64_t ns = has_capture_info(packet) ? capture_info(packet).timestamp_ns : 0;
  if (static_cast<int64_t>(ns) < 0) line += '-', ns = -ns;  // before 1970
  const auto seconds = static_cast<unsigned long long>(ns / 1000000000);
  const auto rest = static_cast<unsigned>(ns % 1000000000);
  if (rest % 1000 == 0)
    append(line, "%llu.%06u", seconds, rest / 1000);
  else
    append(line, "%llu.%09u", seconds, rest);
}

void append(std::string& line, const char* text, ...) {
  char piece[256];
  va_list arguments;
  va_start(arguments, text);
  const int length = std::vsnprintf(piece, sizeof piece, text, arguments);
  va_end(arguments);
  line.append(piece, std::min(static_cast<size_t>(std::max(length, 0)), sizeof piece - 1));
}

}  // namespace heddle
