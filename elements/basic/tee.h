#pragma once

#include "core/element.h"

namespace heddle {

/** Tee: copies each packet to every output.
 *
 *      Tee([N])
 *
 *  N: number of outputs; default: as many as are connected. It is an error if N and the connections disagree. The
 *  copies share their bytes until something behind writes them: then that copy gets bytes of its own first (an element
 *  that does so says "copies shared packets first" in `heddle plan`). If no packet buffer is free, that copy is dropped
 *  ("no_buffer"). With `--batch 1` outputs are served one after the other, the first one first, as in Click; else the
 *  first one is the last, and has the packets themselves.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> t :: Tee(2); t[0] -> ToDump(all.pcap); t[1] -> EtherMirror -> ToDump(mirrored.pcap);
 */
class Tee : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* ports() const override { return "1/1-"; }
  const char* processing() const override { return "h/h"; }
  int copies() const override { return outputs; }
  void run_cpu(Batch&) override {}
};

/** PullTee: copies each packet that is pulled to further outputs.
 *
 *      PullTee([N])
 *
 *  As Tee, for pulled packets: output 0 is pulled, and what is pulled there is pulled from the input; copies are pushed
 *  to the other outputs.
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue -> t :: PullTee -> Unqueue -> ToDump(out.pcap); t[1] -> ToDump(copies.pcap);
 */
class PullTee : public Tee {
 public:
  const char* processing() const override { return "l/lh"; }
};

}  // namespace heddle
