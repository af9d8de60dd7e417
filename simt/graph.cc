// Graphs: what a stream is given while it is captured, to be done as often as one likes.

#include <cuda_runtime.h>

#include "simt/runtime.h"

using heddle::simt::remember;
using heddle::simt::Runtime;

struct CUgraph_st {
  Runtime::Operations operations;
};
struct CUgraphExec_st {
  Runtime::Operations operations;
};

inline namespace simt_cuda {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return Runtime::instance().begin_capture(stream) ? cudaSuccess : remember(cudaErrorInvalidValue);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  auto operations = Runtime::instance().end_capture(stream);
  if (!operations || graph == nullptr) return remember(cudaErrorInvalidValue);
  *graph = new CUgraph_st{std::move(*operations)};
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long flags) {
  if (instance == nullptr || graph == nullptr || flags != 0) return remember(cudaErrorInvalidValue);
  Runtime::instance().wait_for_device("cudaGraphInstantiate");  // it takes device memory
  *instance = new CUgraphExec_st{graph->operations};
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  if (instance == nullptr) return remember(cudaErrorInvalidValue);
  for (const auto& operation : instance->operations)
    if (!Runtime::instance().enqueue(stream, operation)) return remember(cudaErrorInvalidResourceHandle);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t instance, cudaStream_t stream) {
  return instance != nullptr && Runtime::instance().stream(stream) ? cudaSuccess : remember(cudaErrorInvalidValue);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t instance) {
  delete instance;
  return cudaSuccess;
}

}  // namespace simt_cuda
