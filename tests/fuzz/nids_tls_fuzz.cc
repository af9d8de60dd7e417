// A connection of any bytes, taken for TLS: rules look into its handshake.

#include "functions/nids/tls.h"
#include "tests/fuzz/nids_dialogue.h"

using namespace heddle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const nids::RuleTable& rules =
      fuzz::rules_for(nids::Application::tls, {"tls.sni", "tls.certs"},
                      {"content:\"a\"; content:!\"b\"; within:3;", "bsize:>2; pcre:\"/[0-9]/\";",
                       "dotprefix; content:\".e\"; endswith;", "content:!\"c\";"});
  nids::TlsConnection connection;
  fuzz::feed(connection, nids::Application::tls, rules, data, size);
  return 0;
}
