#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/table.h"
#include "functions/aho_corasick/automata.h"
#include "functions/aho_corasick/pattern_file.h"

namespace heddle::aho_corasick {

/** A file's patterns, ready for packets. */
struct Generation {
  /** `first_id`, `matched`: as in Image. Throws Error if the patterns make too many states. */
  Generation(std::vector<PatternLine> lines, uint32_t first_id, uint32_t matched);

  const std::vector<PatternLine> lines;
  Automata automata;  ///< patterns have the numbers of their lines
};

/** The patterns of AhoCorasick. They are replaced as a whole; packet threads keep those before until they are done with
 *  them. */
class PatternTable : public Table {
 public:
  /** Makes `lines` the patterns; `matched`: as in Image. Throws Error, and leaves all as it is, if they make too many
   *  states. */
  void load(std::vector<PatternLine> lines, uint32_t matched);

  std::span<const std::byte> bytes() const override { return current_->automata.bytes(); }
  bool has_retired() const override { return retired_ != nullptr; }
  void reclaim() override { retired_.reset(); }

  /** For packet threads, who fetch it anew for each batch, and handlers, of which only one runs at a time. */
  const Generation& now() const { return *now_.load(std::memory_order_acquire); }

 private:
  std::unique_ptr<Generation> current_, retired_;
  std::atomic<const Generation*> now_{nullptr};
};

}  // namespace heddle::aho_corasick
