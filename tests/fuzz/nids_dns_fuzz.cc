// Any bytes, taken for a datagram of DNS, and for a connection over which its messages come.

#include "functions/nids/dns.h"
#include "tests/fuzz/nids_dialogue.h"

using namespace heddle;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const nids::RuleTable& rules =
      fuzz::rules_for(nids::Application::dns, {"dns.query"},
                      {"content:\"a\"; content:!\"b\"; within:3;", "bsize:>2; pcre:\"/[0-9]/\";",
                       "dotprefix; content:\".e\"; endswith;", "content:!\"c\"; dns.opcode:!1;"});
  nids::View view{};
  view.protocol = nids::Protocol::udp, view.has_ports = true, view.destination_port = nids::kDnsPort;
  view.payload = {data, size};
  nids::DnsConnection datagram;
  nids::Window window;
  datagram.show(view, window);
  rules.now().confirm(view, window, 0);
  nids::DnsConnection connection;
  fuzz::feed(connection, nids::Application::dns, rules, data, size);
  return 0;
}
