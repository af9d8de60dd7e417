#pragma once

// Rules and what they mean in the plainest words: bytes compared one by one, all ways tried by recursion. Shares no
// code with what it judges.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "functions/nids/oracle_packet_for_test.h"

namespace heddle::nids {

/** isdataat, byte_test, byte_jump, byte_extract. A `..._variable` stands for the number beside it, if it is not -1. */
struct OracleProbe {
  std::string option;  // empty: it is a content
  bool negated = false, text = false, little = false;
  int base = 10, bytes = 1, offset = 0, offset_variable = -1;
  std::string compare;
  uint64_t value = 0, mask = 0;
  int value_variable = -1;
  unsigned multiplier = 1, align = 1;
  std::string from;
  int post_offset = 0, variable = -1;
};

struct OracleContent {
  std::string bytes;
  bool nocase = false, negated = false, relative = false, at_end = false;
  int offset = 0, depth = -1, distance = 0, within = -1;
  int offset_variable = -1, distance_variable = -1, within_variable = -1;
  OracleProbe probe = {};
};

/** As a rule names them: in some range that is wanted, or anywhere if none is, and in none that is not. */
struct OraclePorts {
  struct Item {
    int low, high;
    bool negated = false;
  };
  std::vector<Item> items;

  std::string text() const {
    std::string list;
    for (const Item& item : items)
      list += std::string(list.empty() ? "" : ",") + (item.negated ? "!" : "") + std::to_string(item.low) +
              (item.high > item.low ? ":" + std::to_string(item.high) : "");
    return items.empty() ? "any" : items.size() == 1 ? list : "[" + list + "]";
  }
  bool has(int port) const {
    bool wanted = false, some = false;
    for (const Item& item : items) {
      const bool inside = item.low <= port && port <= item.high;
      if (item.negated && inside) return false;
      if (!item.negated) some = true, wanted = wanted || inside;
    }
    return wanted || !some;
  }
  bool has_all() const {
    for (int port = 0; !items.empty() && port < 65536; ++port)
      if (!has(port)) return false;
    return true;
  }
};

/** A field of a header: `count` bytes at `place` of the IP header or, with `protocol` not 0, of that protocol's; these
 *  bits of it are compared with the value. */
struct OracleField {
  const char* name;
  int protocol;
  size_t place, count;
  unsigned bits;
  char compare = '=';  // or ! < >
  unsigned value = 0;
};

struct OracleRule {
  std::string action = "alert", protocol = "tcp";
  OracleAddresses sources, destinations;
  OraclePorts source_ports, destination_ports;
  bool both_ways = false;
  int size_below = -1;  // -1: any
  std::vector<OracleField> fields;
  std::vector<OracleContent> contents;
  unsigned sid = 0;

  std::string text() const;
  /** What the pattern stage looks for. */
  std::string fast_pattern() const;
};

inline std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

inline std::string number_text(int64_t number, int variable) {
  return variable >= 0 ? "v" + std::to_string(variable) : std::to_string(number);
}

inline std::string probe_text(const OracleContent& content) {
  const OracleProbe& probe = content.probe;
  const std::string offset = number_text(probe.offset, probe.offset_variable);
  std::string text = probe.option + ":";
  if (probe.option == "isdataat")
    text += (probe.negated ? "!" : "") + offset;
  else if (probe.option == "byte_test")
    text += std::to_string(probe.bytes) + "," + (probe.negated ? "!" : "") + probe.compare + "," +
            number_text(static_cast<int64_t>(probe.value), probe.value_variable) + "," + offset;
  else
    text += std::to_string(probe.bytes) + "," + offset;
  if (probe.variable >= 0) text += ",v" + std::to_string(probe.variable);
  if (content.relative) text += ",relative";
  if (probe.little) text += ", little";
  if (probe.text) text += std::string(",string, ") + (probe.base == 16 ? "hex" : probe.base == 8 ? "oct" : "dec");
  if (probe.multiplier != 1) text += ",multiplier " + std::to_string(probe.multiplier);
  if (probe.align != 1) text += probe.variable >= 0 ? ",align " + std::to_string(probe.align) : ",align";
  if (probe.mask != 0) {
    char hex[24];
    std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(probe.mask));
    text += std::string(",bitmask ") + hex;
  }
  if (!probe.from.empty()) text += "," + probe.from;
  if (probe.post_offset != 0) text += ",post_offset " + std::to_string(probe.post_offset);
  return text + "; ";
}

inline std::string OracleRule::text() const {
  std::string result = action + " " + protocol + " " + sources.text() + " " + source_ports.text() +
                       (both_ways ? " <> " : " -> ") + destinations.text() + " " + destination_ports.text() +
                       " (msg:\"rule " + std::to_string(sid) + "\"; ";
  for (const OracleContent& content : contents) {
    if (!content.probe.option.empty()) {
      result += probe_text(content);
      continue;
    }
    result += std::string("content:") + (content.negated ? "!" : "") + "\"";
    for (const char c : content.bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')) {
        result += c;
      } else {
        constexpr char kDigits[] = "0123456789abcdef";
        result += std::string("|") + kDigits[byte >> 4] + kDigits[byte & 15] + "|";
      }
    }
    result += "\"; ";
    if (content.nocase) result += "nocase; ";
    if (content.at_end) result += "endswith; ";
    if (content.offset > 0 || content.offset_variable >= 0)
      result += "offset:" + number_text(content.offset, content.offset_variable) + "; ";
    if (content.depth >= 0) result += "depth:" + std::to_string(content.depth) + "; ";
    if (content.relative) result += "distance:" + number_text(content.distance, content.distance_variable) + "; ";
    if (content.within >= 0 || content.within_variable >= 0)
      result += "within:" + number_text(content.within, content.within_variable) + "; ";
  }
  for (const OracleField& field : fields)
    result += std::string(field.name) + ":" + (field.compare == '=' ? "" : std::string(1, field.compare)) +
              std::to_string(field.value) + "; ";
  if (size_below >= 0) result += "dsize:<" + std::to_string(size_below) + "; ";
  return result + "sid:" + std::to_string(sid) + ";)\n";
}

inline std::string OracleRule::fast_pattern() const {
  std::string best;
  for (const OracleContent& content : contents)
    if (!content.negated && content.bytes.size() > best.size()) best = content.bytes;
  return best;
}

inline bool stands_at(const std::string& text, const OracleContent& content, int at) {
  const int bytes = static_cast<int>(content.bytes.size());
  if (at < 0 || at + bytes > static_cast<int>(text.size())) return false;
  if (content.at_end && at + bytes != static_cast<int>(text.size())) return false;
  if (!content.nocase) return text.compare(static_cast<size_t>(at), content.bytes.size(), content.bytes) == 0;
  return lower(text.substr(static_cast<size_t>(at), content.bytes.size())) == lower(content.bytes);
}

/** The digits of a base at the start of `text`, as strtoull reads them: blanks, a sign, 0x. How many bytes these are;
 *  0: there are none, or too many. */
inline int oracle_digits(const std::string& text, int base, uint64_t& number) {
  size_t at = 0;
  while (at < text.size() && (text[at] == ' ' || (text[at] >= '\t' && text[at] <= '\r'))) ++at;
  bool minus = false;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) minus = text[at++] == '-';
  const auto digit = [&](size_t place) {
    const int c = place < text.size() ? static_cast<unsigned char>(text[place]) : 0;
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 99;
    return value < base ? value : -1;
  };
  if (base == 16 && at + 1 < text.size() && text[at] == '0' && (text[at + 1] | 32) == 'x' && digit(at + 2) >= 0)
    at += 2;
  const size_t first = at;
  unsigned __int128 value = 0;
  for (; digit(at) >= 0; ++at) {
    value = value * static_cast<unsigned>(base) + static_cast<unsigned>(digit(at));
    if (value > UINT64_MAX) return 0;
  }
  number = minus ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  return at == first ? 0 : static_cast<int>(at);
}

using OracleValues = std::vector<uint64_t>;

inline int64_t oracle_number(int64_t number, int variable, const OracleValues& values) {
  if (variable < 0) return number;
  const uint64_t value = values[static_cast<size_t>(variable)];
  return value > 1000000 ? 1000000 : static_cast<int64_t>(value);
}

/** Whether the probe holds where contents before it ended at `end`, and the text's first byte is number `first`. Where
 *  it leads to replaces `end`; `reach`: behind all that it looked at. */
inline bool oracle_probe(const OracleContent& content, const std::string& text, int first, int& end, int& reach,
                         OracleValues& values) {
  const OracleProbe& probe = content.probe;
  const int size = static_cast<int>(text.size());
  const int64_t from = (content.relative ? end : -first) + oracle_number(probe.offset, probe.offset_variable, values);
  if (probe.option == "isdataat") {
    const bool there = content.relative ? from <= size : from < size;
    reach = static_cast<int>(std::min<int64_t>(from + (content.relative ? 0 : 1), size));
    if (probe.negated) reach = 0;
    return there != probe.negated;
  }
  if (from < 0 || from + probe.bytes > size) return false;
  const std::string part = text.substr(static_cast<size_t>(from), static_cast<size_t>(probe.bytes));
  uint64_t number = 0;
  int used = probe.bytes;
  if (probe.text) {
    used = oracle_digits(part, probe.base, number);
    if (used == 0) return false;
  } else {
    for (int k = 0; k < probe.bytes; ++k) {
      const auto byte = static_cast<unsigned char>(part[static_cast<size_t>(k)]);
      number += uint64_t{byte} << 8 * (probe.little ? k : probe.bytes - 1 - k);
    }
  }
  reach = static_cast<int>(from) + used;
  if (probe.option == "byte_test") {
    const uint64_t value = probe.value_variable >= 0 ? values[static_cast<size_t>(probe.value_variable)] : probe.value;
    if (probe.mask != 0) {
      number &= probe.mask;
      for (uint64_t mask = probe.mask; mask % 2 == 0; mask /= 2) number /= 2;
    }
    const std::string& c = probe.compare;
    const bool good = c == "="    ? number == value
                      : c == "<"  ? number < value
                      : c == ">"  ? number > value
                      : c == "<=" ? number <= value
                      : c == ">=" ? number >= value
                      : c == "&"  ? (number & value) != 0
                                  : (number ^ value) != 0;
    return good != probe.negated;
  }
  number *= probe.multiplier;
  while (number % probe.align != 0) ++number;
  if (probe.option == "byte_extract") {
    values.resize(static_cast<size_t>(probe.variable) + 1);
    values.back() = number;
    end = reach;
    return true;
  }
  if (number > 100000000 && number < uint64_t{0} - 100000000) return false;
  int64_t to = static_cast<int64_t>(number) + probe.post_offset;
  to += probe.from == "from_end" ? size : probe.from == "from_beginning" ? -first : reach;
  if (to > size) return false;
  end = to < 0 ? 0 : static_cast<int>(to);
  reach = std::max(reach, end);
  return true;
}

/** Whether contents `k` and on are in `text`, whose first byte is number `first`, where the one before ended at `end`,
 *  and something is looked at behind text[fresh], if it has not been before (`is_fresh`). */
inline bool oracle_contents(const OracleRule& rule, const std::string& text, int first, int fresh, size_t k, int end,
                            bool is_fresh, OracleValues values) {
  if (k == rule.contents.size()) return is_fresh;
  const OracleContent& content = rule.contents[k];
  if (!content.probe.option.empty()) {
    int reach = 0;
    return oracle_probe(content, text, first, end, reach, values) &&
           oracle_contents(rule, text, first, fresh, k + 1, end, is_fresh || reach > fresh, values);
  }
  const int64_t bytes = static_cast<int64_t>(content.bytes.size()), size = static_cast<int64_t>(text.size());
  const int64_t offset = oracle_number(content.offset, content.offset_variable, values);
  int64_t low = offset - first, high = content.depth < 0 ? size : offset + content.depth - first;
  if (content.relative) {
    const int64_t within = oracle_number(content.within, content.within_variable, values);
    low = end + oracle_number(content.distance, content.distance_variable, values);
    high = within < 0 ? size : low + within;
  }
  bool found = false;
  for (int64_t at = std::max<int64_t>(low, 0); at + bytes <= std::min(high, size); ++at) {
    if (!stands_at(text, content, static_cast<int>(at))) continue;
    found = true;
    const int behind = static_cast<int>(at + bytes);
    if (!content.negated &&
        oracle_contents(rule, text, first, fresh, k + 1, behind, is_fresh || behind > fresh, values))
      return true;
  }
  return content.negated && !found && oracle_contents(rule, text, first, fresh, k + 1, end, is_fresh, values);
}

/** By protocol and ports, whatever the version of IP and the addresses are: what chooses the patterns. */
inline bool is_for(const OracleRule& rule, const OraclePacket& packet) {
  const bool is_icmp = packet.protocol == 1 || packet.protocol == 58;
  if (!rule.protocol.starts_with("ip") && !(rule.protocol == "tcp" && packet.protocol == 6) &&
      !(rule.protocol == "udp" && packet.protocol == 17) && !(rule.protocol.starts_with("icmp") && is_icmp))
    return false;
  if (!packet.has_ports) return rule.source_ports.has_all() && rule.destination_ports.has_all();
  const auto from_to = [&](int source, int destination) {
    return rule.source_ports.has(source) && rule.destination_ports.has(destination);
  };
  return from_to(packet.source_port, packet.destination_port) ||
         (rule.both_ways && from_to(packet.destination_port, packet.source_port));
}

/** By version and addresses, in the direction in which the ports are right; is_for() holds. */
inline bool is_between(const OracleRule& rule, const OraclePacket& packet) {
  if (rule.protocol == (packet.is_ip6() ? "ip4" : "ip6")) return false;
  if (rule.protocol == "icmpv4" && packet.protocol != 1) return false;
  if (rule.protocol == "icmpv6" && packet.protocol != 58) return false;
  for (const bool reversed : {false, true}) {
    if (reversed && !rule.both_ways) continue;
    OraclePacket way = packet;
    if (reversed) std::swap(way.source, way.destination), std::swap(way.source_port, way.destination_port);
    if (rule.sources.has(way.source) && rule.destinations.has(way.destination) &&
        (!way.has_ports ||
         (rule.source_ports.has(way.source_port) && rule.destination_ports.has(way.destination_port))))
      return true;
  }
  return false;
}

/** A field of the IP header; -1: an IPv6 packet has none. */
inline int64_t oracle_ip_value(const OracleField& field, const OraclePacket& packet) {
  const std::string name = field.name;
  if (name == "ip_proto") return packet.protocol;
  if (packet.is_ip6()) {
    if (name == "ttl") return static_cast<unsigned char>(packet.network[7]);
    return name == "fragoffset" && packet.fragment >= 0 ? packet.fragment / 8 : -1;
  }
  int64_t value = 0;
  for (size_t k = 0; k < field.count; ++k)
    value = value * 256 + static_cast<unsigned char>(packet.network[field.place + k]);
  return value & field.bits;
}

inline bool oracle_field(const OracleField& field, const OraclePacket& packet) {
  const std::string& header = packet.transport;
  const bool is_icmp6 = packet.protocol == 58;
  int64_t there = 0;
  if (field.protocol == 0) {
    there = oracle_ip_value(field, packet);
    if (there < 0) return false;
  } else {
    if (field.protocol != (is_icmp6 ? 1 : packet.protocol) || header.empty()) return false;
    if (field.protocol == 1 && field.place >= 4) {  // messages with an identifier
      const int type = static_cast<unsigned char>(header[0]);
      if (is_icmp6 ? type != 128 && type != 129 : type != 0 && type != 8 && (type < 13 || type > 18)) return false;
    }
    for (size_t k = 0; k < field.count; ++k) there = there * 256 + static_cast<unsigned char>(header[field.place + k]);
    there &= field.bits;
  }
  return field.compare == '<'   ? there < field.value
         : field.compare == '>' ? there > field.value
                                : (there == field.value) == (field.compare == '=');
}

inline bool oracle_matches(const OracleRule& rule, const OraclePacket& packet) {
  if (!is_for(rule, packet) || !is_between(rule, packet)) return false;
  if (rule.size_below >= 0 && static_cast<int>(packet.payload.size()) >= rule.size_below) return false;
  if (packet.payload.empty() && !rule.contents.empty()) return false;
  for (const OracleField& field : rule.fields)
    if (!oracle_field(field, packet)) return false;
  return oracle_contents(rule, packet.payload, 0, 0, 0, 0, true, {});
}

inline bool oracle_candidate(const OracleRule& rule, const OraclePacket& packet) {
  return is_for(rule, packet) && lower(packet.payload).find(lower(rule.fast_pattern())) != std::string::npos;
}

inline std::string random_bytes(std::mt19937& random, size_t count) {
  constexpr char kBytes[] = {'a', 'b', 'A', 'B', '\0', '\xff', '\2', '1', '0', '-', ' ', 'x'};
  std::string text;
  for (size_t i = 0; i < count; ++i) text += kBytes[random() % (random() % 4 == 0 ? 12 : 3)];
  return text;
}

/** Mostly below `end`, but never none at all. */
inline OraclePorts random_ports(std::mt19937& random, int end) {
  for (;;) {
    OraclePorts ports;
    for (size_t count = random() % 4 == 0 ? 4 : 1; count > 0; --count) {
      const int low = static_cast<int>(random() % static_cast<unsigned>(end));
      const int high = random() % 3 != 0 ? low : random() % 4 == 0 ? 65535 : low + static_cast<int>(random() % 3);
      ports.items.push_back({low, high, random() % 3 == 0});
    }
    for (int port = 0; port < 65536; ++port)
      if (ports.has(port)) return ports;
  }
}

inline OracleField random_field(std::mt19937& random) {
  constexpr OracleField kFields[] = {
      {"ttl", 0, 8, 1, 255},      {"tos", 0, 1, 1, 255},         {"id", 0, 4, 2, 65535},
      {"ip_proto", 0, 9, 1, 255}, {"fragoffset", 0, 6, 2, 8191}, {"seq", 6, 4, 4, ~0u},
      {"tcp.ack", 6, 8, 4, ~0u},  {"window", 6, 14, 2, 65535},   {"itype", 1, 0, 1, 255},
      {"icode", 1, 1, 1, 255},    {"icmp_id", 1, 4, 2, 65535},   {"icmp_seq", 1, 6, 2, 65535}};
  OracleField field = kFields[random() % 12];
  field.compare = "=!<>"[random() % 4];
  field.value = field.name == std::string("ip_proto") ? 6 : static_cast<unsigned>(random() % 3) + 1;
  return field;
}

/** `variables`: that have been read before it. */
inline OracleContent random_probe(std::mt19937& random, int& variables) {
  const char* const options[] = {"isdataat", "byte_test", "byte_test", "byte_jump", "byte_extract"};
  const char* const compares[] = {"=", "<", ">", "<=", ">=", "&", "^"};
  OracleContent content;
  OracleProbe& probe = content.probe;
  probe.option = options[random() % 5];
  if (probe.option == "byte_extract" && variables == 3) probe.option = "byte_test";
  const bool extracts = probe.option == "byte_extract";
  content.relative = random() % 3 != 0;
  probe.offset = static_cast<int>(random() % 8) - (content.relative && probe.option != "isdataat" ? 3 : 0);
  if (variables > 0 && !extracts && random() % 4 == 0)
    probe.offset_variable = static_cast<int>(random() % static_cast<unsigned>(variables));
  if (probe.option == "isdataat") {
    probe.negated = random() % 4 == 0;
    if (random() % 2 == 0) probe.offset *= 10;
    return content;
  }
  probe.text = random() % 3 == 0;
  probe.bytes = static_cast<int>(random() % (probe.text ? 6 : 3)) + 1;
  if (probe.text)
    probe.base = random() % 2 == 0 ? 10 : random() % 2 == 0 ? 16 : 8;
  else
    probe.little = random() % 3 == 0;
  if (probe.option == "byte_test") {
    probe.compare = compares[random() % 7], probe.negated = random() % 3 == 0;
    probe.value = random() % 2 == 0 ? random() % 3 : random() % 300;
    if (random() % 4 == 0) probe.mask = random() % 255 + 1;
    if (variables > 0 && random() % 2 == 0)
      probe.value_variable = static_cast<int>(random() % static_cast<unsigned>(variables));
    return content;
  }
  if (random() % 4 == 0) probe.multiplier = static_cast<unsigned>(random() % 3) + 1;
  if (random() % 4 == 0) probe.align = extracts && random() % 2 == 0 ? 2 : 4;
  if (extracts) {
    probe.variable = variables++;
  } else {
    if (random() % 3 == 0) probe.from = random() % 2 == 0 ? "from_beginning" : "from_end";
    if (random() % 2 == 0) probe.post_offset = static_cast<int>(random() % 40) - (probe.from == "from_end" ? 40 : 10);
  }
  return content;
}

/** What a payload has at least that all contents can be in: rules that could never match are refused. */
inline int least_payload(const OracleRule& rule) {
  int least = 0, end = 0;
  for (const OracleContent& content : rule.contents) {
    if (content.probe.option == "byte_jump" || content.probe.option == "byte_extract") end = 0;
    if (!content.probe.option.empty() || content.negated) continue;
    if (!content.relative) end = content.offset_variable < 0 ? content.offset : 0;
    if (content.relative && content.distance_variable < 0) end += content.distance;
    end = std::max(end, 0) + static_cast<int>(content.bytes.size());
    least = std::max(least, end);
  }
  return least;
}

inline OracleRule random_rule(std::mt19937& random, unsigned sid) {
  const char* const actions[] = {"alert", "alert", "alert", "drop", "reject", "pass"};
  const char* const protocols[] = {"tcp", "udp", "icmp", "ip"};
  OracleRule rule;
  rule.action = actions[random() % 6], rule.protocol = protocols[random() % 4], rule.sid = sid;
  if (random() % 3 == 0) rule.destination_ports = random_ports(random, 4), rule.both_ways = random() % 2 == 0;
  if (random() % 6 == 0) rule.source_ports = random_ports(random, 4);
  for (size_t count = random() % 8 == 0 ? 1 + random() % 2 : 0; count > 0; --count)
    rule.fields.push_back(random_field(random));
  const bool probes = random() % 3 == 0;
  int variables = 0;
  for (size_t c = 0, count = 1 + random() % 4; c < count; ++c) {
    while (probes && c > 0 && random() % 4 == 0) rule.contents.push_back(random_probe(random, variables));
    OracleContent content;
    content.bytes = random_bytes(random, random() % 12 == 0 ? 20 + random() % 12 : 2 + random() % 8);
    const int bytes = static_cast<int>(content.bytes.size());
    content.nocase = random() % 2 == 0, content.negated = random() % 4 == 0, content.at_end = random() % 12 == 0;
    if (random() % 2 == 0) {
      content.relative = true, content.distance = static_cast<int>(random() % 30) - 10;
      if (random() % 2 == 0) content.within = bytes + static_cast<int>(random() % 40);
      if (variables > 0 && random() % 3 == 0)
        (random() % 2 == 0 ? content.distance_variable : content.within_variable) = variables - 1;
    } else if (random() % 2 == 0) {
      content.offset = static_cast<int>(random() % 40);
      if (random() % 2 == 0) content.depth = bytes + static_cast<int>(random() % 100);
      if (variables > 0 && random() % 2 == 0) content.offset_variable = 0;
    }
    rule.contents.push_back(content);
    while (probes && random() % 3 == 0) rule.contents.push_back(random_probe(random, variables));
  }
  if (random() % 6 == 0) rule.size_below = 1 + least_payload(rule) + static_cast<int>(random() % 200);
  return rule;
}

}  // namespace heddle::nids
