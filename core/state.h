#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace heddle {

/** An element whose GPU side changes memory that outlives tiles (State of the function, gpu/registry.cuh), zero at first, and
 *  who reads it there: for statistics and handlers. */
class StateReader {
 public:
  virtual ~StateReader() = default;

  /** Copies bytes [offset, offset + to.size()) of the State as of now; words of 8 bytes are whole. When the run has ended, as
   *  they were last. Any thread. Set by the engine before packets flow; empty if the element runs on the CPU. */
  std::function<void(size_t offset, std::span<std::byte> to)> read_state;
};

}  // namespace heddle
