#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/packet_memory.h"
#include "core/table.h"
#include "gpu/program.h"
#include "gpu/rings.h"
#include "gpu/slot.h"
#include "io/memif/channel.h"
#include "io/softnic/dma.h"

namespace heddle::gpu {

/** What `heddle gpus` shows of a device. */
struct DeviceInfo {
  std::string name;  ///< as --device takes it: "gpu0", "simt0"
  std::string model;
  std::string pci;
  int multiprocessors = 0, major = 0, minor = 0;
  size_t memory_bytes = 0;
  int kernel_registers = 0;  ///< of a thread of the one-warp kernel, which all light functions share; known once open
  size_t kernel_local_bytes = 0;  ///< spilled registers and stack of a thread; 0 is what we want
};

/** Where a device is on the PCI bus; simt, which is nowhere: its name. The same in all programs. */
inline const std::string& place_of(const DeviceInfo& info) { return info.pci.empty() ? info.name : info.pci; }

/** Numbers that a device gives to what it keeps. */
enum class TableId : int { none = -1 };
enum class StateId : int { none = -1 };
enum class ProgramId : int { none = -1 };
enum class RingsId : int { none = -1 };
enum class DmaId : int { none = -1 };

/** A segment's program before it is on the device. */
struct ProgramSpec {
  struct Node {
    int function;  ///< -1: neutral
    NeutralOp neutral{};
    TableId table = TableId::none;
    StateId state = StateId::none;
    std::vector<uint16_t> outputs, drops;  ///< targets: node index, or kExit + exit
  };
  std::vector<Node> nodes;
  StateId counts = StateId::none;  ///< of NodeCounts, [nodes]: what has come to each but the first, which the
                                   ///< host counts; may be none if there is only one
  ColumnSet columns = 0;           ///< that the tile has
  ColumnSet columns_in = 0, columns_out = 0;  ///< of these, those that travel in the slot
  int word_column = -1;                       ///< the column in the words' place of the offset; -1: none
  bool writes_packets = false, wide_results = false;
  bool small_tiles_wait = false;  ///< see Program::kSmallTilesWait
  uint16_t first_drop = 0xffff;   ///< exits from this on are drops
  Copies copies;                  ///< transport gather; none: direct
  bool on_twins = false;          ///< works on the twins, which copy_packets() fills and empties

  /** Warps of the block that runs it: the shape that fits all of its functions. */
  int warps() const;
};

/** The slots of one segment for one thread. Slots lie in pinned memory, owned by the device. */
struct SlotGroup {
  Slot* slots;
  int count;
  bool wide_results;
};

constexpr int kStreams = 4;      ///< of a group of slots, as a rule
constexpr int kMaxStreams = 16;  ///< at most
/** Bytes [at, at + bytes) of the packet memory. */
struct PacketBytes {
  size_t at, bytes;
};
/** What serves the ring pairs that one port receives from. */
struct RingLaunch {
  ProgramId program;  ///< its first exits are the transmitting rings
  StateId drops;      ///< of RingCount, [exits]
  RingNodes nodes;
  std::span<const RingPair> pairs;
  std::span<const RingOutput> outputs = {};  ///< of kind routed, in the place of each pair's tx: [pairs][outputs]
};
/** Where a pair has stopped: packets that have gone through its rings. */
struct RingStop {
  uint32_t rx_position = 0, tx_position = 0;
  std::array<uint32_t, kMaxOutputs> outputs = {};  ///< of kind routed, in the place of tx_position
};

/** One GPU, or simt. The order of calls: packet_memory() or share_packet_memory(); tables, states, programs and slots;
 *  then start(). While it runs, tables, states and programs come, change and go, and slots as far as start() has left
 *  some spare; nothing of it waits for the resident kernels. Then stop(), and perhaps start() again. What is left is
 *  freed by the destructor.
 *
 *  Any thread may call any member, one at a time a device, but launch() and wait(), which belong to the group's thread,
 *  and start_dma(), which belongs to its DMA engine's; each makes the device current for its thread. Errors throw
 *  Error, with file, line, expression and what to do; failure() tells of errors while running. */
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceInfo& info() const = 0;

  /** Pinned host memory that kernels of all devices reach, for packets. Once. */
  virtual PacketMemory packet_memory(size_t bytes) = 0;
  /** Uses what another device's packet_memory() has given. */
  virtual void share_packet_memory(PacketMemory memory) = 0;

  /** Copies a table to the device. */
  virtual TableId add_table(std::span<const std::byte> bytes) = 0;
  /** Replaces `bytes` at `offset` of a table, also while kernels read it, in unspecified pieces of at least aligned
   *  words. Done on return; kernels see the effects of several calls in order. */
  virtual void patch(TableId table, size_t offset, std::span<const std::byte> bytes) = 0;
  /** Stores scattered words, each whole, in unspecified order. Done on return. */
  virtual void patch_words(TableId table, std::span<const TableWord> words) = 0;
  /** Frees a table that no program in use names. */
  virtual void remove_table(TableId table) = 0;

  /** Memory of zeros that kernels change. */
  virtual StateId add_state(size_t bytes) = 0;
  /** The same, which other programs can open by file(), and have as long as they like. Of GPUs a CUDA allocation
   *  (cuMemExportToShareableHandle), of simt a memfd. */
  virtual StateId add_shared_state(size_t bytes) = 0;
  /** What another program has made so, on the same GPU, of `bytes`. Throws Error if it is something else. */
  virtual StateId open_state(memif::File file, size_t bytes) = 0;
  /** Of one of these two. */
  virtual int file(StateId state) const = 0;
  /** Changes `bytes` at `offset` of it, before a kernel uses it. */
  virtual void write_state(StateId state, size_t offset, std::span<const std::byte> bytes) = 0;
  /** Copies [offset, offset + to.size()) of it, as of now; words of 8 bytes are whole. */
  virtual void read_state(StateId state, size_t offset, std::span<std::byte> to) = 0;
  /** Frees it; no kernel uses it, and no program in use names it. */
  virtual void remove_state(StateId state) = 0;

  /** Puts a program on the device. */
  virtual ProgramId add_program(const ProgramSpec& spec) = 0;
  virtual const Program* address(ProgramId program) const = 0;  ///< in device memory, for SlotRing
  /** Frees a program that no slot in flight runs. */
  virtual void remove_program(ProgramId program) = 0;
  /** The bytes that may be gathered at once; 0: the kernels search for the best limit, as they do unless told. For
   *  measurements, while no slot is in flight and after the first slots of a program that gathers. */
  virtual void limit_gathers(uint64_t bytes) = 0;

  /** `count` slots for `program` and others with as many warps and no more columns: with `streams` for launch(), on
   *  streams on each of which one thing is done behind the other; else resident kernels serve them. After start() those
   *  are only as many as it has left spare. The first whose program uses twins take device memory for those of all
   *  packets. */
  virtual SlotGroup add_slots(ProgramId program, int count, int streams = 0) = 0;

  /** Starts the kernels that serve all resident slots, and `spare` slots more of each shape in use, with room for
   *  `shared_bytes` of shared memory. Throws Error when they do not fit together. After stop(): the same kernels again,
   *  which takes no memory; resident slots are as fresh ones, so a SlotRing of theirs begins anew. */
  virtual void start(int spare = 0, size_t shared_bytes = 0) = 0;

  // Slots with streams.
  /** Copies these bytes to the twins in device memory or back; returns at once. */
  virtual void copy_packets(const SlotGroup& group, std::span<const PacketBytes> bytes, bool to_gpu, int stream) = 0;
  /** From now on launches of `program`, or of one in its place, are launches of CUDA graphs, one for each stream, which
   *  are made here: making one waits for resident kernels. Before start(). */
  virtual void make_graphs(const SlotGroup& group, ProgramId program) = 0;
  /** Runs slots [first, first + count) of `group`; returns at once. */
  virtual void launch(const SlotGroup& group, ProgramId program, int first, int count, int stream) = 0;
  /** Whether all that has been asked for is done. */
  virtual bool idle(const SlotGroup& group, int stream) = 0;
  /** Returns when all that has been launched on it is done. */
  virtual void wait(const SlotGroup& group, int stream) = 0;

  // Rings of ports that the GPU drives by itself (gpu/rings.h).
  /** Lets kernels reach host memory that is shared with other programs, at the host's addresses. */
  virtual void share(SharedMemory memory) = 0;
  /** Takes that back; false if kernels are resident, for which it would wait. */
  virtual bool unshare(SharedMemory memory) = 0;
  /** Where it lies on the device. */
  virtual void* address(TableId table) const = 0;
  virtual void* address(StateId state) const = 0;
  /** Makes room for `pairs` ring pairs that `program`, or a later one of its size, serves: each by about `workers` that
   *  take packets through it, warps of one block or teams (gpu/rings.h); by fewer teams where all that is resident
   *  would not have room. A program with Copies has teams work on packets that are gathered from this end's buffers of
   *  a memif, which have at most `capacity` bytes. `split`: three kernels serve them, to receive, for the program and
   *  to transmit, each by one block a pair with `workers` warps, up to kMaxRingWorkers. Before start(). */
  virtual RingsId add_rings(ProgramId program, int pairs, RingKind kind = RingKind::memif,
                            int workers = kMaxRingWorkers, uint32_t capacity = 0, bool split = false) = 0;
  /** Starts their kernels, which are resident from now on. */
  virtual void start_rings(RingsId rings, const RingLaunch& launch) = 0;
  /** Ends them, when the packets that they have taken are transmitted; by pair. Nothing if they do not run. */
  virtual std::vector<RingStop> stop_rings(RingsId rings) = 0;
  /** Why a block of them has ended by itself. */
  virtual RingFault ring_fault(RingsId rings) const = 0;

  // DMA engines of NICs that this program plays (io/softnic): a kernel for each transfer.
  /** Makes room for one. Before start(). */
  virtual DmaId add_dma() = 0;
  /** Starts a transfer behind those before; returns at once. */
  virtual void start_dma(DmaId dma, const softnic::Transfer& transfer) = 0;

  /** Non-empty when the device has failed (a kernel died, or fail() was called): what happened and what to do. */
  virtual std::string failure() = 0;
  /** Whether it does nothing any more, so that what it was given will not be touched. */
  virtual bool is_dead() = 0;
  /** Declares it failed: what it has is no longer what it should be. */
  virtual void fail(const std::string& reason) = 0;

  /** Ends the resident kernels. The caller has collected all results (or given up on them). */
  virtual void stop() = 0;
};

/** The devices of this machine; simt is not among them. `reason` says why there are none. */
std::vector<DeviceInfo> devices(std::string& reason);

/** A device's name taken apart: "gpu0", "gpu1", ..., "gpu" (the first); "simt0", ..., "simt". */
struct DeviceName {
  bool simt;
  int index;
};
constexpr int kSimtDevices = 4;
/** Throws Error that says what is expected. */
DeviceName parse_device_name(const std::string& name);

/** The same, if this machine has it. Throws Error that says what is missing and what to do: without a GPU,
 *  `instead`. */
DeviceName find_device(const std::string& name, const char* instead = "run with --device cpu");

/** Opens it. */
std::unique_ptr<Device> open_device(const std::string& name);

namespace cuda_backend {
std::vector<DeviceInfo> devices(std::string& reason);
std::unique_ptr<Device> open(int index);
}  // namespace cuda_backend
namespace simt_backend {
std::unique_ptr<Device> open(int index);
}  // namespace simt_backend

}  // namespace heddle::gpu
