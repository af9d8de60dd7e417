#include "elements/ip6/nd_advertiser.h"

#include <algorithm>
#include <bit>

#include "click/quoting.h"
#include "core/error.h"
#include "elements/ip6/nd.h"

namespace heddle {
namespace {

constexpr Ip6 kAllNodes = {0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

/** Of how many ones the mask consists, with nothing but zeros behind them; 0: it has others, or is no mask of 8 ones or
 *  more, which would be a multicast address. */
uint32_t mask_length(const Ip6& mask) {
  const auto end = std::ranges::find_if(mask, [](uint8_t byte) { return byte != 0xff; });
  const auto whole = static_cast<uint32_t>(end - mask.begin());
  if (end == mask.end()) return 128;
  const auto ones = static_cast<uint32_t>(std::countl_one(*end));
  const bool clear = static_cast<uint8_t>(*end << ones) == 0 &&
                     std::all_of(end + 1, mask.end(), [](uint8_t byte) { return byte == 0; });
  return whole > 0 && clear ? whole * 8 + ones : 0;
}

}  // namespace

bool IP6NDAdvertiser::Owned::covers(const Ip6& other) const {
  const uint32_t bytes = length / 8, bits = length % 8;
  return std::equal(address.begin(), address.begin() + bytes, other.begin()) &&
         (bits == 0 || ((address[bytes] ^ other[bytes]) >> (8 - bits)) == 0);
}

void IP6NDAdvertiser::add(click::Arguments& arguments, const click::Argument& argument) {
  const auto words = click::split_words(argument.text);
  click::EthernetAddress ethernet;
  bool right = words.size() > 1 && arguments.read(words.back(), ethernet);
  for (size_t i = 0; right && i + 1 < words.size(); ++i) {
    const std::string word(words[i]);
    const size_t slash = word.find('/');
    Owned owned{{}, 128, ethernet};
    right = slash == std::string::npos || click::parse(word.substr(slash + 1), owned.length, 0u, 128u);
    try {
      owned.address = nd::parse_address(word.substr(0, slash));
    } catch (const Error&) {
      right = false;
    }
    const uint32_t length = slash == std::string::npos && i > 0 ? mask_length(owned.address) : 0;
    if (length > 0 && words[i - 1].find('/') == std::string_view::npos)
      table_.back().length = length;
    else
      table_.push_back(owned);
  }
  if (!right)
    arguments.error(argument, "IPv6 addresses or networks and their Ethernet address, such as 2001:db8::1 2:0:0:0:0:1");
}

void IP6NDAdvertiser::configure(click::Arguments& arguments) {
  const auto given = arguments.rest();
  if (given.empty()) arguments.error("expected IP6/LENGTH ... ETH");
  for (const auto& argument : given) add(arguments, argument);
  std::ranges::stable_sort(table_, std::greater{}, &Owned::length);
}

Access IP6NDAdvertiser::access(Processor) const { return {.reads = {kWholePacket}, .writes = {kWholePacket}}; }

std::span<const char* const> IP6NDAdvertiser::drop_reasons() const {
  static constexpr const char* kReasons[] = {"not_solicitation", "not_mine"};
  return kReasons;
}

const click::EthernetAddress* IP6NDAdvertiser::find(const Ip6& address) const {
  const auto found = std::ranges::find_if(table_, [&](const Owned& owned) { return owned.covers(address); });
  return found == table_.end() ? nullptr : &found->ethernet;
}

void IP6NDAdvertiser::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    nd::Message asked;
    const bool solicitation = nd::read(batch.frame(i), batch.length(i), nd::kSolicitation, asked);
    const click::EthernetAddress* mine = solicitation ? find(asked.target) : nullptr;
    if (mine == nullptr) {
      if (outputs > 1)
        batch.next()[i] = 1;
      else
        batch.drop(i, solicitation ? kNotMine : kNotSolicitation);
      continue;
    }
    // Somebody who has no address yet asks whether another has his: all are told.
    const bool nobody = asked.source == Ip6{};
    const Ip6 to = nobody ? kAllNodes : asked.source;
    move_tail(batch.packet(i), static_cast<int>(nd::kFrameBytes) - static_cast<int>(batch.length(i)));
    nd::write(batch.frame(i), nd::kAdvertisement,
              {.source = asked.target,
               .destination = to,
               .target = asked.target,
               .flags = static_cast<uint8_t>(nd::kRouter | nd::kOverride | (nobody ? 0 : nd::kSolicited)),
               .from = *mine,
               .to = nobody               ? nd::group_ethernet(to)
                     : asked.has_ethernet ? asked.ethernet
                                          : asked.from,
               .ethernet = *mine});
  }
}

void IP6NDAdvertiser::handlers(Handlers& list) {
  list.read("table",
            [this] {
              std::string text;
              for (const Owned& owned : table_)
                text += nd::to_text(owned.address) + "/" + std::to_string(owned.length) + " " +
                        to_text(owned.ethernet) + "\n";
              return text;
            })
      .read_with_argument("lookup", [this](const std::string& text) {
        const auto* found = find(nd::parse_address(text));
        return found == nullptr ? std::string() : to_text(*found);
      });
}

HEDDLE_ELEMENT(IP6NDAdvertiser);
HEDDLE_ELEMENT_NAMED(IP6NDAdvertiser, NDAdv);
HEDDLE_ELEMENT_NAMED(IP6NDAdvertiser, ARPResponder6);

}  // namespace heddle
