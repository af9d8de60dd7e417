// The options of IP and TCP headers as IP summary dumps write them (RFC 791, 3.1; RFC 9293, 3.1).
#include <algorithm>
#include <charconv>

#include "click/values.h"
#include "core/error.h"
#include "elements/endpoints/ip_summary.h"

namespace heddle::summary {
namespace {

constexpr uint8_t kEnd = 0, kNop = 1;                                        // of both
constexpr uint8_t kMss = 2, kScale = 3, kSackOk = 4, kSack = 5, kTimes = 8;  // TCP's
constexpr size_t kMax = 40;

struct Route {
  uint8_t type;
  const char* name;
};
constexpr Route kRoutes[] = {{7, "rr"}, {131, "lsrr"}, {137, "ssrr"}};
constexpr uint8_t kRecord = 7, kFirstPointer = 4;

constexpr uint8_t kStamps = 68, kFirstStamp = 4;  // Internet Timestamp, with what it has after its fixed part
constexpr uint8_t kStampsAlone = 0, kWithAddresses = 1, kAtAddresses = 3;  // its flag
constexpr uint32_t kNonstandard = 0x80000000;
constexpr std::pair<uint8_t, const char*> kStampNames[] = {
    {kStampsAlone, "ts"}, {kWithAddresses, "ts.ip"}, {kAtAddresses, "ts.preip"}};

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

bool take_number(std::string_view& text, uint32_t& value, uint32_t max = UINT32_MAX) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value > max) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

void add(std::string& bytes, uint32_t count, uint32_t value) {
  uint8_t word[4];
  put(word, count, value);
  bytes.append(reinterpret_cast<const char*>(word), count);
}

/** NUMBER=BYTE:BYTE..., or NUMBER alone. */
void append_other(std::string& text, const uint8_t* option, uint32_t bytes) {
  text += std::to_string(option[0]);
  for (uint32_t i = 2; i < bytes; ++i) text += (i == 2 ? "=" : ":") + std::to_string(option[i]);
}
bool take_other(std::string_view& text, std::string& bytes) {
  uint32_t type = 0, value = 0;
  if (!take_number(text, type, 255) || type <= kNop) return false;
  std::string data;
  for (std::string_view before = "="; take(text, before); before = ":") {
    if (!take_number(text, value, 255)) return false;
    add(data, 1, value);
  }
  add(bytes, 1, type), add(bytes, 1, static_cast<uint32_t>(data.size() + 2));
  bytes += data;
  return true;
}

/** Calls for each option but those that fill up; false: these are no options. */
template <class Each>
bool each_option(std::span<const uint8_t> options, const Each& each) {
  for (size_t at = 0; at < options.size() && options[at] != kEnd;) {
    if (options[at] == kNop) {
      ++at;
      continue;
    }
    if (at + 1 >= options.size() || options[at + 1] < 2 || at + options[at + 1] > options.size()) return false;
    if (!each(&options[at], options[at + 1])) return false;
    at += options[at + 1];
  }
  return true;
}

template <class Each>
void append_options(std::string& text, std::span<const uint8_t> options, const Each& each) {
  std::string all;
  const bool good = each_option(options, [&](const uint8_t* option, uint32_t bytes) {
    if (!all.empty()) all += ';';
    return each(all, option, bytes);
  });
  text += !good ? "?" : all.empty() ? "." : all;
}

template <class Take>
bool parse_options(std::string_view text, std::string& bytes, const Take& take_one) {
  bytes.clear();
  if (text == ".") return true;
  do {
    const size_t left = text.size();
    if (take(text, "eol"))
      add(bytes, 1, kEnd);
    else if (take(text, "nop"))
      add(bytes, 1, kNop);
    else if (!take_one(text, bytes) && (text.size() != left || !take_other(text, bytes)))
      return false;
  } while (bytes.size() <= kMax && (take(text, ",") || take(text, ";")));
  return text.empty() && bytes.size() <= kMax;
}

/** The addresses of a route, "^" where its pointer stands; of rr those that are recorded, and "+" with the room
 *  left. */
bool append_route(std::string& text, const char* name, const uint8_t* option, uint32_t bytes) {
  if (bytes < 3 || (bytes - 3) % 4 != 0 || option[2] < kFirstPointer || option[2] % 4 != 0) return false;
  const uint32_t pointer = option[2] - 1u;
  text += std::string(name) + '{';
  uint32_t at = 3;
  for (; at < bytes && (option[0] != kRecord || at < pointer); at += 4) {
    if (at == pointer || at > 3) text += at == pointer ? '^' : ',';
    text += to_text(click::Ipv4Address{get(option + at, 4)});
  }
  if (option[0] != kRecord && at == pointer) text += '^';
  text += '}';
  if (at < bytes) text += '+' + std::to_string((bytes - at) / 4);
  return true;
}

bool take_route(std::string_view& text, const Route& route, std::string& bytes) {
  std::string addresses;
  size_t pointer = std::string::npos;
  while (!take(text, "}")) {
    if (take(text, "^")) pointer = addresses.size();
    if (text.starts_with('}')) continue;
    const size_t end = std::min(text.find_first_of(",:^}"), text.size());
    click::Ipv4Address address;
    if (!click::parse(text.substr(0, end), address) || addresses.size() >= kMax) return false;
    add(addresses, 4, address.value);
    text.remove_prefix(end);
    if (!take(text, ",") && !take(text, ":") && !text.starts_with('^') && !text.starts_with('}')) return false;
  }
  uint32_t room = 0;
  if (take(text, "+") && !take_number(text, room, kMax / 4)) return false;
  // Without "^", what there is room for comes next, of a source route without room its first address.
  if (pointer == std::string::npos) pointer = route.type == kRecord || room > 0 ? addresses.size() : 0;
  add(bytes, 1, route.type), add(bytes, 1, static_cast<uint32_t>(3 + addresses.size() + 4 * room));
  add(bytes, 1, static_cast<uint32_t>(kFirstPointer + pointer));
  bytes += addresses;
  bytes.append(size_t{4} * room, '\0');
  return true;
}

/** The time stamps that have been recorded, "!" before those that are not milliseconds since midnight, with the
 *  addresses that recorded them; behind "^" the addresses that are still to do so, or nothing if it is full; "+" and
 *  the room left; "++" and how many found no room. */
bool append_stamps(std::string& text, const uint8_t* option, uint32_t bytes) {
  if (bytes < kFirstStamp) return false;
  const uint8_t flag = option[3] & 15, missed = option[3] >> 4;
  const auto name = std::ranges::find(kStampNames, flag, &std::pair<uint8_t, const char*>::first);
  if (name == std::end(kStampNames)) return false;
  const uint32_t size = flag == kStampsAlone ? 4 : 8, pointer = option[2] - 1u;
  if (option[2] <= kFirstStamp || (pointer - kFirstStamp) % size != 0 || (bytes - kFirstStamp) % size != 0)
    return false;
  text += std::string(name->second) + '{';
  uint32_t at = kFirstStamp;
  for (; at < bytes && (flag == kAtAddresses || at < pointer); at += size) {
    if (at == pointer || at > kFirstStamp) text += at == pointer ? '^' : ',';
    if (flag != kStampsAlone) text += to_text(click::Ipv4Address{get(option + at, 4)});
    if (at >= pointer) continue;
    const uint32_t stamp = get(option + at + size - 4, 4);
    text += std::string(flag != kStampsAlone ? "=" : "") + (stamp & kNonstandard ? "!" : "") +
            std::to_string(stamp & ~kNonstandard);
  }
  if (at == pointer && at == bytes) text += '^';
  text += '}';
  if (at < bytes) text += '+' + std::to_string((bytes - at) / size);
  if (missed > 0) text += "++" + std::to_string(missed);
  return true;
}

/** `1.0.0.1=!5`, `5`, an address alone; `stamped`: whether it has a time stamp. */
bool take_stamp(std::string_view& text, bool addresses, std::string& stamps, bool& stamped) {
  if (addresses) {
    const size_t end = std::min(text.find_first_of("=,^}"), text.size());
    click::Ipv4Address address;
    if (!click::parse(text.substr(0, end), address)) return false;
    text.remove_prefix(end);
    add(stamps, 4, address.value);
  }
  stamped = !addresses || take(text, "=");
  uint32_t stamp = 0;
  if (stamped && take(text, "?")) stamped = false;
  if (stamped) {
    const uint32_t nonstandard = take(text, "!") ? kNonstandard : 0;
    if (!take_number(text, stamp)) return false;
    stamp |= nonstandard;
  }
  add(stamps, 4, stamp);
  return true;
}

/** Behind "ts". Without a kind, those with addresses are ts.ip. */
bool take_stamps(std::string_view& text, std::string& bytes) {
  uint32_t flag =
      text.substr(0, text.find_first_of("=,^}")).find('.', 1) == std::string_view::npos ? kStampsAlone : kWithAddresses;
  if (take(text, ".ip"))
    flag = kWithAddresses;
  else if (take(text, ".preip"))
    flag = kAtAddresses;
  else if (take(text, ".") && !take_number(text, flag, kAtAddresses))
    return false;
  const bool addresses = flag != kStampsAlone;
  if ((addresses && flag != kWithAddresses && flag != kAtAddresses) || !take(text, "{")) return false;
  std::string stamps;
  size_t pointer = std::string::npos, recorded = 0;  // recorded: up to the last one with a time stamp
  while (!take(text, "}")) {
    if (take(text, "^")) pointer = stamps.size();
    if (text.starts_with('}')) continue;
    bool stamped = false;
    if (stamps.size() >= kMax || !take_stamp(text, addresses, stamps, stamped)) return false;
    if (stamped) recorded = stamps.size();
    if (!take(text, ",") && !text.starts_with('^') && !text.starts_with('}')) return false;
  }
  uint32_t room = 0, missed = 0;
  if (!text.starts_with("++") && take(text, "+") && !take_number(text, room, kMax / 4)) return false;
  if (take(text, "++") && !take_number(text, missed, 15)) return false;
  if (pointer == std::string::npos) pointer = flag == kAtAddresses ? recorded : stamps.size();
  stamps.append(size_t{addresses ? 8u : 4u} * room, '\0');
  add(bytes, 1, kStamps), add(bytes, 1, static_cast<uint32_t>(kFirstStamp + stamps.size()));
  add(bytes, 1, static_cast<uint32_t>(kFirstStamp + 1 + pointer)), add(bytes, 1, missed << 4 | flag);
  bytes += stamps;
  return true;
}

bool append_tcp_option(std::string& text, const uint8_t* option, uint32_t bytes) {
  if (option[0] == kMss && bytes == 4) {
    text += "mss" + std::to_string(get(option + 2, 2));
  } else if (option[0] == kScale && bytes == 3) {
    text += "wscale" + std::to_string(option[2]);
  } else if (option[0] == kSackOk && bytes == 2) {
    text += "sackok";
  } else if (option[0] == kSack && bytes > 2 && bytes % 8 == 2) {
    for (uint32_t at = 2; at < bytes; at += 8)
      text += format("%ssack%u-%u", at > 2 ? ";" : "", get(option + at, 4), get(option + at + 4, 4));
  } else if (option[0] == kTimes && bytes == 10) {
    text += format("ts%u:%u", get(option + 2, 4), get(option + 6, 4));
  } else {
    append_other(text, option, bytes);
  }
  return true;
}

bool take_tcp_option(std::string_view& text, std::string& bytes) {
  uint32_t one = 0, other = 0;
  if (take(text, "mss")) {
    add(bytes, 1, kMss), add(bytes, 1, 4);
    if (!take_number(text, one, 65535)) return false;
    add(bytes, 2, one);
  } else if (take(text, "wscale")) {
    add(bytes, 1, kScale), add(bytes, 1, 3);
    if (!take_number(text, one, 255)) return false;
    add(bytes, 1, one);
  } else if (take(text, "sackok")) {
    add(bytes, 1, kSackOk), add(bytes, 1, 2);
  } else if (text.starts_with("sack")) {
    std::string blocks;
    std::string_view rest = text;
    while (take(rest, "sack") && take_number(rest, one) && (take(rest, "-") || take(rest, ":")) &&
           take_number(rest, other)) {
      add(blocks, 4, one), add(blocks, 4, other);
      text = rest;
      if (!take(rest, ",") && !take(rest, ";")) break;
    }
    if (blocks.empty()) return false;
    add(bytes, 1, kSack), add(bytes, 1, static_cast<uint32_t>(blocks.size() + 2));
    bytes += blocks;
  } else if (take(text, "ts")) {
    add(bytes, 1, kTimes), add(bytes, 1, 10);
    if (!take_number(text, one) || !take(text, ":") || !take_number(text, other)) return false;
    add(bytes, 4, one), add(bytes, 4, other);
  } else {
    return false;
  }
  return true;
}

}  // namespace

void append_ip_options(std::string& text, std::span<const uint8_t> options) {
  append_options(text, options, [](std::string& all, const uint8_t* option, uint32_t bytes) {
    for (const Route& route : kRoutes)
      if (option[0] == route.type) return append_route(all, route.name, option, bytes);
    if (option[0] == kStamps) return append_stamps(all, option, bytes);
    append_other(all, option, bytes);
    return true;
  });
}

void append_tcp_options(std::string& text, std::span<const uint8_t> options) {
  append_options(text, options, append_tcp_option);
}

bool parse_ip_options(std::string_view text, std::string& bytes) {
  return parse_options(text, bytes, [](std::string_view& rest, std::string& to) {
    for (const Route& route : kRoutes)
      if (take(rest, std::string(route.name) + "{")) return take_route(rest, route, to);
    return take(rest, "ts") && take_stamps(rest, to);
  });
}

bool parse_tcp_options(std::string_view text, std::string& bytes) {
  return parse_options(text, bytes, take_tcp_option);
}

}  // namespace heddle::summary
