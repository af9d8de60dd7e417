#include "functions/classifier/image_table.h"

#include <cstddef>
#include <cstring>

namespace heddle::classifier {
namespace {

/** Writes the words of an image, and last its moment, which is returned as a word. */
uint64_t write(std::byte* memory, std::span<const TableWord> words, Moment moment) {
  for (const auto& [offset, value, bytes] : words)
    if (bytes == sizeof(uint32_t))
      __atomic_store_n(reinterpret_cast<uint32_t*>(memory + offset), static_cast<uint32_t>(value), __ATOMIC_RELAXED);
    else
      std::memcpy(memory + offset, &value, sizeof value);
  const uint64_t present = moment.number | uint64_t{moment.listed} << 32;
  __atomic_store_n(&reinterpret_cast<Image*>(memory)->moment, present, __ATOMIC_RELEASE);
  return present;
}

}  // namespace

void put_places(Image& image, const Layout& layout) {
  image.dimension_count = static_cast<uint32_t>(kFields + layout.size());
  for (uint32_t d = 0; d < image.dimension_count; ++d) {
    image.dimensions[d].place = d < kFields ? place_of(static_cast<Field>(d)) : layout[d - kFields];
    image.dimensions[d].value = d;
    image.dimensions[d].mask = ~0u;
  }
  image.versions = versions_of(layout);
}

void take_room_to_list(Image& image, size_t conditions, size_t& end) {
  const auto take = [&](size_t bytes) {
    const size_t start = (end + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    end = start + bytes;
    return start;
  };
  image.most_listed = most_listed(image.rules);
  image.listed = take(image.most_listed * sizeof(PlainRule));
  const size_t room = image.dimension_count > kFields ? image.most_listed * kListedConditions : 0;
  image.conditions = take((conditions + room) * sizeof(PlainCondition));
}

void ImageTable::take(BuiltImage built) {
  image_.store(&built.image(), std::memory_order_release);
  std::swap(memory_, built.memory);
  bytes_ = built.bytes;
  if (built.memory == nullptr) return;
  retired_.push_back(std::move(built.memory));
  replaced();
}

void BuiltImage::change(std::span<const TableWord> words, Moment moment) const { write(memory.get(), words, moment); }

void ImageTable::change(std::span<const TableWord> words, Moment moment) {
  const uint64_t present = write(memory_.get(), words, moment);
  changed(words);
  const TableWord last{offsetof(Image, moment), present, sizeof present};
  changed({&last, 1});
  in_flight_ = has_copies();
}

}  // namespace heddle::classifier
