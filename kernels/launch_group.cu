#include "kernels/check.h"
#include "kernels/launch_group.h"

namespace heddle::gpu::HEDDLE_GPU_BACKEND {

LaunchGroup::LaunchGroup(const SlotGroup& slots, int streams) : slots_(slots) {
  for (int i = 0; i < streams; ++i) {
    cudaStream_t stream{};
    HEDDLE_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    streams_.push_back(stream);
  }
}

LaunchGroup::~LaunchGroup() {
  for (const Graph& graph : graphs_) {
    cudaGraphExecDestroy(graph.executable);
    cudaGraphDestroy(graph.recorded);
  }
  for (cudaStream_t stream : streams_) cudaStreamDestroy(stream);
}

void LaunchGroup::copy(const PacketPlaces& places, std::span<const PacketBytes> bytes, bool to_gpu, int stream) {
  uint8_t* const from = to_gpu ? places.packets : places.twins;
  uint8_t* const to = to_gpu ? places.twins : places.packets;
  constexpr size_t kFew = 64;  // whose calls one by one cost less than what a batch takes to be set up
  if (bytes.size() <= kFew) {
    const cudaMemcpyKind kind = to_gpu ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    for (const PacketBytes& each : bytes)
      HEDDLE_CUDA_CHECK(cudaMemcpyAsync(to + each.at, from + each.at, each.bytes, kind, at(stream)));
    return;
  }
  std::vector<const void*> sources(bytes.size());
  std::vector<void*> targets(bytes.size());
  std::vector<size_t> sizes(bytes.size());
  for (size_t i = 0; i < bytes.size(); ++i)
    sources[i] = from + bytes[i].at, targets[i] = to + bytes[i].at, sizes[i] = bytes[i].bytes;
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  size_t attributes_from = 0;
  HEDDLE_CUDA_CHECK(cudaMemcpyBatchAsync(targets.data(), sources.data(), sizes.data(), bytes.size(), &attributes,
                                         &attributes_from, 1, at(stream)));
}

void LaunchGroup::make_graphs(const SlotLaunch& how) {
  graphs_.resize(streams_.size());
  for (size_t i = 0; i < graphs_.size(); ++i) {
    const cudaStream_t stream = streams_[i];
    Graph& graph = graphs_[i];
    HEDDLE_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    ResidentKernels::launch(how, slots_.slots, slots_.count, stream);
    HEDDLE_CUDA_CHECK(cudaStreamEndCapture(stream, &graph.recorded));
    size_t one = 1;
    HEDDLE_CUDA_CHECK(cudaGraphGetNodes(graph.recorded, &graph.kernel, &one));
    graph.count = slots_.count;
    HEDDLE_CUDA_CHECK(cudaGraphInstantiate(&graph.executable, graph.recorded, 0));
    HEDDLE_CUDA_CHECK(cudaGraphUpload(graph.executable, stream));
    HEDDLE_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
}

void LaunchGroup::launch(int first, int count, int stream, const SlotLaunch& how) {
  if (graphs_.empty()) return ResidentKernels::launch(how, slots_.slots + first, count, at(stream));
  Graph& graph = graphs_[static_cast<size_t>(stream)];
  // Whole batches, one behind the other, come to each stream with the same slots again.
  if (graph.first != first || graph.count != count) {
    ResidentKernels::relaunch(how, slots_.slots + first, count, graph.executable, graph.kernel);
    graph.first = first, graph.count = count;
  }
  HEDDLE_CUDA_CHECK(cudaGraphLaunch(graph.executable, at(stream)));
}

bool LaunchGroup::idle(int stream) const {
  const cudaError_t state = cudaStreamQuery(at(stream));
  if (state != cudaErrorNotReady) HEDDLE_CUDA_CHECK(state);
  return state == cudaSuccess;
}

void LaunchGroup::wait(int stream) const { HEDDLE_CUDA_CHECK(cudaStreamSynchronize(at(stream))); }

}  // namespace heddle::gpu::HEDDLE_GPU_BACKEND
