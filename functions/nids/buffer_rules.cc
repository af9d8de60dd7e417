#include "functions/nids/buffer_rules.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace heddle::nids {
namespace {

using State = Transaction::State;
using Progress = Transaction::Progress;

std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

/** The rule's content to look for, and the part that has it; null: there is none. */
std::pair<const Content*, const BufferPart*> fast_content(const Signature& rule) {
  std::pair<const Content*, const BufferPart*> best{};
  for (const BufferPart& part : rule.parts)
    for (const Content& content : part.contents) {
      if (content.negated || !content.searches_bytes()) continue;
      const bool better = best.first == nullptr || (content.fast && !best.first->fast) ||
                          (content.fast == best.first->fast && content.bytes.size() > best.first->bytes.size());
      if (better) best = {&content, &part};
    }
  return best;
}

unsigned rule_sides(const Signature& rule) {
  if (rule.parts.empty()) return 0;
  unsigned sides = 1u << kRequest | 1u << kResponse;
  for (const BufferPart& part : rule.parts) sides &= sides_of(part.buffer);
  if ((rule.flow_has & kToServer) != 0) sides &= 1u << kRequest;
  if ((rule.flow_has & kToClient) != 0) sides &= 1u << kResponse;
  return sides;
}

uint64_t next_serial() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

BufferRules::BufferRules(std::vector<Signature>& rules)
    : serial_(next_serial()), automata_([&] {
        for (uint32_t r = 0; r < rules.size(); ++r) {
          Signature& rule = rules[r];
          sides_.push_back(static_cast<uint8_t>(rule_sides(rule)));
          if (rule.parts.empty()) continue;
          for (BufferPart& part : rule.parts) {
            const auto found = std::ranges::find_if(buffers_, [&](const Transformed& buffer) {
              return buffer.buffer == part.buffer && buffer.transforms == part.transforms;
            });
            part.number = static_cast<uint32_t>(found - buffers_.begin());
            if (found == buffers_.end()) buffers_.push_back({part.buffer, part.transforms});
          }
          const auto [content, part] = fast_content(rule);
          if (content == nullptr) {
            always_.push_back(r);
            continue;
          }
          Signature pattern;
          pattern.sources = pattern.destinations = {Ranges(0, UINT32_MAX), RangesOf<Wide>(0, ~Wide{0})};
          pattern.source_ports = pattern.destination_ports = Ranges(0, 65535);
          pattern.contents.push_back(*content);
          patterns_.push_back(std::move(pattern));
          rule_of_.push_back(r), buffer_of_.push_back(part->number);
          buffers_[part->number].has_patterns = true;
        }
        return Automata(patterns_);
      }()) {}

/** Of a packet, one transaction after the other. */
struct BufferRules::Inspection {
  const BufferRules& of;
  std::span<const Signature> rules;
  const View& view;
  const Window& window;
  Scratch& scratch;
  Workspace& workspace;
  std::vector<uint32_t>& hits;
  Transaction* transaction = nullptr;

  Progress& progress() const { return transaction->progress; }

  const Scratch::Look& look(uint32_t number, size_t k) {
    auto& looks = scratch.looks[number];
    if (looks.size() <= k) looks.resize(k + 1);
    Scratch::Look& look = looks[k];
    if (std::exchange(look.known, true)) return look;
    const Transformed& buffer = of.buffers_[number];
    look.state = transaction->look(buffer.buffer, window.side, k, look.text, look.made);
    if (!buffer.transforms.empty() && !look.text.empty()) {
      look.changed = transformed(look.text, buffer.transforms);
      look.text = look.changed;
      // Of a list, further ones may stand behind one of which nothing is left.
      if (look.text.empty() && look.state == State::whole && !is_list(buffer.buffer)) look.state = State::absent;
    }
    return look;
  }

  void offer(uint32_t rule) {
    if ((of.sides_[rule] >> window.side & 1) == 0 || rules[rule].application != window.application) return;
    const uint32_t bit = 2 * rule + window.side;
    uint64_t& word = progress().offered[bit / 64];
    if ((word >> bit % 64 & 1) != 0) return;
    word |= uint64_t{1} << bit % 64;
    const Protocol protocol = rules[rule].protocol;
    if (protocol != Protocol::ip && protocol != view.protocol) return;
    if (goes_between(rules[rule], view)) progress().candidates.push_back({rule, window.side, 0});
  }

  /** Offers the rules whose patterns are in a buffer. */
  void scan(uint32_t number) {
    uint8_t& scanned = progress().scanned[2 * number + window.side];
    const Transformed& buffer = of.buffers_[number];
    if (!buffer.has_patterns || scanned != 0 || application_of(buffer.buffer) != window.application) return;
    const State state = look(number, 0).state;
    if (state == State::pending) return;
    scanned = state != State::part;
    for (size_t k = 0; look(number, k).state != State::absent; ++k) {
      scan(number, look(number, k).text);
      if (!is_list(buffer.buffer)) break;
    }
  }
  void scan(uint32_t number, std::string_view text) {
    const Transformed& buffer = of.buffers_[number];
    if (is_body(buffer.buffer) && buffer.transforms.empty()) {
      const Body& body = transaction->body(window.side);
      const uint64_t from = body.scanned - std::min<uint64_t>(body.scanned, kLongestPattern);
      text.remove_prefix(std::min<size_t>(from - std::min(from, body.offset), text.size()));
    }
    const PortGroup& group = of.automata_.image().without_ports[static_cast<size_t>(Protocol::ip)];
    of.automata_.each_hit(group, bytes_of(text), [&](uint32_t pattern) {
      if (of.buffer_of_[pattern] == number) offer(of.rule_of_[pattern]);
    });
  }

  enum class Outcome : uint8_t { matches, waits, fails };

  Outcome judge(const BufferPart& part) {
    Outcome outcome = judge(part, 0);
    for (size_t k = 1; is_list(part.buffer) && outcome == Outcome::fails; ++k) {
      if (look(part.number, k).state == State::absent) break;
      outcome = judge(part, k);
    }
    return outcome;
  }
  Outcome judge(const BufferPart& part, size_t k) {
    const Scratch::Look& found = look(part.number, k);
    if (found.state == State::pending) return Outcome::waits;
    if (found.state == State::absent) return Outcome::fails;
    uint64_t offset = 0, total = found.text.size();
    if (is_body(part.buffer)) {
      const Body& body = transaction->body(window.side);
      if (part.transforms.empty()) offset = body.offset, total = body.total();
      const bool enough = body.total() >= Body::kMin[window.side];
      if (found.state == State::part && (part.asks_for_end() || (part.asks_for_absence() && !enough)))
        return Outcome::waits;
    }
    const auto size = static_cast<uint32_t>(std::min<uint64_t>(total, UINT32_MAX));
    const bool stands = std::ranges::all_of(part.sizes, [&](const Ranges& sizes) { return sizes.contains(size); }) &&
                        (part.contents.empty() || stand_in(part.contents, bytes_of(found.text), offset, workspace));
    if (stands) return Outcome::matches;
    return found.state == State::whole ? Outcome::fails : Outcome::waits;
  }

  /** Of the payload. */
  bool stands(std::span<const Content> contents) {
    return stand_in(contents, view.payload, 0, workspace) ||
           (!window.bytes.empty() && stand_in(contents, window.bytes, window.offset, workspace));
  }

  Outcome judge(Progress::Candidate& candidate) {
    const Signature& rule = rules[candidate.rule];
    const auto count = static_cast<uint32_t>(rule.parts.size());
    bool all = true;
    allow_searches(workspace, 0);
    for (uint32_t k = 0; k < count; ++k) {
      if ((candidate.matched >> k & 1) != 0) continue;
      const Outcome outcome = judge(rule.parts[k]);
      if (outcome == Outcome::fails) return outcome;
      all = all && outcome == Outcome::matches;
      candidate.matched |= outcome == Outcome::matches ? 1u << k : 0;
    }
    if (!rule.contents.empty() && (candidate.matched >> count & 1) == 0) {
      const bool there = stands(rule.contents);
      all = all && there;
      candidate.matched |= there ? 1u << count : 0;
    }
    return all && is_for(rule, view) ? Outcome::matches : Outcome::waits;
  }

  void begin() {
    progress() = {};
    progress().generation = of.serial_;
    progress().offered.resize((2 * rules.size() + 63) / 64);
    progress().scanned.resize(2 * of.buffers_.size());
  }

  void inspect(Transaction& one) {
    transaction = &one;
    if (!one.begun(window.side)) return;
    if (progress().generation != of.serial_) begin();
    if (progress().ended[window.side]) return;
    constexpr size_t kKeptLooks = 16;  // a long list is not paid for by what comes behind it
    for (auto& looks : scratch.looks) {
      if (looks.size() > kKeptLooks) looks.resize(kKeptLooks);
      for (Scratch::Look& look : looks) look.known = false;
    }
    if (!std::exchange(progress().begun[window.side], true))
      for (const uint32_t rule : of.always_) offer(rule);
    for (uint32_t number = 0; number < of.buffers_.size(); ++number) scan(number);
    one.set_scanned(window.side);
    std::erase_if(progress().candidates, [&](Progress::Candidate& candidate) {
      if (candidate.side != window.side) return false;
      const Outcome outcome = judge(candidate);
      if (outcome == Outcome::matches) hits.push_back(candidate.rule);
      return outcome != Outcome::waits;
    });
    progress().ended[window.side] = one.ended(window.side);
  }
};

void BufferRules::inspect(std::span<const Signature> rules, const View& view, const Window& window, Scratch& scratch,
                          Workspace& workspace, std::vector<uint32_t>& hits) const {
  scratch.looks.resize(buffers_.size());
  Inspection inspection{*this, rules, view, window, scratch, workspace, hits};
  for (Transaction* transaction : window.dialogue->transactions()) inspection.inspect(*transaction);
}

}  // namespace heddle::nids
