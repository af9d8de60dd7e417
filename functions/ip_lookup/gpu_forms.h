#pragma once

#include "core/compound.h"

namespace heddle {

/** GPUIPLookup: a linear look-up of IPv4 destinations on a GPU, which gets its packets by lists.
 *
 *      GPUIPLookup(TABLE number[, keywords FOLDER, CAPACITY, LISTS_PER_CORE, MAX_BATCH, BLOCKING, PERSISTENT])
 *
 *  Takes whole Ethernet frames, whose destination it reads at byte 30, and sends those with a route to its one output;
 *  others are dropped ("no_route"). The routes are those of the file tableNUMBER.routes in FOLDER, by default the
 *  current directory, which all name output 0 (`heddle gen routes`, `heddle routes convert`). LinearIPLookup with
 *  DEVICE gpu, TRANSPORT commlist and LAUNCH async; other keywords as GPUEtherMirrorCommList has them.
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> MinBatch(992) -> GPUIPLookup(TABLE 1) -> ToDPDKDevice(0);
 */
class GPUIPLookup : public Compound {
 public:
  static constexpr const char* kText = R"({
    TABLE $table, FOLDER $folder, __REST__ $rest |
    input -> GetIPAddress(30)
          -> LinearIPLookup(FILE $folder/table$table.routes, DEVICE gpu, TRANSPORT commlist, LAUNCH async, $rest)
          -> output
    ||
    TABLE $table, __REST__ $rest |
    input -> GetIPAddress(30)
          -> LinearIPLookup(FILE table$table.routes, DEVICE gpu, TRANSPORT commlist, LAUNCH async, $rest) -> output
  })";
};

/** GPUIPLookupWithCopy: a linear look-up of IPv4 destinations on a GPU, which gets the addresses side by side.
 *
 *      GPUIPLookupWithCopy(TABLE number[, keywords FOLDER, CAPACITY, QUEUES_PER_CORE, MAX_BATCH, BLOCKING, ZEROCOPY,
 *          PERSISTENT])
 *
 *  As GPUIPLookup, but the CPU packs the destinations: TRANSPORT coalescent, or zerocopy with ZEROCOPY true.
 */
class GPUIPLookupWithCopy : public Compound {
 public:
  static constexpr const char* kText = R"({
    TABLE $table, FOLDER $folder, __REST__ $rest |
    input -> GetIPAddress(30)
          -> LinearIPLookup(FILE $folder/table$table.routes, DEVICE gpu, TRANSPORT coalescent, LAUNCH async, $rest)
          -> output
    ||
    TABLE $table, __REST__ $rest |
    input -> GetIPAddress(30)
          -> LinearIPLookup(FILE table$table.routes, DEVICE gpu, TRANSPORT coalescent, LAUNCH async, $rest) -> output
  })";
};

}  // namespace heddle
