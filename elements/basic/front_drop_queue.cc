#include "elements/basic/front_drop_queue.h"

#include <algorithm>
#include <array>

namespace heddle {

void FrontDropQueue::run_cpu(Batch& batch) {
  constexpr int kAtOnce = 64;
  std::array<Packet*, kAtOnce> old;
  int dropped = 0;
  while (pushing_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
  Ring* const ring = newest();  // also if the capacity changes now: there is room in this one for as many as are taken
  const int kept = keep(batch, 0, ring);
  // Places before `done` are free. The first `dropped` are taken again by what goes, of which `held` more have none
  // yet: places that are taken out become free only when all that others take out at the time has been, and until then
  // nothing is kept.
  for (int done = kept, held = 0; done < batch.size();) {
    if (dropped <= done - kept && held == 0) {
      const int wanted = std::min({batch.size() - done, kAtOnce, static_cast<int>(capacity())});
      held = static_cast<int>(take_front(ring, old.data(), static_cast<unsigned>(wanted)));
    }
    done = keep(batch, done, ring);
    while (held > 0 && dropped < done) batch.packets()[dropped++] = old[static_cast<size_t>(--held)];
  }
  pushing_.clear(std::memory_order_release);
  batch.resize(dropped);
  drop_from(batch, 0);
}

HEDDLE_ELEMENT(FrontDropQueue);

}  // namespace heddle
