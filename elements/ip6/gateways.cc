#include "elements/ip6/gateways.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>

#include "core/error.h"

namespace heddle::ip6_gateways {
namespace {

struct Known {
  std::mutex adding;
  std::map<Ip6, uint32_t> number;
  std::unique_ptr<Ip6[]> address = std::make_unique<Ip6[]>(kMax + 1);  // by number
  std::atomic<uint32_t> count{0};
};

Known& known() {
  static Known all;
  return all;
}

}  // namespace

uint32_t number_of(const Ip6& address) {
  if (address == Ip6{}) return 0;
  Known& all = known();
  const std::lock_guard lock(all.adding);
  const auto found = all.number.find(address);
  if (found != all.number.end()) return found->second;
  const uint32_t number = all.count.load(std::memory_order_relaxed) + 1;
  if (number > kMax) throw Error(format("there have been %u gateways of IPv6 routes, and no more are known", kMax));
  all.address[number] = address;
  all.count.store(number, std::memory_order_release);
  return all.number[address] = number;
}

const Ip6* address_of(uint32_t number) {
  Known& all = known();
  return number != 0 && number <= all.count.load(std::memory_order_acquire) ? &all.address[number] : nullptr;
}

}  // namespace heddle::ip6_gateways
