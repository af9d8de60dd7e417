#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/load.h"
#include "elements/ip/filter/expression.h"

namespace heddle::ip_filter {

/** Where a packet's headers are. */
struct Headers {
  const uint8_t* network;    ///< at least 20 bytes
  uint32_t network_bytes;    ///< from there to the packet's end
  uint32_t transport;        ///< offset of the transport header from `network`
  uint32_t transport_bytes;  ///< from there to the packet's end; 0 if it lies behind that
};

/** A rule: packets that match `pattern` and no rule before get `verdict`, a value of Batch::next(). */
struct Rule {
  Expression pattern;
  uint16_t verdict;
};

/** A decision program: a graph of tests without cycles, each with a step for yes and one for no. */
class Program {
 public:
  struct Step {
    uint32_t mask, low, span;  // yes if (word & mask) - low <= span, unsigned
    int32_t next[2];           // [0] no, [1] yes: a step, or ~verdict
    int16_t offset;            // of the word
    Test::Base base;
    uint32_t transport;  // all ones if `offset` counts from the transport header, else 0
  };

  Program() = default;
  /** Verdict of packets that match no rule: `otherwise`. Throws Error if the program would be too large.
   *  `with_lengths`: asks for lengths, too, so that it is right for packets of any length; without, only for packets
   *  with network_bytes() and transport_bytes(). */
  Program(const std::vector<Rule>& rules, uint16_t otherwise, bool with_lengths);

  uint32_t network_bytes() const { return network_bytes_; }
  uint32_t transport_bytes() const { return transport_bytes_; }
  const std::vector<Step>& steps() const { return steps_; }

  /** The verdict for a packet with at least the bytes that the program looks at. */
  uint16_t run(const Headers& packet) const {
    int32_t at = start_;
    while (at >= 0) {
      const Step& step = steps_[static_cast<size_t>(at)];
      const uint8_t* word = packet.network + step.offset + (packet.transport & step.transport);
      at = step.next[(__builtin_bswap32(load_u32(word)) & step.mask) - step.low <= step.span];
    }
    return static_cast<uint16_t>(~at);
  }
  /** The same for any packet: bytes behind its end are never read. Needs `with_lengths`. */
  uint16_t run_checked(const Headers& packet) const;

  /** In Click's format: a line a step, "[N]" an output, "[X]" a drop. */
  std::string text() const;

 private:
  std::vector<Step> steps_;
  int32_t start_ = -1;
  uint32_t network_bytes_ = 20, transport_bytes_ = 0;
};

}  // namespace heddle::ip_filter
