#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::nids {

/** What rules look into of an HTTP transaction (Suricata 7.0, HTTP Keywords). */
enum class HttpBuffer : uint8_t {
  method,
  uri,      ///< path, query and fragment, decoded and normalised
  raw_uri,  ///< as it came
  protocol,
  request_line,
  host,      ///< in lower case, without its port
  raw_host,  ///< as it came
  user_agent,
  referer,
  accept,
  accept_encoding,
  accept_language,
  request_body,
  status_code,
  status_message,
  response_line,
  server,
  location,
  response_body,  ///< without its transfer and content codings
  header,         ///< "NAME: VALUE" and CRLF of each but cookies
  raw_header,     ///< as they came
  header_names,   ///< CRLF, "NAME" and CRLF of each, CRLF
  cookie,         ///< of requests Cookie, of responses Set-Cookie
  content_type,
  content_length,
  connection,
  start,      ///< the first line and the headers
  file_data,  ///< the body of either
};
constexpr size_t kHttpBuffers = 28;

enum HttpSide : uint8_t { kRequest, kResponse };

/** Bit kRequest, bit kResponse: which sides have it. */
unsigned sides_of(HttpBuffer buffer);
constexpr bool is_body(HttpBuffer buffer) {
  return buffer == HttpBuffer::request_body || buffer == HttpBuffer::response_body || buffer == HttpBuffer::file_data;
}

/** What is done to a buffer's bytes before they are looked into (Suricata 7.0, Transformations). */
struct HttpTransform {
  enum class Kind : uint8_t {
    dotprefix,
    to_lowercase,
    to_uppercase,
    header_lowercase,  ///< names of headers
    strip_whitespace,
    compress_whitespace,
    url_decode,
    exclusive_or
  };
  Kind kind;
  std::string key = {};  ///< of exclusive_or, over and over
  bool operator==(const HttpTransform&) const = default;
};

constexpr char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

std::string transformed(std::string_view text, std::span<const HttpTransform> transforms);

}  // namespace heddle::nids
