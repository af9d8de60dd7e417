#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "convert/rules/rule_list.h"
#include "convert/rules/terms.h"

namespace heddle::classifier {

/** A line of a chain: which packets, and what becomes of them. */
struct ChainLine {
  enum class Then : uint8_t {
    nothing,  ///< they go on to the next line
    verdict,
    jump,    ///< they go to chain `to` and, from its end, to the next line
    goes,    ///< they go to chain `to` and, from its end, to where this chain has been jumped from
    returns  ///< they go to where this chain has been jumped from
  };
  Matches matches;
  Then then = Then::nothing;
  uint16_t verdict = kNoAction;  ///< kAllow or kDeny
  bool answers = false;          ///< the sender of what is denied gets an answer
  std::string to;
};

/** The chains of a foreign file. */
class ForeignChains {
 public:
  virtual ~ForeignChains() = default;
  virtual size_t lines(const std::string& chain) const = 0;
  /** Of line `i` of a chain, from 0: its number in the file, its text, and what it says. read() throws Error: what is
   *  wrong or not supported, also a chain `to` that does not exist. */
  virtual size_t number(const std::string& chain, size_t i) const = 0;
  virtual std::string text(const std::string& chain, size_t i) const = 0;
  virtual ChainLine read(const std::string& chain, size_t i) const = 0;
  /** Whether the line drops packets, or leads to a chain that may, whatever read() makes of it. */
  virtual bool may_drop(const std::string& chain, size_t i) const = 0;
};

/** Whether packets that come to a chain at `hook` come to one at `other`, too; "": that of forwarding. Names as in
 *  nft. */
bool is_on_way(const std::string& hook, const std::string& other);

/** Puts the rules of a chain, and of those that it jumps to, in the order in which they count. A chain that is jumped
 *  to from several lines is there several times, each time narrowed to the packets that come. */
class ChainReader {
 public:
  /** What becomes of packets at the end of the first chain is `list.policy`. */
  ChainReader(const ForeignChains& chains, bool skip_unsupported, RuleList& list, Mistakes& mistakes)
      : chains_(chains), skip_unsupported_(skip_unsupported), list_(list), mistakes_(mistakes) {}
  /** Appends to the list. Lines that are not supported are mistakes, or skipped. The number of lines, each counted
   *  once, that it has come to. */
  size_t read(const std::string& chain);
  /** The chains that read() has come to. */
  const std::set<std::string>& seen() const { return seen_; }

 private:
  using Line = std::pair<std::string, size_t>;  // chain, place
  using Rules = std::vector<Rule>;
  static constexpr size_t kMaxDepth = 64;
  void walk(const std::string& chain, Rules here);
  void follow(const Line& at, const ChainLine& line, Rules& here);
  void jump(const std::string& to, const Rules& packets);
  void leave(const Line& at, const Rules& packets, Rules& here);
  void add(const Line& at, Rules rules);
  void refuse(const Line& at, const std::string& reason);
  bool is_first_chain() const { return path_.size() == 1; }

  const ForeignChains& chains_;
  bool skip_unsupported_;
  RuleList& list_;
  Mistakes& mistakes_;
  std::vector<std::string> path_;    // chains that lead here
  std::set<std::string> seen_;       // chains
  std::set<Line> refused_, silent_;  // lines that are wrong, or have no verdict
  std::map<Line, bool> of_jumps_;    // lines of chains that are jumped to: whether they have become rules
  size_t steps_ = 0;                 // for lines of chains that are jumped to
};

}  // namespace heddle::classifier
