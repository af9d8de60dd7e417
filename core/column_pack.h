#pragma once

#include <cstddef>
#include <cstring>

#include "core/batch.h"

namespace heddle {

/** A packet's columns one behind the other, for places where packets wait outside of a batch (queues, slots in
 *  flight). */
class ColumnPack {
 public:
  explicit ColumnPack(ColumnSet columns = 0) : columns_(columns) {}

  ColumnSet columns() const { return columns_; }
  size_t bytes() const { return static_cast<size_t>(words(columns_)) * sizeof(uint32_t); }

  /** Copies the columns of packet `i` of `batch` to `to`, bytes() of them at any alignment. */
  void save(Batch& batch, int i, std::byte* to) const {
    each_column(columns_, [&](Column which) {
      const auto size = static_cast<size_t>(words(which)) * sizeof(uint32_t);
      std::memcpy(to, batch.column(which) + i * words(which), size);
      to += size;
    });
  }
  /** The way back. */
  void load(Batch& batch, int i, const std::byte* from) const {
    each_column(columns_, [&](Column which) {
      const auto size = static_cast<size_t>(words(which)) * sizeof(uint32_t);
      std::memcpy(batch.column(which) + i * words(which), from, size);
      from += size;
    });
  }

 private:
  ColumnSet columns_;
};

/** Whether packets that wait with the columns `had` may go where `wanted` are read: the others have a value that means
 *  that nobody has set them, 0. */
inline bool can_carry(ColumnSet wanted, ColumnSet had) { return (wanted & ~had & ~kClearedColumns) == 0; }
/** Sets these columns to 0. */
inline void clear_missing(Batch& batch, ColumnSet missing) {
  each_column(missing, [&](Column which) {
    std::memset(batch.column(which), 0,
                static_cast<size_t>(batch.size()) * static_cast<size_t>(words(which)) * sizeof(uint32_t));
  });
}

}  // namespace heddle
