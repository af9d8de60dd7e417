// The options of rules that say which buffer of HTTP they look into (Suricata 7.0, HTTP Keywords, Transformations).

#include <algorithm>

#include "core/error.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

struct BufferOption {
  std::string_view sticky;    ///< what stands before the contents
  std::string_view older;     ///< its older name, if that stands there, too
  std::string_view modifier;  ///< what stands behind a content; "": nothing does
  char letter;                ///< of pcre; 0: none
  HttpBuffer buffer;
};
constexpr BufferOption kBuffers[] = {{"http.method", "", "http_method", 'M', HttpBuffer::method},
                                     {"http.uri", "", "http_uri", 'U', HttpBuffer::uri},
                                     {"http.uri.raw", "", "http_raw_uri", 'I', HttpBuffer::raw_uri},
                                     {"http.header", "", "http_header", 'H', HttpBuffer::header},
                                     {"http.header.raw", "", "http_raw_header", 'D', HttpBuffer::raw_header},
                                     {"http.header_names", "http_header_names", "", 0, HttpBuffer::header_names},
                                     {"http.host", "", "http_host", 'W', HttpBuffer::host},
                                     {"http.host.raw", "", "http_raw_host", 'Z', HttpBuffer::raw_host},
                                     {"http.cookie", "", "http_cookie", 'C', HttpBuffer::cookie},
                                     {"http.user_agent", "", "http_user_agent", 'V', HttpBuffer::user_agent},
                                     {"http.referer", "http_referer", "", 0, HttpBuffer::referer},
                                     {"http.accept", "http_accept", "", 0, HttpBuffer::accept},
                                     {"http.accept_enc", "http_accept_enc", "", 0, HttpBuffer::accept_encoding},
                                     {"http.accept_lang", "http_accept_lang", "", 0, HttpBuffer::accept_language},
                                     {"http.content_type", "http_content_type", "", 0, HttpBuffer::content_type},
                                     {"http.content_len", "http_content_len", "", 0, HttpBuffer::content_length},
                                     {"http.connection", "http_connection", "", 0, HttpBuffer::connection},
                                     {"http.protocol", "http_protocol", "", 0, HttpBuffer::protocol},
                                     {"http.request_line", "http_request_line", "", 0, HttpBuffer::request_line},
                                     {"http.response_line", "http_response_line", "", 0, HttpBuffer::response_line},
                                     {"http.request_body", "", "http_client_body", 'P', HttpBuffer::request_body},
                                     {"http.response_body", "", "http_server_body", 'Q', HttpBuffer::response_body},
                                     {"http.stat_code", "", "http_stat_code", 'S', HttpBuffer::status_code},
                                     {"http.stat_msg", "", "http_stat_msg", 'Y', HttpBuffer::status_message},
                                     {"http.server", "", "", 0, HttpBuffer::server},
                                     {"http.location", "", "", 0, HttpBuffer::location},
                                     {"http.start", "http_start", "", 0, HttpBuffer::start},
                                     {"file.data", "file_data", "", 0, HttpBuffer::file_data}};
static_assert(std::size(kBuffers) == kHttpBuffers);

template <class Is>
std::optional<HttpBuffer> buffer_that(const Is& is) {
  const auto* const found = std::ranges::find_if(kBuffers, is);
  if (found == std::end(kBuffers)) return std::nullopt;
  return found->buffer;
}

constexpr std::pair<std::string_view, HttpTransform::Kind> kTransforms[] = {
    {"dotprefix", HttpTransform::Kind::dotprefix},
    {"to_lowercase", HttpTransform::Kind::to_lowercase},
    {"to_uppercase", HttpTransform::Kind::to_uppercase},
    {"header_lowercase", HttpTransform::Kind::header_lowercase},
    {"strip_whitespace", HttpTransform::Kind::strip_whitespace},
    {"compress_whitespace", HttpTransform::Kind::compress_whitespace},
    {"url_decode", HttpTransform::Kind::url_decode},
    {"xor", HttpTransform::Kind::exclusive_or}};

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

std::optional<HttpBuffer> sticky_buffer(std::string_view name) {
  return buffer_that([&](const BufferOption& o) { return name == o.sticky || (!o.older.empty() && name == o.older); });
}

std::optional<HttpBuffer> modifier_buffer(std::string_view name) {
  return buffer_that([&](const BufferOption& o) { return !o.modifier.empty() && name == o.modifier; });
}

std::optional<HttpBuffer> take_pcre_buffer(std::string& letters) {
  for (const BufferOption& option : kBuffers)
    if (option.letter != 0 && std::erase(letters, option.letter) > 0) return option.buffer;
  return std::nullopt;
}

bool is_transform(std::string_view name) {
  return std::ranges::find(kTransforms, name, [](const auto& one) { return one.first; }) != std::end(kTransforms);
}

std::optional<Refusal> parse_transform(std::string_view name, std::string_view text, HttpTransform& transform) {
  transform.kind = std::ranges::find(kTransforms, name, [](const auto& one) { return one.first; })->second;
  if (transform.kind != HttpTransform::Kind::exclusive_or) {
    if (text.empty()) return std::nullopt;
    return Refusal{std::string(name) + " has no value"};
  }
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  const std::string problem = content_bytes("|" + std::string(text) + "|", transform.key);
  if (problem.empty()) return std::nullopt;
  return Refusal{"xor " + in_quotes(text) + " is not the bytes of a key in hexadecimal"};
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
  std::vector<Content> of_payload;
  for (size_t k = 0; k < places.size(); ++k)
    (places[k] < 0 ? of_payload : rule.http_parts[static_cast<size_t>(places[k])].contents)
        .push_back(std::move(rule.contents[k]));
  rule.contents = std::move(of_payload);
  return std::nullopt;
}

std::optional<Refusal> check_http(Signature& rule, std::string_view protocol) {
  if (!rule.http_parts.empty()) rule.http = true;
  if (!rule.http) return std::nullopt;
  if (rule.protocol != Protocol::tcp)
    return Refusal{"it looks into HTTP, but is for " + std::string(protocol) + ": http and tcp are for that"};
  if (rule.streams == Signature::Streams::never)
    return Refusal{"it looks into HTTP, which packets by themselves are not (tcp-pkt, no_stream)"};
  const auto of_packet = [](const FieldTest& test) { return test.field != Field::ip_protocol; };
  if (rule.sizes != Ranges(0, UINT32_MAX) || std::ranges::any_of(rule.fields, of_packet))
    return Refusal{"it looks into HTTP, and at the size or the headers of a packet, which is not supported", true};
  if (rule.http_parts.empty() && rule.contents.empty())
    return Refusal{"a rule for HTTP that looks for nothing is not supported", true};
  if (rule.http_parts.size() > kMaxHttpParts)
    return Refusal{format("it looks into more than %zu buffers", kMaxHttpParts), true};
  unsigned sides = 3;
  for (const HttpPart& part : rule.http_parts) sides &= sides_of(part.buffer);
  if (sides == 0) return Refusal{"it looks into a request and into a response, which is not supported", true};
  if (((rule.flow_has & kToServer) != 0 && (sides & 1u << kRequest) == 0) ||
      ((rule.flow_has & kToClient) != 0 && (sides & 1u << kResponse) == 0))
    return Refusal{"flow asks for the other direction than that of the buffers that it looks into"};
  if (rule.streams == Signature::Streams::only && !rule.http_parts.empty())
    rule.streams = Signature::Streams::too;  // that is what HTTP is
  return std::nullopt;
}

}  // namespace heddle::nids
