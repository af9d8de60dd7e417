#pragma once

#include "core/batch.h"

namespace heddle {

/** An element that finds packets' headers, and can do so again where functions are to parse them for themselves
 *  (`--isolate`). */
class Parses {
 public:
  virtual ~Parses() = default;
  /** Where the headers are that it looks for: bytes from where it sees packets begin. */
  virtual int parses_at() const = 0;
  /** Checks again the headers of packets that it has let pass, each where column l3 says, and sets those of `columns`
   *  that it sets. A header that is not valid any more keeps what it has. On packet threads. */
  virtual void parse_again(Batch& batch, ColumnSet columns) = 0;
};

}  // namespace heddle
