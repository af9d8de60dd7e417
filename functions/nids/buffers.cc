#include "functions/nids/buffers.h"

#include <algorithm>

#include "core/text_file.h"

namespace heddle::nids {
namespace {

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lowered(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::string url_decoded(std::string_view text) {
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    const int high = text[at] == '%' && at + 2 < text.size() ? hex_digit(text[at + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[at + 2]) : -1;
    if (low >= 0)
      result += static_cast<char>(high * 16 + low), at += 2;
    else
      result += text[at] == '+' ? ' ' : text[at];
  }
  return result;
}

std::string changed(std::string text, const Transform& transform) {
  using enum Transform::Kind;
  switch (transform.kind) {
    case dotprefix:
      text.insert(text.begin(), '.');
      break;
    case to_lowercase:
      std::ranges::transform(text, text.begin(), lowered);
      break;
    case to_uppercase:
      std::ranges::transform(text, text.begin(), upper);
      break;
    case header_lowercase:
      for (bool is_name = true; char& c : text) {
        if (c == ':' || c == '\n') is_name = c == '\n';
        if (is_name) c = lowered(c);
      }
      break;
    case strip_whitespace:
      std::erase_if(text, is_blank);
      break;
    case compress_whitespace:
      text.erase(
          std::unique(text.begin(), text.end(), [](char before, char c) { return is_blank(before) && is_blank(c); }),
          text.end());
      break;
    case url_decode:
      return url_decoded(text);
    case exclusive_or:
      for (size_t at = 0; at < text.size(); ++at)
        text[at] = static_cast<char>(text[at] ^ transform.key[at % transform.key.size()]);
      break;
  }
  return text;
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lowered(c);
  return result;
}

Application application_of(Buffer buffer) {
  return buffer >= Buffer::tls_sni     ? Application::tls
         : buffer >= Buffer::dns_query ? Application::dns
                                       : Application::http;
}

unsigned sides_of(Buffer buffer) {
  if ((buffer <= Buffer::request_body && buffer != Buffer::protocol) || buffer == Buffer::dns_query ||
      buffer == Buffer::tls_sni)
    return 1u << kRequest;
  if (buffer >= Buffer::status_code && buffer <= Buffer::response_body) return 1u << kResponse;
  return 1u << kRequest | 1u << kResponse;
}

std::string transformed(std::string_view text, std::span<const Transform> transforms) {
  std::string result(text);
  for (const Transform& transform : transforms) result = changed(std::move(result), transform);
  return result;
}

}  // namespace heddle::nids
