#pragma once

#include "core/compound.h"

namespace heddle {

/** GPUSetCRC32CommList: SetCRC32 on a GPU, which gets its packets by lists.
 *
 *      GPUSetCRC32CommList([keywords MAX_BATCH, CAPACITY, LISTS_PER_CORE, BLOCKING, PERSISTENT])
 *
 *  SetCRC32(VARIANT click) with DEVICE gpu, TRANSPORT commlist and LAUNCH async; keywords as GPUEtherMirrorCommList has
 *  them.
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> MinBatch(992) -> GPUSetCRC32CommList(MAX_BATCH 1024) -> ToDPDKDevice(0);
 */
class GPUSetCRC32CommList : public Compound {
 public:
  static constexpr const char* kText = R"({
    __REST__ $rest |
    input -> SetCRC32(VARIANT click, DEVICE gpu, TRANSPORT commlist, LAUNCH async, $rest) -> output
  })";
};

/** GPUSetCRC32Coalescent: SetCRC32 on a GPU, which gets whole packets side by side.
 *
 *      GPUSetCRC32Coalescent(MAX_PKT_SIZE bytes[, keywords MAX_BATCH, CAPACITY, QUEUES_PER_CORE, BLOCKING, ZEROCOPY,
 *          PERSISTENT])
 *
 *  SetCRC32(VARIANT click) with DEVICE gpu and LAUNCH async; keywords as GPUEtherMirrorCoalescent has them. Packets
 *  longer than MAX_PKT_SIZE are dropped (by a CheckLength). As much is packed as a packet is long, not MAX_PKT_SIZE.
 */
class GPUSetCRC32Coalescent : public Compound {
 public:
  static constexpr const char* kText = R"({
    MAX_PKT_SIZE $bytes, __REST__ $rest |
    input -> CheckLength($bytes) -> SetCRC32(VARIANT click, DEVICE gpu, TRANSPORT coalescent, LAUNCH async, $rest) -> output
  })";
};

}  // namespace heddle
