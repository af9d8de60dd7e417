#include "elements/endpoints/from_tcpdump.h"

#include <algorithm>
#include <charconv>

#include "click/quoting.h"
#include "core/error.h"

namespace heddle {
namespace {

/** Takes the word at the front, and the blanks behind it. */
std::string_view front_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  while (text.starts_with(' ')) text.remove_prefix(1);
  return word;
}

/** The number at the front of `text`, which loses it. */
bool front_number(std::string_view& text, uint32_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

/** The number behind `words` in `text`. */
bool number_behind(std::string_view text, std::string_view words, uint32_t& value) {
  const size_t at = text.find(words);
  if (at == text.npos) return false;
  text.remove_prefix(at + words.size());
  return front_number(text, value);
}

/** What stands between two brackets, which are taken out with it. */
bool take_between(std::string& text, std::string_view open, std::string_view close, std::string& inside) {
  const size_t start = text.find(open), end = start == text.npos ? start : text.find(close, start + open.size());
  if (end == text.npos) return false;
  inside = text.substr(start + open.size(), end - start - open.size());
  text.erase(start, end + close.size() - start);
  return true;
}

}  // namespace

bool FromTcpdump::other() {
  others_.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool FromTcpdump::say(const char* field, std::string_view text) {
  if (summary::find_field(field)->read_from(draft(), text)) return true;
  bad_line("'" + std::string(text.substr(0, 40)) + "' is no " + field + "; is this what tcpdump -tt -n has printed?");
  return false;
}

bool FromTcpdump::read_ends(std::string_view source, std::string_view target, bool ports) {
  constexpr const char* kFields[2][2] = {{"ip_src", "sport"}, {"ip_dst", "dport"}};
  for (int i = 0; i < 2; ++i) {
    const std::string_view end = i == 0 ? source : target;
    const size_t dot = ports ? end.rfind('.') : end.size();
    if (!say(kFields[i][0], end.substr(0, dot)) || (ports && !say(kFields[i][1], end.substr(dot + 1)))) return false;
  }
  return true;
}

bool FromTcpdump::read_segment(std::string_view text, Segment& segment) {
  std::string rest(text), flags;
  take_between(rest, "Flags [", "]", flags);
  take_between(rest, "options [", "]", segment.options);
  for (const char flag : flags == "none" ? "" : flags) segment.flags += flag == '.' ? 'A' : flag == 'W' ? 'C' : flag;
  if (segment.flags.empty()) segment.flags = ".";
  uint32_t number = 0;
  segment.has_sequence = number_behind(rest, ", seq ", segment.sequence);
  segment.has_acknowledged = number_behind(rest, ", ack ", segment.acknowledged);
  number_behind(rest, ", length ", segment.length);
  return (!number_behind(rest, ", win ", number) || say("tcp_win", std::to_string(number))) &&
         (!number_behind(rest, ", urg ", number) || say("tcp_urp", std::to_string(number)));
}

bool FromTcpdump::read_old_segment(std::string_view text, Segment& segment) {
  std::string inside(text);
  take_between(inside, "<", ">", segment.options);
  std::string_view rest = inside;
  for (const char flag : front_word(rest))
    if (flag != '.') segment.flags += flag == 'W' ? 'C' : flag;
  for (size_t end; rest.starts_with('[') && (end = rest.find(']')) != rest.npos;)  // a checksum
    rest.remove_prefix(std::min(rest.size(), end + 2));
  std::string_view numbers = rest;
  segment.has_sequence = front_number(numbers, segment.sequence) && numbers.starts_with(':');
  if (segment.has_sequence) {
    numbers.remove_prefix(1);
    if (uint32_t end = 0; !front_number(numbers, end) || !number_behind(numbers, "(", segment.length))
      return say("tcp_seq", rest);
  }
  uint32_t number = 0;
  segment.has_acknowledged = rest.starts_with("ack ") ? number_behind(rest, "ack ", segment.acknowledged)
                                                      : number_behind(rest, " ack ", segment.acknowledged);
  if (segment.has_acknowledged) segment.flags += 'A';
  if (segment.flags.empty()) segment.flags = ".";
  return (!number_behind(rest, "win ", number) || say("tcp_win", std::to_string(number))) &&
         (!number_behind(rest, " urg ", number) || say("tcp_urp", std::to_string(number))) && read_old_header(rest);
}

bool FromTcpdump::read_old_header(std::string_view text) {
  uint32_t number = 0;
  if (text.find("(DF") != text.npos) say("ip_fragoff", "0!");
  const size_t tos = text.find("[tos 0x");
  if (tos != text.npos) {
    const std::string_view digits = text.substr(tos + 7);
    std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
    if (!say("ip_tos", std::to_string(number))) return false;
  }
  return (!number_behind(text, "ttl ", number) || say("ip_ttl", std::to_string(number))) &&
         (!number_behind(text, "id ", number) || say("ip_id", std::to_string(number)));
}

std::string FromTcpdump::option_text(std::string_view option, uint32_t offset) {
  const std::string_view whole = option, name = front_word(option);
  uint32_t one = 0, other = 0;
  if (name == "sackOK") return "sackok";
  if (name == "TS" && number_behind(whole, "val ", one) && number_behind(whole, "ecr ", other))
    return format("ts%u:%u", one, other);
  if (name == "timestamp" && front_number(option, one) && number_behind(option, " ", other))
    return format("ts%u:%u", one, other);
  if (name == "sack") {
    std::string text;
    constexpr int kBlocks = 4;  // that a header has room for
    size_t at = 0;
    for (int k = 0; k < kBlocks && (at = option.find('{', at)) != option.npos; ++k, ++at) {
      std::string_view block = option.substr(at + 1, option.find('}', at) - at - 1);
      if (!front_number(block, one) || !number_behind(block, ":", other)) return std::string(whole);
      text += format("%ssack%u-%u", text.empty() ? "" : ";", one + offset, other + offset);
    }
    return text;
  }
  return std::string(name) + std::string(option);  // mss 1460, wscale 7, nop, eol
}

bool FromTcpdump::add_segment(Segment& segment) {
  const uint8_t* const ip = draft().ip.data();
  const uint8_t* const ports = draft().transport.data();
  using Ends = std::array<uint32_t, 3>;
  const Ends here{summary::get(ip + 12, 4), summary::get(ip + 16, 4), summary::get(ports, 4)};
  const Ends back{here[1], here[0], here[2] << 16 | here[2] >> 16};
  const size_t from = here < back ? 0 : 1, to = 1 - from;
  Connection& connection = connections_[std::min(here, back)];
  const bool start = segment.flags.find('S') != std::string::npos;
  uint32_t to_sequence = 0, to_acknowledged = 0;
  if (segment.has_acknowledged && (!connection.known || start)) {
    connection.known = true;
    connection.first[from] = segment.sequence, connection.first[to] = segment.acknowledged - 1;
    connection.next[to] = segment.acknowledged;
  } else if (segment.has_acknowledged) {
    const uint32_t behind_first = segment.acknowledged - connection.first[to];
    // Read the wrong way, a connection would have come some random distance.
    if (absolute_ < 0) absolute_ = behind_first < segment.acknowledged ? 1 : 0;
    if (absolute_ == 0) to_sequence = connection.first[from], to_acknowledged = connection.first[to];
  }
  if (!segment.has_sequence && connection.known) segment.sequence = connection.next[from] - to_sequence;
  segment.sequence += to_sequence, segment.acknowledged += to_acknowledged;
  connection.next[from] =
      segment.sequence + segment.length + (start ? 1 : 0) + (segment.flags.find('F') != std::string::npos ? 1 : 0);
  std::string options;
  // Of their own commas, those of sack blocks stand between braces, which old versions put none in.
  for (std::string_view left = segment.options; !left.empty();) {
    const size_t end = std::min(left.find(','), left.size());
    options += (options.empty() ? "" : ";") + option_text(left.substr(0, end), to_acknowledged);
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return say("tcp_flags", segment.flags) && say("tcp_seq", std::to_string(segment.sequence)) &&
         (!segment.has_acknowledged || say("tcp_ack", std::to_string(segment.acknowledged))) &&
         (options.empty() || say("tcp_opt", options)) && say("payload_len", std::to_string(segment.length));
}

bool FromTcpdump::read_packet(std::string_view line) {
  if (line.empty() || line[0] == '#') return false;
  if (line[0] < '0' || line[0] > '9') return other();
  line = click::trim(line);
  const std::string_view time = front_word(line);
  if (line.starts_with("IP ")) front_word(line);
  const std::string_view source = front_word(line);
  if (front_word(line) != ">") return other();
  const size_t colon = line.find(':');
  if (colon == line.npos || line.find("(frag ") != line.npos) return other();
  const std::string_view target = line.substr(0, colon);
  std::string_view rest = click::trim(line.substr(colon + 1));
  if (rest.starts_with("sctp") || rest.starts_with("DCCP")) return other();  // have ports as well
  const bool ports = std::count(source.begin(), source.end(), '.') == 4;
  const bool tcp = rest.starts_with("Flags [");
  const std::string_view first = rest.substr(0, rest.find(' '));
  const bool old_tcp = ports && !first.empty() && first.find_first_not_of(".SFRPWEU") == first.npos;
  const bool old_icmp = rest.starts_with("icmp:");
  draft() = summary::Draft(tcp || old_tcp ? summary::kTcp : ports ? summary::kUdp : summary::kIcmp);
  uint32_t number = 0;
  if (draft().protocol() == summary::kIcmp) {
    const bool asks = rest.find(" echo request") != rest.npos;
    if ((!old_icmp && !rest.starts_with("ICMP ")) || (!asks && rest.find(" echo reply") == rest.npos)) return other();
    if (!say("icmp_type", asks ? "8" : "0")) return false;
    constexpr const char* kFields[][2] = {
        {", id ", "icmp_flowid"}, {", seq ", "icmp_seq"}, {", length ", "payload_len"}};
    for (const auto& [words, field] : kFields)
      if (number_behind(rest, words, number) && !say(field, std::to_string(number))) return false;
    if (old_icmp && !read_old_header(rest)) return false;
  }
  if (!say("timestamp", time) || !read_ends(source, target, ports)) return false;
  if (draft().protocol() == summary::kUdp) {
    // Some protocols' lines end with the length: "53: 1+ A? example.org. (29)".
    const size_t open = rest.ends_with(')') ? rest.rfind('(') : rest.npos;
    if (number_behind(rest, "length ", number) || (rest.starts_with("udp ") && number_behind(rest, "udp ", number)) ||
        (open != rest.npos && number_behind(rest.substr(open), "(", number)))
      if (!say("payload_len", std::to_string(number))) return false;
    return !rest.starts_with("udp ") || read_old_header(rest);
  }
  if (!tcp && !old_tcp) return true;
  Segment segment;
  return (tcp ? read_segment(rest, segment) : read_old_segment(rest, segment)) && add_segment(segment);
}

void FromTcpdump::take_state(Element& old_element) {
  FromIPSummaryDump::take_state(old_element);
  auto& old = static_cast<FromTcpdump&>(old_element);
  if (!goes_on_from(&old)) return;
  connections_.swap(old.connections_), std::swap(absolute_, old.absolute_);
  others_ = old.others_.exchange(others_);
}

std::vector<std::pair<std::string, uint64_t>> FromTcpdump::statistics() const {
  auto list = FromIPSummaryDump::statistics();
  list.emplace_back("others", others_);
  return list;
}

HEDDLE_ELEMENT(FromTcpdump);

}  // namespace heddle
