#include "elements/basic/front_drop_queue.h"

#include <algorithm>
#include <array>

namespace heddle {

void FrontDropQueue::run_cpu(Batch& batch) {
  constexpr int kAtOnce = 64;
  std::array<Packet*, kAtOnce> old;
  while (pushing_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  Ring* const ring = newest();  // also if the capacity changes now: there is room in this one for as many as are taken
  int done = keep(batch, 0, ring), dropped = 0;  // places before `done` are free, the first `dropped` taken again
  while (done < batch.size()) {
    const int wanted = std::min({batch.size() - done, kAtOnce, static_cast<int>(capacity())});
    const auto taken = static_cast<int>(take_front(ring, old.data(), static_cast<unsigned>(wanted)));
    done = keep(batch, done, ring);  // nobody else pushes, so as many find room
    std::copy_n(old.begin(), taken, batch.packets() + dropped);
    dropped += taken;
  }
  pushing_.clear(std::memory_order_release);
  batch.resize(dropped);
  drop_from(batch, 0);
}

HEDDLE_ELEMENT(FrontDropQueue);

}  // namespace heddle
