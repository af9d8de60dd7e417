#pragma once

#include "core/element.h"

namespace heddle {

/** DPDKInfo: says how much memory packets get.
 *
 *      DPDKInfo([NB_MBUF, keywords NB_MBUF, NB_SOCKET_MBUF, MBUF_SIZE, MBUF_CACHE_SIZE, DEF_RING_NDESC,
 *               DEF_BURST_SIZE, POOL])
 *
 *  NB_MBUF (or NB_SOCKET_MBUF, NB_SOCKET_MBUF_0): packet buffers in all; by default Heddle makes as many as ports,
 *  batches and GPU slots can hold. `heddle run --packets` comes before it. MBUF_SIZE: bytes of a buffer, with 128 bytes
 *  of headroom, 640 to 65535, default 2176, or more when a port has a larger MTU. MBUF_CACHE_SIZE: buffers that a
 *  thread keeps for itself, default 256, up to 512. DEF_RING_NDESC: descriptors of ports that say none, default 1024.
 *  DEF_BURST_SIZE: packets that FromDPDKDevice asks for at a time where it says none, default 64.
 *
 *  POOL: cpu or gpu, where packets lie while functions work on them that get them by lists (GPUEtherMirrorCommList,
 *  GPUIPLookup, GPUSetCRC32CommList; TRANSPORT commlist): the thesis's "location of the memory pool". cpu: in host
 *  memory, where kernels read and write them (TRANSPORT direct). gpu: in GPU memory, which the copy engine fills and
 *  empties where kernels are launched (commlist), and a resident kernel itself (gather); packets are received into
 *  host memory in any case, and are there again when they leave the GPU. Default: gpu where kernels are launched, cpu
 *  for resident ones. `heddle plan` says what came out.
 *
 *  No ports. At most one in a configuration: a second one is an error, as in FastClick.
 *
 *  Example:
 *
 *      DPDKInfo(NB_MBUF 65536, MBUF_SIZE 4096);
 *      FromDPDKDevice(net_null0) -> Discard;
 */
class DPDKInfo : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "0/0"; }
  void run_cpu(Batch&) override {}
};

}  // namespace heddle
