#include "functions/nids/http.h"

#include <htp/htp.h>

#include <algorithm>
#include <new>
#include <utility>

namespace heddle::nids {
namespace {

// About what libhtp 0.5.50 takes.
constexpr size_t kTransactionBytes = 3 << 10, kHeaderBytes = 256;
constexpr uint32_t kMaxHeaders = 1024;  // of a message; libhtp's default

std::string_view text_of(const bstr* text) {
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(bstr_ptr(text)), bstr_len(text)};
}

std::string_view value_of(const htp_table_t* headers, const char* name) {
  if (headers == nullptr) return {};
  const auto* header = static_cast<const htp_header_t*>(htp_table_get_c(headers, name));
  return header == nullptr ? std::string_view{} : text_of(header->value);
}

template <class Visit>
void each_header(const htp_table_t* headers, const Visit& visit) {
  for (size_t k = 0; headers != nullptr && k < htp_table_size(headers); ++k)
    if (const auto* header = static_cast<const htp_header_t*>(htp_table_get_index(headers, k, nullptr)))
      visit(text_of(header->name), text_of(header->value));
}

bool is_cookie(std::string_view name, Side side) {
  const std::string_view wanted = side == kRequest ? "cookie" : "set-cookie";
  return std::ranges::equal(name, wanted, {}, lowered);
}

void append_line(std::string& to, std::string_view name, std::string_view value) {
  to.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

bool HttpTransaction::begun(Side side) const {
  return side == kRequest ? parsed_.request_progress > HTP_REQUEST_NOT_STARTED
                          : parsed_.response_progress > HTP_RESPONSE_NOT_STARTED;
}

bool HttpTransaction::ended(Side side) const {
  return side == kRequest ? parsed_.request_progress == HTP_REQUEST_COMPLETE
                          : parsed_.response_progress == HTP_RESPONSE_COMPLETE;
}

HttpTransaction::State HttpTransaction::look(Buffer buffer, Side side, size_t, std::string_view& text,
                                             std::string& scratch) const {
  using enum Buffer;
  text = {};
  if (application_of(buffer) != Application::http || (sides_of(buffer) & 1u << side) == 0) return State::absent;
  if (is_body(buffer)) {
    const Body& body = bodies_[side];
    text = body.bytes;
    if (ended(side) || body.ended) return text.empty() ? State::absent : State::whole;
    return text.empty() ? State::pending : State::part;
  }
  const bool asks = side == kRequest;
  const bool of_line = buffer <= request_line || (buffer >= status_code && buffer <= response_line);
  const auto reached =
      static_cast<int>(asks ? static_cast<int>(parsed_.request_progress) : static_cast<int>(parsed_.response_progress));
  static_assert(static_cast<int>(HTP_REQUEST_LINE) == HTP_RESPONSE_LINE &&
                static_cast<int>(HTP_REQUEST_HEADERS) == HTP_RESPONSE_HEADERS);
  if (reached <= (of_line ? static_cast<int>(HTP_REQUEST_LINE) : static_cast<int>(HTP_REQUEST_HEADERS)))
    return State::pending;
  const htp_table_t* headers = asks ? parsed_.request_headers : parsed_.response_headers;
  const bool has_headers = headers != nullptr && htp_table_size(headers) > 0;
  switch (buffer) {
    case method:
      text = text_of(parsed_.request_method);
      break;
    case uri:
      if (parsed_.parsed_uri == nullptr) break;
      text = uri_;
      return State::whole;  // it may be that nothing is left of it, as of "/.."
    case raw_uri:
      text = text_of(parsed_.request_uri);
      break;
    case protocol:
      text = text_of(asks ? parsed_.request_protocol : parsed_.response_protocol);
      break;
    case request_line:
      text = text_of(parsed_.request_line);
      break;
    case response_line:
      text = text_of(parsed_.response_line);
      break;
    case host:  // which libhtp leaves as it is where there is a port
      scratch = text_of(parsed_.request_hostname);
      std::ranges::transform(scratch, scratch.begin(), lowered);
      text = scratch;
      break;
    case raw_host:
      text = parsed_.parsed_uri != nullptr && parsed_.parsed_uri->hostname != nullptr
                 ? text_of(parsed_.parsed_uri->hostname)
                 : value_of(headers, "host");
      break;
    case status_code:
      text = text_of(parsed_.response_status);
      break;
    case status_message:
      text = text_of(parsed_.response_message);
      break;
    case user_agent:
      text = value_of(headers, "user-agent");
      break;
    case referer:
      text = value_of(headers, "referer");
      break;
    case accept:
      text = value_of(headers, "accept");
      break;
    case accept_encoding:
      text = value_of(headers, "accept-encoding");
      break;
    case accept_language:
      text = value_of(headers, "accept-language");
      break;
    case server:
      text = value_of(headers, "server");
      break;
    case location:
      text = value_of(headers, "location");
      break;
    case content_type:
      text = value_of(headers, "content-type");
      break;
    case content_length:
      text = value_of(headers, "content-length");
      break;
    case connection:
      text = value_of(headers, "connection");
      break;
    case cookie:
      text = value_of(headers, asks ? "cookie" : "set-cookie");
      break;
    case raw_header:
      text = raw_headers_[side];
      break;
    case header:
      scratch.clear();
      each_header(headers, [&](std::string_view name, std::string_view value) {
        if (!is_cookie(name, side)) append_line(scratch, name, value);
      });
      text = scratch;
      break;
    case header_names:
      if (!has_headers) break;
      scratch = "\r\n";
      each_header(headers, [&](std::string_view name, std::string_view) { scratch.append(name).append("\r\n"); });
      scratch += "\r\n";
      text = scratch;
      break;
    case start:
      scratch = text_of(asks ? parsed_.request_line : parsed_.response_line);
      scratch += "\r\n";
      each_header(headers, [&](std::string_view name, std::string_view value) { append_line(scratch, name, value); });
      if (has_headers) scratch += "\r\n";
      text = scratch;
      break;
    case request_body:
    case response_body:
    case file_data:
      break;  // they have been looked at above
    default:
      break;  // of other applications
  }
  return text.empty() ? State::absent : State::whole;
}

void HttpTransaction::append(Side side, std::string_view bytes) {
  Body& body = bodies_[side];
  if (body.ended) return;
  const size_t room = Body::kMax - static_cast<size_t>(body.total());
  body.bytes.append(bytes.substr(0, room));
  body.ended = bytes.size() >= room;
}

size_t HttpTransaction::memory() const {
  size_t headers = 0;
  for (const htp_table_t* table : {parsed_.request_headers, parsed_.response_headers})
    headers += table == nullptr ? 0 : htp_table_size(table);
  return kTransactionBytes + headers * kHeaderBytes + 2 * (raw_headers_[0].size() + raw_headers_[1].size()) +
         2 * uri_.size() + bodies_[0].bytes.capacity() + bodies_[1].bytes.capacity() + progress.memory();
}

/** What libhtp calls. */
struct HttpConnection::Hooks {
  static HttpConnection& connection(const htp_tx_t* parsed) {
    return *static_cast<HttpConnection*>(htp_connp_get_user_data(parsed->connp));
  }
  static HttpTransaction& transaction(htp_tx_t* parsed) {
    auto* mine = static_cast<HttpTransaction*>(parsed->user_data);
    if (mine == nullptr) parsed->user_data = mine = new HttpTransaction(*parsed);
    return *mine;
  }
  static int begin(htp_tx_t* parsed) {
    transaction(parsed);
    return HTP_OK;
  }
  template <Side side>
  static int header_data(htp_tx_data_t* data) {
    if (data->data == nullptr) return HTP_OK;
    std::string& headers = transaction(data->tx).raw_headers_[side];
    if (headers.size() + data->len > kMaxHeaderBytes) {
      connection(data->tx).give_up();
      return HTP_ERROR;
    }
    headers.append(reinterpret_cast<const char*>(data->data), data->len);
    return HTP_OK;
  }
  template <Side side>
  static int body_data(htp_tx_data_t* data) {
    if (data->data != nullptr)  // else it ends
      transaction(data->tx).append(side, {reinterpret_cast<const char*>(data->data), data->len});
    return HTP_OK;
  }
  /** Of what libhtp has normalised, the path, and behind it the query, which it leaves as it was. */
  static int normalize(htp_tx_t* parsed) {
    htp_uri_t* uri = parsed->parsed_uri;
    if (uri == nullptr || uri->query == nullptr) return HTP_OK;
    uint64_t flags = 0;
    htp_urldecode_inplace(parsed->cfg, HTP_DECODER_URL_PATH, uri->query, &flags);
    return HTP_OK;
  }
  static int line(htp_tx_t* parsed) {
    HttpTransaction& mine = transaction(parsed);
    const htp_uri_t* uri = parsed->parsed_uri;
    if (uri == nullptr) return HTP_OK;
    mine.uri_ = text_of(uri->path);
    if (uri->query != nullptr) mine.uri_.append("?").append(text_of(uri->query));
    if (uri->fragment != nullptr) mine.uri_.append("#").append(text_of(uri->fragment));
    return HTP_OK;
  }

  /** As Suricata has it: everything that some server decodes is decoded. */
  static htp_cfg_t* make_configuration() {
    htp_cfg_t* made = htp_config_create();
    if (made == nullptr) throw std::bad_alloc();
    htp_config_set_server_personality(made, HTP_SERVER_IDS);
    htp_config_set_convert_lowercase(made, HTP_DECODER_URL_PATH, 0);  // rules say themselves whether case matters
    htp_config_set_log_level(made, HTP_LOG_NONE);  // or a connection would keep all that is said of it
    htp_config_set_plusspace_decode(made, HTP_DECODER_DEFAULTS, 0);
    htp_config_set_parse_request_cookies(made, 0);
    htp_config_set_parse_request_auth(made, 0);
    htp_config_set_allow_space_uri(made, 1);
    htp_config_set_response_decompression(made, 1);
    htp_config_set_response_decompression_layer_limit(made, 2);
    htp_config_set_lzma_layers(made, 0);
    htp_config_set_max_tx(made, kMaxTransactions);
    htp_config_set_number_headers_limit(made, kMaxHeaders);
    htp_config_register_request_start(made, begin);
    htp_config_register_response_start(made, begin);
    htp_config_register_request_uri_normalize(made, normalize);
    htp_config_register_request_line(made, line);
    htp_config_register_request_header_data(made, header_data<kRequest>);
    htp_config_register_response_header_data(made, header_data<kResponse>);
    htp_config_register_request_trailer_data(made, header_data<kRequest>);
    htp_config_register_response_trailer_data(made, header_data<kResponse>);
    htp_config_register_request_body_data(made, body_data<kRequest>);
    htp_config_register_response_body_data(made, body_data<kResponse>);
    return made;
  }
};

HttpConnection::HttpConnection() {
  static htp_cfg_t* const configuration = Hooks::make_configuration();
  parser_ = htp_connp_create(configuration);
  if (parser_ == nullptr) throw std::bad_alloc();
  htp_connp_set_user_data(parser_, this);
  htp_connp_open(parser_, nullptr, 0, nullptr, 0, nullptr);
  memory_ = kMinBytes;
}

HttpConnection::~HttpConnection() {
  for (const Transaction* one : transactions()) delete one;
  htp_connp_destroy_all(parser_);
}

std::optional<bool> HttpConnection::begins(std::string_view text) {
  // Those that Suricata 7.0 knows HTTP by.
  static constexpr std::string_view kMethods[] = {"GET",
                                                  "PUT",
                                                  "POST",
                                                  "HEAD",
                                                  "TRACE",
                                                  "OPTIONS",
                                                  "CONNECT",
                                                  "DELETE",
                                                  "PATCH",
                                                  "PROPFIND",
                                                  "PROPPATCH",
                                                  "MKCOL",
                                                  "COPY",
                                                  "MOVE",
                                                  "LOCK",
                                                  "UNLOCK",
                                                  "CHECKOUT",
                                                  "UNCHECKOUT",
                                                  "CHECKIN",
                                                  "UPDATE",
                                                  "LABEL",
                                                  "REPORT",
                                                  "MERGE",
                                                  "MKWORKSPACE",
                                                  "MKACTIVITY",
                                                  "INVALID",
                                                  "VERSION-CONTROL",
                                                  "BASELINE-CONTROL"};
  bool may = false;
  for (const std::string_view method : kMethods) {
    const size_t known = std::min(text.size(), method.size());
    if (!std::ranges::equal(text.substr(0, known), method.substr(0, known), {}, lowered, lowered)) continue;
    if (text.size() <= method.size())
      may = true;
    else if (text[method.size()] == ' ' || text[method.size()] == '\t')
      return true;
  }
  if (may) return std::nullopt;
  return false;
}

template <class Visit>
void HttpConnection::each(const Visit& visit) {
  const htp_list_t* all = htp_connp_get_connection(parser_)->transactions;
  for (size_t k = 0; k < htp_list_size(all); ++k)
    if (const auto* parsed = static_cast<const htp_tx_t*>(htp_list_get(all, k)); parsed && parsed->user_data)
      visit(*static_cast<HttpTransaction*>(parsed->user_data));
}

const std::vector<Transaction*>& HttpConnection::transactions() {
  list_.clear();
  each([&](HttpTransaction& one) { list_.push_back(&one); });
  return list_;
}

void HttpConnection::skip(Side side, uint64_t bytes) {
  if (over_) return;
  // Behind a gap what waits for the other side is no use.
  waiting_[side].clear();
  const int result = side == kRequest ? htp_connp_req_data(parser_, nullptr, nullptr, bytes)
                                      : htp_connp_res_data(parser_, nullptr, nullptr, bytes);
  if (result == HTP_STREAM_ERROR) give_up();
}

void HttpConnection::feed(Side side, std::string_view bytes) {
  waiting_[side].append(bytes);
  // The other side may have waited for this one, and then this one for the other.
  for (int turn = 0, idle = 0; idle < 2 && !over_; ++turn) {
    const Side now = turn % 2 == 0 ? side : static_cast<Side>(1 - side);
    std::string& waiting = waiting_[now];
    if (waiting.empty()) {
      ++idle;
      continue;
    }
    const int result = now == kRequest ? htp_connp_req_data(parser_, nullptr, waiting.data(), waiting.size())
                                       : htp_connp_res_data(parser_, nullptr, waiting.data(), waiting.size());
    const size_t taken = result != HTP_STREAM_DATA_OTHER ? waiting.size()
                         : now == kRequest               ? htp_connp_req_data_consumed(parser_)
                                                         : htp_connp_res_data_consumed(parser_);
    if (result == HTP_STREAM_ERROR) give_up();
    if (result == HTP_STREAM_TUNNEL || result == HTP_STREAM_STOP) over_ = true;
    waiting.erase(0, taken);
    idle = taken > 0 ? 0 : idle + 1;
    if (waiting.size() > kMaxHeaderBytes) give_up();
  }
}

void HttpConnection::close(Side side) {
  if (over_ || std::exchange(closed_[side], true)) return;
  if (side == kRequest)
    htp_connp_req_close(parser_, nullptr);
  else
    htp_connp_close(parser_, nullptr);
  over_ = closed_[0] && closed_[1];
  measure();
}

void HttpConnection::forget(Side side) {
  std::vector<HttpTransaction*> over;
  each([&](HttpTransaction& one) {
    Body& body = one.bodies_[side];
    if (body.total() >= Body::kMin[side] && body.bytes.size() > Body::kWindow[side]) {
      const size_t old = body.bytes.size() - Body::kWindow[side];
      body.bytes.erase(0, old);
      body.bytes.shrink_to_fit();
      body.offset += old;
    }
    if (one.ended(kRequest) && one.ended(kResponse)) over.push_back(&one);
  });
  for (HttpTransaction* one : over)
    if (htp_tx_destroy(const_cast<htp_tx_t*>(&one->parsed_)) == HTP_OK) delete one;
  htp_connp_tx_freed(parser_);
  measure();
}

void HttpConnection::measure() {
  size_t bytes = kMinBytes + waiting_[0].capacity() + waiting_[1].capacity(), count = 0;
  each([&](const HttpTransaction& one) { bytes += one.memory(), ++count; });
  memory_ = bytes;
  if (bytes > kMaxBytes || count > kMaxTransactions) give_up();
}

}  // namespace heddle::nids
