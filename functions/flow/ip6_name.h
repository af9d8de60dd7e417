#pragma once

#include <cstdint>
#include <span>

namespace heddle::flow {

/** What stands for IPv6 addresses, as words, where there are 64 bits, which two IPv4 addresses take: a SipHash with a
 *  key that is another one in each run. Of 10 million pairs two have the same in one of 370,000 runs, and nobody can
 *  choose addresses that do. Any thread. */
uint64_t ip6_name(std::span<const uint64_t> addresses);

}  // namespace heddle::flow
