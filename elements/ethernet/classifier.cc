#include "elements/ethernet/classifier.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>

#include "click/arguments.h"
#include "core/error.h"

namespace heddle {
namespace {

constexpr size_t kMaxBytes = 16384;

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
  if (error != std::errc() || end != text.data() + slash || clause.offset < 0 ||
      clause.offset > static_cast<int>(kMaxBytes))
    return false;
  text.remove_prefix(slash + 1);
  const size_t percent = text.find('%');
  if (!parse_hex(text.substr(0, percent), clause.value, clause.mask)) return false;
  if (percent != std::string_view::npos) {
    std::vector<uint8_t> bits, all;
    if (!parse_hex(text.substr(percent + 1), bits, all) || bits.size() != clause.value.size()) return false;
    for (size_t i = 0; i < bits.size(); ++i) clause.mask[i] &= bits[i] & all[i];
  }
  for (size_t i = 0; i < clause.value.size(); ++i) clause.value[i] &= clause.mask[i];
  return static_cast<size_t>(clause.offset) + clause.value.size() <= 2 * kMaxBytes - sizeof(uint32_t);
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
  }
  if (patterns_.empty()) arguments.error("missing patterns; expected one an output, such as 12/0800");
  try {
    compile();
  } catch (const Error& error) {
    arguments.error(error.what());
  }
  ports_ = format("1/%zu", patterns_.size());
}

void Classifier::compile() {
  using ip_filter::Expression, ip_filter::Test;
  std::vector<ip_filter::Rule> rules;
  for (const Pattern& pattern : patterns_) {
    std::vector<Expression> all;
    for (const Clause& clause : pattern) {
      std::map<int, std::pair<uint32_t, uint32_t>> words;  // by offset: mask and value
      for (size_t i = 0; i < clause.value.size(); ++i) {
        const int at = clause.offset + static_cast<int>(i);
        auto& [mask, value] = words[at & ~3];
        mask |= uint32_t{clause.mask[i]} << (24 - 8 * (at & 3));
        value |= uint32_t{clause.value[i]} << (24 - 8 * (at & 3));
      }
      std::vector<Expression> tests;
      for (const auto& [offset, word] : words)
        tests.push_back(Expression::of(Test::equal(Test::kNetwork, offset, word.first, word.second)));
      Expression whole = Expression::all(std::move(tests));
      all.push_back(clause.reversed ? Expression::negated(std::move(whole)) : std::move(whole));
      bytes_ = std::max(bytes_, static_cast<uint32_t>(clause.offset) + static_cast<uint32_t>(clause.value.size()));
    }
    rules.push_back({Expression::all(std::move(all)), static_cast<uint16_t>(rules.size())});
  }
  program_ = ip_filter::Program(rules, kDrop, false);
  bytes_ = std::max(bytes_, program_.network_bytes());
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

uint16_t Classifier::compare(const uint8_t* frame, uint32_t length) const {
  for (size_t p = 0; p < patterns_.size(); ++p) {
    bool all = true;
    for (auto& clause : patterns_[p]) all = all && clause.matches(frame, length);
    if (all) return static_cast<uint16_t>(p);
  }
  return kDrop;
}

void Classifier::run_cpu(Batch& batch) {
  constexpr int kAtOnce = ip_filter::Program::kMaxAgreeing;
  for (int first = 0; first < batch.size(); first += kAtOnce)
    classify(batch, first, std::min(first + kAtOnce, batch.size()));
}

// Most frames of a network are of one kind, so they are compared side by side first, until some differ.
void Classifier::classify(Batch& batch, int first, int end) {
  bool short_ones = false;
  for (int i = first; i < end; ++i) short_ones |= batch.length(i) < bytes_;
  int32_t at = program_.start();
  if (!short_ones)
    at = program_.agreement(end - first, [&](int i, const ip_filter::Program::Step& step) {
      return load_u32(batch.frame(first + i) + step.offset);
    });
  if (at >= program_.count() && !short_ones) {
    if (const uint16_t verdict = program_.verdict(at); verdict != 0)
      std::fill(batch.next() + first, batch.next() + end, verdict);
    return;
  }
  ip_filter::BatchRun run(program_, batch.next(), at);
  for (int i = first; i < end; ++i) {
    const uint32_t length = batch.length(i);
    if (length < bytes_) {
      batch.next()[i] = compare(batch.frame(i), length);
      continue;
    }
    run.add(i, {batch.frame(i), length, 0, 0});
  }
}

void Classifier::handlers(Handlers& list) {
  list.read("program", [this] { return program_.text(0); });
}

HEDDLE_ELEMENT(Classifier);

}  // namespace heddle
