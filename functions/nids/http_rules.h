#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "functions/nids/automata.h"
#include "functions/nids/http.h"
#include "functions/nids/match.h"

namespace heddle::nids {

/** Looks for rules in HTTP transactions. Each rule has a fast pattern, the content so marked or the longest of its
 *  parts, and is tried in a transaction in which that occurs in the buffer that it is for; all such patterns make one
 *  automaton, which goes over each buffer that some pattern is for. Of a buffer the bytes are those that the rule asks
 *  for, decoded and transformed, so nothing is missed that is not in the connection as it came. */
class HttpRules {
 public:
  /** Numbers the rules' parts. */
  explicit HttpRules(std::vector<Signature>& rules);

  /** What a thread needs. */
  struct Scratch {
    struct Look {
      bool known = false;
      HttpTransaction::State state{};
      std::string_view text;
      std::string made, changed;
    };
    std::vector<Look> looks;  // [buffer]
  };

  /** Appends the rules that match transactions of `window.http` with what has come last, one for each transaction, to
   *  `hits`, but for bits and thresholds. A rule matches once, in a packet of its direction, when all its parts have
   *  been there, though some may have come before. */
  void inspect(std::span<const Signature> rules, const View& view, const Window& window, Scratch& scratch,
               Workspace& workspace, std::vector<uint32_t>& hits) const;

 private:
  struct Buffer {
    HttpBuffer buffer;
    std::vector<HttpTransform> transforms;
    bool has_patterns = false;
  };
  struct Inspection;

  uint64_t serial_;
  std::vector<Buffer> buffers_;
  std::vector<uint32_t> always_;               // rules without a pattern
  std::vector<Signature> patterns_;            // of a content each
  std::vector<uint32_t> rule_of_, buffer_of_;  // [pattern]
  std::vector<uint8_t> sides_;                 // [rule]: bits, where it may match; 0: it looks into no transaction
  Automata automata_;
};

}  // namespace heddle::nids
