#include "bench/gopt/handler_kinds.h"

#include <algorithm>
#include <cstring>

#include "bench/bench.h"
#include "bench/gopt/prefixes.h"
#include "bench/route_tables.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "functions/cuckoo/table.h"
#include "functions/ip6_lookup/table.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ndn/table.h"

namespace heddle::bench {
namespace {

/** Keeps something as long as the kind. */
template <class T>
T& keep(HandlerKind& kind, std::shared_ptr<T> thing) {
  kind.memory.push_back(thing);
  return *thing;
}

/** The handler with these tables, which are kept. */
template <class Tables>
std::function<void(const packet*, int, ports*)> with(HandlerKind& kind, const Tables& tables,
                                                     void (*handler)(const Tables*, const packet*, int, ports*)) {
  const Tables& kept = keep(kind, std::make_shared<Tables>(tables));
  return [&kept, handler](const packet* packets, int n, ports* ports) { handler(&kept, packets, n, ports); };
}

const neighbour* neighbours(HandlerKind& kind, size_t count) {
  auto& all = keep(kind, std::make_shared<std::vector<neighbour>>(count));
  for (size_t i = 0; i < count; ++i) {
    std::fill(std::begin(all[i].addresses), std::end(all[i].addresses), static_cast<uint8_t>(i));
    all[i].port = static_cast<uint16_t>(i % kPorts);
  }
  return all.data();
}

/** An IPv4 header's checksum, in place. */
void put_checksum(uint8_t* ip) {
  uint32_t sum = 0;
  for (int at = 0; at < 20; at += 2) sum += static_cast<uint32_t>(ip[at] << 8 | ip[at + 1]);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = ~(sum + (sum >> 16));
  ip[10] = static_cast<uint8_t>(sum >> 8), ip[11] = static_cast<uint8_t>(sum);
}

double megabytes(size_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

HandlerKind echo_kind() {
  HandlerKind kind;
  kind.note = "no table";
  kind.fill = [](std::mt19937_64& random, packet& packet) {
    const uint64_t x = random();
    std::memcpy(packet.frame + 14, &x, 8);
    return true;
  };
  kind.forms["as-written"] = echo;
  return kind;
}

HandlerKind ip4_kind(size_t routers) {
  using namespace ip_lookup;
  const std::vector<Route> routes = bgp_like_routes(527961, 64, 1);  // as many as the paper has
  HandlerKind kind;
  kind.note = format("%zu tables of %.0f MB, %zu routes, random addresses", routers, megabytes(sizeof(DirectImage)),
                     routes.size());
  kind.target = routers > 1 ? 1.3 : 0;
  auto& tables = keep(kind, std::make_shared<std::vector<ip4_router>>());
  auto& table = keep(kind, std::make_shared<DirectTable>());
  table.load(routes);
  for (size_t i = 0; i < routers; ++i) {
    const auto& copy = keep(kind, std::make_shared<HugePages>(map_huge_pages(sizeof(DirectImage))));
    std::memcpy(copy.get(), &table.image(), sizeof(DirectImage));
    const auto& image = *reinterpret_cast<const DirectImage*>(copy.get());
    tables.push_back({image.tbl24, image.tbl8[0]});
  }
  const ip4_tables all{tables.data(), neighbours(kind, kHops)};
  kind.forms["as-written"] = with(kind, all, forward_ip4);
  kind.forms["gopt"] = with(kind, all, forward_ip4_gopt);
  kind.fill = [&table, routers](std::mt19937_64& random, packet& packet) {
    constexpr uint8_t kHeaders[] = {2,  0, 0, 0, 0, 2,  2,  0, 0, 0,  0, 1, 8, 0, 0x45, 0, 0,
                                    50, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 0, 0,    0, 0};
    std::memcpy(packet.frame, kHeaders, sizeof kHeaders);
    const auto address = static_cast<uint32_t>(random());
    const uint32_t wire = __builtin_bswap32(address);
    std::memcpy(packet.frame + 30, &wire, 4);
    put_checksum(packet.frame + 14);
    packet.router = static_cast<uint32_t>(random() % routers);
    return table.lookup(address).has_value();
  };
  return kind;
}

HandlerKind ip6_handler_kind() {
  constexpr size_t kPrefixes = 200'000, kNeighbours = 64;
  HandlerKind kind;
  const auto& routes =
      keep(kind, std::make_shared<std::vector<ip6_lookup::Route>>(random_prefixes(kPrefixes, kNeighbours, 3)));
  auto& table = keep(kind, std::make_shared<ip6_lookup::RouteTable>(ip6_lookup::EngineKind::trie));
  table.load(routes);
  kind.note = format("trie of %zu random prefixes of 48 to 64 bits, %.0f MB", kPrefixes, megabytes(table.bytes_used()));
  kind.target = 2;
  const ip6_tables all{trie_of(table.image()), neighbours(kind, kNeighbours)};
  kind.forms["as-written"] = with(kind, all, forward_ip6);
  kind.forms["gopt"] = with(kind, all, forward_ip6_gopt);
  kind.fill = [&routes](std::mt19937_64& random, packet& packet) {
    constexpr uint8_t kHeaders[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 10, 17, 64};
    std::memcpy(packet.frame, kHeaders, sizeof kHeaders);
    const uint64_t network = __builtin_bswap64(routes[random() % kPrefixes].prefix.address.high);
    std::memcpy(packet.frame + 38, &network, 8);
    const uint64_t host = random();
    std::memcpy(packet.frame + 46, &host, 8);
    return true;
  };
  return kind;
}

namespace {

/** Name i: 2 to 4 components of 8 letters. */
std::string name_of(uint64_t i, int& components) {
  components = 2 + static_cast<int>(i % 3);
  std::string wire;
  for (int part = 0; part < components; ++part) {
    uint64_t bits = cuckoo::mixed(i * 4 + static_cast<uint64_t>(part) + 1);
    wire += "\x08\x08";
    for (int letter = 0; letter < 8; ++letter, bits >>= 8) wire += static_cast<char>('a' + (bits & 255) % 26);
  }
  return wire;
}

}  // namespace

HandlerKind ndn_kind(size_t count) {
  using namespace ndn;
  HandlerKind kind;
  auto& table = keep(kind, std::make_shared<cuckoo::CuckooTable>());
  table.reset(count, 2015);
  {
    const uint64_t seed = table.image().seed;
    cuckoo::CuckooTable::Writer writer(table);
    for (uint64_t i = 0; i < count; ++i) {
      int components = 0;
      const std::string wire = name_of(i, components);
      visit_prefixes(HostBytes{reinterpret_cast<const uint8_t*>(wire.data())}, 0, static_cast<uint32_t>(wire.size()),
                     seed, 1u << components, [&](int, uint64_t key, uint32_t hash) {
                       if (!writer.set(hash, key, static_cast<uint16_t>(1 + i % kPorts))) throw Error("no room");
                     });
    }
    writer.set_owner(0b11100);
  }
  kind.note = format("%zu names of 2 to 4 components, %.0f MB, searched from the longest on", count,
                     megabytes(table.bytes().size()));
  kind.target = 1.5;
  kind.stride = 128;
  const ndn_tables all{&table.image()};
  kind.forms["as-written"] = with(kind, all, forward_ndn);
  kind.forms["gopt"] = with(kind, all, forward_ndn_gopt);
  kind.fill = [count](std::mt19937_64& random, packet& packet) {
    int components = 0;
    const std::string wire = name_of(random() % count, components) + std::string("\x08\x04more");
    uint8_t* frame = packet.frame;
    std::memset(frame, 2, 12);
    frame[12] = 0x86, frame[13] = 0x24, frame[14] = kInterest, frame[16] = kName;
    frame[15] = static_cast<uint8_t>(2 + wire.size()), frame[17] = static_cast<uint8_t>(wire.size());
    std::memcpy(frame + 18, wire.data(), wire.size());
    return true;
  };
  return kind;
}

HandlerKind l2_kind(size_t count) {
  HandlerKind kind;
  auto& table = keep(kind, std::make_shared<cuckoo::CuckooTable>());
  table.reset(count, 7);
  const auto address = [](uint64_t i) { return cuckoo::mixed(i + 1) & cuckoo::kKeyMask & ~(uint64_t{1} << 40); };
  {
    cuckoo::CuckooTable::Writer writer(table);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t key = address(i);
      if (!writer.set(cuckoo::hash_of(table.image(), key), key, static_cast<uint16_t>(1 + i % kPorts)))
        throw Error("no room");
    }
  }
  kind.note = format("%zu addresses, %.0f MB", count, megabytes(table.bytes().size()));
  kind.target = 1.8;
  const l2_tables all{&table.image()};
  kind.forms["as-written"] = with(kind, all, switch_l2);
  kind.forms["gopt"] = with(kind, all, switch_l2_gopt);
  kind.fill = [count, address](std::mt19937_64& random, packet& packet) {
    const uint64_t key = address(random() % count);
    for (int byte = 0; byte < 6; ++byte) packet.frame[byte] = static_cast<uint8_t>(key >> (40 - 8 * byte));
    return true;
  };
  return kind;
}

HandlerKind handler_kind_of(const std::string& name) {
  return name == "echo"     ? echo_kind()
         : name == "ip4"    ? ip4_kind(1)
         : name == "ip4x32" ? ip4_kind(32)
         : name == "ip6"    ? ip6_handler_kind()
         : name == "ndn"    ? ndn_kind(40'000'000)
                            : l2_kind(40'000'000);
}

}  // namespace heddle::bench
