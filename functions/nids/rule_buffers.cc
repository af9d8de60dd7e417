// The options of rules that say which buffer of an application protocol they look into (Suricata 7.0, HTTP Keywords,
// DNS Keywords, SSL/TLS Keywords, Transformations).

#include <algorithm>

#include "core/error.h"
#include "functions/nids/dns.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

struct BufferOption {
  std::string_view sticky;    ///< what stands before the contents
  std::string_view older;     ///< its older name, if that stands there, too
  std::string_view modifier;  ///< what stands behind a content; "": nothing does
  char letter;                ///< of pcre; 0: none
  Buffer buffer;
};
constexpr BufferOption kBufferOptions[] = {{"http.method", "", "http_method", 'M', Buffer::method},
                                           {"http.uri", "", "http_uri", 'U', Buffer::uri},
                                           {"http.uri.raw", "", "http_raw_uri", 'I', Buffer::raw_uri},
                                           {"http.header", "", "http_header", 'H', Buffer::header},
                                           {"http.header.raw", "", "http_raw_header", 'D', Buffer::raw_header},
                                           {"http.header_names", "http_header_names", "", 0, Buffer::header_names},
                                           {"http.host", "", "http_host", 'W', Buffer::host},
                                           {"http.host.raw", "", "http_raw_host", 'Z', Buffer::raw_host},
                                           {"http.cookie", "", "http_cookie", 'C', Buffer::cookie},
                                           {"http.user_agent", "", "http_user_agent", 'V', Buffer::user_agent},
                                           {"http.referer", "http_referer", "", 0, Buffer::referer},
                                           {"http.accept", "http_accept", "", 0, Buffer::accept},
                                           {"http.accept_enc", "http_accept_enc", "", 0, Buffer::accept_encoding},
                                           {"http.accept_lang", "http_accept_lang", "", 0, Buffer::accept_language},
                                           {"http.content_type", "http_content_type", "", 0, Buffer::content_type},
                                           {"http.content_len", "http_content_len", "", 0, Buffer::content_length},
                                           {"http.connection", "http_connection", "", 0, Buffer::connection},
                                           {"http.protocol", "http_protocol", "", 0, Buffer::protocol},
                                           {"http.request_line", "http_request_line", "", 0, Buffer::request_line},
                                           {"http.response_line", "http_response_line", "", 0, Buffer::response_line},
                                           {"http.request_body", "", "http_client_body", 'P', Buffer::request_body},
                                           {"http.response_body", "", "http_server_body", 'Q', Buffer::response_body},
                                           {"http.stat_code", "", "http_stat_code", 'S', Buffer::status_code},
                                           {"http.stat_msg", "", "http_stat_msg", 'Y', Buffer::status_message},
                                           {"http.server", "", "", 0, Buffer::server},
                                           {"http.location", "", "", 0, Buffer::location},
                                           {"http.start", "http_start", "", 0, Buffer::start},
                                           {"file.data", "file_data", "", 0, Buffer::file_data},
                                           {"dns.query", "dns_query", "", 0, Buffer::dns_query},
                                           {"tls.sni", "tls_sni", "", 0, Buffer::tls_sni},
                                           {"tls.certs", "", "", 0, Buffer::tls_certificates}};
static_assert(std::size(kBufferOptions) + 1 == kBuffers, "and dns.opcode");

template <class Is>
std::optional<Buffer> buffer_that(const Is& is) {
  const auto* const found = std::ranges::find_if(kBufferOptions, is);
  if (found == std::end(kBufferOptions)) return std::nullopt;
  return found->buffer;
}

constexpr std::pair<std::string_view, Transform::Kind> kTransforms[] = {
    {"dotprefix", Transform::Kind::dotprefix},
    {"to_lowercase", Transform::Kind::to_lowercase},
    {"to_uppercase", Transform::Kind::to_uppercase},
    {"header_lowercase", Transform::Kind::header_lowercase},
    {"strip_whitespace", Transform::Kind::strip_whitespace},
    {"compress_whitespace", Transform::Kind::compress_whitespace},
    {"url_decode", Transform::Kind::url_decode},
    {"xor", Transform::Kind::exclusive_or}};

/** The variables that a content uses. */
template <class Visit>
void each_variable(const Content& content, const Visit& visit) {
  for (const int variable :
       {content.offset_variable, content.depth_variable, content.distance_variable, content.within_variable})
    if (variable >= 0) visit(variable);
  if (!content.probe) return;
  for (const Operand* operand : {&content.probe->bytes, &content.probe->offset, &content.probe->value})
    if (operand->variable >= 0) visit(operand->variable);
}

}  // namespace

std::optional<Buffer> sticky_buffer(std::string_view name) {
  return buffer_that([&](const BufferOption& o) { return name == o.sticky || (!o.older.empty() && name == o.older); });
}

std::optional<Buffer> modifier_buffer(std::string_view name) {
  return buffer_that([&](const BufferOption& o) { return !o.modifier.empty() && name == o.modifier; });
}

std::optional<Buffer> take_pcre_buffer(std::string& letters) {
  for (const BufferOption& option : kBufferOptions)
    if (option.letter != 0 && std::erase(letters, option.letter) > 0) return option.buffer;
  return std::nullopt;
}

bool is_transform(std::string_view name) {
  return std::ranges::find(kTransforms, name, [](const auto& one) { return one.first; }) != std::end(kTransforms);
}

std::optional<Refusal> parse_transform(std::string_view name, std::string_view text, Transform& transform) {
  transform.kind = std::ranges::find(kTransforms, name, [](const auto& one) { return one.first; })->second;
  if (transform.kind != Transform::Kind::exclusive_or) {
    if (text.empty()) return std::nullopt;
    return Refusal{std::string(name) + " has no value"};
  }
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const std::string problem = content_bytes("|" + std::string(text) + "|", transform.key);
  if (problem.empty()) return std::nullopt;
  return Refusal{"xor " + in_quotes(text) + " is not the bytes of a key in hexadecimal"};
}

std::optional<Refusal> parse_application(std::string_view text, Signature& rule) {
  const Application named = application_named(text);
  if (named == Application::none)
    return Refusal{
        "app-layer-protocol " + in_quotes(text) + " is not supported: http, smtp, ftp, ssh, smb, tls and dns are",
        true};
  if (rule.application != Application::none && rule.application != named)
    return Refusal{"it is for two application protocols"};
  rule.application = named;
  return std::nullopt;
}

std::optional<Refusal> parse_opcode(std::string_view text, Content& content) {
  const Refusal refusal{"dns.opcode " + in_quotes(text) + " is not a number, 0 to 255, or !N"};
  auto test = std::make_shared<Probe>();
  test->kind = Probe::Kind::test, test->bytes.number = 1;
  if (text.starts_with('!')) test->compare = Probe::Compare::differs, text.remove_prefix(1);
  if (!to_number(text, test->value.number, int64_t{0}, int64_t{255})) return refusal;
  content.probe = std::move(test);
  return std::nullopt;
}

std::optional<Refusal> place_contents(Signature& rule, const std::vector<int>& places) {
  std::vector<int> read_in(kMaxVariables, -1);
  bool leaves = false;
  for (size_t k = 0; k < places.size(); ++k) {
    const Content& content = rule.contents[k];
    each_variable(content, [&](int variable) { leaves = leaves || read_in[variable] != places[k]; });
    if (content.probe && content.probe->variable >= 0) read_in[content.probe->variable] = places[k];
  }
  if (leaves) return Refusal{"a variable of byte_extract in another buffer is not supported", true};
  std::vector<Content> of_payload, decoded;
  for (size_t k = 0; k < places.size(); ++k)
    (places[k] == kDecoded ? decoded
     : places[k] < 0       ? of_payload
                           : rule.parts[static_cast<size_t>(places[k])].contents)
        .push_back(std::move(rule.contents[k]));
  rule.contents = std::move(of_payload);
  return place_decoded(rule, std::move(decoded));
}

std::optional<Refusal> check_application(Signature& rule, std::string_view protocol) {
  Application& application = rule.application;
  if (application == Application::none && !rule.parts.empty()) application = application_of(rule.parts[0].buffer);
  if (application == Application::none) return std::nullopt;
  const std::string name(name_of(application));
  for (const BufferPart& part : rule.parts)
    if (application_of(part.buffer) != application)
      return Refusal{"it looks into " + std::string(name_of(application_of(part.buffer))) + ", but is for " + name +
                         (part.buffer == Buffer::file_data ? ", of which file.data is not supported" : ""),
                     part.buffer == Buffer::file_data};
  const bool of_datagrams =
      application == Application::dns && (rule.protocol == Protocol::udp || rule.protocol == Protocol::ip);
  if (rule.protocol != Protocol::tcp && !of_datagrams)
    return Refusal{"it is for " + name + ", but also for " + std::string(protocol) + ", which never is that"};
  if (rule.parts.empty() && rule.contents.empty())
    return Refusal{"a rule for an application protocol that looks for nothing is not supported", true};
  if (rule.parts.empty()) return std::nullopt;
  if (rule.streams == Signature::Streams::never)
    return Refusal{"it looks into " + name + ", which packets by themselves are not (tcp-pkt, no_stream)"};
  const auto of_packet = [](const FieldTest& test) { return test.field != Field::ip_protocol; };
  if (rule.sizes != Ranges(0, UINT32_MAX) || std::ranges::any_of(rule.fields, of_packet))
    return Refusal{
        "it looks into an application protocol, and at the size or the headers of a packet, which is not "
        "supported",
        true};
  if (rule.parts.size() > kMaxParts) return Refusal{format("it looks into more than %zu buffers", kMaxParts), true};
  unsigned sides = 3;
  for (const BufferPart& part : rule.parts) sides &= sides_of(part.buffer);
  if (sides == 0)
    return Refusal{"it looks into what the client says and into what the server says, which is not supported", true};
  if (((rule.flow_has & kToServer) != 0 && (sides & 1u << kRequest) == 0) ||
      ((rule.flow_has & kToClient) != 0 && (sides & 1u << kResponse) == 0))
    return Refusal{"flow asks for the other direction than that of the buffers that it looks into"};
  if (rule.streams == Signature::Streams::only) rule.streams = Signature::Streams::too;  // that is what these are
  return std::nullopt;
}

std::optional<Refusal> narrow_ports(Signature& rule) {
  const auto asks = [](const BufferPart& part) { return sides_of(part.buffer) == 1u << kRequest; };
  if (rule.application != Application::dns || rule.both_ways || std::ranges::none_of(rule.parts, asks))
    return std::nullopt;
  if (!rule.destination_ports.contains(kDnsPort))
    return Refusal{format("it looks into what is asked in DNS, which is known at port %u only, and is for others",
                          unsigned{kDnsPort}),
                   true};
  rule.destination_ports = Ranges(kDnsPort, kDnsPort);
  return std::nullopt;
}

}  // namespace heddle::nids
