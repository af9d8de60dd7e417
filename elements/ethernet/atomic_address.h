#pragma once

#include <atomic>
#include <cstring>

#include "click/values.h"

namespace heddle {

/** An Ethernet address that handlers change while packet threads read it. */
class AtomicEthernetAddress {
 public:
  void store(const click::EthernetAddress& address) {
    uint64_t word = 0;
    std::memcpy(&word, address.bytes.data(), address.bytes.size());
    word_.store(word, std::memory_order_relaxed);
  }
  click::EthernetAddress load() const {
    const uint64_t word = word_.load(std::memory_order_relaxed);
    click::EthernetAddress address;
    std::memcpy(address.bytes.data(), &word, address.bytes.size());
    return address;
  }

 private:
  std::atomic<uint64_t> word_{0};
};

}  // namespace heddle
