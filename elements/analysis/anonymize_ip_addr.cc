#include "elements/analysis/anonymize_ip_addr.h"

#include <algorithm>
#include <random>

#include "click/arguments.h"
#include "core/sip_hash.h"
#include "elements/endpoints/checksums.h"
#include "elements/icmp/icmp_names.h"
#include "elements/ip/transport.h"

namespace heddle {
namespace {

struct Seed {
  bool random = true;
  uint64_t number = 0;
};
bool parse(std::string_view text, Seed& seed) {
  bool yes = false;
  uint64_t number = 0;
  if (click::parse(text, number))
    seed = {false, number};
  else if (click::parse(text, yes))
    seed = {yes, 0};
  else
    return false;
  return true;
}
std::string expectation(Seed) { return "true, or a number"; }

struct Networks {
  std::vector<uint8_t> list;
};
bool parse(std::string_view text, Networks& networks) {
  const std::string words = click::unquote(text);
  std::vector<uint8_t> list;
  for (const std::string_view word : click::split_words(words)) {
    uint8_t number = 0;
    if (!click::parse(word, number)) return false;
    list.push_back(number);
  }
  networks.list = std::move(list);
  return true;
}
std::string expectation(const Networks&) { return "a list of integers from 0 to 255, such as 10 192"; }

struct LeadingOnes {
  int number = 0;
};
bool parse(std::string_view text, LeadingOnes& ones) {
  if (!click::parse(text, ones.number, 0, 99) || (ones.number > 32 && ones.number != 99)) return false;
  ones.number = std::min(ones.number, 32);
  return true;
}
std::string expectation(LeadingOnes) { return "an integer from 0 to 32"; }

uint16_t words_sum(const uint8_t* at, uint32_t bytes) {
  return static_cast<uint16_t>(~checksum_of(checksum_add(0, at, bytes)));
}

}  // namespace

AddressMapping::AddressMapping(uint64_t key0, uint64_t key1, Kept kept)
    : key0_(key0), key1_(key1), kept_(std::move(kept)), upper_{0} {
  for (int depth = 0; depth < 16; ++depth) {
    std::vector<uint16_t> longer(upper_.size() * 2);
    for (uint32_t prefix = 0; prefix < upper_.size(); ++prefix) {
      const uint32_t flip = flips(depth, prefix) ? 1 : 0;
      for (uint32_t bit = 0; bit < 2; ++bit)
        longer[2 * prefix + bit] = static_cast<uint16_t>(2u * upper_[prefix] + (bit ^ flip));
    }
    upper_ = std::move(longer);
  }
}

bool AddressMapping::keeps(int depth, uint32_t prefix) const {
  if (depth < kept_.leading_ones && prefix == (uint64_t{1} << depth) - 1) return true;
  return depth < 8 && std::any_of(kept_.networks.begin(), kept_.networks.end(), [&](uint8_t network) {
           return prefix == static_cast<uint32_t>(network >> (8 - depth));
         });
}

// One hash decides for the subtree of up to six bits below a prefix: its nodes are numbered as in a heap, from 1 on.
// Subtrees begin at depths 0 (with four bits), 4, 10, 16, 22 and 28 (with four).
uint64_t AddressMapping::subtree(int top, uint32_t prefix) const {
  const uint64_t message[] = {static_cast<uint64_t>(top) << 32 | prefix};
  return sip_hash({key0_, key1_}, message);
}

bool AddressMapping::flips(int depth, uint32_t prefix) const {
  const int levels = depth < 4 ? depth : (depth - 4) % 6;
  const uint64_t node = uint64_t{1} << levels | (prefix & ((1u << levels) - 1));
  return (subtree(depth - levels, prefix >> levels) >> node & 1) != 0 && !keeps(depth, prefix);
}

uint32_t AddressMapping::map(uint32_t address) const {
  uint32_t result = uint32_t{upper_[address >> 16]} << 16;
  for (int top = 16; top < 32; top += 6) {
    const uint64_t nodes = subtree(top, address >> (32 - top));
    uint32_t node = 1;
    for (int depth = top; depth < std::min(top + 6, 32); ++depth) {
      const uint32_t bit = address >> (31 - depth) & 1;
      const bool flip = (nodes >> node & 1) != 0 && !keeps(depth, address >> (32 - depth));
      result |= (bit ^ (flip ? 1u : 0u)) << (31 - depth);
      node = 2 * node + bit;
    }
  }
  return result;
}

uint32_t AddressMapping::operator()(uint32_t address) const {
  const auto stays = [this](uint32_t value) { return kept_.special && (value == 0 || value == UINT32_MAX); };
  if (stays(address)) return address;
  // What would become one of these goes on to what that would have become, so that no two become the same.
  do address = map(address);
  while (stays(address));
  return address;
}

void AnonymizeIPAddr::configure(click::Arguments& arguments) {
  LeadingOnes ones;
  Networks networks;
  Seed seed;
  arguments.keyword("CLASS", ones).keyword("PRESERVE_8", networks).keyword("SPECIAL", kept_.special);
  arguments.keyword("SEED", seed);
  kept_.leading_ones = ones.number, kept_.networks = std::move(networks.list);
  random_ = seed.random, seed_ = seed.number;
}

Access AnonymizeIPAddr::access(Processor) const {
  return {.reads = {{Base::l3, 0, kToEnd}}, .writes = {{Base::l3, 10, kToEnd}}, .column_reads = columns(Column::l3)};
}

std::span<const char* const> AnonymizeIPAddr::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_header"};
  return kReasons;
}

void AnonymizeIPAddr::start(const Environment&) {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  const uint64_t key0 = random_ ? word() : seed_, key1 = random_ ? word() : 0;
  mapping_ = std::make_unique<AddressMapping>(key0, key1, kept_);
}

void AnonymizeIPAddr::take_state(Element& old_element) {
  auto& old = static_cast<AnonymizeIPAddr&>(old_element);
  if ((predecessor == &old ? this : &old)->same_arguments) std::swap(mapping_, old.mapping_);
}

void AnonymizeIPAddr::run_cpu(Batch& batch) {
  const uint32_t* l3 = batch.column(Column::l3);
  const AddressMapping& mapping = *mapping_;
  const auto both = [&mapping](const Ip4Header& ip) {
    for (uint8_t* address : {ip.at + 12, ip.at + 16})
      rewrite_address(ip, address, htonl(mapping(ntohl(load_u32(address)))));
  };
  const auto quoted_in = [](const Ip4Header& ip) -> Ip4Header {
    constexpr uint32_t kIcmpHeader = 8;
    if (ip.at[9] != kIcmp || !ip.first_fragment() || ip.payload() < kIcmpHeader + 20) return {};
    const uint8_t type = *ip.behind();
    uint8_t* at = ip.behind() + kIcmpHeader;
    const uint32_t room = ip.payload() - kIcmpHeader, bytes = (at[0] & 15u) * 4;
    if (!is_icmp_error(type) || at[0] >> 4 != 4 || bytes < 20 || bytes > room) return {};
    return {at, bytes, room};
  };
  for (int i = 0; i < batch.size(); ++i) {
    const Ip4Header ip = ip4_header(batch.packet(i), l3[i]);
    if (!ip || ip.at[0] >> 4 != 4) {
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, 0);
      continue;
    }
    both(ip);
    if (const Ip4Header quoted = quoted_in(ip)) {
      const uint32_t changing = std::min(quoted.room, quoted.bytes + 20) & ~1u;  // with a transport checksum
      uint8_t* checksum = ip.behind() + 2;
      const uint16_t before = words_sum(quoted.at, changing);
      both(quoted);
      const uint16_t after = words_sum(quoted.at, changing);
      store_u16(checksum, htons(updated_checksum(ntohs(load_u16(checksum)), before, after)));
    }
  }
}

void AnonymizeIPAddr::handlers(Handlers& list) {
  list.read_with_argument("map", [this](const std::string& argument) {
    const auto address = click::value_of<click::Ipv4Address>(argument);
    if (mapping_ == nullptr) throw Error("it has not been started");
    return click::to_text(click::Ipv4Address{(*mapping_)(address.value)});
  });
}

HEDDLE_ELEMENT(AnonymizeIPAddr);

}  // namespace heddle
