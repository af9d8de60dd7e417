#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "click/address_book.h"
#include "elements/nat/mapping_table.h"

namespace heddle::nat {

/** How new flows are rewritten: "SADDR SPORT DADDR DPORT", "SADDR DADDR SPORT" or "SADDR DADDR"; '-' leaves a part as
 *  it is. SADDR may be a range of addresses (10.0.0.1-10.0.0.9) or a network, SPORT a range of ports (1024-65535), of
 *  which a flow keeps its own port if it can; with # behind a range it is taken in turn, with ? at random. */
class Pattern {
 public:
  /** The pattern of two to four `words`. Says what is wrong with them in `mistake`. */
  static std::shared_ptr<Pattern> read(const click::AddressNames& names, const std::vector<std::string>& words,
                                       std::string& mistake);

  /** Number of different ways to rewrite a flow; the `which`-th way, from where() on. */
  uint64_t ways() const { return uint64_t{addresses_} * ports_; }
  FlowKey apply(const FlowKey& flow, uint64_t which) const;
  /** The way that keeps the flow's own source port, which is tried before others: if it is in the range, of which
   *  others are chosen at random. */
  bool prefers(const FlowKey& flow, uint64_t& which) const;
  /** Where to begin to look for a way that is free. */
  uint64_t where() const;
  /** where() gives numbers that follow from `seed`. Before any thread asks for them. */
  void repeat(uint64_t seed) { random_.emplace(seed); }
  /** Says that `ways` from there on were not. */
  void passed(uint64_t ways) const {
    if (in_turn_ && ways > 0) next_.fetch_add(ways, std::memory_order_relaxed);
  }
  /** Its parts, as Click says them: ranges from their first to their last. */
  const std::string& text() const { return text_; }
  /** Which of its parts are not '-'. */
  enum Part : uint8_t { kSourceAddress = 1, kSourcePort = 2, kDestinationAddress = 4, kDestinationPort = 8 };
  uint8_t parts() const {
    return static_cast<uint8_t>((keeps_source_ ? 0 : kSourceAddress) | (keeps_source_port_ ? 0 : kSourcePort) |
                                (keeps_destination_ ? 0 : kDestinationAddress) |
                                (keeps_destination_port_ ? 0 : kDestinationPort));
  }

 private:
  void write_text(bool with_ports);

  std::string text_;
  uint32_t source_ = 0, destination_ = 0;  // host byte order; the first of a range
  uint16_t source_port_ = 0, destination_port_ = 0;
  uint32_t addresses_ = 1, ports_ = 1;  // in the range
  bool keeps_source_ = true, keeps_source_port_ = true, keeps_destination_ = true, keeps_destination_port_ = true;
  bool in_turn_ = false, keeps_ports_ = true;  // keeps_ports_: unless in_turn_ or ? behind a range
  mutable std::atomic<uint64_t> next_{0};
  mutable std::atomic_flag drawing_;  // guards random_
  mutable std::optional<std::mt19937_64> random_;
};

/** How a mapper chooses one of its patterns for a new flow. */
class MapperChoice {
 public:
  virtual ~MapperChoice() = default;
  /** Which of `patterns` is to be tried at the `attempt`-th attempt, from 0 on; -1: none. Any thread. */
  virtual int choose(const FlowKey& flow, int attempt, int patterns) = 0;
};

/** What an input does with packets of flows that are not known: an input specification. */
struct InputSpec {
  enum class Do : uint8_t { drop, pass, rewrite };
  Do what = Do::drop;
  uint8_t forward = 0, back = 0;     ///< outputs; of `pass`, forward
  std::shared_ptr<Pattern> pattern;  ///< null: keep
  std::string pattern_name;          ///< of IPRewriterPatterns, until it is looked up
  std::string mapper_name;           ///< of a mapper, such as RoundRobinIPMapper; "": none
  /** Its patterns, once it is looked up. */
  std::vector<InputSpec> mapped{};
  std::shared_ptr<MapperChoice> choice{};
};

/** What an input specification may be, to complete a message. */
inline constexpr const char* kInputSpecForms =
    "expected drop, pass OUT, keep OUT BACK, pattern SADDR SPORT DADDR DPORT OUT BACK, pattern SADDR DADDR OUT BACK, "
    "pattern SADDR DADDR SPORT OUT BACK, NAME OUT BACK or the name of a RoundRobinIPMapper or SourceIPHashMapper";

/** "drop", "pass O", "keep F R", "pattern PATTERN F R", "NAME F R" (or "pattern NAME F R"), or "MAPPER". Says what is
 *  wrong with it in `mistake`. */
InputSpec read_input_spec(const click::AddressNames& names, const std::string& text, int outputs, std::string& mistake);

}  // namespace heddle::nat
