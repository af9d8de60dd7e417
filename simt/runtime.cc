#include "simt/runtime.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "simt/loss.h"

namespace heddle::simt {

namespace {

constexpr int kPoison = 0xa5;
constexpr size_t kAlignment = 256, kPage = 4096, kHugePage = 2 << 20;

std::atomic<size_t> most_at_a_time{kDeviceMemory};

/** Keeps what a GPU would have in its own memory out of core dumps, or no more. The pages are the allocation's, but for
 *  what lies on the last one behind it. */
void leave_out_of_dumps(void* memory, size_t size, bool out) {
  madvise(memory, (size + kPage - 1) / kPage * kPage, out ? MADV_DONTDUMP : MADV_DODUMP);
}

/** Asks for huge pages, for every byte is written at once: a fault for each small page cost a test of a chain more than
 *  its packets did. */
void back_with_huge_pages(void* memory, size_t size) { madvise(memory, size / kHugePage * kHugePage, MADV_HUGEPAGE); }

uintptr_t number(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

std::chrono::milliseconds resident_limit() {
  const char* text = std::getenv("HEDDLE_SIMT_RESIDENT_MS");
  return std::chrono::milliseconds(text != nullptr ? std::atol(text) : 30000);
}

}  // namespace

NoMemoryLeft::NoMemoryLeft(size_t most_bytes) { most_at_a_time = most_bytes; }
NoMemoryLeft::~NoMemoryLeft() { most_at_a_time = kDeviceMemory; }
size_t free_memory() { return Runtime::instance().free_device_bytes(); }

// Never destroyed: kernels and streams may outlive main.
Runtime& Runtime::instance() {
  static auto* const runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() : null_stream_(Stream::start(true)) {}

cudaStream_t Runtime::add_stream(bool blocking) {
  std::lock_guard lock(mutex_);
  auto stream = Stream::start(blocking);
  stream->device = current_device();
  const auto handle = reinterpret_cast<cudaStream_t>(stream.get());
  streams_.emplace(handle, std::move(stream));
  return handle;
}

bool Runtime::remove_stream(cudaStream_t handle) {
  std::lock_guard lock(mutex_);
  const auto found = streams_.find(handle);
  if (found == streams_.end()) return false;
  found->second->close();
  std::erase_if(closed_streams_, [](const auto& stream) { return stream->empty(); });
  closed_streams_.push_back(found->second);
  streams_.erase(found);
  return true;
}

std::shared_ptr<Stream> Runtime::stream(cudaStream_t handle) {
  std::lock_guard lock(mutex_);
  if (handle == nullptr) return null_stream_;
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

bool Runtime::enqueue(cudaStream_t handle, std::function<void()> operation, Renew renew) {
  const std::shared_ptr<Stream> to = stream(handle);
  if (to == nullptr) return false;
  std::lock_guard lock(mutex_);
  if (const auto capture = captures_.find(handle); capture != captures_.end()) {
    capture->second.push_back({std::move(operation), std::move(renew)});
    return true;
  }
  if (renew) ++single_launches;
  const auto add_wait = [&](const std::shared_ptr<Stream>& other) {
    const uint64_t count = other->added();
    if (!other->ended(count)) to->add([other, count] { other->wait_for(count); });
  };
  if (to == null_stream_) {
    for (const auto& [_, other] : streams_) {
      if (other->blocking) add_wait(other);
    }
  } else if (to->blocking) {
    add_wait(null_stream_);
  }
  to->add(std::move(operation));
  return true;
}

bool Runtime::begin_capture(cudaStream_t handle) {
  if (stream(handle) == nullptr) return false;
  std::lock_guard lock(mutex_);
  return captures_.try_emplace(handle).second;
}

std::optional<Runtime::Operations> Runtime::end_capture(cudaStream_t handle) {
  std::lock_guard lock(mutex_);
  const auto found = captures_.find(handle);
  if (found == captures_.end()) return std::nullopt;
  Operations operations = std::move(found->second);
  captures_.erase(found);
  return operations;
}

cudaEvent_t Runtime::add_event(bool timed) {
  std::lock_guard lock(mutex_);
  auto event = std::make_shared<Event>(timed);
  const auto handle = reinterpret_cast<cudaEvent_t>(event.get());
  events_.emplace(handle, std::move(event));
  return handle;
}

bool Runtime::remove_event(cudaEvent_t handle) {
  std::lock_guard lock(mutex_);
  return events_.erase(handle) != 0;
}

std::shared_ptr<Event> Runtime::event(cudaEvent_t handle) {
  std::lock_guard lock(mutex_);
  const auto found = events_.find(handle);
  return found == events_.end() ? nullptr : found->second;
}

void* Runtime::allocate(size_t size, Allocation::Kind kind) {
  std::lock_guard lock(mutex_);
  if (kind == Allocation::kDevice && size > std::min<size_t>(most_at_a_time, kDeviceMemory - device_bytes_))
    return nullptr;
  void* memory = nullptr;
  const size_t alignment = size >= kHugePage ? kHugePage : kind == Allocation::kDevice ? kPage : kAlignment;
  if (posix_memalign(&memory, alignment, size) != 0) return nullptr;
  back_with_huge_pages(memory, size);
  if (kind == Allocation::kDevice) leave_out_of_dumps(memory, size, true);
  std::memset(memory, kPoison, size);
  allocations_[number(memory)] = {kind, size};
  if (kind == Allocation::kDevice) device_bytes_ += size;
  return memory;
}

bool Runtime::release(void* pointer, Allocation::Kind kind) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(number(pointer));
  if (found == allocations_.end() || found->second.kind != kind) return false;
  if (kind == Allocation::kDevice) {
    device_bytes_ -= found->second.size;
    leave_out_of_dumps(pointer, found->second.size, false);
  }
  allocations_.erase(found);
  std::free(pointer);
  return true;
}

bool Runtime::register_host(void* pointer, size_t size) {
  std::lock_guard lock(mutex_);
  const auto after = allocations_.lower_bound(number(pointer));
  if (after != allocations_.end() && after->first < number(pointer) + size) return false;
  if (after != allocations_.begin()) {
    const auto& [start, before] = *std::prev(after);
    if (start + before.size > number(pointer)) return false;
  }
  allocations_[number(pointer)] = {Allocation::kRegistered, size};
  return true;
}

bool Runtime::unregister_host(void* pointer) {
  std::lock_guard lock(mutex_);
  const auto found = allocations_.find(number(pointer));
  if (found == allocations_.end() || found->second.kind != Allocation::kRegistered) return false;
  allocations_.erase(found);
  return true;
}

std::optional<Allocation> Runtime::find(const void* address) {
  std::lock_guard lock(mutex_);
  const auto after = allocations_.upper_bound(number(address));
  if (after == allocations_.begin()) return std::nullopt;
  const auto& [start, allocation] = *std::prev(after);
  if (number(address) - start >= allocation.size) return std::nullopt;
  return allocation;
}

size_t Runtime::free_device_bytes() {
  std::lock_guard lock(mutex_);
  return std::min<size_t>(most_at_a_time, kDeviceMemory - device_bytes_);
}

void Runtime::wait_for_device(const std::string& call) {
  const auto deadline = Clock::now() + resident_limit();
  std::map<std::shared_ptr<Stream>, uint64_t> waiting;
  {
    std::lock_guard lock(mutex_);
    waiting.emplace(null_stream_, null_stream_->added());
    for (const auto& [_, stream] : streams_) waiting.emplace(stream, stream->added());
    for (const auto& stream : closed_streams_) waiting.emplace(stream, stream->added());
  }
  for (const auto& [stream, count] : waiting) {
    if (!stream->wait_for(count, deadline)) {
      fail(call + " while a kernel is resident would block on a GPU: work queued before it had not ended after " +
           std::to_string(resident_limit().count()) + " ms (HEDDLE_SIMT_RESIDENT_MS)");
    }
  }
}

void Runtime::load(const void* kernel) {
  {
    std::lock_guard lock(mutex_);
    if (kernels_.contains(kernel)) return;
  }
  wait_for_device("the first use of a kernel function, which loads it,");
  std::lock_guard lock(mutex_);
  kernels_.insert(kernel);
}

}  // namespace heddle::simt
