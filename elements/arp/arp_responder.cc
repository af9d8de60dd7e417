#include "elements/arp/arp_responder.h"

#include <algorithm>
#include <sstream>

#include "click/arguments.h"
#include "elements/arp/arp.h"

namespace heddle {
namespace {
enum Reason : int { kNotRequest, kNotMine };
constexpr uint32_t kShortestFrame = 60;
}  // namespace

void ARPResponder::add(click::Arguments& arguments, const click::Argument& argument) {
  std::vector<click::Ipv4Prefix> prefixes;
  click::EthernetAddress ethernet;
  bool has_ethernet = false;
  const auto words = [&] {
    std::vector<std::string> list;
    std::istringstream text{std::string(argument.text)};
    for (std::string word; text >> word;) list.push_back(word);
    return list;
  }();
  for (const std::string& word : words) {
    click::Ipv4Prefix prefix;
    click::Ipv4Address address;
    const bool is_ethernet = arguments.read(word, ethernet);
    bool is_ip = true;
    if (arguments.read(word, address))
      prefixes.push_back({address.value, 32});
    else if (arguments.read(word, prefix))
      prefixes.push_back(prefix);
    else
      is_ip = false;
    has_ethernet = has_ethernet || is_ethernet;
    if (!is_ethernet && !is_ip) prefixes.clear(), has_ethernet = false;
    if (!is_ethernet && !is_ip) break;
  }
  if (prefixes.empty() || !has_ethernet) {
    arguments.error(argument, "IPv4 addresses or networks and their Ethernet address, such as 10.0.0.1 2:0:0:0:0:1");
    return;
  }
  for (const auto& prefix : prefixes) table_.push_back({prefix, ethernet});
}

void ARPResponder::configure(click::Arguments& arguments) {
  const auto given = arguments.rest();
  if (given.empty()) arguments.error("expected IP/MASK ... ETH");
  for (const auto& argument : given) add(arguments, argument);
  std::stable_sort(table_.begin(), table_.end(),
                   [](const Owned& a, const Owned& b) { return a.prefix.length > b.prefix.length; });
}

Access ARPResponder::access(Processor) const { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }

std::span<const char* const> ARPResponder::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_arp_request", "not_mine"};
  return kReasons;
}

const click::EthernetAddress* ARPResponder::find(uint32_t address) const {
  for (const Owned& owned : table_) {
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
              for (const Owned& owned : table_) text += to_text(owned.prefix) + " " + to_text(owned.ethernet) + "\n";
              return text;
            })
      .read_with_argument("lookup", [this](const std::string& text) {
        const auto* found = find(click::value_of<click::Ipv4Address>(text).value);
        return found == nullptr ? std::string() : to_text(*found);
      });
}

HEDDLE_ELEMENT(ARPResponder);

}  // namespace heddle
