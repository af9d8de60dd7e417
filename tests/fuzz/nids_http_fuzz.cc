// A connection of any bytes, which begins as HTTP does: rules for all buffers look into it.

#include "functions/nids/http.h"
#include "tests/fuzz/nids_dialogue.h"

using namespace heddle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const nids::RuleTable& rules = fuzz::rules_for(
      nids::Application::http,
      {"http.method",        "http.uri",          "http.uri.raw",      "http.protocol",      "http.request_line",
       "http.host",          "http.host.raw",     "http.user_agent",   "http.referer",       "http.accept",
       "http.accept_enc",    "http.accept_lang",  "http.request_body", "http.stat_code",     "http.stat_msg",
       "http.response_line", "http.server",       "http.location",     "http.response_body", "http.header",
       "http.header.raw",    "http.header_names", "http.cookie",       "http.content_type",  "http.content_len",
       "http.connection",    "http.start",        "file.data"},
      {"content:\"a\"; content:!\"b\"; within:3;", "bsize:>2; pcre:\"/[0-9]/\";", "content:\"T\"; endswith;",
       "compress_whitespace; url_decode; content:\"/\"; byte_test:0,>,1,0,string,dec,relative;"});
  nids::HttpConnection connection;
  fuzz::feed(connection, nids::Application::http, rules, data, size);
  return 0;
}
