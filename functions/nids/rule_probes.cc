// The options of rules that look at bytes in a place (Suricata 7.0, 8.7.10 to 8.7.16).

#include <algorithm>
#include <vector>

#include "core/error.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

constexpr int kFarthest = 65535;

/** What stands between commas. */
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t comma = text.find(',');
    parts.push_back(trimmed(text.substr(0, comma)));
    if (comma == text.npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

bool is_name(std::string_view text) {
  const auto is_letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  return !text.empty() && is_letter(text[0]) && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  });
}

/** As in C: hexadecimal behind 0x, octal behind 0. */
template <class T>
bool to_c_number(std::string_view text, T& number, T least, T most) {
  if (text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '7')
    return to_number(text, number, least, most, 8);
  return to_any_number(text, number, least, most);
}

class ProbeOption {
 public:
  ProbeOption(std::string_view option, std::string_view value, std::vector<std::string>& names)
      : option_(option), value_(value), names_(names) {}

  std::optional<Refusal> read(Content& content) {
    using Kind = Probe::Kind;
    constexpr std::pair<std::string_view, Kind> kKinds[] = {{"isdataat", Kind::data_at},
                                                            {"byte_test", Kind::test},
                                                            {"byte_jump", Kind::jump},
                                                            {"byte_extract", Kind::extract}};
    for (const auto& [name, kind] : kKinds)
      if (name == option_) probe_.kind = kind;
    parts_ = parts_of(value_);
    auto refusal = probe_.kind == Kind::data_at ? read_data_at() : read_number();
    if (refusal) return refusal;
    if (probe_.kind == Kind::extract) probe_.variable = static_cast<int>(names_.size()), names_.emplace_back(parts_[2]);
    content.relative = relative_;
    content.probe = std::make_shared<const Probe>(probe_);
    return std::nullopt;
  }

 private:
  Refusal wrong(const std::string& why) const { return {std::string(option_) + " " + in_quotes(value_) + " " + why}; }
  Refusal unsupported(std::string_view word) const {
    const std::string what = in_quotes(word) + ", which is not supported";
    return {std::string(option_) + " " + in_quotes(value_) + " has " + what, true,
            std::string(option_) + " has " + what};
  }

  /** [!]N [, relative] [, rawbytes] */
  std::optional<Refusal> read_data_at() {
    std::string_view place = parts_[0];
    if (place.starts_with('!')) probe_.negated = true, place = trimmed(place.substr(1));
    if (auto refusal = read_operand(place, "a number of bytes", 0, kFarthest, probe_.offset)) return refusal;
    for (const std::string_view part : std::span(parts_).subspan(1)) {
      if (part != "relative" && part != "rawbytes")
        return wrong("has " + in_quotes(part) + ", not relative or rawbytes");
      if (part == "relative") relative_ = true;
    }
    return std::nullopt;
  }

  /** BYTES, [!]OPERATOR, VALUE, OFFSET; BYTES, OFFSET; or BYTES, OFFSET, NAME; then words in any order. */
  std::optional<Refusal> read_number() {
    const bool tests = probe_.kind == Probe::Kind::test, extracts = probe_.kind == Probe::Kind::extract;
    const size_t first = tests ? 4 : extracts ? 3 : 2;
    if (parts_.size() < first)
      return wrong(std::string("is not ") +
                   (tests      ? "BYTES, OPERATOR, VALUE, OFFSET"
                    : extracts ? "BYTES, OFFSET, NAME"
                               : "BYTES, OFFSET") +
                   " and options");
    for (const std::string_view part : std::span(parts_).subspan(first))
      if (auto refusal = read_word(part)) return refusal;
    if (probe_.base != 0 && !probe_.text) return wrong("has a base of numbers, but not 'string'");
    if (probe_.text && has_order_) return wrong("has an order of bytes, but numbers in 'string'");
    if (auto refusal =
            read_operand(parts_[0], "a number of bytes", probe_.text && !tests ? 1 : 0, most_bytes(), probe_.bytes))
      return refusal;
    if (extracts && probe_.bytes.variable >= 0) return wrong("has a variable for the number of bytes");
    if (tests) {
      if (auto refusal = read_operator(parts_[1])) return refusal;
      if (auto refusal = read_value(parts_[2])) return refusal;
    }
    if (auto refusal = read_operand(parts_[tests ? 3 : 1], "an offset", -kFarthest, kFarthest, probe_.offset))
      return refusal;
    if (!extracts) return std::nullopt;
    if (probe_.offset.variable >= 0) return wrong("has a variable for the offset");
    if (!is_name(parts_[2])) return wrong("has " + in_quotes(parts_[2]) + ", which is no name");
    if (std::ranges::find(names_, parts_[2]) != names_.end())
      return wrong("reads the variable " + in_quotes(parts_[2]) + ", which another has read");
    if (names_.size() == kMaxVariables) return Refusal{format("it has more than %zu variables", kMaxVariables), true};
    return std::nullopt;
  }

  /** As many digits as a number of 64 bits has, or its bytes. */
  int most_bytes() const {
    if (!probe_.text) return 8;
    if (probe_.kind != Probe::Kind::extract) return Probe::kMaxDigits;
    return probe_.base == 16 ? 14 : probe_.base == 8 ? Probe::kMaxDigits : 20;
  }

  std::optional<Refusal> read_operand(std::string_view text, const std::string& what, int least, int most,
                                      Operand& operand) {
    if (is_name(text)) {
      const auto found = std::ranges::find(names_, text);
      if (found == names_.end()) return wrong("has " + in_quotes(text) + ", which no byte_extract before it has read");
      operand.variable = static_cast<int>(found - names_.begin());
      return std::nullopt;
    }
    int number = 0;
    if (!to_c_number(text, number, least, most))
      return wrong("has " + in_quotes(text) + ", which is not " + what + format(", %d to %d", least, most));
    operand.number = number;
    return std::nullopt;
  }

  std::optional<Refusal> read_value(std::string_view text) {
    uint64_t number = 0;
    if (is_name(text)) return read_operand(text, "", 0, 0, probe_.value);
    if (!to_c_number(text, number, uint64_t{0}, UINT64_MAX)) return wrong("has " + in_quotes(text) + " for a value");
    probe_.value.number = static_cast<int64_t>(number);
    return std::nullopt;
  }

  std::optional<Refusal> read_operator(std::string_view text) {
    using Compare = Probe::Compare;
    constexpr std::pair<std::string_view, Compare> kOperators[] = {
        {"=", Compare::equal},     {"<", Compare::less},   {">", Compare::greater}, {"<=", Compare::at_most},
        {">=", Compare::at_least}, {"&", Compare::shares}, {"^", Compare::differs}, {"", Compare::equal}};
    std::string_view sign = text;
    if (sign.starts_with('!')) probe_.negated = true, sign = trimmed(sign.substr(1));
    const auto* const found = std::ranges::find(kOperators, sign, &std::pair<std::string_view, Compare>::first);
    if (found == std::end(kOperators) || text.empty())
      return wrong("has " + in_quotes(text) + ", which is none of = < > <= >= & ^, or one of them behind !");
    probe_.compare = found->second;
    return std::nullopt;
  }

  std::optional<Refusal> read_word(std::string_view part) {
    const bool tests = probe_.kind == Probe::Kind::test, jumps = probe_.kind == Probe::Kind::jump;
    const size_t space = std::min(part.find_first_of(" \t"), part.size());
    const std::string_view word = part.substr(0, space), value = trimmed(part.substr(space));
    if (std::ranges::find(words_, word) != words_.end()) return wrong("has two of " + in_quotes(word));
    words_.push_back(word);
    const auto only = [&](bool& flag) { return flag = true, value.empty(); };
    bool good = false;
    if (word == "relative")
      good = only(relative_);
    else if (word == "string")
      good = only(probe_.text);
    else if (word == "dec" || word == "hex" || word == "oct")
      good = value.empty() && probe_.base == 0, probe_.base = word == "dec" ? 10 : word == "hex" ? 16 : 8;
    else if (word == "big" || word == "little")
      good = value.empty() && !has_order_, has_order_ = true, probe_.little = word == "little";
    else if (word == "bitmask" && tests)
      good = to_number(value.substr(value.starts_with("0x") ? 2 : 0), probe_.mask, uint64_t{1}, UINT64_MAX, 16);
    else if (word == "multiplier" && !tests)
      good = to_number(value, probe_.multiplier, 1u, uint32_t{kFarthest});
    else if (word == "align" && jumps)
      good = value.empty(), probe_.align = 4;
    else if (word == "align" && !tests)
      good = (value == "2" || value == "4"), probe_.align = value == "2" ? 2 : 4;
    else if ((word == "from_beginning" || word == "from_end") && jumps)
      good = value.empty() && probe_.from == Probe::From::here,
      probe_.from = word == "from_end" ? Probe::From::end : Probe::From::beginning;
    else if (word == "post_offset" && jumps)
      good = to_number(value, probe_.post_offset, -kFarthest, kFarthest);
    else
      return unsupported(word);
    if (!good) return wrong("has " + in_quotes(part) + ", which is wrong there");
    return std::nullopt;
  }

  std::string_view option_, value_;
  std::vector<std::string>& names_;
  std::vector<std::string_view> parts_, words_;
  Probe probe_;
  bool relative_ = false, has_order_ = false;
};

}  // namespace

bool is_probe_option(std::string_view name) {
  return name == "isdataat" || name == "byte_test" || name == "byte_jump" || name == "byte_extract";
}

std::optional<Refusal> parse_probe(std::string_view name, std::string_view text, std::vector<std::string>& names,
                                   Content& content) {
  return ProbeOption(name, text, names).read(content);
}

}  // namespace heddle::nids
