#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "core/batch.h"

namespace heddle::test {

using Bytes = std::vector<uint8_t>;

/** A packet before a chain: its bytes, the columns that a TestSource may set, and what a capture would say of it. */
struct Frame {
  Bytes bytes{};
  uint64_t column[kColumns] = {};  ///< l3 and l4: offset from the frame
  int headroom = -1;               ///< bytes before the frame; -1: as usual
  uint64_t timestamp_ns = 0;
  uint32_t missing_bytes = 0;
};

/** Of this run: HEDDLE_TEST_SEED, or a fixed one. Printed at the start. */
unsigned seed();
/** A generator of its own for each `purpose`, so that tests do not depend on their order. */
std::mt19937 random_for(const std::string& purpose);
/** Whether to take full products instead of pairs: HEDDLE_FULL=1. */
bool full();
/** How often a random test tries: `usual` times, `most` with HEDDLE_FULL=1. Under a sanitizer, with which a try takes
 *  ten times as long, a fifth of `usual`. */
int tries(int usual, int most);

/** `length` random bytes. */
Frame random_frame(std::mt19937& random, size_t length);
/** Frames of 0..80 bytes, of 1500, of the longest that an ordinary packet buffer holds, and of 9000. */
std::vector<Frame> frames_of_all_lengths(std::mt19937& random);
/** `count` frames of `least` to `most` bytes. */
std::vector<Frame> random_frames(std::mt19937& random, size_t count, size_t least, size_t most);
/** An Ethernet frame with an IPv4 header of 20 bytes without options, checksum right, and `payload` bytes behind. */
Frame ip_frame(uint32_t source, uint32_t destination, size_t payload);

void put_u16(Bytes& bytes, size_t at, unsigned value);  ///< network byte order
void put_u32(Bytes& bytes, size_t at, uint32_t value);
uint32_t get_u32(const Bytes& bytes, size_t at);
/** Sets the checksum of the IPv4 header at `at`; its length comes from the header itself. */
void set_ip_checksum(Bytes& bytes, size_t at);
/** a.b.c.d in host byte order. */
constexpr uint32_t ip(unsigned a, unsigned b, unsigned c, unsigned d) { return a << 24 | b << 16 | c << 8 | d; }

}  // namespace heddle::test
