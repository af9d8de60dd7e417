#pragma once

#include <cuda_runtime.h>

#include <map>
#include <set>
#include <span>
#include <vector>

#include "gpu/device.h"
#include "gpu/residency.h"
#include "kernels/arena.h"
#include "kernels/backend.h"
#include "kernels/shared_state.h"

namespace heddle::gpu {
namespace HEDDLE_GPU_BACKEND {

/** Memory of a device that comes, changes and goes while kernels are resident: tables, states, programs. One thread at
 *  a time uses it, with the device current. */
class DeviceMemory {
 public:
  /** `device`: its index. */
  explicit DeviceMemory(int device);
  ~DeviceMemory();

  std::byte* take(size_t bytes);  ///< device memory, uninitialised
  void give_back(void* at);       ///< when no kernel uses it any more
  /** Copies between host and device; done on return. */
  void write(void* to, std::span<const std::byte> bytes);
  void read(std::span<std::byte> to, const void* from);
  void clear(void* at, size_t bytes);

  // What gpu/device.h says of tables and states. A table may hold keys: it is zero before its memory is given back.
  TableId add_table(std::span<const std::byte> bytes);
  void patch(TableId table, size_t offset, std::span<const std::byte> bytes);
  void patch_words(TableId table, std::span<const TableWord> words);
  void remove_table(TableId table);
  void* address(TableId table) const { return tables_[static_cast<size_t>(table)].data(); }
  StateId add_state(size_t bytes);
  StateId add_shared_state(size_t bytes);
  StateId open_state(memif::File file, size_t bytes);
  int file(StateId state) const { return shared_.at(states_[static_cast<size_t>(state)]).file(); }
  void remove_state(StateId state);
  void* address(StateId state) const { return states_[static_cast<size_t>(state)]; }

  /** The block that patch_words() launches, which must have room beside what is resident. */
  Residents patcher() const;

 private:
  void finish() const;
  void wipe(std::span<std::byte> memory);

  StateId add(SharedState state);

  const int device_;
  Arena pinned_;
  cudaStream_t stream_{};
  std::byte* staging_;  // pinned, [kStagingBytes]
  int patch_registers_;
  std::set<void*> taken_;
  std::vector<std::span<std::byte>> tables_;  // empty: removed
  std::vector<std::byte*> states_;
  std::map<std::byte*, SharedState> shared_;  // of these, by address
};

}  // namespace HEDDLE_GPU_BACKEND
}  // namespace heddle::gpu
