#include "elements/nat/pattern.h"

#include <arpa/inet.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle::nat {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> list;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) list.push_back(word);
  return list;
}

template <class T>
bool read_named(const click::AddressNames& names, const std::string& text, T& value) {
  return click::parse(text, value) || names.find(text, value);
}

/** How ways are chosen from a range. */
struct Choice {
  bool in_turn = false, keeps_ports = true;
  explicit operator bool() const { return in_turn || !keeps_ports; }
};

/** Takes what says so from the end of a range: #, in turn; ?, at random, even if the port that a flow has is free. */
void take_choice(std::string& text, Choice& choice) {
  if (!text.ends_with('#') && !text.ends_with('?')) return;
  choice.in_turn = choice.in_turn || text.ends_with('#');
  choice.keeps_ports = false;
  text.pop_back();
}

/** An address, a range or a network without its first and last address. */
bool read_addresses(const click::AddressNames& names, std::string text, uint32_t& first, uint32_t& count,
                    Choice& choice) {
  click::Ipv4Address low, high;
  click::Ipv4Prefix network;
  take_choice(text, choice);
  const size_t dash = text.find('-');
  if (read_named(names, text, low)) {
    first = low.value, count = 1;
    return true;
  }
  if (dash != std::string::npos && read_named(names, text.substr(0, dash), low) &&
      read_named(names, text.substr(dash + 1), high) && low.value <= high.value) {
    first = low.value;
    count = high.value - low.value + 1;
    return count != 0;
  }
  if (!read_named(names, text, network) || network.length == 0) return false;
  const uint32_t all = 1u << (32 - network.length);
  first = network.address + (all > 2 ? 1 : 0), count = all > 2 ? all - 2 : all;
  return true;
}

bool read_ports(const click::AddressNames& names, std::string text, uint16_t& first, uint32_t& count, Choice& choice) {
  click::Port low, high;
  take_choice(text, choice);
  const size_t dash = text.find('-');
  if (read_named(names, text, low))  // ftp-data
    high = low;
  else if (dash == std::string::npos || !read_named(names, text.substr(0, dash), low) ||
           !read_named(names, text.substr(dash + 1), high))
    return false;
  first = low.number, count = high.number - low.number + 1u;
  return low.number <= high.number;
}

}  // namespace

std::shared_ptr<Pattern> Pattern::read(const click::AddressNames& names, const std::vector<std::string>& words,
                                       std::string& mistake) {
  auto pattern = std::make_shared<Pattern>();
  const bool short_form = words.size() == 3;  // SADDR DADDR SPORT
  const std::string none = "-";
  const std::string &source = words[0], &destination = words[words.size() == 4 ? 2 : 1];
  const std::string &source_port = words.size() == 2 ? none : words[short_form ? 2 : 1],
                    &destination_port = words.size() == 4 ? words[3] : none;
  uint32_t one = 1, ignored = 1;
  Choice choice, none_here;
  if (source != "-") {
    pattern->keeps_source_ = false;
    if (!read_addresses(names, source, pattern->source_, pattern->addresses_, choice))
      mistake = "SADDR " + in_quotes(source) + " is not an IPv4 address, a range or network of them, or -";
  }
  if (destination != "-") {
    pattern->keeps_destination_ = false;
    if (!read_addresses(names, destination, pattern->destination_, one, none_here) || one != 1 || none_here)
      mistake = "DADDR " + in_quotes(destination) + " is not an IPv4 address or -";
  }
  if (source_port != "-") {
    pattern->keeps_source_port_ = false;
    if (!read_ports(names, source_port, pattern->source_port_, pattern->ports_, choice))
      mistake = "SPORT " + in_quotes(source_port) + " is not a port, a range such as 1024-65535, or -";
  }
  if (destination_port != "-") {
    pattern->keeps_destination_port_ = false;
    if (!read_ports(names, destination_port, pattern->destination_port_, ignored, none_here) || ignored != 1 ||
        none_here)
      mistake = "DPORT " + in_quotes(destination_port) + " is not a port or -";
  }
  pattern->in_turn_ = choice.in_turn, pattern->keeps_ports_ = choice.keeps_ports;
  pattern->write_text(words.size() > 2);
  return pattern;
}

void Pattern::write_text(bool with_ports) {
  const auto range = [](const auto& text_of, uint32_t first, uint32_t count) {
    return text_of(first) + (count > 1 ? "-" + text_of(first + count - 1) : "");
  };
  const auto address = [](uint32_t value) { return to_text(click::Ipv4Address{value}); };
  const auto port = [](uint32_t value) { return std::to_string(value); };
  text_ = keeps_source_ ? "-" : range(address, source_, addresses_);
  if (with_ports) text_ += " " + (keeps_source_port_ ? "-" : range(port, source_port_, ports_));
  text_ += " " + (keeps_destination_ ? "-" : address(destination_));
  if (with_ports) text_ += " " + (keeps_destination_port_ ? "-" : port(destination_port_));
}

FlowKey Pattern::apply(const FlowKey& flow, uint64_t which) const {
  FlowKey to = flow;
  which %= ways();
  if (!keeps_source_) to.source = htonl(source_ + static_cast<uint32_t>(which / ports_));
  if (!keeps_source_port_) to.source_port = htons(static_cast<uint16_t>(source_port_ + which % ports_));
  if (!keeps_destination_) to.destination = htonl(destination_);
  if (!keeps_destination_port_) to.destination_port = htons(destination_port_);
  return to;
}

bool Pattern::prefers(const FlowKey& flow, uint64_t& which) const {
  const uint32_t ahead = ntohs(flow.source_port) - uint32_t{source_port_};
  if (keeps_source_port_ || !keeps_ports_ || ports_ == 1 || ahead >= ports_) return false;
  which = addresses_ == 1 ? ahead : where() / ports_ * ports_ + ahead;
  return true;
}

// Ports that nobody can guess are harder to attack (RFC 6056, 3.3.1).
uint64_t Pattern::where() const {
  if (ways() == 1) return 0;
  if (in_turn_) return next_.fetch_add(1, std::memory_order_relaxed) % ways();
  if (random_) {
    while (drawing_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
    const uint64_t drawn = (*random_)();
    drawing_.clear(std::memory_order_release);
    return drawn % ways();
  }
  thread_local std::mt19937_64 random{std::random_device{}()};
  return random() % ways();
}

InputSpec read_input_spec(const click::AddressNames& names, const std::string& text, int outputs,
                          std::string& mistake) {
  const std::vector<std::string> words = words_of(text);
  InputSpec spec;
  const auto bad = [&](const std::string& what) {
    mistake = "input specification " + in_quotes(text) + ": " + what;
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
  const bool pattern = first == "pattern" || first == "xpattern";
  if (words.size() == 1 && first != "keep" && !pattern) {
    spec.mapper_name = first;
    return spec;
  }
  if (words.size() < 3 || (!pattern && words.size() > 3)) return bad(kInputSpecForms);
  if (!output(words[words.size() - 2], spec.forward) || !output(words.back(), spec.back)) return bad(no_output);
  if (first == "keep") return spec;
  const std::vector<std::string> parts(words.begin() + (pattern ? 1 : 0), words.end() - 2);
  if (parts.size() == 1) {
    spec.pattern_name = parts[0];
    return spec;
  }
  if (parts.empty() || parts.size() > 4)
    return bad(format("%zu words between 'pattern' and OUT BACK; ", parts.size()) + kInputSpecForms);
  std::string in_pattern;
  spec.pattern = Pattern::read(names, parts, in_pattern);
  return in_pattern.empty() ? spec : bad(in_pattern);
}

}  // namespace heddle::nat
