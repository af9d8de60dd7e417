#pragma once

#include <array>
#include <utility>

#include "core/column_pack.h"
#include "core/element.h"

namespace heddle {

/** A packet that a LookAheadScheduler has taken from an input, with its columns. It is the scheduler's until it leaves
 *  or is freed. */
class HeldAhead {
 public:
  /** As LookAheadScheduler::hold(). */
  void take(Batch& batch, int i, ColumnSet columns, int origin) {
    packet_ = batch.packet(i), origin_ = origin, columns_ = columns;
    ColumnPack(columns).save(batch, i, values_.data());
  }
  /** Puts it into `batch`, which is empty; returns its origin. It is held no more. */
  int give(Batch& batch) {
    batch.packets()[0] = std::exchange(packet_, nullptr);
    ColumnPack(columns_).load(batch, 0, values_.data());
    batch.resize(1);
    return origin_;
  }
  Packet* packet() const { return packet_; }  ///< null: none
  void free() { rte_pktmbuf_free(std::exchange(packet_, nullptr)); }

 private:
  Packet* packet_ = nullptr;
  int origin_ = 0;
  ColumnSet columns_ = 0;
  std::array<std::byte, sizeof(uint32_t) * static_cast<size_t>(words(kAllColumns))> values_;
};

}  // namespace heddle
