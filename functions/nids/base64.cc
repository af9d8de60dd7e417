#include "functions/nids/base64.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace heddle::nids {
namespace {

constexpr uint8_t kPadding = 64, kOther = 65;

constexpr std::array<uint8_t, 256> kValues = [] {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<uint8_t, 256> values{};
  values.fill(kOther);
  for (uint8_t value = 0; value < kLetters.size(); ++value) values[static_cast<uint8_t>(kLetters[value])] = value;
  values['='] = kPadding;
  return values;
}();

constexpr uint32_t kSearchBytes = 1024;  // of Base64 that count as a search

}  // namespace

size_t decode_base64(std::span<const uint8_t> text, std::vector<uint8_t>& bytes) {
  bytes.clear();
  uint32_t bits = 0, count = 0, paddings = 0;
  const auto put = [&](uint32_t known) {
    for (uint32_t k = 0; k < known; ++k) bytes.push_back(static_cast<uint8_t>(bits >> (16 - 8 * k)));
  };
  size_t read = 0;
  for (; read < text.size(); ++read) {
    const uint8_t value = kValues[text[read]];
    if (value == kOther) break;
    paddings += value == kPadding ? 1 : 0;
    bits = bits << 6 | (value == kPadding ? 0 : value);
    if (++count < 4) continue;
    put(3 - std::min(paddings, 3u));
    bits = count = paddings = 0;
  }
  bits <<= 6 * (4 - count);
  if (count > 0) put(count == 1 && read < text.size() ? 1 : count - 1);
  return read;
}

bool leads_on_decoded(const Content& content, const Text& text, bool is_fresh, const Ways& ways, Workspace& workspace) {
  const Base64& base64 = *content.base64;
  if (!workspace.of_that) workspace.of_that = std::make_unique<Workspace>();
  Workspace& inner = *workspace.of_that;
  const auto stands_at = [&](int64_t begin, bool fresh) {
    if (begin < 0 || begin >= static_cast<int64_t>(text.bytes.size())) return false;
    auto& bytes = workspace.decoded;
    const auto rest = text.bytes.subspan(static_cast<size_t>(begin))
                          .first(std::min<size_t>(text.bytes.size() - static_cast<size_t>(begin), base64.bytes));
    size_t known = 0;  // bytes that were in a window before
    if (!fresh && begin < text.fresh) {
      decode_base64(rest.first(std::min<size_t>(rest.size(), text.fresh - static_cast<size_t>(begin))), bytes);
      known = bytes.size();
    }
    const size_t read = decode_base64(rest, bytes);
    workspace.searches -= std::min(workspace.searches, 1 + static_cast<uint32_t>(read / kSearchBytes));
    if (bytes.empty()) return false;
    inner.searches = workspace.searches;
    const Text decoded{bytes, 0, static_cast<uint32_t>(known)};
    const bool stands = stand_in(base64.contents, decoded, inner);
    workspace.searches = inner.searches, workspace.gave_up += std::exchange(inner.gave_up, 0);
    return stands;
  };
  const size_t count = content.relative ? ways.ends.size() : 1;
  for (size_t way = 0; way < count; ++way) {
    if (workspace.searches == 0) {
      ++workspace.gave_up;
      return false;
    }
    const int64_t base = content.relative ? ways.ends[way] : -static_cast<int64_t>(text.offset);
    const bool fresh = is_fresh || (content.relative ? std::ranges::binary_search(ways.fresh_ends, ways.ends[way])
                                                     : !ways.fresh_ends.empty());
    if (stands_at(base + base64.offset, fresh)) return true;
  }
  return false;
}

}  // namespace heddle::nids
