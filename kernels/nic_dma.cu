#include <algorithm>

#include "core/error.h"
#include "kernels/check.h"
#include "kernels/nic_dma.h"
#include "kernels/nic_words.cuh"
#include "kernels/ring_copy.cuh"
#include "kernels/ring_words.cuh"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {
namespace {

// Of a transfer. A block of so many wants a multiprocessor almost for itself, where it disturbs nobody; small ones are
// no larger than those of ring kernels.
constexpr int kDmaThreads = 512, kSmallBlock = 128;
constexpr int kAhead = 16;  // of copy_frames: 256 bytes of a frame for each of four lanes

/** Plays a NIC's DMA engine for one transfer: a lane a descriptor. `ended`: blocks that are done; 0 before and
 *  after. */
__global__ void __launch_bounds__(kDmaThreads) move_frames(softnic::Transfer transfer, uint32_t* ended) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t base = thread / kLanes * kLanes; base < transfer.count; base += gridDim.x * blockDim.x) {
    const uint32_t i = base + threadIdx.x % kLanes;
    const bool mine = i < transfer.count;
    softnic::Piece piece{};
    ixgbe::Descriptor what{};
    ixgbe::Descriptor* const at = transfer.ring + ((transfer.first + i) & (transfer.size - 1));
    if (mine) piece = transfer.pieces[i], what = load_descriptor(at);
    const uint64_t offset = ixgbe::address(what) - transfer.buffers.bus;
    const uint32_t wanted = transfer.receives ? piece.bytes : ixgbe::bytes_to_send(what);
    const bool right =
        wanted <= piece.bytes && offset <= transfer.buffers.bytes && wanted <= transfer.buffers.bytes - offset;
    const uint32_t bytes = right ? wanted : 0;
    uint8_t* const buffer = transfer.buffers.base + (right ? offset : 0);
    if (transfer.receives) {
      copy_frames<kAhead>(piece.at, buffer, bytes);
      if (mine && !right) SystemAtomic<uint32_t>(*transfer.refused).fetch_add(1, cuda::memory_order_relaxed);
    } else {
      copy_frames<kAhead>(buffer, piece.at, bytes);
      if (mine) transfer.pieces[i].bytes = bytes;
    }
    __syncwarp();
    release_to_system();
    if (mine)
      store_descriptor(at, !transfer.receives ? ixgbe::fetched()
                           : right            ? ixgbe::filled(bytes, piece.last != 0)
                                              : ixgbe::failed(piece.last != 0));
  }
  release_to_system();
  __syncthreads();
  if (threadIdx.x != 0) return;
  DeviceAtomic<uint32_t> count(*ended);
  if (count.fetch_add(1, cuda::memory_order_acq_rel) != gridDim.x - 1) return;
  count.store(0, cuda::memory_order_relaxed);
  SystemAtomic<uint32_t>(*transfer.done).store(transfer.stamp, cuda::memory_order_release);
}

}  // namespace

NicDma::NicDma() : block_threads_(kDmaThreads), memory_(Arena::kDevice) {
  // Loads the kernel, too: a first launch behind a resident kernel would block until that ends.
  cudaFuncAttributes attributes{};
  HEDDLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(move_frames)));
  registers_ = attributes.numRegs;
}

NicDma::~NicDma() {
  for (const cudaStream_t stream : streams_) cudaStreamSynchronize(stream), cudaStreamDestroy(stream);
}

DmaId NicDma::add() {
  cudaStream_t stream{};
  HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  streams_.push_back(stream);
  ended_.push_back(memory_.take<uint32_t>(1));
  HEDDLE_CUDA_CHECK(cudaMemset(ended_.back(), 0, sizeof(uint32_t)));
  return static_cast<DmaId>(streams_.size() - 1);
}

std::vector<Residents> NicDma::residents() const {
  if (streams_.empty()) return {};
  return {{format("DMA engine%s of a NIC", streams_.size() == 1 ? "" : "s"), static_cast<int>(streams_.size()),
           block_threads_, (registers_ + 7) / 8 * 8 * block_threads_, kReservedSharedBytes}};
}

void NicDma::use_small_blocks() { block_threads_ = kSmallBlock; }

void NicDma::start(DmaId dma, const softnic::Transfer& transfer) const {
  cudaLaunchConfig_t config{};
  const auto threads = static_cast<unsigned>(block_threads_);
  config.gridDim = dim3(std::min(kDmaThreads / threads, (transfer.count + threads - 1) / threads));
  config.blockDim = dim3(threads);
  config.stream = streams_[static_cast<size_t>(dma)];
  HEDDLE_CUDA_CHECK(cudaLaunchKernelEx(&config, move_frames, transfer, ended_[static_cast<size_t>(dma)]));
}

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
