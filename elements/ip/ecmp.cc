#include "elements/ip/ecmp.h"

#include <arpa/inet.h>

#include <cstring>
#include <map>
#include <random>

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"
#include "elements/ip/transport.h"
#include "elements/ip6/gateways.h"
#include "elements/ip6/header.h"

namespace heddle {
namespace {

constexpr uint8_t kSctp = 132;

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

/** How much a hop of this share wants a bucket. Twice mixed: of numbers that differ in few bits once leaves too much
 *  alike. */
uint64_t wish(uint64_t share, uint32_t bucket) { return mixed(mixed(share, bucket), 0x2545f4914f6cdd1d); }

/** Another in each program, or routers in a row would divide what one has divided. */
uint64_t seed() {
  static const uint64_t random = uint64_t{std::random_device{}()} << 32 | std::random_device{}();
  return random;
}

bool has_ports(uint8_t protocol) { return protocol == kTcp || protocol == kUdp || protocol == kSctp; }

/** What all packets of a flow have in common. */
uint64_t flow_hash(const Ip4Header& ip) {
  uint64_t hash = mixed(mixed(seed(), load_u64(ip.at + 12)), ip.at[9]);
  if (!ip.fragment() && has_ports(ip.at[9]) && ip.payload() >= 4) hash = mixed(hash, load_u32(ip.behind()));
  return hash;
}

uint64_t flow_hash6(const uint8_t* ip, uint32_t room) {
  uint64_t hash = mixed(seed(), ip[6]);
  for (uint32_t at = 8; at < kIp6HeaderBytes; at += 8) hash = mixed(hash, load_u64(ip + at));
  if (has_ports(ip[6]) && room >= kIp6HeaderBytes + 4) hash = mixed(hash, load_u32(ip + kIp6HeaderBytes));
  return hash;
}

/** The group that a gateway is the name of; 0: of none. */
uint32_t group_of(uint32_t gateway) { return ntohl(gateway); }
uint32_t group_of(const Ip6* gateway) {
  constexpr uint8_t kZeros[12] = {};
  if (gateway == nullptr || std::memcmp(gateway->data(), kZeros, sizeof kZeros) != 0) return 0;
  return ntohl(load_u32(gateway->data() + 12));
}

bool read_gateway(const std::string& text, uint32_t& gateway) {
  Ip6 ip6{};
  gateway = 0;
  if (text == "-" || inet_pton(AF_INET, text.c_str(), &gateway) == 1) return true;
  if (inet_pton(AF_INET6, text.c_str(), ip6.data()) != 1) return false;
  gateway = ip6_gateways::number_of(ip6);
  return true;
}

}  // namespace

ECMP::ECMP() : groups_(std::make_unique<std::atomic<const Group*>[]>(kMaxGroups + 1)) { retiring.push_back(&retired_); }

ECMP::~ECMP() {
  for (uint32_t number = 1; number <= kMaxGroups; ++number) delete groups_[number].load();
}

void ECMP::put(uint32_t number, std::unique_ptr<const Group> group) {
  const bool is_there = group != nullptr;
  std::unique_ptr<const Group> old(groups_[number].exchange(group.release(), std::memory_order_acq_rel));
  count_ += is_there, count_ -= old != nullptr;
  if (old != nullptr) retired_.groups.push_back(std::move(old));
}

std::string ECMP::set(const std::string& text) {
  const auto words = click::split_words(text);
  uint32_t number = 0;
  if (words.size() < 3 || words.size() % 2 == 0 || !click::parse(words[0], number, 1u, kMaxGroups))
    return format("expected GROUP GATEWAY OUT [GATEWAY OUT ...], GROUP from 1 to %u", kMaxGroups);
  auto group = std::make_unique<Group>();
  std::vector<uint64_t> shares;  // a hash of each hop
  std::map<std::string, uint64_t> given;
  for (size_t i = 1; i < words.size(); i += 2) {
    const std::string gateway(words[i]), output(words[i + 1]);
    uint32_t port = 0;
    Hop hop{};
    if (!read_gateway(gateway, hop.gateway)) return "'" + gateway.substr(0, 80) + "' is not a gateway's address or -";
    if (!click::parse(output, port, 0u, static_cast<uint32_t>(outputs) - 1))
      return format("'%s' is not a connected output, 0 to %d", output.substr(0, 80).c_str(), outputs - 1);
    hop.output = static_cast<uint16_t>(port);
    const std::string pair = gateway + " " + output;
    group->text += " " + pair;
    group->hops.push_back(hop);
    shares.push_back(mixed(std::hash<std::string>{}(pair), ++given[pair]));
  }
  for (uint32_t bucket = 0; bucket < kBuckets; ++bucket) {
    size_t best = 0;
    for (size_t i = 1; i < shares.size(); ++i)
      if (wish(shares[i], bucket) > wish(shares[best], bucket)) best = i;
    group->of_bucket[bucket] = static_cast<uint16_t>(best);
  }
  put(number, std::move(group));
  return {};
}

void ECMP::configure(click::Arguments& arguments) {
  for (const auto& argument : arguments.rest())
    if (const std::string problem = set(std::string(argument.text)); !problem.empty())
      arguments.error(argument, "a group: " + problem);
}

Access ECMP::access(Processor) const {
  return {.reads = {{Base::l3, 0, 64}},  // IPv4 options included
          .column_reads = columns(Column::dst, Column::l3),
          .column_writes = columns(Column::dst)};
}

std::span<const char* const> ECMP::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_group", "no_header"};
  return kReasons;
}

void ECMP::take_state(Element& old_element) {
  auto& old = static_cast<ECMP&>(old_element);
  if (!(predecessor == &old ? *this : old).same_arguments || outputs != old.outputs) return;
  std::swap(groups_, old.groups_);
  count_ = old.count_.exchange(count_);
}

void ECMP::run_cpu(Batch& batch) {
  uint32_t* dst = batch.column(Column::dst);
  const uint32_t* l3 = batch.column(Column::l3);
  for (int i = 0; i < batch.size(); ++i) {
    const uint32_t room = bytes_from(batch.packet(i), l3[i]);
    const uint8_t* at = room == 0 ? nullptr : marked_header(batch.packet(i), l3[i]);
    const bool is_ip6 = at != nullptr && at[0] >> 4 == 6;
    const Ip4Header ip4 = is_ip6 || at == nullptr ? Ip4Header{} : ip4_header(batch.packet(i), l3[i]);
    if (is_ip6 ? room < kIp6HeaderBytes : !ip4) {
      batch.drop(i, kNoHeader);
      continue;
    }
    const uint32_t number = is_ip6 ? group_of(ip6_gateways::address_of(dst[i])) : group_of(dst[i]);
    const Group* group = number > kMaxGroups ? nullptr : groups_[number].load(std::memory_order_acquire);
    if (group == nullptr) {
      batch.drop(i, kNoGroup);
      continue;
    }
    const uint64_t hash = is_ip6 ? flow_hash6(at, room) : flow_hash(ip4);
    const Hop& hop = group->hops[group->of_bucket[hash % kBuckets]];
    dst[i] = hop.gateway != 0 || is_ip6 ? hop.gateway : ip4.destination();
    batch.next()[i] = hop.output;
  }
}

void ECMP::handlers(Handlers& list) {
  list.write("set",
             [this](const std::string& text) {
               if (const std::string problem = set(text); !problem.empty()) throw Error(problem);
             })
      .write("remove",
             [this](const std::string& text) {
               const auto number = click::value_of<uint32_t>(text);
               if (number > kMaxGroups || groups_[number] == nullptr) throw Error("there is no group " + text);
               put(number, nullptr);
             })
      .read("groups", [this] {
        std::string text;
        for (uint32_t number = 1; number <= kMaxGroups; ++number)
          if (const Group* group = groups_[number]) text += std::to_string(number) + group->text + "\n";
        return text;
      });
}

HEDDLE_ELEMENT(ECMP);

}  // namespace heddle
