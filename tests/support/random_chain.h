#pragma once

#include <random>
#include <string>
#include <vector>

/** Random chains whose elements' accesses are known here from their manuals, not from the elements. */
namespace heddle::test {

/** Bytes [from, to) as an element sees a packet begin; to = kOpen: up to its end. */
struct Field {
  static constexpr int kOpen = 1 << 20;
  int from, to;
};
constexpr unsigned kDst = 1, kPaint = 2;  ///< bits for columns

/** An element of a chain. A field that it both reads and writes is read first. */
struct Step {
  std::string name{}, text{};
  std::vector<Field> reads{}, writes{};
  unsigned column_reads = 0, column_writes = 0;
  int head = 0;  ///< bytes that it strips; negative: brings back
  int tail = 0;  ///< bytes that it puts behind packets; negative: takes off
  int outputs = 1;
  bool function = false;        ///< more than a neutral element, if a GPU runs it
  int parent = -1, output = 0;  ///< the element before it, and by which of that one's outputs
  bool is_sink() const { return outputs == 0; }
};

struct ChainOptions {
  bool forks = true;   ///< at look-ups
  bool drops = true;   ///< elements that may drop packets of 64 bytes or more
  bool whole = false;  ///< GPUs get functions that want whole packets, and often the CPU something between
  int most_steps = 9;
};

/** A tree of elements behind a TestSource(SETS "dst paint"), in topological order; the leaves are TestSinks. */
struct RandomChain {
  std::vector<Step> steps;
  RandomChain(std::mt19937& random, const ChainOptions& options);
  std::string text() const;
  /** From the source to each sink: indices of steps. */
  std::vector<std::vector<int>> paths() const;
};

}  // namespace heddle::test
