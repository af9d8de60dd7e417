#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace heddle::test {

/** Of what the calling thread allocates with `new`, one fails; under AddressSanitizer and ThreadSanitizer none
 *  does. */
class FailingAllocation {
 public:
  /** The `number`-th from now on, counted from 1; 0: none. */
  static void begin(uint64_t number);
  /** Returns how many there have been since begin(). */
  static uint64_t end();
};

/** While it lives the process can open no more than `more` descriptors. */
class FewDescriptors {
 public:
  explicit FewDescriptors(int more);
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

int open_descriptors();

}  // namespace heddle::test
