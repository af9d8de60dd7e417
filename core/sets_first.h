#pragma once

#include "core/columns.h"
#include "core/element.h"

namespace heddle {

/** An element that sets columns of all packets that leave by output 0, and leaves those of others as they are. Its
 *  access() does not name them. It is never on a GPU. */
class SetsFirst {
 public:
  virtual ~SetsFirst() = default;
  virtual ColumnSet sets_first() const = 0;
};

/** Columns that the element sets of packets that leave by `output`, beside those that access() names. */
inline ColumnSet sets_at(const Element& element, int output) {
  const auto* sets = output == 0 ? dynamic_cast<const SetsFirst*>(&element) : nullptr;
  return sets != nullptr ? sets->sets_first() : 0;
}

}  // namespace heddle
