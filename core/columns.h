#pragma once

#include <cstdint>

namespace heddle {

/** The columns that travel with packets beside their bytes. The same on a batch (CPU), a slot (between CPU and GPU) and
 *  a tile (GPU). A function declares which it reads and writes; the plan refuses a chain in which a column is read that
 *  nothing before has written. */
enum class Column : uint8_t {
  dst,  ///< destination IPv4 address annotation, network byte order (Click's dst_ip_anno)
  l3,   ///< byte offset of the network header, from the packet's buffer on the CPU, from the frame in a slot and a tile
  l4,   ///< the same of the transport header
  paint,  ///< Click's paint annotation, 0..255
};
constexpr int kColumns = 4;
constexpr const char* kColumnNames[kColumns] = {"dst", "l3", "l4", "paint"};

/** A set of columns, bit i = Column(i). */
using ColumnSet = uint8_t;
constexpr ColumnSet columns() { return 0; }
template <class... More>
constexpr ColumnSet columns(Column first, More... more) {
  return static_cast<ColumnSet>(1u << static_cast<int>(first) | columns(more...));
}

/** `next` values from here up drop the packet; the low byte is the reason, an index into Element::drop_reasons(). */
constexpr uint16_t kDrop = 0xff00;

}  // namespace heddle
