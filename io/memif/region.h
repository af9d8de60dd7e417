#pragma once

#include <cstddef>
#include <cstdint>

#include "io/memif/channel.h"
#include "io/memif/ring.h"

namespace heddle::memif {

/** Memory that two programs share: a file without a name that cannot become shorter (memfd, F_SEAL_SHRINK), mapped. */
class Region {
 public:
  Region() = default;
  /** New memory of zeros. Throws Error if there is not so much. */
  explicit Region(size_t bytes);
  /** What a peer has sent as a region of `bytes`. Throws Error, which says what is wrong with it: pages that it could
   *  take away would end this program with a signal. */
  Region(File file, uint64_t bytes);
  Region(Region&& other) noexcept { *this = std::move(other); }
  Region& operator=(Region&& other) noexcept;
  ~Region();

  std::byte* base() const { return base_; }
  size_t bytes() const { return bytes_; }
  int file() const { return file_.get(); }

 private:
  void map(size_t bytes);

  File file_;
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace heddle::memif
