#include "elements/arp/arp_responder.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <sstream>
#include <type_traits>

#include "click/arguments.h"
#include "click/lexer.h"
#include "click/quoting.h"
#include "core/error.h"
#include "core/warnings.h"
#include "elements/arp/arp.h"

namespace heddle {
namespace {
constexpr uint32_t kShortestFrame = 60;

/** "10.0.0.0/8 10.1.0.1 2:0:0:0:0:1" and the like. */
struct Owners {
  std::vector<click::Ipv4Prefix> prefixes;
  std::optional<click::EthernetAddress> ethernet;
};
constexpr const char* kOwners = "IPv4 addresses or networks and their Ethernet address, such as 10.0.0.1 2:0:0:0:0:1";

/** `read`: takes a word and what it is to be. False if a word is neither, or there are two Ethernet addresses. One of
 *  AddressInfo's names may be both; its Ethernet address counts if there is no other. */
template <class Read>
bool read_owners(const std::string& text, const Read& read, Owners& owners) {
  std::optional<click::EthernetAddress> named;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    click::Ipv4Prefix prefix;
    click::Ipv4Address address;
    click::EthernetAddress ethernet;
    const bool is_address = read(word, address), is_network = !is_address && read(word, prefix);
    const bool is_ethernet = read(word, ethernet);
    if (is_address) prefix = {address.value, 32};
    if (is_address || is_network)
      owners.prefixes.push_back(prefix);
    else if (!is_ethernet || owners.ethernet)
      return false;
    if (is_ethernet) (is_address || is_network ? named : owners.ethernet) = ethernet;
  }
  if (!owners.ethernet) owners.ethernet = named;
  return true;
}

/** `named_ethernet`: whether names also say an Ethernet address. */
Owners owners_of(const std::string& text, const click::AddressNames& names, bool named_ethernet = true) {
  Owners owners;
  const auto read = [&]<class T>(const std::string& word, T& value) {
    const bool may_be_name = named_ethernet || !std::is_same_v<T, click::EthernetAddress>;
    return click::parse(word, value) || (may_be_name && names.find(word, value));
  };
  if (!read_owners(text, read, owners)) throw Error("expected " + std::string(kOwners));
  return owners;
}

}  // namespace

void ARPResponder::set(Table& table, const std::vector<click::Ipv4Prefix>& prefixes,
                       const click::EthernetAddress& ethernet, std::vector<click::Ipv4Prefix>& gone) {
  for (const auto& prefix : prefixes) {
    if (std::erase_if(table, [&](const Owned& owned) { return owned.prefix == prefix; }) > 0) gone.push_back(prefix);
    table.push_back({prefix, ethernet});
  }
}

void ARPResponder::warn_of(const std::vector<click::Ipv4Prefix>& twice) const {
  for (const auto& prefix : twice)
    warn("While configuring '" + name + " :: " + class_name + "':\n  warning: multiple entries for " + to_text(prefix));
}

void ARPResponder::configure(click::Arguments& arguments) {
  names_ = arguments.names();
  Table table;
  std::vector<click::Ipv4Prefix> twice;
  for (const auto& argument : arguments.rest()) {
    Owners owners;
    const auto read = [&](const std::string& word, auto& value) { return arguments.read(word, value); };
    if (!read_owners(std::string(argument.text), read, owners) || owners.prefixes.empty() || !owners.ethernet)
      arguments.error(argument, kOwners);
    else
      set(table, owners.prefixes, *owners.ethernet, twice);
  }
  warn_of(twice);
  replace(std::move(table));
}

void ARPResponder::replace(Table table) {
  std::ranges::stable_sort(table, std::greater{}, [](const Owned& owned) { return owned.prefix.length; });
  auto made = std::make_unique<const Table>(std::move(table));
  table_.store(made.get(), std::memory_order_release);
  owner_.swap(made);
  if (made != nullptr) retired_.tables.push_back(std::move(made));
}

void ARPResponder::replace_all(const std::string& text) {
  const std::string arguments = "(" + text + "\n)";
  click::Diagnostics mistakes;
  click::Lexer lexer(arguments, name, mistakes);
  Table table;
  std::vector<click::Ipv4Prefix> twice;
  for (const click::Argument& argument : lexer.configuration(lexer.next().where)) {
    if (click::trim(argument.text).empty()) continue;
    const Owners owners = owners_of(argument.text, names_);
    if (owners.prefixes.empty() || !owners.ethernet) throw Error("expected " + std::string(kOwners));
    set(table, owners.prefixes, *owners.ethernet, twice);
  }
  if (!mistakes.ok()) throw Error("these are no arguments: brackets and quotes must be balanced");
  warn_of(twice);
  replace(std::move(table));
}

void ARPResponder::add(const std::string& text) {
  const Owners owners = owners_of(text, names_);
  if (owners.prefixes.empty() || !owners.ethernet) throw Error("expected " + std::string(kOwners));
  Table table = *owner_;
  std::vector<click::Ipv4Prefix> gone;
  set(table, owners.prefixes, *owners.ethernet, gone);
  replace(std::move(table));
}

void ARPResponder::remove(const std::string& text) {
  const Owners owners = owners_of(text, names_, false);
  if (owners.prefixes.empty() || owners.ethernet) throw Error("expected IPv4 addresses or networks");
  Table table = *owner_;
  for (const auto& prefix : owners.prefixes)
    if (std::erase_if(table, [&](const Owned& owned) { return owned.prefix == prefix; }) == 0)
      throw Error("there is no " + to_text(prefix));
  replace(std::move(table));
}

void ARPResponder::take_state(Element& old_element) {
  auto& old = static_cast<ARPResponder&>(old_element);
  if (!(predecessor == &old ? *this : old).same_arguments) return;
  owner_.swap(old.owner_);
  table_ = old.table_.exchange(table_);
}

Access ARPResponder::access(Processor) const { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }

std::span<const char* const> ARPResponder::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_arp_request", "not_mine"};
  return kReasons;
}

const click::EthernetAddress* ARPResponder::find(uint32_t address) const {
  for (const Owned& owned : *table_.load(std::memory_order_acquire)) {
    const uint32_t mask = owned.prefix.length == 0 ? 0 : ~uint32_t{0} << (32 - owned.prefix.length);
    if ((address & mask) == owned.prefix.address) return &owned.ethernet;
  }
  return nullptr;
}

void ARPResponder::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    uint8_t* frame = batch.frame(i);
    const bool request = arp::is_arp(frame, batch.length(i)) && arp::operation(frame) == arp::kRequest;
    const uint32_t asked = request ? arp::target_ip(frame) : 0;
    const click::EthernetAddress* mine = request ? find(ntohl(asked)) : nullptr;
    if (mine == nullptr) {
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, request ? kNotMine : kNotRequest);
      continue;
    }
    uint8_t asker[6];
    std::memcpy(asker, arp::sender_ethernet(frame), 6);
    arp::write(frame, arp::kReply, mine->bytes.data(), asked, asker, arp::sender_ip(frame));
    if (const uint32_t bytes = batch.length(i); bytes < kShortestFrame) {
      std::memset(frame + bytes, 0, kShortestFrame - bytes);
      move_tail(batch.packet(i), static_cast<int>(kShortestFrame - bytes));
    }
  }
}

void ARPResponder::handlers(Handlers& list) {
  list.read("table",
            [this] {
              std::string text;
              for (const Owned& owned : *owner_) text += to_text(owned.prefix) + " " + to_text(owned.ethernet) + "\n";
              return text;
            })
      .read_with_argument("lookup",
                          [this](const std::string& text) {
                            const auto* found = find(click::value_of<click::Ipv4Address>(text).value);
                            return found == nullptr ? std::string() : to_text(*found);
                          })
      .write("add", [this](const std::string& text) { add(text); })
      .write("remove", [this](const std::string& text) { remove(text); });
  if (const Handler* const config = list.find("config"); config == nullptr || !config->write)
    list.write("config", [this](const std::string& text) { replace_all(text); });
}

HEDDLE_ELEMENT(ARPResponder);

}  // namespace heddle
