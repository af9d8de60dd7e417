#include "functions/ipsec/associations.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include <bit>

#include "click/arguments.h"
#include "core/error.h"
#include "functions/ipsec/keys.h"

namespace heddle::ipsec {
namespace {

constexpr uint32_t mask(uint32_t length) { return length == 0 ? 0 : ~0u << (32 - length); }
constexpr uint64_t destination_key(uint32_t length, uint32_t address) {
  return static_cast<uint64_t>(length) << 32 | (address & mask(length));
}

}  // namespace

void ReplayWindow::start(uint32_t window, uint32_t seen) {
  window_ = window;
  top_ = seen;
  for (auto& block : blocks_) block = 0;
}

bool ReplayWindow::could_come(uint32_t sequence) const {
  if (window_ == 0) return true;
  if (sequence == 0 || static_cast<uint64_t>(sequence) + window_ <= top_.load(std::memory_order_relaxed)) return false;
  const uint64_t block = blocks_[sequence / kBlockBits % kBlocks].load(std::memory_order_relaxed);
  return block >> 32 < sequence / kBlockBits ||
         (block >> 32 == sequence / kBlockBits && (block >> sequence % kBlockBits & 1) == 0);
}

bool ReplayWindow::mark(uint32_t sequence) {
  if (window_ == 0) return true;
  auto& block = blocks_[sequence / kBlockBits % kBlocks];
  const uint64_t bit = uint64_t{1} << sequence % kBlockBits, place = uint64_t{sequence / kBlockBits} << 32;
  uint64_t now = block.load(std::memory_order_relaxed);
  do {
    if (!could_come(sequence) || now >> 32 > place >> 32 || (now >> 32 == place >> 32 && (now & bit) != 0))
      return false;
  } while (
      !block.compare_exchange_weak(now, (now >> 32 == place >> 32 ? now : place) | bit, std::memory_order_relaxed));
  uint32_t top = top_.load(std::memory_order_relaxed);
  while (top < sequence && !top_.compare_exchange_weak(top, sequence, std::memory_order_relaxed)) {
  }
  return true;
}

Associations::~Associations() {
  if (memory_ == nullptr) return;
  explicit_bzero(memory_, bytes_);
  ::munmap(memory_, bytes_);
}

void Associations::load(const std::vector<FileAssociation>& list, uint32_t link_bytes) {
  const size_t count = list.size(), slot_count = std::bit_ceil(2 * count);
  bytes_ = sizeof(Image) + count * sizeof(Association) + slot_count * sizeof(Image::Slot);
  memory_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory_ == MAP_FAILED) {
    memory_ = nullptr;
    throw Error(format("no memory for %zu associations", count));
  }
  ::madvise(memory_, bytes_, MADV_DONTDUMP);
  auto& image = *static_cast<Image*>(memory_);
  image.count = static_cast<uint32_t>(count);
  image.link_bytes = link_bytes;
  make_lookup(image.te);
  image.slot_mask = static_cast<uint32_t>(slot_count) - 1;
  auto* associations = const_cast<Association*>(image.associations());
  auto* slot = reinterpret_cast<Image::Slot*>(associations + count);
  host_ = std::make_unique<Host[]>(count);
  for (uint32_t i = 0; i < count; ++i) {
    const FileAssociation& from = list[i];
    associations[i] = from.sa;
    uint32_t at = image.slot_of(from.sa.spi);
    while (slot[at].spi != 0) at = (at + 1) & image.slot_mask;
    slot[at] = {from.sa.spi, i};
    Host& host = host_[i];
    host.selector = from.selector;
    host.next = uint64_t{from.sent} + 1;
    host.window.start(from.window, from.seen);
    if (::getrandom(&host.iv_base, sizeof host.iv_base, 0) != sizeof host.iv_base)
      throw Error("the system gives no random numbers");
    by_destination_.emplace(destination_key(from.selector.destination_length, from.selector.destination), i);
    lengths_ |= uint64_t{1} << from.selector.destination_length;
  }
}

bool Associations::has_windows() const {
  for (uint32_t i = 0; i < count(); ++i)
    if (host_[i].window.is_on()) return true;
  return false;
}

uint32_t Associations::select(uint32_t source, uint32_t destination) const {
  for (uint64_t rest = lengths_; rest != 0;) {
    const auto length = static_cast<uint32_t>(std::bit_width(rest)) - 1;
    rest &= ~(uint64_t{1} << length);
    uint32_t first = kNone;
    const auto [begin, end] = by_destination_.equal_range(destination_key(length, destination));
    for (auto it = begin; it != end; ++it) {
      const Selector& selector = host_[it->second].selector;
      if ((source & mask(selector.source_length)) == (selector.source & mask(selector.source_length)))
        first = std::min(first, it->second);
    }
    if (first != kNone) return first;
  }
  return kNone;
}

std::string Associations::text() const {
  std::string text;
  for (uint32_t i = 0; i < count(); ++i) {
    char source[INET_ADDRSTRLEN], destination[INET_ADDRSTRLEN];
    const Association& sa = (*this)[i];
    ::inet_ntop(AF_INET, &sa.source, source, sizeof source);
    ::inet_ntop(AF_INET, &sa.destination, destination, sizeof destination);
    text += format("%u 0x%08x %s %s\n", i, swapped(sa.spi), source, destination);
  }
  return text;
}

void configure_associations(click::Arguments& arguments, Associations& associations) {
  std::string file;
  uint32_t link_bytes = 0;
  arguments.required("FILE", file).keyword("OFFSET", link_bytes, 0u, 64u);
  if (file.empty()) return;
  std::vector<std::string> errors;
  try {
    auto list = read_association_file(file, errors);
    if (errors.empty() && list.empty()) errors.push_back("'" + file + "' has no association");
    if (errors.empty()) associations.load(list, link_bytes);
    explicit_bzero(list.data(), list.size() * sizeof(FileAssociation));
  } catch (const Error& error) {
    errors.push_back(error.what());
  }
  for (auto& error : errors) arguments.error("FILE: " + error);
}

}  // namespace heddle::ipsec
