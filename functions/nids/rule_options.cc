// The options of rules, as Snort 2 and Suricata have them.

#include <algorithm>
#include <set>
#include <utility>

#include "core/error.h"
#include "core/text_file.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

constexpr int kMaxBytes = 65535;
constexpr int kMaxDistance = 1 << 20;  // as in Suricata
constexpr size_t kMaxContentBytes = 255;
constexpr uint32_t kLeastUrgent = INT32_MAX;

/** NAME, in letters of any case, or NAME:VALUE. */
struct Option {
  std::string name;  ///< in lower case
  std::string_view value;
  bool has_value;
};

/** Takes the next option off, up to the semicolon, which a backslash or quotes hide. */
std::optional<Refusal> take_option(std::string_view& text, Option& option) {
  bool quoted = false;
  size_t end = 0;
  for (; end < text.size() && (quoted || text[end] != ';'); ++end) {
    if (text[end] == '\\')
      ++end;
    else if (text[end] == '"')
      quoted = !quoted;
  }
  if (end >= text.size()) return Refusal{"the option " + in_quotes(trimmed(text)) + " has no ';' at its end"};
  const std::string_view whole = trimmed(text.substr(0, end));
  text = trimmed(text.substr(end + 1));
  const size_t colon = whole.find(':');
  option = {lower_case(trimmed(whole.substr(0, colon))), colon == whole.npos ? "" : trimmed(whole.substr(colon + 1)),
            colon != whole.npos};
  return std::nullopt;
}

/** "TEXT" with \; \" \\ and \: for the characters themselves. */
bool unquote(std::string_view text, std::string& result) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return false;
  for (size_t at = 1; at + 1 < text.size(); ++at) {
    if (text[at] == '\\' && at + 2 < text.size()) ++at;
    result += text[at];
  }
  return true;
}

/** The length of what begins with quotes, up to those at its end, or to the end of the text. */
size_t end_of_quoted(std::string_view text) {
  size_t end = 1;
  while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

}  // namespace

std::string content_bytes(std::string_view text, std::string& bytes) {
  bool in_hex = false;
  int high = -1;
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '|') {
      if (high >= 0) return "has half a byte before '|'";
      in_hex = !in_hex;
    } else if (in_hex) {
      if (c == ' ') continue;
      const int digit = hex_value(c);
      if (digit < 0) return "has " + in_quotes({&c, 1}) + " among hexadecimal digits";
      if (high >= 0) bytes += static_cast<char>(high * 16 + digit);
      high = high < 0 ? digit : -1;
    } else if (c == '\\') {
      if (++at == text.size() || std::string_view("\\\";:|").find(text[at]) == std::string_view::npos)
        return R"(has a '\' that is not before \ " ; : or |)";
      bytes += text[at];
    } else {
      bytes += c;
    }
  }
  if (in_hex) return "has no '|' at the end of its hexadecimal part";
  if (bytes.empty()) return "is empty";
  if (bytes.size() > kMaxContentBytes) return format("has more than %zu bytes", kMaxContentBytes);
  return "";
}

std::optional<Refusal> parse_sizes(std::string_view name, std::string_view text, Ranges& sizes) {
  const std::string which = std::string(name) + " " + in_quotes(text);
  const Refusal refusal{which + " is not a number, =N, !N, !=N, <N, >N, <=N, >=N, A<>B or A-B"};
  uint32_t low = 0, high = kMaxBytes, number = 0;
  if (text.starts_with('!')) {
    if (!to_number(text.substr(text.starts_with("!=") ? 2 : 1), number, 0u, high)) return refusal;
    sizes = Ranges(number, number).inverted(UINT32_MAX);
    return std::nullopt;
  }
  for (const std::string_view sign : {"<>", "-"}) {
    const size_t between = text.find(sign);
    if (between == text.npos) continue;
    if (!to_number(text.substr(0, between), low, 0u, high) ||
        !to_number(text.substr(between + sign.size()), high, 0u, high))
      return refusal;
    if (high < 2 || low > high - 2) return Refusal{which + " leaves nothing between"};
    sizes = Ranges(low + 1, high - 1);
    return std::nullopt;
  }
  const bool less = text.starts_with('<'), more = text.starts_with('>');
  if (less || more) text.remove_prefix(1);
  const bool equal = text.starts_with('=');
  if (equal) text.remove_prefix(1);
  if (!to_number(text, number, 0u, high)) return refusal;
  if (less && !equal && number == 0) return Refusal{which + " matches nothing"};
  if (!more) high = less && !equal ? number - 1 : number;
  if (!less) low = more && !equal ? number + 1 : number;
  if (more) high = UINT32_MAX;
  sizes = Ranges(low, high);
  return std::nullopt;
}

namespace {

class Options {
 public:
  explicit Options(Signature& rule) : rule_(rule) {}

  std::optional<Refusal> read(const Option& option) {
    for (const std::string_view single : {"sid", "rev", "gid", "priority", "msg", "classtype", "dsize", "flow"})
      if (option.name == single && !seen_.emplace(single).second)
        return Refusal{"it has two of the option " + std::string(single)};
    for (const auto& [name, reader] : kReaders)
      if (option.name == name) return (this->*reader)(option);
    if (is_field_option(option.name)) return parse_field(option.name, option.value, rule_.fields);
    if (is_bit_option(option.name)) return parse_bit_option(option.name, option.value, rule_);
    if (is_probe_option(option.name)) return probe(option);
    if (const auto buffer = sticky_buffer(option.name)) return look_into(Sticky{*buffer, {}}, option);
    if (option.name == "pkt_data") return look_into(std::nullopt, option);
    if (const auto buffer = modifier_buffer(option.name)) return move_last(*buffer, option);
    if (is_transform(option.name)) return transform(option);
    return Refusal{"the option " + in_quotes(option.name) + " is not supported", true};
  }

  std::optional<Refusal> finish() {
    if (rule_.sid == 0) return Refusal{"it has no sid"};
    if (!used_) return unused();
    bool first = true;
    for (Content& content : rule_.contents) {
      const std::string which = "content " + in_quotes(content.bytes);
      const auto bytes = static_cast<int>(content.bytes.size());
      if (content.probe) continue;
      const bool is_placed =
          content.offset != 0 || content.depth >= 0 || content.offset_variable >= 0 || content.depth_variable >= 0;
      if (content.relative && is_placed) return Refusal{which + " has offset or depth, and distance or within"};
      if ((content.depth >= 0 && content.depth < bytes) || (content.within >= 0 && content.within < bytes))
        return Refusal{which + format(" is longer (%d bytes) than its depth or within", bytes)};
      if (content.fast && content.negated && (content.relative || is_placed))
        return Refusal{which + " is negated and asks for a place, so it cannot be the fast pattern"};
      if (content.fast && !first) return Refusal{"it has two fast patterns"};
      if (content.chop_offset + content.chop_length > bytes)
        return Refusal{which + " is shorter than its fast pattern"};
      first = first && !content.fast;
      content.fast = content.fast && !content.negated;  // it says what is not there: another one is looked for
    }
    if (auto refusal = place_contents(rule_, content_places_)) return refusal;
    const uint32_t most = rule_.sizes.all().back().high;
    if (const int64_t least = rule_.least_payload(); least > most)
      return Refusal{format("its contents want a payload of %lld bytes at least, but dsize allows %u at most",
                            static_cast<long long>(least), most)};
    return std::nullopt;
  }

 private:
  using Reader = std::optional<Refusal> (Options::*)(const Option&);

  std::optional<Refusal> content(const Option& option) {
    std::string_view text = option.value;
    Content content;
    if (text.starts_with('!')) content.negated = true, text = trimmed(text.substr(1));
    if (text.starts_with('"') && trimmed(text.substr(end_of_quoted(text))).starts_with(','))
      return Refusal{
          "content " + in_quotes(text) + " has options behind a comma, as in Snort 3, which is not supported", true,
          "options of a content behind a comma, as in Snort 3, are not supported"};
    if (text.size() < 2 || text.front() != '"' || text.back() != '"')
      return Refusal{"content " + in_quotes(text) + " is not in quotes"};
    const std::string problem = content_bytes(text.substr(1, text.size() - 2), content.bytes);
    if (content.bytes.size() > kMaxContentBytes)
      return Refusal{"content " + in_quotes(text) + " " + problem, true,
                     format("contents of more than %zu bytes are not supported", kMaxContentBytes)};
    if (!problem.empty()) return Refusal{"content " + in_quotes(text) + " " + problem};
    add(std::move(content), place());
    places_.clear();
    return std::nullopt;
  }
  /** The part for what comes next; -1: it looks into the payload. */
  int place() {
    if (base64_ == Base64State::data) return used_ = true, kDecoded;
    if (!sticky_) return used_ = true, -1;
    const bool first = !std::exchange(used_, true);
    return is_list(sticky_->buffer) && first ? new_part(sticky_->buffer, sticky_->transforms)
                                             : part_of(sticky_->buffer, sticky_->transforms);
  }
  int new_part(Buffer buffer, const std::vector<Transform>& transforms) {
    rule_.parts.push_back({.buffer = buffer, .transforms = transforms, .contents = {}, .sizes = {}});
    return static_cast<int>(rule_.parts.size()) - 1;
  }
  int part_of(Buffer buffer, const std::vector<Transform>& transforms) {
    for (size_t k = rule_.parts.size(); k-- > 0;)
      if (rule_.parts[k].buffer == buffer && rule_.parts[k].transforms == transforms) return static_cast<int>(k);
    return new_part(buffer, transforms);
  }
  void add(Content content, int place) {
    rule_.contents.push_back(std::move(content));
    content_places_.push_back(place);
  }
  struct Sticky {
    Buffer buffer;
    std::vector<Transform> transforms;
  };
  Refusal unused() const { return {"nothing is looked for in " + sticky_name_}; }
  std::optional<Refusal> look_into(std::optional<Sticky> sticky, const Option& option) {
    if (option.has_value) return Refusal{std::string(option.name) + " has no value"};
    if (!used_) return unused();
    if (base64_ == Base64State::data)
      return Refusal{std::string(option.name) + " stands behind base64_data, which is not supported", true,
                     "a buffer behind base64_data is not supported"};
    if (base64_ == Base64State::decode) base64_ = Base64State::left;
    used_ = !sticky;
    sticky_ = std::move(sticky), sticky_name_ = option.name;
    return std::nullopt;
  }
  std::optional<Refusal> transform(const Option& option) {
    if (!sticky_ || used_) return Refusal{std::string(option.name) + " does not stand right behind a buffer's name"};
    return parse_transform(option.name, option.value, sticky_->transforms.emplace_back());
  }
  /** In the buffer that has been named last or, if none has been, that of the content before. */
  std::optional<Refusal> base64_decode(const Option& option) {
    if (base64_ != Base64State::none) return Refusal{"it has two of base64_decode, which is not supported", true};
    Content content;
    if (auto refusal = parse_base64_decode(option.value, content)) return refusal;
    base64_ = Base64State::decode;
    add(std::move(content), sticky_ || content_places_.empty() ? place() : content_places_.back());
    return std::nullopt;
  }
  std::optional<Refusal> base64_data(const Option& option) {
    if (option.has_value) return Refusal{"base64_data has no value"};
    if (base64_ != Base64State::decode) return Refusal{"base64_data stands behind no base64_decode of the same buffer"};
    base64_ = Base64State::data;
    sticky_.reset(), sticky_name_ = "base64_data", used_ = false;
    return std::nullopt;
  }
  /** `http_uri` and such behind a content. */
  std::optional<Refusal> move_last(Buffer buffer, const Option& option) {
    const std::string name(option.name);
    if (option.has_value) return Refusal{name + " has no value"};
    for (size_t k = rule_.contents.size(); k-- > 0;) {
      if (!rule_.contents[k].searches_bytes()) continue;
      if (content_places_[k] != -1)
        return Refusal{name + " stands behind a content that is for another buffer already"};
      content_places_[k] = part_of(buffer, {});
      return std::nullopt;
    }
    return Refusal{in_quotes(name) + " stands before any content"};
  }
  std::optional<Refusal> uri_content(const Option& option) {
    if (base64_ == Base64State::data) return Refusal{"uricontent stands behind base64_data"};
    if (auto refusal = content(option)) return refusal;
    content_places_.back() = part_of(Buffer::uri, {});
    return std::nullopt;
  }
  std::optional<Refusal> buffer_size(const Option& option) {
    if (base64_ == Base64State::data) return Refusal{"bsize of base64_data is not supported", true};
    if (!sticky_) return Refusal{"bsize is for a buffer, which is named before it"};
    return parse_sizes("bsize", option.value, rule_.parts[static_cast<size_t>(place())].sizes.emplace_back());
  }
  /** N and such, perhaps with which URI. */
  std::optional<Refusal> uri_length(const Option& option) {
    const size_t comma = option.value.find(',');
    const std::string which = comma == option.value.npos ? "norm" : lower_case(trimmed(option.value.substr(comma + 1)));
    if (which != "norm" && which != "raw")
      return Refusal{"urilen " + in_quotes(option.value) + " has neither norm nor raw behind the comma"};
    const int part = part_of(which == "raw" ? Buffer::raw_uri : Buffer::uri, {});
    return parse_sizes("urilen", trimmed(option.value.substr(0, comma)),
                       rule_.parts[static_cast<size_t>(part)].sizes.emplace_back());
  }
  std::optional<Refusal> application(const Option& option) { return parse_application(option.value, rule_); }
  std::optional<Refusal> opcode(const Option& option) {
    Content content;
    if (auto refusal = parse_opcode(option.value, content)) return refusal;
    add(std::move(content), part_of(Buffer::dns_opcode, {}));
    return std::nullopt;
  }
  /** pcre:"/REGEX/OPTIONS"; */
  std::optional<Refusal> regex(const Option& option) {
    std::string_view text = option.value;
    Content content;
    if (text.starts_with('!')) content.negated = true, text = trimmed(text.substr(1));
    const std::string which = "pcre " + in_quotes(text) + " ";
    const size_t end = text.rfind('/');
    if (!text.starts_with("\"/") || !text.ends_with('"') || end < 2)
      return Refusal{which + "is not \"/REGEX/OPTIONS\""};
    std::string letters(text.substr(end + 1, text.size() - end - 2));
    content.relative = std::erase(letters, 'R') > 0;
    const auto buffer = take_pcre_buffer(letters);
    if (buffer && (base64_ == Base64State::data || (sticky_ && *buffer != sticky_->buffer)))
      return Refusal{which + "has a letter for another buffer than " + sticky_name_ + ", behind which it stands"};
    std::erase(letters, 'B');  // rawbytes: they are
    if (const std::string others = Regex::unknown(letters); !others.empty())
      return Refusal{which + "has the options " + in_quotes(others) + ", which are not supported", true,
                     "the pcre options " + in_quotes(others) + " are not supported"};
    try {
      content.regex = std::make_shared<Regex>(text.substr(2, end - 2), letters);
    } catch (const Error& error) {
      return Refusal{which + error.what()};
    }
    add(std::move(content), buffer && !sticky_ ? part_of(*buffer, {}) : place());
    return std::nullopt;
  }
  std::optional<Refusal> probe(const Option& option) {
    Content content;
    if (auto refusal = parse_probe(option.name, option.value, variables_, content)) return refusal;
    // Behind a content of another buffer, what is relative looks there.
    const bool follows = content.relative && !sticky_ && !content_places_.empty() && base64_ != Base64State::data;
    add(std::move(content), follows ? content_places_.back() : place());
    return std::nullopt;
  }
  std::optional<Refusal> nocase(const Option& option) {
    return last(option, [](Content& content) { content.nocase = true; });
  }
  /** A number of bytes, or the name of a variable that a byte_extract before it has read. */
  std::optional<Refusal> where(const Option& option) {
    const bool is_distance = option.name == "distance";
    const int most = is_distance || option.name == "within" ? kMaxDistance : kMaxBytes;
    int value = 0, variable = -1;
    if (const auto found = std::ranges::find(variables_, option.value); found != variables_.end())
      variable = static_cast<int>(found - variables_.begin());
    else if (!to_number(option.value, value, is_distance ? -most : 0, most))
      return Refusal{std::string(option.name) + " " + in_quotes(option.value) +
                     " is neither a number of bytes nor a variable that a byte_extract before it has read"};
    if (auto refusal = take_place(option.name)) return refusal;
    return last(option, [&](Content& content) {
      content.relative = content.relative || is_distance || option.name == "within";
      const auto set = [&](int& to, int& to_variable) { to = variable >= 0 ? to : value, to_variable = variable; };
      if (is_distance)
        set(content.distance, content.distance_variable);
      else if (option.name == "within")
        set(content.within, content.within_variable);
      else if (option.name == "offset")
        set(content.offset, content.offset_variable);
      else
        set(content.depth, content.depth_variable);
    });
  }
  std::optional<Refusal> starts_with(const Option& option) {
    for (const std::string_view place : {"offset", "depth"})
      if (auto refusal = take_place(place)) return refusal;
    return last(option, [](Content& content) { content.depth = static_cast<int>(content.bytes.size()); });
  }
  std::optional<Refusal> ends_with(const Option& option) {
    return last(option, [](Content& content) { content.at_end = true; });
  }
  std::optional<Refusal> fast_pattern(const Option& option) {
    int offset = 0, length = 0;
    if (option.has_value && option.value != "only") {
      const size_t comma = option.value.find(',');
      if (comma == option.value.npos || !to_number(option.value.substr(0, comma), offset, 0, kMaxBytes) ||
          !to_number(option.value.substr(comma + 1), length, 1, kMaxBytes))
        return Refusal{"fast_pattern " + in_quotes(option.value) + " is neither 'only' nor OFFSET,LENGTH"};
    }
    return last(option, [&](Content& content) {
      content.fast = true, content.chop_offset = offset, content.chop_length = length;
    });
  }
  std::optional<Refusal> dsize(const Option& option) { return parse_sizes("dsize", option.value, rule_.sizes); }
  std::optional<Refusal> flow(const Option& option) { return parse_flow(option.value, rule_); }
  std::optional<Refusal> stream_size(const Option& option) { return parse_stream_size(option.value, rule_.sent); }
  std::optional<Refusal> number(const Option& option) {
    uint32_t& number = option.name == "sid" ? rule_.sid : option.name == "gid" ? rule_.generator : rule_.revision;
    if (to_number(option.value, number, option.name == "sid" ? 1u : 0u, UINT32_MAX)) return std::nullopt;
    return Refusal{std::string(option.name) + " " + in_quotes(option.value) + " is not a number"};
  }
  std::optional<Refusal> priority(const Option& option) {
    if (to_number(option.value, rule_.priority.emplace(), 0u, kLeastUrgent)) return std::nullopt;
    return Refusal{"priority " + in_quotes(option.value) + format(" is not a number, 0 to %u", kLeastUrgent)};
  }
  std::optional<Refusal> message(const Option& option) {
    rule_.message.clear();
    if (unquote(option.value, rule_.message)) return std::nullopt;
    return Refusal{"msg " + in_quotes(option.value) + " is not in quotes"};
  }
  std::optional<Refusal> classtype(const Option& option) {
    rule_.classtype = rule_.category = option.value;
    return std::nullopt;
  }
  /** threshold: type limit, track by_src, count N, seconds S; detection_filter has no type. In any order, each once. */
  std::optional<Refusal> threshold(const Option& option) {
    const std::string name(option.name);
    const bool filters = name == "detection_filter";
    Threshold& to = rule_.threshold;
    if (to.type != Threshold::Type::none) return Refusal{"it has two of threshold and detection_filter"};
    if (filters) to.type = Threshold::Type::filter;
    std::vector<std::string_view> seen;
    for (std::string_view rest = option.value; !rest.empty();) {
      const std::string_view part = trimmed(rest.substr(0, rest.find(',')));
      rest.remove_prefix(std::min(rest.size(), part.empty() ? rest.size() : rest.find(',')));
      if (!rest.empty()) rest.remove_prefix(1);
      const size_t space = std::min(part.find(' '), part.size());
      const std::string_view word = part.substr(0, space), value = trimmed(part.substr(space));
      if (std::ranges::find(seen, word) != seen.end()) return Refusal{name + " has two of " + in_quotes(word)};
      seen.push_back(word);
      bool good = false;
      if (word == "type" && !filters)
        good = choose(value, to.type, {"limit", "threshold", "both"}, 1);
      else if (word == "track")
        good = choose(value, to.track, {"by_src", "by_dst", "by_both", "by_rule"}, 0);
      else if (word == "count")
        good = to_number(value, to.count, 1u, UINT32_MAX);
      else if (word == "seconds")
        good = to_number(value, to.seconds, 1u, UINT32_MAX);
      if (!good) return Refusal{name + " has " + in_quotes(part) + ", which is not supported", true};
    }
    if (seen.size() < (filters ? 3 : 4))
      return Refusal{name + " needs " + (filters ? "" : "type, ") + "track, count and seconds"};
    return std::nullopt;
  }
  /** `to` becomes the one that `value` names, where the names are those of values from `first` on. */
  template <class E>
  static bool choose(std::string_view value, E& to, std::initializer_list<std::string_view> names, int first) {
    const auto found = std::find(names.begin(), names.end(), value);
    if (found != names.end()) to = static_cast<E>(first + (found - names.begin()));
    return found != names.end();
  }
  /** The option `place` says where the last content may be, which it may do once. */
  std::optional<Refusal> take_place(std::string_view place) {
    if (places_.emplace(place).second) return std::nullopt;
    return Refusal{"a content has two of " + std::string(place) + " (startswith is an offset of 0 and a depth)"};
  }
  /** Says nothing about packets: `rawbytes` is what payloads are here. */
  std::optional<Refusal> remark(const Option&) { return std::nullopt; }
  /** Which end is attacked: says nothing about packets, either. */
  std::optional<Refusal> target(const Option& option) {
    if (option.value == "src_ip" || option.value == "dest_ip") return std::nullopt;
    return Refusal{"target " + in_quotes(option.value) + " is neither src_ip nor dest_ip"};
  }
  std::optional<Refusal> tag(const Option& option) {
    rule_.tags = true;
    return parse_tag(option.value);
  }
  std::optional<Refusal> noalert(const Option& option) {
    rule_.silent = true;
    if (!option.has_value) return std::nullopt;
    return Refusal{"noalert has no value"};
  }

  template <class Change>
  std::optional<Refusal> last(const Option& option, const Change& change) {
    auto& all = rule_.contents;
    const auto found =
        std::find_if(all.rbegin(), all.rend(), [](const Content& content) { return content.searches_bytes(); });
    if (found == all.rend()) return Refusal{in_quotes(option.name) + " stands before any content"};
    change(*found);
    return std::nullopt;
  }

  struct Entry {
    std::string_view name;
    Reader reader;
  };
  static constexpr Entry kReaders[] = {{"content", &Options::content},
                                       {"pcre", &Options::regex},
                                       {"nocase", &Options::nocase},
                                       {"offset", &Options::where},
                                       {"depth", &Options::where},
                                       {"distance", &Options::where},
                                       {"within", &Options::where},
                                       {"startswith", &Options::starts_with},
                                       {"endswith", &Options::ends_with},
                                       {"fast_pattern", &Options::fast_pattern},
                                       {"dsize", &Options::dsize},
                                       {"flow", &Options::flow},
                                       {"stream_size", &Options::stream_size},
                                       {"threshold", &Options::threshold},
                                       {"detection_filter", &Options::threshold},
                                       {"sid", &Options::number},
                                       {"rev", &Options::number},
                                       {"msg", &Options::message},
                                       {"classtype", &Options::classtype},
                                       {"gid", &Options::number},
                                       {"priority", &Options::priority},
                                       {"metadata", &Options::remark},
                                       {"reference", &Options::remark},
                                       {"rawbytes", &Options::remark},
                                       {"target", &Options::target},
                                       {"tag", &Options::tag},
                                       {"noalert", &Options::noalert},
                                       {"uricontent", &Options::uri_content},
                                       {"base64_decode", &Options::base64_decode},
                                       {"base64_data", &Options::base64_data},
                                       {"bsize", &Options::buffer_size},
                                       {"urilen", &Options::uri_length},
                                       {"app-layer-protocol", &Options::application},
                                       {"dns.opcode", &Options::opcode}};
  Signature& rule_;
  std::vector<std::string> variables_;  // names
  std::optional<Sticky> sticky_;        // the buffer that has been named last, for what follows
  std::string sticky_name_;
  bool used_ = true;                 // something is looked for there
  std::vector<int> content_places_;  // [content] of the rule: its part; -1: the payload; or kDecoded
  /** What has been read: nothing of it, base64_decode, a buffer's name behind that, or base64_data. */
  enum class Base64State : uint8_t { none, decode, left, data } base64_ = Base64State::none;
  std::set<std::string, std::less<>> seen_, places_;  // options that may stand once: of the rule, of its last content
};

}  // namespace

std::optional<Refusal> parse_options(std::string_view text, Signature& rule) {
  Options options(rule);
  std::optional<Refusal> first;
  text = trimmed(text);
  while (!text.empty()) {
    Option option{};
    if (auto refusal = take_option(text, option)) return first ? first : refusal;
    // Goes on for the sid.
    if (auto refusal = options.read(option); refusal && !first) first = refusal;
  }
  return first ? first : options.finish();
}

}  // namespace heddle::nids
