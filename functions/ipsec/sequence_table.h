#pragma once

#include <cstddef>
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "core/table.h"
#include "functions/ipsec/associations.h"
#include "functions/ipsec/sequence_rule.h"

namespace heddle::ipsec {

/** The table of IPsecSequence's GPU side, which is made when it is known that there is one. */
class SequenceTable : public Table {
 public:
  /** `header`: all but `count` and `link_bytes`, which are those of `associations`. */
  void load(const Associations& associations, SequenceImage header) {
    header.count = associations.count(), header.link_bytes = associations.image().link_bytes;
    const auto selectors = header.by == By::selector ? associations.selectors().bytes() : std::span<const std::byte>{};
    const size_t origins = header.count * sizeof(SequenceImage::Origin);
    memory_.assign(sizeof header + origins + selectors.size(), std::byte{});
    new (memory_.data()) SequenceImage(header);
    auto* origin = reinterpret_cast<SequenceImage::Origin*>(memory_.data() + sizeof header);
    for (uint32_t i = 0; i < header.count; ++i, ++origin)
      new (origin) SequenceImage::Origin{associations[i], associations.next_number(i)};
    if (!selectors.empty()) std::memcpy(static_cast<void*>(origin), selectors.data(), selectors.size());
  }
  std::span<const std::byte> bytes() const override { return memory_; }

  /** The number that association `place` begins with. */
  uint64_t first(uint32_t place) const {
    return reinterpret_cast<const SequenceImage*>(memory_.data())->origins()[place].first;
  }

  /** Also while packets flow. */
  void set_mtu(uint32_t mtu) {
    if (memory_.empty()) return;
    auto& image = *reinterpret_cast<SequenceImage*>(memory_.data());
    image.mtu = mtu;
    changed(offsetof(SequenceImage, mtu), std::as_bytes(std::span(&image.mtu, 1)));
  }

 private:
  std::vector<std::byte> memory_;
};

}  // namespace heddle::ipsec
