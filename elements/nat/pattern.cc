#include "elements/nat/pattern.h"

#include <arpa/inet.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle::nat {
namespace {

constexpr uint32_t kMostAddresses = 65536;

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) list.push_back(word);
  return list;
}

template <class T>
bool read_address(const click::AddressNames& names, const std::string& text, T& value) {
  return click::parse(text, value) || names.find(text, value);
}

/** An address, a range or a network without its first and last address. */
bool read_addresses(const click::AddressNames& names, const std::string& text, uint32_t& first, uint32_t& count) {
  click::Ipv4Address low, high;
  click::Ipv4Prefix network;
  const size_t dash = text.find('-');
  if (read_address(names, text, low)) {
    first = low.value, count = 1;
    return true;
  }
  if (dash != std::string::npos && read_address(names, text.substr(0, dash), low) &&
      read_address(names, text.substr(dash + 1), high) && low.value <= high.value) {
    first = low.value;
    count = high.value - low.value + 1;
    return count != 0 && count <= kMostAddresses;
  }
  if (!read_address(names, text, network) || network.length < 16) return false;
  const uint32_t all = 1u << (32 - network.length);
  first = network.address + (all > 2 ? 1 : 0), count = all > 2 ? all - 2 : all;
  return true;
}

bool read_ports(std::string text, uint16_t& first, uint32_t& count, bool& in_turn) {
  uint16_t low = 0, high = 0;
  in_turn = text.ends_with('#');
  if (in_turn) text.pop_back();
  const size_t dash = text.find('-');
  if (!click::parse(text.substr(0, dash), low)) return false;
  high = low;
  if (dash != std::string::npos && !click::parse(text.substr(dash + 1), high)) return false;
  first = low, count = high - low + 1u;
  return low <= high;
}

}  // namespace

std::shared_ptr<Pattern> Pattern::read(const click::AddressNames& names, const std::vector<std::string>& words,
                                       std::string& mistake) {
  auto pattern = std::make_shared<Pattern>();
  const bool with_ports = words.size() == 4;
  const std::string &source = words[0], &destination = words[with_ports ? 2 : 1];
  uint32_t one = 1, ignored = 1;
  bool no_turns = false;
  for (const std::string& word : words) pattern->text_ += (pattern->text_.empty() ? "" : " ") + word;
  if (source != "-") {
    pattern->keeps_source_ = false;
    if (!read_addresses(names, source, pattern->source_, pattern->addresses_))
      mistake = "SADDR '" + source + "' is not an IPv4 address, a range of at most 65536, or -";
  }
  if (destination != "-") {
    pattern->keeps_destination_ = false;
    if (!read_addresses(names, destination, pattern->destination_, one) || one != 1)
      mistake = "DADDR '" + destination + "' is not an IPv4 address or -";
  }
  if (!with_ports) return pattern;
  if (words[1] != "-") {
    pattern->keeps_source_port_ = false;
    if (!read_ports(words[1], pattern->source_port_, pattern->ports_, pattern->in_turn_))
      mistake = "SPORT '" + words[1] + "' is not a port, a range such as 1024-65535, or -";
  }
  if (words[3] != "-") {
    pattern->keeps_destination_port_ = false;
    if (!read_ports(words[3], pattern->destination_port_, ignored, no_turns) || ignored != 1 || no_turns)
      mistake = "DPORT '" + words[3] + "' is not a port or -";
  }
  return pattern;
}

FlowKey Pattern::apply(const FlowKey& flow, uint32_t which) const {
  FlowKey to = flow;
  which = static_cast<uint32_t>(which % ways());
  if (!keeps_source_) to.source = htonl(source_ + which / ports_);
  if (!keeps_source_port_) to.source_port = htons(static_cast<uint16_t>(source_port_ + which % ports_));
  if (!keeps_destination_) to.destination = htonl(destination_);
  if (!keeps_destination_port_) to.destination_port = htons(destination_port_);
  return to;
}

// Ports that nobody can guess are harder to attack (RFC 6056, 3.3.1).
uint32_t Pattern::where() const {
  if (ways() == 1) return 0;
  if (in_turn_) return static_cast<uint32_t>(next_.fetch_add(1, std::memory_order_relaxed) % ways());
  thread_local std::mt19937 random{std::random_device{}()};
  return static_cast<uint32_t>(random() % ways());
}

InputSpec read_input_spec(const click::AddressNames& names, const std::string& text, int outputs,
                          std::string& mistake) {
  const std::vector<std::string> words = words_of(text);
  InputSpec spec;
  const auto bad = [&](const std::string& what) {
    mistake = "input specification '" + text + "': " + what;
    return InputSpec{};
  };
  const auto output = [&](const std::string& word, uint8_t& value) {
    return click::parse(word, value, uint8_t{0}, static_cast<uint8_t>(std::max(outputs, 1) - 1));
  };
  const std::string no_output = format("expected an output from 0 to %d at its end", std::max(outputs, 1) - 1);
  const std::string first = words.empty() ? "" : words[0];
  if (words.size() == 1 && (first == "drop" || first == "discard")) return spec;
  if (first == "pass" || first == "passthrough" || first == "nochange") {
    spec.what = InputSpec::Do::pass;
    if (words.size() > 2 || (words.size() == 2 && !output(words[1], spec.forward))) return bad(no_output);
    return spec;
  }
  spec.what = InputSpec::Do::rewrite;
  if (words.size() < 3) return bad("expected drop, pass OUT, keep OUT BACK, pattern ... OUT BACK or NAME OUT BACK");
  if (!output(words[words.size() - 2], spec.forward) || !output(words.back(), spec.back)) return bad(no_output);
  if (words.size() == 3 && first == "keep") return spec;
  if (words.size() == 3) {
    spec.pattern_name = first;
    return spec;
  }
  const std::vector<std::string> parts(words.begin() + 1, words.end() - 2);
  if (first != "pattern" || (parts.size() != 4 && parts.size() != 2))
    return bad("expected pattern SADDR SPORT DADDR DPORT OUT BACK");
  std::string in_pattern;
  spec.pattern = Pattern::read(names, parts, in_pattern);
  return in_pattern.empty() ? spec : bad(in_pattern);
}

}  // namespace heddle::nat
