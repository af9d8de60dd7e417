#include "io/memif/region.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/error.h"

namespace heddle::memif {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 33;  // offsets have 32 bits

}  // namespace

Region::Region(size_t bytes) {
  file_ = File(memfd_create("heddle-memif", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file_ || ftruncate(file_.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(file_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    throw Error(format("memif: no %zu bytes of shared memory: %s", bytes, std::strerror(errno)));
  map(bytes);
}

Region::Region(File file, uint64_t bytes) : file_(std::move(file)) {
  if (!file_) throw Error("its file is missing");
  if (bytes == 0 || bytes > kMaxBytes)
    throw Error(format("a size of 1 to %llu bytes is expected", static_cast<unsigned long long>(kMaxBytes)));
  struct stat there {};
  if (fstat(file_.get(), &there) != 0 || !S_ISREG(there.st_mode)) throw Error("its file is no memory");
  if (static_cast<uint64_t>(there.st_size) < bytes)
    throw Error(format("its file has %lld bytes of %llu", static_cast<long long>(there.st_size),
                       static_cast<unsigned long long>(bytes)));
  if (const int seals = fcntl(file_.get(), F_GET_SEALS); seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    throw Error("its file can become shorter; it must be a memfd with F_SEAL_SHRINK");
  map(bytes);
}

void Region::map(size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (at == MAP_FAILED) throw Error(format("%zu bytes cannot be mapped: %s", bytes, std::strerror(errno)));
  base_ = static_cast<std::byte*>(at);
  bytes_ = bytes;
}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Region::~Region() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

}  // namespace heddle::memif
