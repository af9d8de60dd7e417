#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "click/address_book.h"
#include "elements/nat/mapping_table.h"

namespace heddle::nat {

/** How new flows are rewritten: "SADDR SPORT DADDR DPORT", '-' leaves a part as it is. SADDR may be a range of
 *  addresses (10.0.0.1-10.0.0.9) or a network, SPORT a range of ports (1024-65535; with # behind it, taken in turn). */
class Pattern {
 public:
  /** Whether `words` are a pattern; four of them, or two for addresses alone. Says what is wrong with them in
   *  `mistake`. */
  static std::shared_ptr<Pattern> read(const click::AddressNames& names, const std::vector<std::string>& words,
                                       std::string& mistake);

  /** Number of different ways to rewrite a flow; the `which`-th way, from where() on. */
  uint64_t ways() const { return uint64_t{addresses_} * ports_; }
  FlowKey apply(const FlowKey& flow, uint32_t which) const;
  /** Where to begin to look for a way that is free. */
  uint32_t where() const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  uint32_t source_ = 0, destination_ = 0;  // host byte order; the first of a range
  uint16_t source_port_ = 0, destination_port_ = 0;
  uint32_t addresses_ = 1, ports_ = 1;  // in the range
  bool keeps_source_ = true, keeps_source_port_ = true, keeps_destination_ = true, keeps_destination_port_ = true;
  bool in_turn_ = false;
  mutable std::atomic<uint32_t> next_{0};
};

/** What an input does with packets of flows that are not known: an input specification. */
struct InputSpec {
  enum class Do : uint8_t { drop, pass, rewrite };
  Do what = Do::drop;
  uint8_t forward = 0, back = 0;     ///< outputs; of `pass`, forward
  std::shared_ptr<Pattern> pattern;  ///< null: keep
  std::string pattern_name;          ///< of IPRewriterPatterns, until it is looked up
};

/** "drop", "pass O", "keep F R", "pattern SADDR SPORT DADDR DPORT F R", or "NAME F R". Says what is wrong with it in
 *  `mistake`. */
InputSpec read_input_spec(const click::AddressNames& names, const std::string& text, int outputs, std::string& mistake);

}  // namespace heddle::nat
