#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/packet_memory.h"
#include "gpu/program.h"
#include "gpu/slot.h"

namespace heddle::gpu {

/** What `heddle gpus` shows of a device. */
struct DeviceInfo {
  std::string name;  ///< as --device takes it: "gpu0", "simt"
  std::string model;
  std::string pci;
  int multiprocessors = 0, major = 0, minor = 0;
  size_t memory_bytes = 0;
  int kernel_registers = 0;       ///< of a thread, the larger of the two kernels; known once the device is open
  size_t kernel_local_bytes = 0;  ///< spilled registers and stack of a thread; 0 is what we want
};

/** A segment's program before it is on the device: tables and targets of its nodes by index. */
struct ProgramSpec {
  struct Node {
    int function;  ///< -1: neutral
    NeutralOp neutral{};
    std::span<const std::byte> table;      ///< copied to the device; patches follow through Device::patch
    std::vector<uint16_t> outputs, drops;  ///< targets: node index, or kExit + exit
  };
  std::vector<Node> nodes;
  ColumnSet columns_in = 0, columns_out = 0;
  bool writes_packets = false, word_has_dst = false;
};

/** The slots of one segment for one thread. Slots lie in pinned memory, owned by the device. */
struct SlotGroup {
  Slot* slots;
  int count;
};

/** One GPU, or simt. The order of calls: packet_memory(), add_program() and add_slots() as often as needed, then
 * start(); while it runs patch(), counts(), launch(), failure(); then stop(). All memory is taken before start() and
 * given back by the destructor: nothing is allocated, freed, loaded or registered while a kernel may be resident.
 * Errors throw Error, with file, line, expression and what to do; failure() tells of errors while running. */
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  /** Pinned host memory that kernels reach, for packets. Once. */
  virtual PacketMemory packet_memory(size_t bytes) = 0;
  /** Copies program and tables to the device; returns the program's index. */
  virtual int add_program(const ProgramSpec& spec) = 0;
  virtual SlotGroup add_slots(int program, int count) = 0;

  /** Makes everything resident; with `persistent` starts the kernel that serves all slots. */
  virtual void start(bool persistent) = 0;

  /** Launch mode sync: runs slots [0, count) of `group` through `program` and returns when they are done. Only the
   * thread that owns the group may call it. */
  virtual void launch(const SlotGroup& group, int program, int count) = 0;

  /** Replaces `bytes` at `offset` of the table of node `node`, also while kernels read it. Returns when it is done;
   * calls are seen by kernels in order. Any thread but not two at once. */
  virtual void patch(int program, int node, size_t offset, std::span<const std::byte> bytes) = 0;

  /** Packets and bytes counted by kCount node `node`. Any thread. */
  virtual std::pair<uint64_t, uint64_t> counts(int program, int node) = 0;

  /** Non-empty when the device has failed (a kernel died): what happened and what to do. */
  virtual std::string failure() = 0;

  /** Ends the persistent kernel. The caller has collected all results (or given up on them). */
  virtual void stop() = 0;
};

/** The devices of this machine; simt is not among them. `reason` says why there are none. */
std::vector<DeviceInfo> devices(std::string& reason);

/** The number of a device: of "gpu0", "gpu1", ..., "gpu" (the first), if this machine has it; kSimt of "simt". Throws Error
 *  that says what is missing and what to do. */
int device_index(const std::string& name);
constexpr int kSimt = -1;

/** Opens "gpu0", "gpu1", ..., "gpu" (the first) or "simt". Throws Error that says what is missing and what to do. */
std::unique_ptr<Device> open_device(const std::string& name);

namespace cuda_backend {
std::vector<DeviceInfo> devices(std::string& reason);
std::unique_ptr<Device> open(int index);
}  // namespace cuda_backend
namespace simt_backend {
std::unique_ptr<Device> open(int index);
}  // namespace simt_backend

}  // namespace heddle::gpu
