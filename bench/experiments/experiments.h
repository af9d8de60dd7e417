#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "bench/experiments/work.h"
#include "gpu/device.h"

namespace heddle::gpu {

/** Ways of having a GPU work on an array in host memory once. */
enum class Exchange : uint8_t {
  async,   ///< copy there, launch, copy back, all queued; then wait: G-Opt's best for large arrays
  sync,    ///< the same, waiting after each step
  mapped,  ///< launch, and the kernel reads and writes host memory; then wait: what --launch sync does
};

/** Where the time of an exchange goes: until each call has returned, and until all is done. */
struct CallTimes {
  double copy_in_us = 0, launch_us = 0, copy_out_us = 0, wait_us = 0;
  double total_us() const { return copy_in_us + launch_us + copy_out_us + wait_us; }
};

/** Where the limits lie that kernels of a classifier search (Schramm 2022, section 3.4). */
enum class LimitMemory : uint8_t {
  global,    ///< the GPU's memory, by ordinary loads
  texture,   ///< the same by the read-only path, that of textures
  constant,  ///< constant memory, which serves the different addresses of a warp one after the other
  shared,    ///< each block's own, copied at its start
};

/** What G-Opt measures of a GPU (NSDI 2015, section 2), and what a classifier's kernels can be made of, for benchmarks;
 *  the engine knows nothing of it. One thread uses an object. Between serve() or start_polling() and stop() a kernel is
 *  resident: no other calls then but poll(). */
class Experiments {
 public:
  virtual ~Experiments() = default;

  /** Pinned host memory of the elements that the GPU works on and of the results, [kMaxElements]. */
  virtual uint32_t* input() = 0;
  virtual const uint32_t* output() = 0;
  static constexpr int kMaxElements = 1 << 22;

  /** Copies the table for Work::kAccess to the GPU. */
  virtual void load(std::span<const uint32_t> table) = 0;

  /** Works on the first `n` elements of input(); results are in output(). */
  virtual CallTimes exchange(Exchange how, Work work, int n) = 0;
  /** The kernel alone, on elements and results in the GPU's memory: input() is copied before, output() after.
   *  Seconds. */
  virtual double compute_s(Work work, int n) = 0;

  /** Makes `limits` those of search_s(): ascending, 1 to kMaxLimits of them. */
  virtual void load_limits(std::span<const uint32_t> limits) = 0;
  static constexpr int kMaxLimits = 8192;
  /** For each of the first `n` elements of input() a warp finds how many limits are smaller, by a 32-ary search. The
   *  kernel alone; input() is copied before, output() after. Seconds. */
  virtual double search_s(LimitMemory memory, int n) = 0;

  /** G-Opt's polling on mapped memory: a resident kernel of a thread an element (n of them) waits for a flag,
   *  increments input() into output(), in host memory, and waits again. poll() raises the flag for the `round`-th time
   *  (1, 2, ...); results are there when output() shows them. */
  virtual void start_polling(int n) = 0;
  virtual void poll(uint32_t round) = 0;

  /** Stamped slots: a resident kernel of a warp a slot does `work` on the low 32 bits of each word and puts the result
   *  into the column dst. */
  virtual SlotGroup serve(Work work, int slots) = 0;

  /** Ends the resident kernel. All slots are idle. */
  virtual void stop() = 0;
};

/** Of "gpu0", ..., "gpu" (the first) or "simt". Throws Error that says what is missing. */
std::unique_ptr<Experiments> open_experiments(const std::string& device);

namespace cuda_backend {
std::unique_ptr<Experiments> open_experiments(int index);
}  // namespace cuda_backend
namespace simt_backend {
std::unique_ptr<Experiments> open_experiments(int index);
}  // namespace simt_backend

}  // namespace heddle::gpu
