#pragma once

#include <cstdint>

#include "functions/ipsec/headers.h"
#include "functions/ipsec/selectors.h"

/** IPsecSequence as a GPU knows it. */
namespace heddle::ipsec {

/** Why it drops a packet; the first three as Encap would. */
enum SequenceReason : int { kNoAssociation, kBroken, kPart, kExhausted, kOver, kTooBig };
static_assert(kNoAssociation == static_cast<int>(kNoSa) && kBroken == static_cast<int>(kMalformed) &&
              kPart == static_cast<int>(kFragment));

/** Which association a packet gets: that of its addresses, that of column sa, always the same one. */
enum class By : uint32_t { selector, column, spi };

/** The table of its GPU side: this, then `count` associations, then a SelectorImage, if `by` wants one. */
struct alignas(16) SequenceImage {
  /** What the numbers of an association begin with. Those that have been taken since are in the function's State. */
  struct alignas(16) Origin {
    Form form;
    uint64_t first;  ///< number of the first packet
  };
  uint32_t count, link_bytes;
  By by;
  uint32_t only;           ///< by SPI: the association
  uint32_t mtu;            ///< may change
  uint32_t second_output;  ///< whether packets that are too big leave by output 1

  HEDDLE_HD const Origin* origins() const { return reinterpret_cast<const Origin*>(this + 1); }
  HEDDLE_HD const SelectorImage& selectors() const {
    return *reinterpret_cast<const SelectorImage*>(origins() + count);
  }
};

/** Numbers of an association that a GPU has taken. */
struct Taken {
  unsigned long long numbers;
};

}  // namespace heddle::ipsec
