#pragma once

#include <string>

#include "core/columns.h"

namespace heddle {

class Element;

/** An element that can use a column only as certain elements set it: what they write there are places in a table that
 *  it has from one of them. */
class ChecksSetter {
 public:
  virtual ~ChecksSetter() = default;
  /** Asked by the plan, after link(), about each element that may have set a column that this one reads: "" if its
   *  values are good here; else what follows "the ... annotation of its packets is set by 'SETTER'": whose values it
   *  wants, and the remedy. */
  virtual std::string wrong_setter(Column column, const Element& setter) const = 0;
};

}  // namespace heddle
