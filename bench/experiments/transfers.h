#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heddle::gpu {

/** Copies between the host's memory and a GPU's by its copy engines, one of which serves each direction: what Gaviss
 *  (TPDS 2022) measures of them, for benchmarks; the engine knows nothing of it. One thread uses an object. */
class Transfers {
 public:
  virtual ~Transfers() = default;

  /** Packets, beside each other in pinned host memory, [kMaxBytes]. */
  virtual uint8_t* packets() = 0;
  static constexpr size_t kMaxBytes = size_t{4} << 20;

  /** How parts of a buffer in the GPU's memory come to the host. */
  enum class Back : uint8_t {
    copies,  ///< a call for each part
    batch,   ///< one call for all parts, which the copy engine takes one by one
    kernel,  ///< a kernel writes them to the host's memory
  };
  /** Bytes from an offset on; both are multiples of 16. */
  struct Part {
    uint32_t at, bytes;
  };
  /** Copies packets() to the GPU's memory. */
  virtual void load() = 0;
  /** Copies these parts of what load() has copied to the same places in packets(). Seconds from the first call until
   *  all are there. Throws Error for parts that are not within kMaxBytes, or more than kMaxParts. */
  virtual double copy_back_s(Back how, std::span<const Part> parts) = 0;
  static constexpr size_t kMaxParts = 4096;

  /** What a function copies for a batch of packets: multiples of 16 bytes, up to kMaxBytes. Its kernel inverts what it
   *  gets. */
  struct Function {
    uint32_t bytes_in = 0;   ///< to the GPU
    uint32_t bytes_out = 0;  ///< and back; at most bytes_in
  };
  /** A copy to the GPU: when it could begin, as what its function has asked for before was done, and when it had ended;
   *  microseconds since the first of all was asked for. */
  struct Copy {
    int function = 0;
    double start_us = 0, end_us = 0;
  };
  /** Has functions, each on a stream of its own, serve `rounds` batches: a batch every `period_us` microseconds, for
   *  which each function asks at a moment of its own, equally likely to be any within the period. Returns all copies to
   *  the GPU in the order in which they were asked for. Throws Error for more than kMaxFunctions. */
  virtual std::vector<Copy> serve(std::span<const Function> functions, int rounds, double period_us) = 0;
  static constexpr int kMaxFunctions = 5;
  /** What function `function` has copied back, of its last batch: pinned, [kMaxBytes]. */
  virtual const uint8_t* results(int function) = 0;
};

/** Of "gpu0", ..., "gpu" (the first) or "simt". Throws Error that says what is missing. */
std::unique_ptr<Transfers> open_transfers(const std::string& device);

namespace cuda_backend {
std::unique_ptr<Transfers> open_transfers(int index);
}  // namespace cuda_backend
namespace simt_backend {
std::unique_ptr<Transfers> open_transfers(int index);
}  // namespace simt_backend

}  // namespace heddle::gpu
