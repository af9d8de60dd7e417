#pragma once

#include "core/compound.h"

namespace heddle {

/** GPUEtherMirrorCommList: EtherMirror on a GPU, which gets its packets by lists.
 *
 *      GPUEtherMirrorCommList([keywords MAX_BATCH, CAPACITY, LISTS_PER_CORE, BLOCKING, PERSISTENT])
 *
 *  EtherMirror with DEVICE gpu, TRANSPORT commlist and LAUNCH async, under the name and with the keywords of T.
 *  Barbette's FastClick. MAX_BATCH: packets of a batch that go to the GPU; those behind are dropped ("max_batch").
 *  CAPACITY: batches that a list holds, 1 to 4096, by default one; all lists of a thread together have at most 65,536
 *  slots of 32 packets, and what does not fit is an error that says what would. What goes to the GPU together is at
 *  most 1,024 packets; of longer batches the parts follow each other. LISTS_PER_CORE: lists of a packet thread, filled
 *  in turn, a CUDA stream each (default 4, at most 16). BLOCKING: when all lists are full, wait (true, default) or drop
 *  ("no_slot"). PERSISTENT true: a resident kernel polls the lists, and reads and writes packets where they lie, in
 *  host memory (TRANSPORT direct), for the copy engine only works beside launches. DPDKInfo's POOL says otherwise where
 *  they lie. Nothing of it falls back to the CPU: without a GPU the chain does not start. It is on the first GPU; for
 *  another one write what it stands for, with DEVICE gpu1.
 *
 *  Example:
 *
 *      FromDPDKDevice(0) -> MinBatch(992) -> GPUEtherMirrorCommList(MAX_BATCH 1024) -> ToDPDKDevice(0);
 */
class GPUEtherMirrorCommList : public Compound {
 public:
  static constexpr const char* kText = R"({
    __REST__ $rest |
    input -> EtherMirror(DEVICE gpu, TRANSPORT commlist, LAUNCH async, $rest) -> output
  })";
};

/** GPUEtherMirrorCoalescent: EtherMirror on a GPU, which gets the addresses of packets side by side.
 *
 *      GPUEtherMirrorCoalescent([keywords MAX_BATCH, CAPACITY, QUEUES_PER_CORE, BLOCKING, ZEROCOPY, PERSISTENT])
 *
 *  EtherMirror with DEVICE gpu and LAUNCH async; the CPU packs the twelve bytes that the function wants of each packet.
 *  ZEROCOPY false (default): the copy engine takes them to GPU memory and back (TRANSPORT coalescent); true: the kernel
 *  works on them in host memory (TRANSPORT zerocopy). PERSISTENT true: a resident kernel polls the queues, with
 *  TRANSPORT zerocopy. The other keywords are those of GPUEtherMirrorCommList.
 */
class GPUEtherMirrorCoalescent : public Compound {
 public:
  static constexpr const char* kText = R"({
    __REST__ $rest | input -> EtherMirror(DEVICE gpu, TRANSPORT coalescent, LAUNCH async, $rest) -> output
  })";
};

}  // namespace heddle
