// The options of rules that decode Base64 (Suricata 7.0, Base64 keywords).

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "functions/nids/rule_numbers.h"

namespace heddle::nids {
namespace {

/** Gives the content of the list that decodes, if there is one, what is looked for in what it decodes. */
std::optional<Refusal> take_decoded(std::vector<Content>& list, std::vector<Content>& decoded) {
  const auto decoder = std::ranges::find_if(list, [](const Content& content) { return content.base64 != nullptr; });
  if (decoder == list.end()) return std::nullopt;
  // Suricata 7.0.10 does not look for what stands behind it: base64_data comes in its place.
  if (decoder + 1 != list.end())
    return Refusal{"something between base64_decode and base64_data is not supported", true};
  if (decoded.empty())
    return Refusal{"base64_decode without base64_data, which matches nothing, is not supported", true};
  Base64 whole = *decoder->base64;
  whole.contents = std::move(decoded);
  decoder->base64 = std::make_shared<const Base64>(std::move(whole));
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> parse_base64_decode(std::string_view text, Content& content) {
  const Refusal refusal{"base64_decode " + in_quotes(text) +
                        " is not [bytes N][, offset N][, relative], in this order"};
  Base64 base64;
  std::string_view rest = trimmed(text);
  const auto take_number = [&](std::string_view name, uint32_t& number, uint32_t most) {
    std::string_view behind = rest;
    if (take_word(behind) != name) return true;
    behind = trimmed(behind);
    const size_t end = std::min(behind.find_first_of(", \t"), behind.size());
    if (!to_number(behind.substr(0, end), number, 0u, most)) return false;
    rest = trimmed(behind.substr(end));
    if (rest.starts_with(',')) rest = trimmed(rest.substr(1));
    return true;
  };
  if (!take_number("bytes", base64.bytes, Base64::kMaxBytes) || !take_number("offset", base64.offset, UINT32_MAX))
    return refusal;
  content.relative = rest == "relative";
  if (!content.relative && !rest.empty()) return refusal;
  if (base64.bytes == 0) base64.bytes = Base64::kMaxBytes;  // as in Suricata
  content.base64 = std::make_shared<const Base64>(base64);
  return std::nullopt;
}

std::optional<Refusal> place_decoded(Signature& rule, std::vector<Content> decoded) {
  if (auto refusal = take_decoded(rule.contents, decoded)) return refusal;
  for (BufferPart& part : rule.parts)
    if (auto refusal = take_decoded(part.contents, decoded)) return refusal;
  return std::nullopt;
}

}  // namespace heddle::nids
