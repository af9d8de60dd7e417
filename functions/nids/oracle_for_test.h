#pragma once

// Rules and what they mean in the plainest words: bytes compared one by one, all ways tried by recursion. Shares no
// code with what it judges.

#include <random>
#include <string>
#include <vector>

#include "tests/support/frames.h"

namespace heddle::nids {

struct OracleContent {
  std::string bytes;
  bool nocase = false, negated = false, relative = false, at_end = false;
  int offset = 0, depth = -1, distance = 0, within = -1;
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

struct OraclePacket {
  bool is_ip = false;
  int protocol = 0;
  bool has_ports = false;
  int source_port = 0, destination_port = 0;
  std::string network, transport, payload;  // transport: empty if it is not whole
};

inline std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

inline std::string OracleRule::text() const {
  std::string result = action + " " + protocol + " any " + source_ports.text() + (both_ways ? " <> " : " -> ") +
                       "any " + destination_ports.text() + " (msg:\"rule " + std::to_string(sid) + "\"; ";
  for (const OracleContent& content : contents) {
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
    if (content.offset > 0) result += "offset:" + std::to_string(content.offset) + "; ";
    if (content.depth >= 0) result += "depth:" + std::to_string(content.depth) + "; ";
    if (content.relative) result += "distance:" + std::to_string(content.distance) + "; ";
    if (content.within >= 0) result += "within:" + std::to_string(content.within) + "; ";
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

inline OraclePacket oracle_packet(const test::Frame& frame) {
  const auto& bytes = frame.bytes;
  const size_t l3 = frame.column[static_cast<int>(Column::l3)];
  size_t l4 = frame.column[static_cast<int>(Column::l4)];
  OraclePacket packet;
  if (l3 + 20 > bytes.size()) return packet;
  packet.is_ip = true;
  packet.protocol = bytes[l3 + 9];
  l4 = std::min(l4, bytes.size());
  const size_t room = bytes.size() - l4;
  size_t header = 0;
  const bool first = (bytes[l3 + 6] & 31) == 0 && bytes[l3 + 7] == 0;
  if (first && packet.protocol == 6 && room >= 20 && bytes[l4 + 12] / 16 >= 5) header = bytes[l4 + 12] / 16 * 4u;
  if (first && (packet.protocol == 17 || packet.protocol == 1)) header = 8;
  if (header > room) header = 0;
  packet.has_ports = header > 0 && packet.protocol != 1;
  if (packet.has_ports) {
    packet.source_port = bytes[l4] * 256 + bytes[l4 + 1];
    packet.destination_port = bytes[l4 + 2] * 256 + bytes[l4 + 3];
  }
  packet.network.assign(bytes.begin() + static_cast<long>(l3), bytes.begin() + static_cast<long>(l3) + 20);
  packet.transport.assign(bytes.begin() + static_cast<long>(l4), bytes.begin() + static_cast<long>(l4 + header));
  packet.payload.assign(bytes.begin() + static_cast<long>(l4 + header), bytes.end());
  return packet;
}

inline bool stands_at(const std::string& text, const OracleContent& content, int at) {
  const int bytes = static_cast<int>(content.bytes.size());
  if (at < 0 || at + bytes > static_cast<int>(text.size())) return false;
  if (content.at_end && at + bytes != static_cast<int>(text.size())) return false;
  const std::string there = text.substr(static_cast<size_t>(at), content.bytes.size());
  return content.nocase ? lower(there) == lower(content.bytes) : there == content.bytes;
}

/** Whether contents `k` and on can be found when the one before ended at `end`. */
inline bool oracle_contents(const OracleRule& rule, const std::string& text, size_t k, int end) {
  if (k == rule.contents.size()) return true;
  const OracleContent& content = rule.contents[k];
  const int bytes = static_cast<int>(content.bytes.size()), size = static_cast<int>(text.size());
  int low = content.offset, high = content.depth < 0 ? size : content.offset + content.depth;
  if (content.relative) {
    low = end + content.distance;
    high = content.within < 0 ? size : end + content.distance + content.within;
  }
  bool found = false;
  for (int at = std::max(low, 0); at + bytes <= std::min(high, size); ++at) {
    if (!stands_at(text, content, at)) continue;
    found = true;
    if (!content.negated && oracle_contents(rule, text, k + 1, at + bytes)) return true;
  }
  return content.negated && !found && oracle_contents(rule, text, k + 1, end);
}

inline bool protocol_matches(const OracleRule& rule, const OraclePacket& packet) {
  return rule.protocol == "ip" || (rule.protocol == "tcp" && packet.protocol == 6) ||
         (rule.protocol == "udp" && packet.protocol == 17) || (rule.protocol == "icmp" && packet.protocol == 1);
}

/** By protocol and ports. */
inline bool is_for(const OracleRule& rule, const OraclePacket& packet) {
  if (!protocol_matches(rule, packet)) return false;
  if (!packet.has_ports) return rule.source_ports.has_all() && rule.destination_ports.has_all();
  const auto from_to = [&](int source, int destination) {
    return rule.source_ports.has(source) && rule.destination_ports.has(destination);
  };
  return from_to(packet.source_port, packet.destination_port) ||
         (rule.both_ways && from_to(packet.destination_port, packet.source_port));
}

inline bool oracle_field(const OracleField& field, const OraclePacket& packet) {
  const std::string& header = field.protocol == 0 ? packet.network : packet.transport;
  if ((field.protocol != 0 && field.protocol != packet.protocol) || header.empty()) return false;
  if (field.protocol == 1 && field.place >= 4) {  // messages with an identifier
    const int type = static_cast<unsigned char>(header[0]);
    if (type != 0 && type != 8 && (type < 13 || type > 18)) return false;
  }
  uint64_t there = 0;
  for (size_t k = 0; k < field.count; ++k) there = there * 256 + static_cast<unsigned char>(header[field.place + k]);
  there &= field.bits;
  return field.compare == '<'   ? there < field.value
         : field.compare == '>' ? there > field.value
                                : (there == field.value) == (field.compare == '=');
}

inline bool oracle_matches(const OracleRule& rule, const OraclePacket& packet) {
  if (!is_for(rule, packet)) return false;
  if (rule.size_below >= 0 && static_cast<int>(packet.payload.size()) >= rule.size_below) return false;
  if (packet.payload.empty() && !rule.contents.empty()) return false;
  for (const OracleField& field : rule.fields)
    if (!oracle_field(field, packet)) return false;
  return oracle_contents(rule, packet.payload, 0, 0);
}

inline bool oracle_candidate(const OracleRule& rule, const OraclePacket& packet) {
  return is_for(rule, packet) && lower(packet.payload).find(lower(rule.fast_pattern())) != std::string::npos;
}

inline std::string random_bytes(std::mt19937& random, size_t count) {
  constexpr char kBytes[] = {'a', 'b', 'A', 'B', '\0', '\xff'};
  std::string text;
  for (size_t i = 0; i < count; ++i) text += kBytes[random() % (random() % 4 == 0 ? 6 : 3)];
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

inline OracleRule random_rule(std::mt19937& random, unsigned sid) {
  const char* const actions[] = {"alert", "alert", "alert", "drop", "reject", "pass"};
  const char* const protocols[] = {"tcp", "udp", "icmp", "ip"};
  OracleRule rule;
  rule.action = actions[random() % 6], rule.protocol = protocols[random() % 4], rule.sid = sid;
  if (random() % 3 == 0) rule.destination_ports = random_ports(random, 4), rule.both_ways = random() % 2 == 0;
  if (random() % 6 == 0) rule.source_ports = random_ports(random, 4);
  if (random() % 6 == 0) rule.size_below = 1 + static_cast<int>(random() % 200);
  for (size_t count = random() % 4 == 0 ? 1 + random() % 2 : 0; count > 0; --count)
    rule.fields.push_back(random_field(random));
  for (size_t c = 0, count = 1 + random() % 4; c < count; ++c) {
    OracleContent content;
    content.bytes = random_bytes(random, random() % 12 == 0 ? 20 + random() % 12 : 2 + random() % 8);
    const int bytes = static_cast<int>(content.bytes.size());
    content.nocase = random() % 2 == 0, content.negated = random() % 4 == 0, content.at_end = random() % 12 == 0;
    if (random() % 2 == 0) {
      content.relative = true, content.distance = static_cast<int>(random() % 30) - 10;
      if (random() % 2 == 0) content.within = bytes + static_cast<int>(random() % 40);
    } else if (random() % 2 == 0) {
      content.offset = static_cast<int>(random() % 40);
      if (random() % 2 == 0) content.depth = bytes + static_cast<int>(random() % 100);
    }
    rule.contents.push_back(content);
  }
  return rule;
}

}  // namespace heddle::nids
