#pragma once

#include <memory>

#include "core/column_pack.h"
#include "elements/basic/queue.h"

namespace heddle {

/** MixedQueue: keeps packets until they are pulled; those of its second input overtake the others.
 *
 *      MixedQueue([CAPACITY])
 *
 *  CAPACITY: packets that it holds, default 1000, up to 1,048,576. Two push inputs, one pull output: packets of input 0
 *  wait behind all others, packets of input 1 before all others, so that the latest is the next. When it is full,
 *  packets that come by input 0 are dropped, and for those that come by input 1 the packet at the end is ("full").
 *
 *  Handlers: those of Queue. Hot reconfiguration: as Queue.
 *
 *  Example, a packet that could not be sent goes back to where it came from:
 *
 *      FromDump(in.pcap) -> m :: MixedQueue(64) -> Unqueue -> c :: Classifier(12/0800, -) -> Discard;
 *      c[1] -> Queue -> Unqueue -> [1]m;
 */
class MixedQueue : public Storage {
 public:
  void configure(click::Arguments& arguments) override;
  bool can_live_reconfigure() const override { return true; }
  const char* ports() const override { return "2/1"; }
  const char* processing() const override { return "h/l"; }
  bool tells_inputs() const override { return true; }
  Access access(Processor) const override;
  std::span<const char* const> drop_reasons() const override;
  void start(const Environment& environment) override;
  void run_cpu(Batch& batch) override;
  void receive(Batch& batch) override;
  void take_state(Element& old) override;
  uint64_t packets_held() const override { return stored(); }
  bool exhausted() const override { return stored() == 0; }
  std::string stop() override;
  void handlers(Handlers& list) override;
  std::vector<std::pair<std::string, uint64_t>> statistics() const override;
  unsigned stored() const override { return count_.load(std::memory_order_relaxed); }
  unsigned room() const override { return capacity_ - std::min(capacity_.load(), stored()); }

 private:
  /** Where the n-th of those that wait lies. */
  size_t place(unsigned n) const { return (first_ + n) % places_; }
  void save(Batch& batch, int i, size_t at);
  unsigned free_all();
  void set_capacity(unsigned capacity);

  std::atomic<unsigned> capacity_{1000};
  ColumnPack columns_;
  std::atomic_flag held_;                 // guards what follows
  std::unique_ptr<Packet*[]> packets_;    // [places_], a ring from first_ on
  std::unique_ptr<std::byte[]> waiting_;  // [places_][columns_.bytes()]
  unsigned places_ = 0;                   // those of capacity_ or, after a change, more
  size_t first_ = 0;
  std::atomic<unsigned> count_{0}, highwater_{0};
  std::atomic<uint64_t> drops_{0};
  uint64_t left_ = 0;
};

}  // namespace heddle
