// A connection of any bytes, which begins as HTTP does: rules for all buffers look into it, and it stays within its
// memory. A byte before each piece says whose it is, and how long.

#include <cstdlib>
#include <string>

#include "functions/nids/http.h"
#include "functions/nids/rule_file.h"
#include "functions/nids/table.h"

using namespace heddle::nids;

namespace {

const RuleTable& rules() {
  static RuleTable* const table = [] {
    std::string text;
    int sid = 0;
    for (const char* buffer :
         {"http.method",        "http.uri",          "http.uri.raw",      "http.protocol",      "http.request_line",
          "http.host",          "http.host.raw",     "http.user_agent",   "http.referer",       "http.accept",
          "http.accept_enc",    "http.accept_lang",  "http.request_body", "http.stat_code",     "http.stat_msg",
          "http.response_line", "http.server",       "http.location",     "http.response_body", "http.header",
          "http.header.raw",    "http.header_names", "http.cookie",       "http.content_type",  "http.content_len",
          "http.connection",    "http.start",        "file.data"})
      for (const char* options :
           {"content:\"a\"; content:!\"b\"; within:3;", "bsize:>2; pcre:\"/[0-9]/\";", "content:\"T\"; endswith;",
            "compress_whitespace; url_decode; content:\"/\"; byte_test:0,>,1,0,string,dec,relative;"})
        text += "alert http any any -> any any (" + std::string(buffer) + "; " + options +
                " sid:" + std::to_string(++sid) + ";)\n";
    Variables variables;
    std::vector<std::string> errors;
    RuleSet set = parse_rules("rules", text, false, variables, errors);
    if (!errors.empty()) abort();
    auto* made = new RuleTable;
    made->load(std::move(set), true);
    made->prepare(1, false);
    return made;
  }();
  return *table;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  HttpConnection connection;
  uint64_t offsets[2] = {};
  View view{};
  view.protocol = Protocol::tcp, view.has_ports = true;
  for (size_t at = 0; at < size;) {
    const uint8_t about = data[at++];
    const size_t bytes = std::min<size_t>(size - at, about >> 2);
    const auto side = static_cast<HttpSide>(about & 1);
    uint64_t& offset = offsets[side];
    if ((about & 2) != 0) offset += bytes * 20;  // a gap
    Window window{{data + at, bytes}, 0, offset};
    window.http = &connection, window.side = side;
    view.payload = window.bytes;
    connection.take(side, window);
    if (bytes == 0) connection.close(side);
    rules().now().confirm(view, window, 0);
    if (connection.memory() > 2 * HttpConnection::kMaxBytes) abort();
    if (connection.over()) break;
    at += bytes, offset += bytes;
  }
  return 0;
}
