#include "functions/aho_corasick/pattern_file.h"

#include <map>
#include <tuple>

#include "click/arguments.h"
#include "core/error.h"
#include "core/text_file.h"
#include "functions/nids/rule_file.h"

namespace heddle::aho_corasick {
namespace {

/** Reads a line; returns what is wrong with it, or "". */
std::string parse(std::string_view text, PatternLine& line) {
  line.text = text;
  const std::string_view protocol = take_word(text), port = take_word(text), pattern = trimmed(text);
  if (pattern.empty()) return "expected PROTOCOL PORT PATTERN, as in 'tcp 80 GET |2f|login'";
  if (protocol == "ip")
    line.protocol = Protocol::ip;
  else if (protocol == "tcp")
    line.protocol = Protocol::tcp;
  else if (protocol == "udp")
    line.protocol = Protocol::udp;
  else if (protocol == "icmp")
    line.protocol = Protocol::icmp;
  else
    return "the protocol " + in_quotes(protocol) + " is not one of ip (which is all), tcp, udp and icmp";
  if (port != "any") {
    if (line.protocol == Protocol::ip || line.protocol == Protocol::icmp)
      return "only tcp and udp have ports: write 'any' for " + in_quotes(port);
    if (!click::parse(std::string(port), line.port, 0, 65535))
      return "the port " + in_quotes(port) + " is not 'any' or a number from 0 to 65535";
  }
  const std::string problem = nids::content_bytes(pattern, line.bytes);
  return problem.empty() ? "" : "the pattern " + in_quotes(pattern) + " " + problem;
}

}  // namespace

std::vector<PatternLine> parse_patterns(const std::string& name, std::string_view text,
                                        std::vector<std::string>& errors) {
  std::vector<PatternLine> lines;
  std::map<std::tuple<Protocol, int, std::string>, std::string> known;
  // A "#" may be a part of a pattern, so comments are lines of their own.
  read_lines(name, text, "", errors, [&](std::string_view one) -> std::string {
    if (one.starts_with('#')) return "";
    PatternLine line;
    if (std::string problem = parse(one, line); !problem.empty()) return problem;
    const auto [before, is_new] = known.try_emplace({line.protocol, line.port, line.bytes}, line.text);
    if (!is_new) return "the pattern is there already, as " + in_quotes(before->second) + ": remove one of the two";
    if (lines.size() == kMaxPatterns) return format("the file has more than %u patterns", kMaxPatterns);
    lines.push_back(std::move(line));
    return "";
  });
  return lines;
}

std::vector<PatternLine> read_pattern_file(const std::string& path, std::vector<std::string>& errors) {
  return parse_patterns(path, read_text_file(path, "file of patterns"), errors);
}

}  // namespace heddle::aho_corasick
