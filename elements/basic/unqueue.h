#pragma once

#include "core/element.h"

namespace heddle {

/** Unqueue: pulls packets and pushes them on.
 *
 *      Unqueue([BURST, keywords ACTIVE, LIMIT, BURST])
 *
 *  BURST: packets pulled at a time, default 32; negative or 0: as many as a batch takes. ACTIVE: whether it pulls,
 *  default true. LIMIT: packets that it moves in all; negative (default): no limit. Pull input, push output; runs on
 *  the first packet thread, or where StaticThreadSched puts it.
 *
 *  Handlers: `count` (r), `reset` (w, count starts again), `active` (rw), `limit` (rw), `burst` (rw).
 *
 *  Example:
 *
 *      FromDump(in.pcap) -> Queue(64) -> Unqueue -> Discard;
 */
class Unqueue : public Element {
 public:
  void configure(click::Arguments& arguments) override;
  const char* processing() const override { return "l/h"; }
  int demand(int thread) override;
  void run_cpu(Batch& batch) override;
  void handlers(Handlers& list) override;

 private:
  std::atomic<int> burst_{32};
  std::atomic<bool> active_{true};
  std::atomic<int64_t> limit_{-1};
  std::atomic<uint64_t> count_{0};  // one thread runs it
};

}  // namespace heddle
