#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "tests/support/harness.h"

namespace heddle::test {

/** What the elements of the chain that is under test share with run(). There is one at a time. */
struct Lab {
  const std::vector<Frame>* frames = nullptr;
  Options options;
  std::atomic<uint64_t> given{0}, delivered{0};
  std::atomic<uint64_t> damaged{0};      ///< packets around which bytes have changed
  std::atomic<int64_t> not_returned{0};  ///< packets that were not back in their pools at the end
  std::mutex mutex;                      ///< guards what follows
  std::string first_damage;
  std::map<std::string, std::vector<Received>> sinks;
  std::map<std::string, uint64_t> bytes;  ///< that sinks have got

  static Lab*& current() {
    static Lab* lab = nullptr;
    return lab;
  }
};

}  // namespace heddle::test
