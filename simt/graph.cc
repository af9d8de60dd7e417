// Graphs: what a stream is given while it is captured, to be done as often as one likes.

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "simt/runtime.h"

using heddle::simt::remember;
using heddle::simt::Runtime;

struct CUgraphNode_st {
  explicit CUgraphNode_st(Runtime::Operation of) : operation(std::move(of)) {}
  Runtime::Operation operation;
};
struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUgraphExec_st {
  std::vector<std::pair<cudaGraphNode_t, std::function<void()>>> operations;
};

inline namespace simt_cuda {

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode) {
  return Runtime::instance().begin_capture(stream) ? cudaSuccess : remember(cudaErrorInvalidValue);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  auto operations = Runtime::instance().end_capture(stream);
  if (!operations || graph == nullptr) return remember(cudaErrorInvalidValue);
  *graph = new CUgraph_st;
  for (Runtime::Operation& operation : *operations)
    (*graph)->nodes.push_back(std::make_unique<CUgraphNode_st>(std::move(operation)));
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  if (graph == nullptr || count == nullptr) return remember(cudaErrorInvalidValue);
  if (nodes == nullptr) {
    *count = graph->nodes.size();
    return cudaSuccess;
  }
  *count = std::min(*count, graph->nodes.size());
  for (size_t i = 0; i < *count; ++i) nodes[i] = graph->nodes[i].get();
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* instance, cudaGraph_t graph, unsigned long long flags) {
  if (instance == nullptr || graph == nullptr || flags != 0) return remember(cudaErrorInvalidValue);
  Runtime::instance().wait_for_device("cudaGraphInstantiate");  // it takes device memory
  *instance = new CUgraphExec_st;
  for (const auto& node : graph->nodes) (*instance)->operations.emplace_back(node.get(), node->operation.run);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t instance, cudaStream_t stream) {
  if (instance == nullptr) return remember(cudaErrorInvalidValue);
  if (const cudaError_t error = heddle::simt::why_not_launched(); error != cudaSuccess) return remember(error);
  ++heddle::simt::graph_launches;
  for (const auto& [node, operation] : instance->operations)
    if (!Runtime::instance().enqueue(stream, operation)) return remember(cudaErrorInvalidResourceHandle);
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t instance, cudaStream_t stream) {
  return instance != nullptr && Runtime::instance().stream(stream) ? cudaSuccess : remember(cudaErrorInvalidValue);
}

cudaError_t cudaGraphExecKernelNodeSetParams(cudaGraphExec_t instance, cudaGraphNode_t node,
                                             const cudaKernelNodeParams* kernel) {
  if (instance == nullptr || kernel == nullptr) return remember(cudaErrorInvalidValue);
  const auto found = std::ranges::find(instance->operations, node, [](auto& each) { return each.first; });
  if (found == instance->operations.end() || !node->operation.renew) return remember(cudaErrorInvalidValue);
  auto renewed = node->operation.renew(*kernel);
  if (!renewed) return remember(cudaErrorInvalidValue);
  found->second = std::move(renewed);
  ++heddle::simt::graph_changes;
  return cudaSuccess;
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
