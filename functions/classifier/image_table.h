#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "core/huge_pages.h"
#include "core/table.h"
#include "functions/classifier/field.h"
#include "functions/classifier/image.h"

namespace heddle::classifier {

/** An image that has been built, as its builder leaves it. */
struct BuiltImage {
  HugePages memory;  ///< starts with the Image
  size_t bytes = 0;
  /** Pairs of places of rules, ascending: only where the first one is there the image may do without the second. A pair
   *  of twice the same says that there are many such others. */
  std::vector<std::pair<uint32_t, uint32_t>> hidden{};

  Image& image() const { return *reinterpret_cast<Image*>(memory.get()); }
  /** Changes words of it before it has readers; they make up `moment`. */
  void change(std::span<const TableWord> words, Moment moment) const;
};

/** Says where the values of keys are, for an image whose search does not go by dimensions. `layout` has room in it. */
void put_places(Image& image, const Layout& layout);

/** Builders call it now and then; it throws if the image is no more wanted. */
using CheckWanted = std::function<void()>;

/** Takes room in an image that ends at `end` for rules to come, whose conditions follow `conditions` others at
 *  Image::conditions. */
void take_room_to_list(Image& image, size_t conditions, size_t& end);

/** A set of rules as an Image. A set is replaced as a whole: the new image is built beside the old one, which readers
 *  keep until they are done (reclaim()). Or words of it are changed. */
class ImageTable : public Table {
 public:
  std::span<const std::byte> bytes() const override { return {memory_.get(), bytes_}; }
  /** Devices go by the moment before until what they had in flight is back. */
  bool has_retired() const override { return !retired_.empty() || in_flight_; }
  void reclaim() override { retired_.clear(), in_flight_ = false; }

  /** For readers, who fetch it anew for each batch. */
  const Image& image() const { return *image_.load(std::memory_order_acquire); }

  /** Makes the built image the set. */
  void take(BuiltImage built);
  /** Changes words of 4 bytes, which readers may be using, and of 8, which none is, and then lets readers see
   *  `moment`. */
  void change(std::span<const TableWord> words, Moment moment);

 private:
  HugePages memory_;
  size_t bytes_ = 0;
  std::atomic<const Image*> image_{nullptr};
  std::vector<HugePages> retired_;
  bool in_flight_ = false;  // packets on a device that may go by another moment than the last
};

}  // namespace heddle::classifier
