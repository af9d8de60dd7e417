#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#define EXPECT_CUDA(call) EXPECT_EQ((call), cudaSuccess)

namespace heddle::simt {

/** Death tests start the program anew: a forked child would lack the runtime's OS threads. */
inline void use_threadsafe_death_tests() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

/** Pinned memory that the host and the device share. */
template <class T>
class Pinned {
 public:
  explicit Pinned(size_t count, const T& value = {}) : count_(count) {
    EXPECT_CUDA(cudaHostAlloc(&data_, count * sizeof(T), cudaHostAllocMapped));
    for (size_t i = 0; i < count; ++i) data_[i] = value;
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  ~Pinned() { cudaFreeHost(data_); }

  T* data() { return data_; }
  size_t size() const { return count_; }
  T& operator[](size_t i) { return data_[i]; }

 private:
  T* data_ = nullptr;
  size_t count_;
};

class TestStream {
 public:
  TestStream() { EXPECT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  TestStream(const TestStream&) = delete;
  TestStream& operator=(const TestStream&) = delete;
  ~TestStream() { cudaStreamDestroy(stream_); }

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

template <class... Parameters, class... Arguments>
cudaError_t launch_on(cudaStream_t stream, dim3 grid, dim3 block, void (*kernel)(Parameters...),
                      Arguments&&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

/** Runs a kernel on the null stream to its end. */
template <class... Parameters, class... Arguments>
void run(dim3 grid, dim3 block, void (*kernel)(Parameters...), Arguments&&... arguments) {
  EXPECT_CUDA(launch_on(nullptr, grid, block, kernel, std::forward<Arguments>(arguments)...));
  EXPECT_CUDA(cudaStreamSynchronize(nullptr));
}

/** A reproducible sequence of words. */
class Words {
 public:
  explicit Words(uint64_t seed) : state_(seed * 2654435761 + 1) {}
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }
  uint32_t next32() { return static_cast<uint32_t>(next() >> 16); }

 private:
  uint64_t state_;
};

}  // namespace heddle::simt
