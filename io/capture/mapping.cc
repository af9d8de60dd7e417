#include "io/capture/mapping.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>

namespace heddle::capture {
namespace {

std::array<std::atomic<Mapping*>, 64> mappings;  // those that the signal handler knows

void on_bus_error(int signal_number, siginfo_t* info, void*) {
  for (auto& entry : mappings)
    if (Mapping* const mapping = entry.load(); mapping != nullptr && mapping->fill_from(info->si_addr)) return;
  signal(signal_number, SIG_DFL);  // someone else's: it is raised again
}

void handle_bus_errors() {
  static const bool once = [] {
    struct sigaction action {};
    action.sa_sigaction = on_bus_error;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  (void)once;
}

}  // namespace

std::unique_ptr<Mapping> Mapping::make(int descriptor, size_t bytes) {
  void* const start = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (start == MAP_FAILED) return nullptr;
  madvise(start, bytes, MADV_SEQUENTIAL);
  handle_bus_errors();
  std::unique_ptr<Mapping> mapping(new Mapping(static_cast<uint8_t*>(start), bytes));
  for (auto& entry : mappings)
    if (Mapping* none = nullptr; entry.compare_exchange_strong(none, mapping.get())) break;
  return mapping;
}

Mapping::~Mapping() {
  for (auto& entry : mappings)
    if (Mapping* self = this; entry.compare_exchange_strong(self, nullptr)) break;
  munmap(data_, bytes_);
}

bool Mapping::fill_from(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address), start = reinterpret_cast<uintptr_t>(data_);
  if (at < start || at >= start + bytes_) return false;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE)), before = (at - start) / page * page;
  shortened_ = true;
  return mmap(data_ + before, bytes_ - before, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
}

}  // namespace heddle::capture
