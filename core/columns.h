#pragma once

#include <bit>
#include <cstdint>

#include "core/macros.h"

namespace heddle {

/** The columns that travel with packets beside their bytes: named, 32 or 64 bits wide. The same on a batch (CPU), a
 *  slot (between CPU and GPU) and a tile (GPU), and each carries only those that somebody of the chain still reads. A
 *  function declares which it reads and writes; the plan refuses a chain in which a column is read that nothing before
 *  has written. Functions add columns of their own: functions/<name>/columns.def, which the build collects. */
enum class Column : uint8_t {
#define HEDDLE_COLUMN(name, bits, ...) name,
#include "columns.inc"
#undef HEDDLE_COLUMN
};

constexpr const char* kColumnNames[] = {
#define HEDDLE_COLUMN(name, bits, ...) #name,
#include "columns.inc"
#undef HEDDLE_COLUMN
};
constexpr int kColumns = sizeof kColumnNames / sizeof kColumnNames[0];
static_assert(kColumns <= 64, "a ColumnSet has 64 bits");

/** A set of columns, bit i = Column(i). */
using ColumnSet = uint64_t;
constexpr ColumnSet columns() { return 0; }
template <class... More>
constexpr ColumnSet columns(Column first, More... more) {
  return ColumnSet{1} << static_cast<int>(first) | columns(more...);
}
constexpr ColumnSet kAllColumns = ~ColumnSet{0} >> (64 - kColumns);

/** Those that are 64 bits wide; the others have 32. */
constexpr ColumnSet kWideColumns = 0
#define HEDDLE_COLUMN(name, bits, ...) | ((bits) == 64 ? columns(Column::name) : 0)
#include "columns.inc"
#undef HEDDLE_COLUMN
    ;
HEDDLE_HD constexpr bool is_wide(Column column) { return (kWideColumns >> static_cast<int>(column) & 1) != 0; }
/** Size of a value in 32-bit words. */
HEDDLE_HD constexpr int words(Column column) { return is_wide(column) ? 2 : 1; }
constexpr int words(ColumnSet set) { return std::popcount(set) + std::popcount(set & kWideColumns); }

/** Those that count from the start of a packet, and so change when it moves. */
constexpr ColumnSet kHeaderColumns = columns(Column::l3, Column::l4);

/** Those that are 0 when a packet enters a chain, unless its source sets them. */
constexpr ColumnSet kClearedColumns =
    columns(Column::paint, Column::fix_ip_src, Column::icmp_param, Column::vlan, Column::link, Column::aggregate);

/** Calls `visit(column)` for each column of `set`, in ascending order. */
template <class Visit>
constexpr void each_column(ColumnSet set, const Visit& visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<Column>(std::countr_zero(set)));
}

/** `next` values from here up drop the packet; the low byte is the reason, an index into Element::drop_reasons(). */
constexpr uint16_t kDrop = 0xff00;
/** This one says that the element has kept the packet (see Emitter). */
constexpr uint16_t kKept = 0xffff;

}  // namespace heddle
