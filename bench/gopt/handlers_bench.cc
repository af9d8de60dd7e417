// gopt-ip4, gopt-ip6, gopt-ndn, gopt-l2: whole packet handlers that gopt has transformed against the same as written, on one core
// (sections 4 and 4.2 of its paper). Frames lie one behind the other, as from a driver that has put them into the cache.

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "bench/bench.h"
#include "bench/gopt/handlers.h"
#include "bench/gopt/trie.h"
#include "bench/route_tables.h"
#include "core/cores.h"
#include "core/error.h"
#include "core/huge_pages.h"
#include "functions/cuckoo/table.h"
#include "functions/ip_lookup/direct_table.h"
#include "functions/ndn/name.h"
#include "functions/ndn/table.h"

namespace heddle::bench {
namespace {

constexpr int kRounds = 11, kBatch = 64, kPackets = 1 << 18;

/** Frames of at most `stride` bytes, one behind the other. */
class Frames {
 public:
  explicit Frames(size_t stride) : memory_(map_huge_pages(stride * kPackets)), stride_(stride), packets_(kPackets) {
    for (size_t i = 0; i < kPackets; ++i) packets_[i] = {at(i), static_cast<uint32_t>(stride), 0};
  }
  uint8_t* at(size_t i) const { return reinterpret_cast<uint8_t*>(memory_.get()) + i * stride_; }
  std::vector<packet>& packets() { return packets_; }
  /** All bytes, to be put back after a run that changes them. */
  std::vector<std::byte> copy() const { return {memory_.get(), memory_.get() + stride_ * kPackets}; }
  void restore(const std::vector<std::byte>& bytes) { std::memcpy(memory_.get(), bytes.data(), bytes.size()); }

 private:
  HugePages memory_;
  size_t stride_;
  std::vector<packet> packets_;
};

/** What a handler has done: packets by port, drops, and the frames that it leaves behind. */
struct Outcome {
  std::vector<uint64_t> counts;
  std::vector<std::byte> frames;
  bool operator==(const Outcome&) const = default;
};

template <class Tables>
using Handler = void (*)(const Tables*, const packet*, int, ports*);

/** The handler as written and transformed, on the same frames, which must come out the same. `forwarded`: how many must. */
template <class Tables>
Result compare(const std::string& name, double target, const std::string& note, const Tables& tables, Frames& frames,
               Handler<Tables> transformed, Handler<Tables> as_written, uint64_t forwarded) {
  const std::vector<std::byte> fresh = frames.copy();
  const auto out = std::make_unique<ports>();
  const auto run = [&](Handler<Tables> handler) {
    frames.restore(fresh);
    *out = {};
    const double start = cpu_seconds();
    for (size_t at = 0; at < kPackets; at += kBatch) handler(&tables, &frames.packets()[at], kBatch, out.get());
    return kPackets / (cpu_seconds() - start) * 1e-6;
  };
  const auto outcome = [&](Handler<Tables> handler) {
    run(handler);
    Outcome found{{out->dropped}, frames.copy()};
    for (const port& port : out->port) found.counts.push_back(port.packets), found.counts.push_back(port.bytes);
    return found;
  };
  const Outcome right = outcome(as_written);
  if (outcome(transformed) != right) throw Error(name + ": gopt's code does something else");
  if (kPackets - right.counts[0] != forwarded)
    throw Error(format("%s: %zu packets forwarded, not %zu", name.c_str(), kPackets - right.counts[0], forwarded));
  Result result = paired(
      name, "Mpps", target, kRounds, [&] { return run(transformed); }, [&] { return run(as_written); });
  result.note = format("baseline: as written; batches of %d; ", kBatch) + note;
  return result;
}

std::vector<neighbour> neighbours(size_t count) {
  std::vector<neighbour> all(count);
  for (size_t i = 0; i < count; ++i) {
    std::fill(std::begin(all[i].addresses), std::end(all[i].addresses), static_cast<uint8_t>(i));
    all[i].port = static_cast<uint16_t>(i % kPorts);
  }
  return all;
}

// ---- IPv4 ----

Result ip4(const std::string& name, size_t routers, double target) {
  using namespace ip_lookup;
  const std::vector<Route> routes = bgp_like_routes(527961, 64, 1);  // as many as the paper has
  std::vector<HugePages> copies;
  std::vector<ip4_router> tables;
  DirectTable table;
  table.load(routes);
  for (size_t i = 0; i < routers; ++i) {
    copies.push_back(map_huge_pages(sizeof(DirectImage)));
    std::memcpy(copies.back().get(), &table.image(), sizeof(DirectImage));
    const auto& image = *reinterpret_cast<const DirectImage*>(copies.back().get());
    tables.push_back({image.tbl24, image.tbl8[0]});
  }
  const std::vector<neighbour> hops = neighbours(kHops);
  Frames frames(64);
  std::mt19937 random(2);
  uint64_t covered = 0;
  for (size_t i = 0; i < kPackets; ++i) {
    const auto address = static_cast<uint32_t>(random());
    uint8_t* frame = frames.at(i);
    const uint8_t headers[] = {2,  0, 0, 0, 0, 2,  2,  0, 0, 0,  0, 1, 8, 0, 0x45, 0, 0,
                               50, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 0, 0,    0, 0};
    std::memcpy(frame, headers, sizeof headers);
    const uint32_t wire = __builtin_bswap32(address);
    std::memcpy(frame + 30, &wire, 4);
    uint32_t sum = 0;
    for (int at = 14; at < 34; at += 2) sum += static_cast<uint32_t>(frame[at] << 8 | frame[at + 1]);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = ~(sum + (sum >> 16));
    frame[24] = static_cast<uint8_t>(sum >> 8), frame[25] = static_cast<uint8_t>(sum);
    frames.packets()[i].router = static_cast<uint32_t>(random() % routers);
    covered += table.lookup(address) ? 1 : 0;
  }
  const ip4_tables all{tables.data(), hops.data()};
  return compare<ip4_tables>(name, target,
                             format("%zu tables of %.0f MB, %zu routes, random addresses", routers,
                                    static_cast<double>(sizeof(DirectImage)) / 1e6, routes.size()),
                             all, frames, forward_ip4_gopt, forward_ip4, covered);
}

// ---- IPv6 ----

/** The paper's: random prefixes of 48 to 64 bits, and addresses within them. */
Result ip6() {
  constexpr size_t kPrefixes = 200'000, kNeighbours = 64;
  const std::vector<Prefix6> prefixes = random_prefixes(kPrefixes, kNeighbours, 3);
  std::mt19937 random(4);
  const Trie trie(prefixes);
  const std::vector<neighbour> hops = neighbours(kNeighbours);
  Frames frames(64);
  for (size_t i = 0; i < kPackets; ++i) {
    uint8_t* frame = frames.at(i);
    const uint8_t headers[] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0, 0, 10, 17, 64};
    std::memcpy(frame, headers, sizeof headers);
    const Prefix6& prefix = prefixes[random() % kPrefixes];
    std::memcpy(frame + 38, prefix.address, 16);
    for (int byte = 8; byte < 16; ++byte) frame[38 + byte] = static_cast<uint8_t>(random());
  }
  const ip6_tables all{trie.tbl24(), trie.tbl8(), hops.data()};
  return compare<ip6_tables>("gopt-ip6", 2,
                             format("trie of %zu random prefixes of 48 to 64 bits, %.0f MB", kPrefixes,
                                    static_cast<double>(trie.bytes()) / 1e6),
                             all, frames, forward_ip6_gopt, forward_ip6, kPackets);
}

// ---- NDN and L2: cuckoo tables ----

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

Result ndn_names(size_t count) {
  using namespace ndn;
  cuckoo::CuckooTable table;
  table.reset(count, 2015);
  const uint64_t seed = table.image().seed;
  {
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
  Frames frames(128);
  std::mt19937_64 random(4);
  for (size_t i = 0; i < kPackets; ++i) {
    int components = 0;
    const std::string wire = name_of(random() % count, components) + std::string("\x08\x04more");
    uint8_t* frame = frames.at(i);
    std::memset(frame, 2, 12);
    frame[12] = 0x86, frame[13] = 0x24, frame[14] = kInterest, frame[16] = kName;
    frame[15] = static_cast<uint8_t>(2 + wire.size()), frame[17] = static_cast<uint8_t>(wire.size());
    std::memcpy(frame + 18, wire.data(), wire.size());
  }
  const ndn_tables all{&table.image()};
  return compare<ndn_tables>("gopt-ndn", 1.5,
                             format("%zu names of 2 to 4 components, %.0f MB, searched from the longest on", count,
                                    static_cast<double>(table.bytes().size()) / 1e6),
                             all, frames, forward_ndn_gopt, forward_ndn, kPackets);
}

Result l2_addresses(const std::string& name, size_t count, double target) {
  cuckoo::CuckooTable table;
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
  Frames frames(64);
  std::mt19937_64 random(5);
  for (size_t i = 0; i < kPackets; ++i) {
    const uint64_t key = address(random() % count);
    for (int byte = 0; byte < 6; ++byte) frames.at(i)[byte] = static_cast<uint8_t>(key >> (40 - 8 * byte));
  }
  const l2_tables all{&table.image()};
  return compare<l2_tables>(name, target,
                            format("%zu addresses, %.0f MB", count, static_cast<double>(table.bytes().size()) / 1e6),
                            all, frames, switch_l2_gopt, switch_l2, kPackets);
}

const Register ip4_benchmark("gopt-ip4", false, [] {
  pin_to_core(0);
  return std::vector{ip4("gopt-ip4", 1, 0), ip4("gopt-ip4x32", 32, 1.3)};
});
const Register ip6_benchmark("gopt-ip6", false, [] {
  pin_to_core(0);
  return std::vector{ip6()};
});
const Register ndn_benchmark("gopt-ndn", false, [] {
  pin_to_core(0);
  return std::vector{ndn_names(40'000'000)};
});
const Register l2_benchmark("gopt-l2", false, [] {
  pin_to_core(0);
  return std::vector{l2_addresses("gopt-l2-10m", 10'000'000, 0), l2_addresses("gopt-l2", 40'000'000, 1.8)};
});

}  // namespace
}  // namespace heddle::bench
