// Texts of any bytes as NDN names and IPv6 routes, and any bytes as an NDN packet that ends where its memory does: what
// is accepted is read back the same, and the components that a packet's name is said to have are inside it.

#include <cstdlib>
#include <cstring>
#include <memory>

#include "functions/ip6_lookup/route_file.h"
#include "functions/ndn/name.h"
#include "functions/ndn/table.h"

using namespace heddle;

static void names(std::string_view text) {
  std::string wire, again;
  int components = 0, same = 0;
  if (!ndn::parse_name(text, wire, components).empty()) return;
  if (!ndn::parse_name(ndn::name_text(wire), again, same).empty() || again != wire || same != components) abort();
}

static void routes(std::string_view text) {
  ip6_lookup::Route route, again;
  if (!ip6_lookup::parse_route(text, route).empty()) return;
  const std::string written =
      to_text(route.prefix) + " " + to_text(route.hop.gateway) + " " + std::to_string(route.hop.port);
  if (!ip6_lookup::parse_route(written, again).empty() || again != route) abort();
}

static void packets(const uint8_t* data, size_t size) {
  const auto memory = std::make_unique<uint8_t[]>(size);
  if (size > 0) std::memcpy(memory.get(), data, size);
  const ndn::HostBytes bytes{memory.get()};
  const auto end = static_cast<uint32_t>(size);
  ndn::Tlv name;
  const ndn::Kind kind = find_name(bytes, 0, end, name);
  if (kind != ndn::Kind::interest && kind != ndn::Kind::data) return;
  if (name.value >= name.end || name.end > end) abort();
  int last = -1;
  visit_prefixes(bytes, name.value, name.end, 7, ~0u, [&](int components, uint64_t key, uint32_t) {
    if (components != last + 1 || key > cuckoo::kKeyMask) abort();
    last = components;
  });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  names(text);
  routes(text);
  packets(data, size);
  return 0;
}
