#include "elements/ethernet/classifier.h"

#include <charconv>
#include <cstring>
#include <string>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Hexadecimal digits into bytes; "?" is a digit that any value matches.
bool parse_hex(std::string_view text, std::vector<uint8_t>& value, std::vector<uint8_t>& mask) {
  if (text.empty() || text.size() % 2 != 0) return false;
  for (size_t at = 0; at < text.size(); at += 2) {
    int v = 0, m = 0;
    for (size_t half = at; half < at + 2; ++half) {
      const int d = text[half] == '?' ? 0 : digit(text[half]);
      if (d < 0) return false;
      v = v * 16 + d;
      m = m * 16 + (text[half] == '?' ? 0 : 15);
    }
    value.push_back(static_cast<uint8_t>(v));
    mask.push_back(static_cast<uint8_t>(m));
  }
  return true;
}

}  // namespace

bool Classifier::parse_clause(std::string_view text, Clause& clause) {
  clause.reversed = text.starts_with('!');
  if (clause.reversed) text.remove_prefix(1);
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + slash, clause.offset);
  if (error != std::errc() || end != text.data() + slash || clause.offset < 0 || clause.offset > 16384) return false;
  text.remove_prefix(slash + 1);
  const size_t percent = text.find('%');
  if (!parse_hex(text.substr(0, percent), clause.value, clause.mask)) return false;
  if (percent != std::string_view::npos) {
    std::vector<uint8_t> bits, all;
    if (!parse_hex(text.substr(percent + 1), bits, all) || bits.size() != clause.value.size()) return false;
    for (size_t i = 0; i < bits.size(); ++i) clause.mask[i] &= bits[i] & all[i];
  }
  for (size_t i = 0; i < clause.value.size(); ++i) clause.value[i] &= clause.mask[i];
  return true;
}

void Classifier::configure(click::Arguments& arguments) {
  for (const auto& argument : arguments.rest()) {
    Pattern pattern;
    std::string_view text = argument.text;
    bool good = !text.empty();
    while (good && text != "-") {
      const size_t start = text.find_first_not_of(" \t\n");
      if (start == std::string_view::npos) break;
      text.remove_prefix(start);
      const size_t end = text.find_first_of(" \t\n");
      good = parse_clause(text.substr(0, end), pattern.emplace_back());
      text.remove_prefix(end == std::string_view::npos ? text.size() : end);
    }
    if (!good) arguments.error(argument, "a pattern such as 12/0800, 12/08?? 23/11, 33/02%12, !12/0806 or -");
    patterns_.push_back(std::move(pattern));
    texts_.push_back(argument.text);
  }
  if (patterns_.empty()) arguments.error("missing patterns; expected one an output, such as 12/0800");
  ports_ = format("1/%zu", patterns_.size());
}

Access Classifier::access(Processor) const {
  Access access;
  for (auto& pattern : patterns_)
    for (auto& clause : pattern)
      access.reads.push_back({Base::head, clause.offset, clause.offset + static_cast<int>(clause.value.size())});
  return access;
}

std::span<const char* const> Classifier::drop_reasons() const {
  static constexpr const char* kReasons[] = {"no_match"};
  return kReasons;
}

bool Classifier::Clause::matches(const uint8_t* frame, uint32_t length) const {
  if (static_cast<size_t>(offset) + value.size() > length) return false;
  uint8_t differs = 0;
  for (size_t i = 0; i < value.size(); ++i)
    differs |= static_cast<uint8_t>((frame[static_cast<size_t>(offset) + i] ^ value[i]) & mask[i]);
  return (differs == 0) != reversed;
}

void Classifier::run_cpu(Batch& batch) {
  for (int i = 0; i < batch.size(); ++i) {
    const uint8_t* frame = batch.frame(i);
    const uint32_t length = batch.length(i);
    batch.drop(i, 0);
    for (size_t p = 0; p < patterns_.size(); ++p) {
      bool all = true;
      for (auto& clause : patterns_[p]) all = all && clause.matches(frame, length);
      if (!all) continue;
      batch.next()[i] = static_cast<uint16_t>(p);
      break;
    }
  }
}

void Classifier::handlers(Handlers& list) {
  for (size_t i = 0; i < texts_.size(); ++i) list.read(format("pattern%zu", i), [this, i] { return texts_[i]; });
}

HEDDLE_ELEMENT(Classifier);

}  // namespace heddle
