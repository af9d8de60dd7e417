#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/application.h"

namespace heddle::nids {

/** What rules look into of a transaction (Suricata 7.0, HTTP Keywords, DNS Keywords, SSL/TLS Keywords). */
enum class Buffer : uint8_t {
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
  // Of DNS.
  dns_query,   ///< a question's name, with dots between its labels
  dns_opcode,  ///< a byte
  // Of TLS.
  tls_sni,           ///< the name of the server that the client asks for
  tls_certificates,  ///< a certificate of a chain, as it came
};
constexpr size_t kBuffers = 32;

Application application_of(Buffer buffer);
/** Bit kRequest, bit kResponse: which sides have it. */
unsigned sides_of(Buffer buffer);
constexpr bool is_body(Buffer buffer) {
  return buffer == Buffer::request_body || buffer == Buffer::response_body || buffer == Buffer::file_data;
}
/** Whether a transaction may have several of it. What a rule looks for behind its name must all be in one. */
constexpr bool is_list(Buffer buffer) { return buffer == Buffer::dns_query || buffer == Buffer::tls_certificates; }

/** What is done to a buffer's bytes before they are looked into (Suricata 7.0, Transformations). */
struct Transform {
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
  bool operator==(const Transform&) const = default;
};

constexpr char lowered(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
std::string lower_case(std::string_view text);

std::string transformed(std::string_view text, std::span<const Transform> transforms);

}  // namespace heddle::nids
