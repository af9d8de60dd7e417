#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/text_file.h"
#include "functions/nids/rule_file.h"

namespace heddle::nids {

/** A number between `least` and `most`, all of `text` but for blanks around it; decimal, or as `base` says. */
template <class T>
bool to_number(std::string_view text, T& number, T least, T most, int base = 10) {
  text = trimmed(text);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) return false;
  number = value;
  return true;
}

/** The same, decimal, or hexadecimal behind 0x or x. */
template <class T>
bool to_any_number(std::string_view text, T& number, T least, T most) {
  text = trimmed(text);
  for (const std::string_view prefix : {"0x", "0X", "x", "X"})
    if (text.starts_with(prefix)) return to_number(text.substr(prefix.size()), number, least, most, 16);
  return to_number(text, number, least, most);
}

/** Whether `name` is an option that asks for a field of a packet's headers. */
bool is_field_option(std::string_view name);
/** Reads the value of such an option. */
std::optional<Refusal> parse_field(std::string_view name, std::string_view text, std::vector<FieldTest>& tests);

/** Reads a list of words, at most one of each group. */
std::optional<Refusal> parse_flow(std::string_view text, Signature& rule);
/** Reads SIDE,OPERATOR,NUMBER. */
std::optional<Refusal> parse_stream_size(std::string_view text, std::vector<SentTest>& tests);

/** Checks session or host, and perhaps NUMBER,UNIT, and src or dst. */
std::optional<Refusal> parse_tag(std::string_view text);

/** Whether `name` is an option about bits of flows or addresses. */
bool is_bit_option(std::string_view name);
/** Reads the value of such an option, which changes the rule. */
std::optional<Refusal> parse_bit_option(std::string_view name, std::string_view text, Signature& rule);

/** Whether `name` is an option that looks at bytes in a place. */
bool is_probe_option(std::string_view name);
/** Reads the value of such an option. `names`: of the variables that the rule has read so far, by number. */
std::optional<Refusal> parse_probe(std::string_view name, std::string_view text, std::vector<std::string>& names,
                                   Content& content);

/** Where contents are that base64_data looks for, instead of a part's number. */
constexpr int kDecoded = -2;
/** Reads [bytes N][, offset N][, relative]. */
std::optional<Refusal> parse_base64_decode(std::string_view text, Content& content);
/** Gives the content of the rule that decodes Base64 what is looked for in what it decodes. */
std::optional<Refusal> place_decoded(Signature& rule, std::vector<Content> decoded);

/** N, !N, <N, >N, <=N, >=N, or A<>B or A-B for what lies between both, of option `name`. */
std::optional<Refusal> parse_sizes(std::string_view name, std::string_view text, Ranges& sizes);

/** The buffer of an application protocol that the option names for the contents behind it, or for the one before it. */
std::optional<Buffer> sticky_buffer(std::string_view name);
std::optional<Buffer> modifier_buffer(std::string_view name);
/** That which one of a pcre's letters names, which is taken out. */
std::optional<Buffer> take_pcre_buffer(std::string& letters);
/** Whether `name` is an option that changes what a buffer has before it is looked into. */
bool is_transform(std::string_view name);
std::optional<Refusal> parse_transform(std::string_view name, std::string_view text, Transform& transform);
/** Reads the name of an application protocol. */
std::optional<Refusal> parse_application(std::string_view text, Signature& rule);
/** Reads N or !N: a test of the byte that the buffer is. */
std::optional<Refusal> parse_opcode(std::string_view text, Content& content);
/** Moves the rule's contents to the parts that `places` says for each; -1: it stays; or kDecoded. */
std::optional<Refusal> place_contents(Signature& rule, const std::vector<int>& places);
/** What is wrong with a rule that is for an application protocol. `protocol`: as the rule says it. */
std::optional<Refusal> check_application(Signature& rule, std::string_view protocol);
/** Leaves a rule that looks into what is asked in DNS the port at which that is known, so that fewer packets are its
 *  candidates. */
std::optional<Refusal> narrow_ports(Signature& rule);

}  // namespace heddle::nids
