#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/automata.h"
#include "functions/nids/match.h"
#include "functions/nids/transaction.h"

namespace heddle::nids {

/** Looks for rules in transactions of application protocols. Each rule has a fast pattern, the content so marked or the
 *  longest of its parts, and is tried in a transaction in which that occurs in the buffer that it is for; all such
 *  patterns make one automaton, which goes over each buffer that some pattern is for. Of a buffer the bytes are those
 *  that the rule asks for, decoded and transformed, so nothing is missed that is not in the connection as it came. */
class BufferRules {
 public:
  /** Numbers the rules' parts. */
  explicit BufferRules(std::vector<Signature>& rules);

  /** What a thread needs. */
  struct Scratch {
    struct Look {
      bool known = false;
      Transaction::State state{};
      std::string_view text;
      std::string made, changed;
    };
    std::vector<std::deque<Look>> looks;  // [buffer][which of a list; of others 0]
  };

  /** Appends the rules that match transactions of `window.dialogue` with what has come last, one for each transaction,
   *  to `hits`, but for bits and thresholds. A rule matches once, in a packet of its direction, when all its parts have
   *  been there, though some may have come before. */
  void inspect(std::span<const Signature> rules, const View& view, const Window& window, Scratch& scratch,
               Workspace& workspace, std::vector<uint32_t>& hits) const;

 private:
  /** A buffer with what is done to its bytes. */
  struct Transformed {
    Buffer buffer;
    std::vector<Transform> transforms;
    bool has_patterns = false;
  };
  struct Inspection;

  uint64_t serial_;
  std::vector<Transformed> buffers_;
  std::vector<uint32_t> always_;               // rules without a pattern
  std::vector<Signature> patterns_;            // of a content each
  std::vector<uint32_t> rule_of_, buffer_of_;  // [pattern]
  std::vector<uint8_t> sides_;                 // [rule]: bits, where it may match; 0: it looks into no transaction
  Automata automata_;
};

}  // namespace heddle::nids
