#include "measure/wire/destinations.h"

#include <algorithm>
#include <cstring>

#include "click/values.h"
#include "core/error.h"
#include "core/text_file.h"
#include "functions/ip6_lookup/route_file.h"
#include "functions/ndn/name.h"
#include "functions/ndn/rule.h"
#include "measure/wire/signature.h"

namespace heddle::bench {
namespace {

/** A number that looks random, another one for another `x` (Steele, Lea, Flood: SplitMix, OOPSLA 2014). */
uint64_t mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

template <class T>
const T& any_of(const std::vector<T>& table, uint64_t random) {
  return table[random % table.size()];
}

/** What the lines of a file say: `read` puts each into `table`, or says what is wrong with it. */
template <class T, class Read>
std::vector<T> read_table(const std::string& path, const char* kind, const Read& read) {
  std::vector<T> table;
  std::vector<std::string> errors;
  read_lines(path, read_text_file(path, kind), "#", errors,
             [&](std::string_view line) { return read(line, table.emplace_back()); });
  if (!errors.empty()) throw Error(errors[0]);
  if (table.empty()) throw Error(format("the %s '%s' is empty", kind, path.c_str()));
  return table;
}

std::array<uint8_t, 16> bytes_of(uint64_t high, uint64_t low) {
  std::array<uint8_t, 16> bytes;
  high = __builtin_bswap64(high), low = __builtin_bswap64(low);
  std::memcpy(bytes.data(), &high, 8);
  std::memcpy(bytes.data() + 8, &low, 8);
  return bytes;
}

class Ip6Destinations : public Destinations {
 public:
  explicit Ip6Destinations(std::vector<ip6_lookup::Route> routes) : routes_(std::move(routes)) {}

  std::vector<uint8_t> frame(const FiveTuple& flow, const MacAddresses& addresses, uint32_t bytes) const override {
    return make_frame6(flow, ip6_of(flow), addresses, bytes);
  }
  uint32_t shortest(uint8_t protocol) const override { return shortest_frame(protocol, true); }
  const char* network() const override { return "IPv6"; }
  uint32_t hash(const FiveTuple& flow, const HashKey& key) const override {
    return toeplitz_hash(flow, ip6_of(flow), key);
  }

 private:
  Ip6Addresses ip6_of(const FiveTuple& flow) const {
    const auto unicast = [](uint64_t bits) { return (bits >> 3) | uint64_t{1} << 61; };
    const uint64_t source = mixed(flow.source), destination = mixed(~uint64_t{flow.destination});
    uint64_t high = unicast(mixed(destination)), low = destination;
    if (!routes_.empty()) {
      const ip6_lookup::Prefix& prefix = any_of(routes_, mixed(destination + 1)).prefix;
      const ip6_lookup::Address mask = ip6_lookup::prefix_mask(prefix.length);
      high = prefix.address.high | (mixed(destination) & ~mask.high);
      low = prefix.address.low | (destination & ~mask.low);
    }
    return {bytes_of(unicast(mixed(source)), source), bytes_of(high, low)};
  }

  std::vector<ip6_lookup::Route> routes_;  // none: all addresses
};

std::vector<ip6_lookup::Route> read_routes6(const std::string& path) {
  std::vector<std::string> errors;
  auto routes = ip6_lookup::read_route_file(path, errors, UINT32_MAX);
  if (!errors.empty()) throw Error(errors[0]);
  if (routes.empty()) throw Error("the route file '" + path + "' is empty");
  return routes;
}

class MacDestinations : public Destinations {
 public:
  explicit MacDestinations(const std::string& path)
      : table_(read_table<click::EthernetAddress>(path, "file of Ethernet addresses", read)) {}

  std::vector<uint8_t> frame(const FiveTuple& flow, const MacAddresses&, uint32_t bytes) const override {
    const size_t to = mixed(flow.destination) % table_.size();
    const size_t others = std::max<size_t>(1, table_.size() - 1);
    const size_t from = (to + 1 + mixed(flow.source) % others) % table_.size();  // another one, if there is one
    return make_frame(flow, {table_[to].bytes, table_[from].bytes}, bytes);
  }
  uint32_t shortest(uint8_t protocol) const override { return shortest_frame(protocol); }
  const char* network() const override { return "IPv4"; }

 private:
  static std::string read(std::string_view line, click::EthernetAddress& address) {
    uint32_t port = 0;
    const auto words = words_of(line, 3);
    if (words.size() != 2 || !click::parse(std::string(words[1]), port, 0u, UINT32_MAX)) return "expected ADDRESS PORT";
    if (!click::parse(words[0], address)) return in_quotes(words[0]) + " is not " + click::expectation(address);
    return (address.bytes[0] & 1) != 0 ? in_quotes(words[0]) + " is a group address" : "";
  }

  std::vector<click::EthernetAddress> table_;
};

class NameDestinations : public Destinations {
 public:
  explicit NameDestinations(const std::string& path) : names_(read_table<std::string>(path, "file of names", read)) {}

  std::vector<uint8_t> frame(const FiveTuple& flow, const MacAddresses& addresses, uint32_t bytes) const override {
    const uint64_t ports = uint64_t{flow.source_port} << 16 | flow.destination_port;
    const uint64_t number = mixed((uint64_t{flow.source} << 32 | flow.destination) ^ mixed(ports));
    const std::string packet = interest(any_of(names_, mixed(flow.destination)), number);
    std::vector<uint8_t> frame(addresses.destination.begin(), addresses.destination.end());
    frame.insert(frame.end(), addresses.source.begin(), addresses.source.end());
    frame.insert(frame.end(), {0x86, 0x24});
    frame.insert(frame.end(), packet.begin(), packet.end());
    frame.resize(std::max(bytes, length_with(packet)));
    return frame;
  }
  uint32_t longest(uint32_t bytes) const override {
    const auto by_length = [](const std::string& name) { return name.size(); };
    return std::max(bytes, length_with(interest(*std::ranges::max_element(names_, {}, by_length), 0)));
  }
  uint32_t shortest(uint8_t protocol) const override { return shortest_frame(protocol); }
  const char* network() const override { return "NDN"; }
  bool padded() const override { return true; }

 private:
  static constexpr unsigned kGeneric = 8, kNonce = 10;
  static constexpr uint32_t kEthernet = 14;
  static constexpr size_t kMaxName = 8192;  ///< of which frames have room

  /** Of a frame: a signature begins at an even place. */
  static uint32_t length_with(const std::string& packet) {
    return static_cast<uint32_t>((kEthernet + packet.size() + 1) & ~size_t{1}) + kSignatureBytes;
  }
  /** With one more component, and a nonce, that say `number`. */
  static std::string interest(const std::string& name, uint64_t number) {
    const std::string last = format("%016llx", static_cast<unsigned long long>(number));
    return tlv(ndn::kInterest, tlv(ndn::kName, name + tlv(kGeneric, last)) + tlv(kNonce, last.substr(0, 4)));
  }
  static std::string tlv(unsigned type, const std::string& value) {
    std::string text(1, static_cast<char>(type));
    if (value.size() > 252) {
      text += '\xfd';
      text += static_cast<char>(value.size() >> 8);
    }
    return text + static_cast<char>(value.size()) + value;
  }
  static std::string read(std::string_view line, std::string& wire) {
    const auto words = words_of(line, 3);
    uint32_t output = 0;
    int components = 0;
    if (words.size() > 2 || (words.size() == 2 && !click::parse(std::string(words[1]), output, 0u, UINT32_MAX)))
      return "expected NAME [OUTPUT]";
    if (std::string problem = ndn::parse_name(words[0], wire, components); !problem.empty()) return problem;
    return wire.size() > kMaxName ? format("a name of %zu bytes; frames have room for %zu", wire.size(), kMaxName) : "";
  }

  std::vector<std::string> names_;  // as in packets, without the TLV around
};

}  // namespace

std::unique_ptr<Destinations> destinations_of(const std::string& addresses) {
  const size_t colon = addresses.find(':');
  const std::string kind = addresses.substr(0, colon),
                    path = colon == addresses.npos ? "" : addresses.substr(colon + 1);
  if (addresses == "uniform6") return std::make_unique<Ip6Destinations>(std::vector<ip6_lookup::Route>{});
  if (colon == addresses.npos) return nullptr;
  if (kind == "routes6") return std::make_unique<Ip6Destinations>(read_routes6(path));
  if (kind == "macs") return std::make_unique<MacDestinations>(path);
  if (kind == "names") return std::make_unique<NameDestinations>(path);
  return nullptr;
}

}  // namespace heddle::bench
