#include "elements/kernel/kernel_routes.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "click/arguments.h"
#include "click/quoting.h"
#include "core/error.h"
#include "elements/kernel/attributes.h"

namespace heddle {
namespace {

constexpr size_t kLinesAtOnce = 4096;  // handlers of others have their turn in between
constexpr uint32_t kMaxGroups = 65535,
                   kQuarantine = 256;  // groups of next hops; numbers that rest before they mean others
constexpr int kMaxShares = 64;
constexpr uint32_t kMainTable = 254, kLocalTable = 255;

constexpr uint32_t kNexthopGroup = 1u << (RTNLGRP_NEXTHOP - 1);
constexpr uint32_t kIp4Groups = RTMGRP_IPV4_ROUTE | RTMGRP_IPV4_IFADDR | RTMGRP_LINK | kNexthopGroup;
constexpr uint32_t kIp6Groups = RTMGRP_IPV6_ROUTE | RTMGRP_IPV6_IFADDR | RTMGRP_LINK | kNexthopGroup;

uint32_t hash_of(const std::array<uint8_t, 16>& address, uint32_t length) {
  uint32_t hash = length;
  for (size_t i = 0; i < address.size(); i += 4) {
    uint32_t word = 0;
    std::memcpy(&word, address.data() + i, sizeof word);
    hash = (hash ^ ntohl(word)) * 0x9e3779b1;
    hash ^= hash >> 15;
  }
  return hash * 0x85ebca77 >> 16;
}

}  // namespace

KernelRoutes::KernelRoutes(bool ip6)
    : KernelFollower(ip6 ? kIp6Groups : kIp4Groups, RTM_GETROUTE, ip6 ? AF_INET6 : AF_INET, 0), ip6_(ip6) {}

std::string KernelRoutes::text_of(const Address& address) const {
  char text[INET6_ADDRSTRLEN];
  return inet_ntop(ip6_ ? AF_INET6 : AF_INET, address.data(), text, sizeof text);
}

std::string KernelRoutes::text_of(const Prefix& prefix) const {
  return text_of(prefix.address) + "/" + std::to_string(prefix.length);
}

KernelRoutes::Address KernelRoutes::address_of(const Attributes& attributes, int type) const {
  Address address{};
  const size_t bytes = ip6_ ? 16 : 4;
  if (const uint8_t* at = attributes.bytes(type, bytes)) std::copy_n(at, bytes, address.begin());
  return address;
}

void KernelRoutes::configure(click::Arguments& arguments) {
  arguments.required("ELEMENT", element_).keyword("PUNT", punt_, 0, 0x7fff);
  arguments.keyword("TABLE", table_, 1u, ~0u);
  arguments.keyword("ECMP", ecmp_).keyword("ECMP_OUT", ecmp_output_, 0, 0x7fff);
  if (ecmp_.empty() != (ecmp_output_ < 0)) arguments.error("expected both ECMP and ECMP_OUT, or neither");
  for (const auto& argument : arguments.rest()) {
    const auto words = click::split_words(argument.text);
    int output = -1;
    if (words.size() != 2 || words[0].size() >= IFNAMSIZ || !click::parse(words[1], output, 0, 0x7fff))
      arguments.error(argument, "an interface and an output, such as eth0 1");
    else if (!outputs_.emplace(click::unquote(words[0]), output).second)
      arguments.error_at(argument, "interface '" + std::string(words[0]) + "' has an output already");
  }
  if (outputs_.empty()) arguments.error("no interface is given; expected DEVICE OUTPUT, such as eth0 1");
}

void KernelRoutes::start(const Environment& environment) {
  ctrl_ = handler_named(environment, element_ + ".ctrl");
  if (!ecmp_.empty()) {
    set_group_ = handler_named(environment, ecmp_ + ".set");
    remove_group_ = handler_named(environment, ecmp_ + ".remove");
  }
  KernelFollower::start(environment);
}

std::string KernelRoutes::stop() {
  {
    const std::lock_guard lock(telling_);
    ended_ = true;
  }
  comes_back_.notify_all();
  return KernelFollower::stop();
}

void KernelRoutes::take_state(Element& old_element) {
  auto& old = static_cast<KernelRoutes&>(old_element);
  const std::scoped_lock lock(telling_, old.telling_);
  if (predecessor == &old) {
    if (element_ == old.element_) left_ = std::move(old.told_);
    if (ecmp_ == old.ecmp_) take_groups(old);
    old.handed_over_ = true;
  } else {  // it goes on after all, and the other one has told nothing
    if (told_ == nullptr) told_ = std::move(old.left_);
    handed_over_ = false, old.ended_ = true;
    comes_back_.notify_all();
  }
}

bool KernelRoutes::have_told(std::unique_lock<std::mutex>& lock) {
  lock = std::unique_lock(telling_);
  comes_back_.wait(lock, [this] { return !handed_over_ || ended_; });
  return !ended_;
}

bool KernelRoutes::ended() const {
  const std::lock_guard lock(telling_);
  return ended_ || over();
}

bool KernelRoutes::call(const std::string& handler, const std::string& value, bool matters) {
  bool called = false, good = false;
  for (std::unique_lock<std::mutex> lock; !called && have_told(lock);) {
    lock.unlock();
    exclusively([&] {
      {
        const std::lock_guard still(telling_);
        called = !handed_over_ && !ended_;
      }
      good = called && write(handler, value, matters);
    });
  }
  return good;
}

void KernelRoutes::put(const Key& key, const Route& route) {
  const auto [at, is_new] = routes_.try_emplace(key, route);
  if (!is_new) {
    punted_routes_ -= at->second.punted;
    leave_group(at->second.group);
  }
  at->second = route;
  punted_routes_ += route.punted;
  changed_.insert(key.first);
}

void KernelRoutes::remove(std::map<Key, Route>::iterator route) {
  punted_routes_ -= route->second.punted;
  leave_group(route->second.group);
  changed_.insert(route->first.first);
  routes_.erase(route);
}

int KernelRoutes::output_of(int device) {
  const auto [known, is_new] = of_device_.try_emplace(device, -1);
  char interface[IF_NAMESIZE];
  if (is_new && if_indextoname(static_cast<unsigned>(device), interface) != nullptr)
    if (const auto found = outputs_.find(interface); found != outputs_.end()) known->second = found->second;
  return known->second;
}

bool KernelRoutes::take(const nlmsghdr& message) {
  switch (message.nlmsg_type) {
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
      return take_route(message);
    case RTM_NEWLINK:
    case RTM_DELLINK:
    case RTM_DELADDR:
    case RTM_NEWNEXTHOP:
    case RTM_DELNEXTHOP:
      // Interfaces that go down, addresses and next-hop objects take or change their routes with them in silence.
      of_device_.clear();
      return true;
    default:
      return false;
  }
}

bool KernelRoutes::take_route(const nlmsghdr& message) {
  if (mnl_nlmsg_get_payload_len(&message) < sizeof(rtmsg)) return false;
  const auto& route = *static_cast<const rtmsg*>(mnl_nlmsg_get_payload(&message));
  if (route.rtm_family != (ip6_ ? AF_INET6 : AF_INET) || route.rtm_tos != 0 || (route.rtm_flags & RTM_F_CLONED) != 0 ||
      route.rtm_dst_len > (ip6_ ? 128 : 32) || route.rtm_src_len != 0)
    return false;
  const auto attributes = Attributes::behind<rtmsg>(message);
  const uint32_t in_table = attributes.number(RTA_TABLE, route.rtm_table);
  if (in_table != table_ && (in_table != kLocalTable || table_ != kMainTable)) return false;

  const Prefix prefix{address_of(attributes, RTA_DST), route.rtm_dst_len};
  const Key key{prefix, attributes.number(RTA_PRIORITY)};
  const auto known = routes_.find(key);
  if (message.nlmsg_type == RTM_DELROUTE) {
    if (known == routes_.end()) return false;
    const bool others = known->second.hides_others;
    remove(known);
    return others;
  }
  // Of several routes with one metric the first counts.
  const bool listed = (message.nlmsg_flags & NLM_F_MULTI) != 0;
  const bool beside = known != routes_.end() &&
                      (listed ? known->second.generation == generation_ : (message.nlmsg_flags & NLM_F_REPLACE) == 0);
  if (beside && (listed || (message.nlmsg_flags & NLM_F_APPEND) != 0)) {
    known->second.hides_others = true;
    return false;
  }

  uint32_t group = 0;
  Hop hop = route.rtm_type == RTN_UNICAST ? hop_of(route, attributes, prefix, group) : Hop{};
  const bool punted = hop.output < 0;
  if (punted) hop = {{}, punt_};
  const bool hides_others = beside || (known != routes_.end() && !listed && known->second.hides_others);
  put(key, {hop, punted, generation_, hides_others, group});
  return false;
}

KernelRoutes::Hop KernelRoutes::hop_of(const rtmsg&, const Attributes& attributes, const Prefix& prefix,
                                       uint32_t& group) {
  const auto hop_by = [&](int device, const Attributes& of) {
    return Hop{address_of(of, RTA_GATEWAY), of.has(RTA_VIA) ? -1 : output_of(device)};
  };
  if (!attributes.has(RTA_MULTIPATH)) return hop_by(static_cast<int>(attributes.number(RTA_OIF)), attributes);
  std::vector<Hop> hops;
  std::vector<std::string> shares;
  auto* at = reinterpret_cast<const rtnexthop*>(attributes.bytes(RTA_MULTIPATH, 0));
  for (int left = attributes.length(RTA_MULTIPATH); RTNH_OK(at, left);
       left -= static_cast<int>(RTNH_ALIGN(at->rtnh_len)), at = RTNH_NEXT(at)) {
    const bool usable = (at->rtnh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)) == 0;
    const Hop hop = hop_by(at->rtnh_ifindex, Attributes(RTNH_DATA(at), at->rtnh_len - sizeof *at));
    if (!usable || hop.output < 0) continue;
    hops.push_back(hop);
    const std::string gateway = hop.gateway == Address{} ? "-" : text_of(hop.gateway);
    for (int share = std::min<int>(at->rtnh_hops + 1, kMaxShares); share > 0; --share)
      shares.push_back(gateway + " " + std::to_string(hop.output));
  }
  if (hops.empty()) return {};
  if (!ecmp_.empty() && hops.size() > 1) group = group_of(std::move(shares));
  if (group == 0) return hops[hash_of(prefix.address, prefix.length) % hops.size()];
  Hop hop{{}, ecmp_output_};
  const uint32_t number = htonl(group);
  std::memcpy(hop.gateway.data() + (ip6_ ? 12 : 0), &number, sizeof number);
  return hop;
}

uint32_t KernelRoutes::group_of(std::vector<std::string> hops) {
  std::ranges::sort(hops);
  const std::lock_guard lock(telling_);
  auto found = groups_.find(hops);
  if (found == groups_.end()) {
    const bool again = free_groups_.size() > kQuarantine || most_groups_ == kMaxGroups;
    if (again && free_groups_.empty()) return 0;
    const uint32_t number = again ? free_groups_.front() : ++most_groups_;
    if (again) free_groups_.pop_front();
    found = groups_.emplace(hops, Group{number}).first;
    hops_of_group_[number] = std::move(hops);
  }
  ++found->second.routes;
  unused_groups_.erase(found->second.number);
  return found->second.number;
}

void KernelRoutes::leave_group(uint32_t number) {
  const std::lock_guard lock(telling_);
  if (number != 0 && --groups_.at(hops_of_group_.at(number)).routes == 0) unused_groups_.insert(number);
}

void KernelRoutes::take_groups(const KernelRoutes& old) {
  groups_ = old.groups_, hops_of_group_ = old.hops_of_group_;
  free_groups_ = old.free_groups_, most_groups_ = old.most_groups_;
  for (auto& [hops, group] : groups_) {
    group.routes = 0, group.told = false;  // ECMP has it if its arguments are the same
    unused_groups_.insert(group.number);
  }
}

void KernelRoutes::tell_groups() {
  for (auto& [hops, group] : groups_) {
    if (group.told || group.routes == 0) continue;
    std::string line = std::to_string(group.number);
    for (const std::string& hop : hops) line += " " + hop;
    const bool told = call(set_group_, line);
    if (ended()) return;
    if (!told) ++failed_;
    const std::lock_guard lock(telling_);
    group.told = told;
  }
}

/** When all routes are known, and none leads to them any more. */
void KernelRoutes::forget_groups() {
  if (!complete()) return;
  while (!unused_groups_.empty()) {
    const uint32_t number = *unused_groups_.begin();
    call(remove_group_, std::to_string(number), false);
    if (ended()) return;
    const std::lock_guard lock(telling_);
    unused_groups_.erase(number);
    groups_.erase(hops_of_group_.extract(number).mapped());
    free_groups_.push_back(number);
  }
}

void KernelRoutes::remove_left() {
  if (!complete()) return;
  std::optional<Prefix> last;
  for (bool more = true; more && !stopping();) {
    std::vector<std::string> lines;
    {
      const std::lock_guard lock(telling_);
      if (left_ == nullptr) return;
      auto at = last ? left_->upper_bound(*last) : left_->begin();
      for (; at != left_->end() && lines.size() < kLinesAtOnce; last = at++->first)
        if (best(at->first) == nullptr) lines.push_back("remove " + route_text(at->first, at->second) + "\n");
      more = at != left_->end();
      if (!more) left_ = nullptr;
    }
    // What is another's by now, or went with the table, keeps the others from being taken.
    if (lines.empty() || call(ctrl_, std::accumulate(lines.begin(), lines.end(), std::string()), false)) continue;
    for (const std::string& line : lines) call(ctrl_, line, false);
  }
}

void KernelRoutes::end_all() {
  for (auto each = routes_.begin(); each != routes_.end();)
    if (const auto route = each++; route->second.generation != generation_) remove(route);
}

const KernelRoutes::Hop* KernelRoutes::best(const Prefix& prefix) const {
  const auto found = routes_.lower_bound({prefix, 0});
  if (found == routes_.end() || found->first.first != prefix || found->second.hop.output < 0) return nullptr;
  return &found->second.hop;
}

std::string KernelRoutes::line_for(const Prefix& prefix, const Hop* hop) const {
  return hop == nullptr ? "remove " + text_of(prefix) + "\n" : "set " + route_text(prefix, *hop) + "\n";
}

std::string KernelRoutes::route_text(const Prefix& prefix, const Hop& hop) const {
  return text_of(prefix) + " " + (hop.gateway == Address{} ? "-" : text_of(hop.gateway)) + " " +
         std::to_string(hop.output);
}

void KernelRoutes::tell(const std::vector<Prefix>& prefixes) {
  std::string lines;
  for (const Prefix& prefix : prefixes) lines += line_for(prefix, best(prefix));
  const bool all = call(ctrl_, lines);
  std::unique_lock<std::mutex> lock;
  for (const Prefix& prefix : prefixes) {
    const Hop* hop = best(prefix);
    // One that is refused keeps the others from being taken: then each for itself.
    if (!all && !call(ctrl_, line_for(prefix, hop))) {
      if (ended()) return;
      if (hop != nullptr) ++failed_;
      if (hop != nullptr) continue;
    }
    if (!lock.owns_lock() && !have_told(lock)) return;
    if (hop == nullptr)
      told_->erase(prefix);
    else
      (*told_)[prefix] = *hop;
    if (!all) lock.unlock();
  }
}

void KernelRoutes::tell() {
  exclusively([] {});  // until it is decided that this configuration runs
  if (ended()) return;
  if (!ecmp_.empty()) tell_groups();
  std::vector<Prefix> some;
  std::unique_lock<std::mutex> lock;
  for (const Prefix& prefix : changed_) {
    const Hop* hop = best(prefix);
    if (!lock.owns_lock() && !have_told(lock)) return;
    const auto told = told_->find(prefix);
    if (told == told_->end() ? hop == nullptr : hop != nullptr && *hop == told->second) continue;
    some.push_back(prefix);
    if (some.size() < kLinesAtOnce) continue;
    lock.unlock();
    tell(some);
    some.clear();
    if (stopping()) return;
  }
  if (lock.owns_lock()) lock.unlock();
  if (!some.empty()) tell(some);
  changed_.clear();
  remove_left();
  if (!ecmp_.empty()) forget_groups();
  if (!have_told(lock)) return;
  count_ = told_->size();
  (punt_ >= 0 ? punted_ : left_out_) = punted_routes_;
}

void KernelRoutes::handlers(Handlers& list) {
  KernelFollower::handlers(list);
  const auto add = [&](const char* name, const std::atomic<uint64_t>& value) {
    list.read(name, [&value] { return std::to_string(value.load()); });
  };
  add("routes", count_), add("punted", punted_), add("left_out", left_out_), add("failed", failed_);
}

std::vector<std::pair<std::string, uint64_t>> KernelRoutes::statistics() const {
  auto list = KernelFollower::statistics();
  list.insert(list.end(), {{"routes", count_}, {"punted", punted_}, {"left_out", left_out_}, {"failed", failed_}});
  return list;
}

HEDDLE_ELEMENT(KernelRoutes);
HEDDLE_ELEMENT(KernelIP6Routes);

}  // namespace heddle
