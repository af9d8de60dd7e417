#pragma once

#include <cstring>

#include "core/batch.h"

namespace heddle {

/** Values of column `link`, Click's packet type. */
enum LinkType : uint32_t { kToHost, kBroadcast, kMulticast, kToOtherHost, kFromThisHost, kLoopback };

/** By a frame's destination alone; whose host it is for, only an address can tell. */
inline LinkType link_type_of(const uint8_t* frame) {
  if ((frame[0] & 1) == 0) return kToHost;
  static constexpr uint8_t kEverybody[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  return std::memcmp(frame, kEverybody, 6) == 0 ? kBroadcast : kMulticast;
}

/** What sources of Ethernet frames do if somebody behind reads it. From packet `first` on. */
inline void set_link_types(Batch& batch, int first) {
  for (int i = first; i < batch.size(); ++i)
    batch.column(Column::link)[i] = batch.length(i) < 6 ? kToHost : link_type_of(batch.frame(i));
}

}  // namespace heddle
