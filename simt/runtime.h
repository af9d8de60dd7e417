#pragma once

/** What the API functions share: the streams, events, allocations and loaded kernels of the one device. */

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "simt/grid.h"
#include "simt/stream.h"

namespace heddle::simt {

struct Allocation {
  enum Kind { kDevice, kHost, kRegistered } kind;
  size_t size;
};

class Runtime {
 public:
  static Runtime& instance();

  cudaStream_t add_stream(bool blocking);
  bool remove_stream(cudaStream_t stream);
  /** Null for a handle that is no stream's; nullptr is the null stream's. */
  std::shared_ptr<Stream> stream(cudaStream_t stream);
  /** Makes the operation that launches a kernel, with other parameters. */
  using Renew = std::function<std::function<void()>(const cudaKernelNodeParams&)>;
  /** Queues an operation, in the order that the null stream keeps with the blocking streams. `renew`: of a launch.
   *  False: no such stream. */
  bool enqueue(cudaStream_t stream, std::function<void()> operation, Renew renew = {});

  /** Operations that a stream has been given while it was captured, in order. */
  struct Operation {
    std::function<void()> run;
    Renew renew;  ///< if it is a launch
  };
  using Operations = std::vector<Operation>;
  /** From now on what the stream is given is kept, not done. False: no such stream, or it is captured already. */
  bool begin_capture(cudaStream_t stream);
  /** What it has been given since; nothing if it is not captured. */
  std::optional<Operations> end_capture(cudaStream_t stream);

  cudaEvent_t add_event(bool timed);
  bool remove_event(cudaEvent_t event);
  std::shared_ptr<Event> event(cudaEvent_t event);

  /** Memory from malloc, so that AddressSanitizer sees its ends; null if there is no more. A device's is left out of
   *  core dumps, as a GPU's is. */
  void* allocate(size_t size, Allocation::Kind kind);
  /** Frees what allocate gave with this kind; false for any other pointer. */
  bool release(void* pointer, Allocation::Kind kind);
  bool register_host(void* pointer, size_t size);
  bool unregister_host(void* pointer);
  /** The allocation that holds the address. */
  std::optional<Allocation> find(const void* address);
  size_t free_device_bytes();

  /** Waits until all that is queued has ended. On a GPU a resident kernel would hold this up for ever: after
   *  HEDDLE_SIMT_RESIDENT_MS the program ends with a message that begins with the call's name. */
  void wait_for_device(const std::string& call);
  /** Loads a kernel at its first use, which waits for the device. */
  void load(const void* kernel);

 private:
  Runtime();

  std::mutex mutex_;
  std::shared_ptr<Stream> null_stream_;
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams_;
  std::vector<std::shared_ptr<Stream>> closed_streams_;  ///< Destroyed ones that may still have work.
  std::map<cudaStream_t, Operations> captures_;
  std::map<cudaEvent_t, std::shared_ptr<Event>> events_;
  std::map<uintptr_t, Allocation> allocations_;
  std::set<const void*> kernels_;
  size_t device_bytes_ = 0;
};

/** They share everything but what belongs to a device by CUDA's rules: a kernel goes to a stream of the current one
 *  only. */
inline constexpr int kDevices = 4;
inline constexpr size_t kDeviceMemory = size_t{8} << 30;
inline constexpr int kMultiprocessors = 8;
inline constexpr int kBlocksPerMultiprocessor = kResidentBlocks / kMultiprocessors;

/** The calling thread's. */
int current_device();

/** As launches() has them. */
inline std::atomic<uint64_t> single_launches{0}, graph_launches{0}, graph_changes{0};

/** Whether the current device takes one more launch; the error of those that it does not take (simt/loss.h). */
cudaError_t why_not_launched();

/** Remembers an error for cudaGetLastError and returns it. */
cudaError_t remember(cudaError_t error);

}  // namespace heddle::simt
