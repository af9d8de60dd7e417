#include "io/dpdk/memif_buffers.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

namespace heddle::dpdk {
namespace {

// What lies in shared memory (memif protocol 2.0). The buffers of a ring follow one another.
struct Descriptor {
  uint16_t flags, region;
  uint32_t length, offset, metadata;
};
struct RingStart {
  uint32_t cookie;
  uint16_t flags, head;
  alignas(64) uint16_t tail;
  alignas(64) Descriptor first[2];
};
constexpr uint32_t kCookie = 0x3E31F20;

}  // namespace

uint32_t smallest_memif_buffer() {
  // Read by the kernel: the driver's thread may unmap the memory at any time.
  const int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  std::ifstream mappings("/proc/self/maps");
  uint32_t smallest = 0;
  for (std::string line; memory >= 0 && std::getline(mappings, line);) {
    uint64_t start = 0, end = 0, offset = 0;
    if (line.find("/memfd:") == line.npos ||
        std::sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &start, &end, &offset) != 3 || offset != 0)
      continue;
    RingStart ring;
    if (pread(memory, &ring, sizeof ring, static_cast<off_t>(start)) != sizeof ring || ring.cookie != kCookie) continue;
    const auto& [one, two] = ring.first;
    if (one.region != two.region || two.offset <= one.offset) continue;  // not made by the driver's copying mode
    const uint32_t bytes = two.offset - one.offset;
    smallest = smallest == 0 ? bytes : std::min(smallest, bytes);
  }
  if (memory >= 0) close(memory);
  return smallest;
}

}  // namespace heddle::dpdk
