#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "core/table.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/replay_rule.h"

namespace heddle::ipsec {

/** The table of IPsecReplay's GPU side, which is made when it is known that there is one. */
class ReplayTable : public Table {
 public:
  void load(Associations& associations) {
    const uint32_t count = associations.count();
    const bool has_selectors = associations.has_selectors();
    memory_.assign(sizeof(ReplayImage) + count * sizeof(ReplayImage::Window) + has_selectors * count * sizeof(Selector),
                   std::byte{});
    new (memory_.data())
        ReplayImage{count, associations.image().link_bytes, has_selectors, associations.has_extended()};
    auto* window = reinterpret_cast<ReplayImage::Window*>(memory_.data() + sizeof(ReplayImage));
    words_.clear();
    for (uint32_t i = 0; i < count; ++i, ++window) {
      const ReplayWindow& from = associations.window(i);
      const size_t at = words_.size();
      // `seen` is 0, for State begins with the windows as they are.
      new (window) ReplayImage::Window{0, from.window(), from.block_mask(), static_cast<uint32_t>(at)};
      words_.resize(at + from.words());
      if (from.is_on()) from.copy_to(words_.data() + at);
    }
    auto* selector = reinterpret_cast<Selector*>(window);
    for (uint32_t i = 0; has_selectors && i < count; ++i) new (selector + i) Selector(associations.selector(i));
  }
  std::span<const std::byte> bytes() const override { return memory_; }
  /** All windows, as load() has found them. */
  std::span<const uint64_t> words() const { return words_; }

 private:
  std::vector<std::byte> memory_;
  std::vector<uint64_t> words_;
};

}  // namespace heddle::ipsec
