#pragma once

#include <array>
#include <cstdint>

#include "measure/wire/frames.h"

namespace heddle::bench {

using HashKey = std::array<uint8_t, 40>;

/** The key of Microsoft's specification of receive-side scaling, with which NICs come. */
extern const HashKey kMicrosoftKey;
/** 6d5a over and over: both directions of a connection have the same hash (Woo and Park, "Scalable TCP Session
 *  Monitoring with Symmetric Receive-side Scaling", 2012). */
extern const HashKey kSymmetricKey;

/** What a NIC computes of a packet: over addresses and ports for TCP and UDP, over the addresses for others. */
uint32_t toeplitz_hash(const FiveTuple& flow, const HashKey& key);
/** The same of an IPv6 packet: the addresses are these, the rest is the tuple's. */
uint32_t toeplitz_hash(const FiveTuple& flow, const Ip6Addresses& ip6, const HashKey& key);

/** The queue, by a redirection table of 128 entries that lead to the queues in turn. */
inline int queue_of(uint32_t hash, int queues) { return static_cast<int>(hash % 128) % queues; }

}  // namespace heddle::bench
