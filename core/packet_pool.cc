#include "core/packet_pool.h"

#include <rte_mempool.h>
#include <rte_pause.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "core/error.h"

namespace heddle {

// A mempool needs EAL only to find memory and a ring. Here the memory is given, and the ring is this stack, which makes
// the last freed packet (warm in the cache) the next one taken.
struct PacketStack {
  // rte_spinlock_t is inline assembly on x86, which ThreadSanitizer does not see.
  struct SpinLock {
    void lock() {
      while (taken.exchange(true, std::memory_order_acquire))
        while (taken.load(std::memory_order_relaxed)) rte_pause();
    }
    void unlock() { taken.store(false, std::memory_order_release); }
    std::atomic<bool> taken{false};
  };
  SpinLock lock;
  std::vector<void*> free;  // reserved once, never grows
};

namespace {

PacketStack& stack_of(const rte_mempool* pool) { return *static_cast<PacketStack*>(pool->pool_data); }

// The mempool driver.
struct StackOps {
  static int alloc(rte_mempool*) { return 0; }
  static void release(rte_mempool*) {}
  static int enqueue(rte_mempool* pool, void* const* objects, unsigned n) {
    auto& stack = stack_of(pool);
    const std::lock_guard lock(stack.lock);
    stack.free.insert(stack.free.end(), objects, objects + n);
    return 0;
  }
  static int dequeue(rte_mempool* pool, void** objects, unsigned n) {
    auto& stack = stack_of(pool);
    const std::lock_guard lock(stack.lock);
    if (stack.free.size() < n) return -ENOBUFS;
    std::memcpy(objects, stack.free.data() + stack.free.size() - n, n * sizeof(void*));
    stack.free.resize(stack.free.size() - n);
    return 0;
  }
  static unsigned count(const rte_mempool* pool) {
    auto& stack = stack_of(pool);
    const std::lock_guard lock(stack.lock);
    return static_cast<unsigned>(stack.free.size());
  }
  static int index() {
    static const int registered = [] {
      rte_mempool_ops ops = {};
      std::strcpy(ops.name, "heddle_stack");
      ops.alloc = alloc, ops.free = release, ops.enqueue = enqueue, ops.dequeue = dequeue, ops.get_count = count;
      return rte_mempool_register_ops(&ops);
    }();
    return registered;
  }
};

unsigned object_bytes(unsigned data_room) {
  return static_cast<unsigned>(RTE_ALIGN_CEIL(sizeof(rte_mbuf) + data_room, RTE_CACHE_LINE_SIZE));
}
constexpr unsigned kObjectHeader = RTE_CACHE_LINE_SIZE;  // rte_mempool_objhdr, padded

}  // namespace

size_t PacketPool::bytes_for(unsigned count, unsigned data_room) {
  return static_cast<size_t>(count) * (kObjectHeader + object_bytes(data_room));
}

PacketPool::PacketPool(const char* name, unsigned count, unsigned data_room, std::byte* memory)
    : stack_(new PacketStack), header_(nullptr, [](std::byte* p) { std::free(p); }) {
  if (data_room > 65535) throw Error("packet pool: a packet buffer holds at most 65535 bytes");
  const int ops = StackOps::index();
  if (ops < 0) throw Error("packet pool: DPDK refused another mempool driver");
  const size_t header_bytes =
      RTE_ALIGN_CEIL(sizeof(rte_mempool) + sizeof(rte_pktmbuf_pool_private), RTE_CACHE_LINE_SIZE);
  header_.reset(static_cast<std::byte*>(std::aligned_alloc(RTE_CACHE_LINE_SIZE, header_bytes)));
  if (!header_) throw Error("packet pool: out of memory");
  std::memset(header_.get(), 0, header_bytes);
  pool_ = reinterpret_cast<rte_mempool*>(header_.get());
  std::strncpy(pool_->name, name, sizeof pool_->name - 1);
  pool_->pool_data = stack_.get();
  pool_->size = pool_->populated_size = count;
  pool_->elt_size = object_bytes(data_room);
  pool_->header_size = kObjectHeader;
  pool_->private_data_size = sizeof(rte_pktmbuf_pool_private);
  pool_->ops_index = ops;
  pool_->flags = RTE_MEMPOOL_F_POOL_CREATED;
  auto* details = static_cast<rte_pktmbuf_pool_private*>(rte_mempool_get_priv(pool_));
  details->mbuf_data_room_size = static_cast<uint16_t>(data_room);
  stack_->free.reserve(count);
  const size_t stride = kObjectHeader + pool_->elt_size;
  for (unsigned i = count; i-- > 0;) {
    auto* header = reinterpret_cast<rte_mempool_objhdr*>(memory + i * stride);
    header->mp = pool_;
    header->iova = reinterpret_cast<rte_iova_t>(header) + kObjectHeader;
    auto* mbuf = reinterpret_cast<rte_mbuf*>(memory + i * stride + kObjectHeader);
    rte_pktmbuf_init(pool_, nullptr, mbuf, i);
    stack_->free.push_back(mbuf);
  }
}

PacketPool::PacketPool(rte_mempool* pool) : header_(nullptr, [](std::byte*) {}), pool_(pool) {}
PacketPool::~PacketPool() = default;

unsigned PacketPool::available() const { return rte_mempool_avail_count(pool_); }
unsigned PacketPool::capacity() const { return pool_->size; }
unsigned PacketPool::data_bytes() const { return rte_pktmbuf_data_room_size(pool_) - RTE_PKTMBUF_HEADROOM; }

}  // namespace heddle
