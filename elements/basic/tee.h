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
 *  ("no_buffer").
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

}  // namespace heddle
