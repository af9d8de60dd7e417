#pragma once

// What both ends of a tunnel do with a packet's bytes on a GPU: AES-CTR and HMAC-SHA1-96.

#include "functions/ipsec/rule.h"
#include "gpu/bytes.cuh"
#include "gpu/registry.cuh"

namespace heddle::ipsec {

// A packet's stream is what is authenticated: ESP header and IV (16 bytes), then the ciphertext. It may lie at any address,
// also where the inner packet is; so memory is read and written in aligned pieces of 16 bytes, once, and the key
// stream is shifted to them. Eight lanes take a packet a chunk of eight pieces further, while a thread of warp 0 hashes
// the chunk before, which stays in shared memory.
constexpr uint32_t kPiece = 16, kLanes = 8, kChunk = kPiece * kLanes;
constexpr uint32_t kStreamHead = kEspBytes + kIvBytes;
constexpr uint32_t kRingWords =
    4 * kChunk / 4;  // the chunk that is written, and up to two that are hashed; a power of two

/** Where a packet of the tile has its stream. */
struct Stream {
  uint8_t* stream;
  const Association* sa;
  uint32_t ciphertext;       // bytes; 0: the packet is dropped
  uint32_t sequence, iv[2];  // as they lie
  __device__ uint32_t bytes() const { return kStreamHead + ciphertext; }
  /** Bytes between the start of its first piece and that of the stream. */
  __device__ uint32_t shift() const { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(stream) % kPiece); }
  __device__ uint32_t chunks() const { return ciphertext == 0 ? 0 : (shift() + bytes() + kChunk - 1) / kChunk; }
};

/** Of jobs, which are streams with kDeciphers and load(at, here, words): the 16 bytes that begin at `at`, at `here` of the
 *  stream, before the cipher. */
template <class Job>
struct Work {
  Job jobs[gpu::kSlotPackets];
  uint32_t last[gpu::kSlotPackets][4];               // key stream of the last block of the chunk before
  uint32_t ring[gpu::kSlotPackets][kRingWords + 1];  // the ciphertext, by pieces; + 1: other banks for each packet
  uint32_t state[5][gpu::kSlotPackets];              // of the hash
  uint32_t hashed[gpu::kSlotPackets];                // blocks of 64 bytes
  uint32_t chunks;                                   // of the longest packet

  /** Says how many chunks the longest packet has; called by all threads, which know it of their own packets. */
  __device__ void set_chunks(const gpu::Block& block, uint32_t mine) {
    // Warp 0 has all packets.
    if (block.thread < gpu::kLanes) {
      mine = __reduce_max_sync(~0u, mine);
      if (block.thread == 0) chunks = mine;
    }
    block.sync();
  }
};

struct Lookup {
  uint32_t words[256];  // Image::te
  __device__ void fill(const gpu::Block& block, const Image& image) {
    for (int i = block.thread; i < 256; i += block.threads) words[i] = image.te[i];
  }
};

/** Copies `bytes` bytes, at most 64, to `by` bytes from where they are: at least 16 bytes before, or behind. 16 at a time, so that
 *  reads of host memory overlap, and in the order in which none are lost. */
__device__ inline void move_link(uint8_t* from, uint32_t bytes, int by) {
  const uint32_t pieces = (bytes + 15) / 16;
  for (uint32_t piece = 0; piece < pieces; ++piece) {
    const uint32_t at = 16 * (by < 0 ? piece : pieces - 1 - piece), count = bytes - at < 16 ? bytes - at : 16;
    uint8_t* const to = from + by;
    uint32_t words[4];
#pragma unroll
    for (uint32_t w = 0; w < 4; ++w)
      if (4 * w < count) words[w] = gpu::load_u32(from + at + 4 * w);
#pragma unroll
    for (uint32_t w = 0; w < 4; ++w) {
      if (4 * w + 4 <= count) {
        gpu::store_u32(to + at + 4 * w, words[w]);
      } else {
        for (uint32_t b = 4 * w; b < count; ++b) to[at + b] = static_cast<uint8_t>(words[w] >> 8 * (b % 4));
      }
    }
  }
}

/** Where a round takes its bytes from. */
__device__ inline uint32_t looked_up(const Lookup& te, uint32_t word, int byte) {
  return te.words[word >> 8 * byte & 255];
}

/** A round but the last (FIPS 197, 5.1) by table look-ups. */
__device__ inline void aes_round(const Lookup& te, const uint4& key, uint32_t (&s)[4]) {
  uint32_t to[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)
    to[j] ^= looked_up(te, s[j], 0) ^ __byte_perm(looked_up(te, s[(j + 1) & 3], 1), 0, 0x2103) ^
             __byte_perm(looked_up(te, s[(j + 2) & 3], 2), 0, 0x1032) ^
             __byte_perm(looked_up(te, s[(j + 3) & 3], 3), 0, 0x0321);
#pragma unroll
  for (int j = 0; j < 4; ++j) s[j] = to[j];
}

/** AES of the four words of a block, as they lie. */
__device__ inline void aes(const Lookup& te, const Association& sa, uint32_t (&s)[4]) {
  const auto* keys = reinterpret_cast<const uint4*>(sa.round_keys);
  uint4 key = keys[0];
  s[0] ^= key.x, s[1] ^= key.y, s[2] ^= key.z, s[3] ^= key.w;
#pragma unroll
  for (int round = 1; round < 10; ++round) aes_round(te, keys[round], s);
  // Keys of 192 and 256 bits have two and four rounds more.
  keys += 10;
  if (sa.rounds > 10) aes_round(te, keys[0], s), aes_round(te, keys[1], s), keys += 2;
  if (sa.rounds > 12) aes_round(te, keys[0], s), aes_round(te, keys[1], s), keys += 2;
  key = *keys;
  uint32_t to[4] = {key.x, key.y, key.z, key.w};
#pragma unroll
  for (int j = 0; j < 4; ++j)  // byte 1 of an entry is the S-box's
    to[j] ^=
        __byte_perm(__byte_perm(looked_up(te, s[j], 0), looked_up(te, s[(j + 1) & 3], 1), 0x0051),
                    __byte_perm(looked_up(te, s[(j + 2) & 3], 2), looked_up(te, s[(j + 3) & 3], 3), 0x0051), 0x5410);
#pragma unroll
  for (int j = 0; j < 4; ++j) s[j] = to[j];
}

/** `out`: the four words that begin `skip` bytes (0..16) into the eight of `one` and `other`. */
__device__ inline void shifted(const uint32_t (&one)[4], const uint32_t (&other)[4], uint32_t skip,
                               uint32_t (&out)[4]) {
  uint32_t x[9] = {one[0], one[1], one[2], one[3], other[0], other[1], other[2], other[3], 0};
#pragma unroll
  for (uint32_t step = 4; step > 0; step /= 2) {
    const bool go = (skip / 4 & step) != 0;
#pragma unroll
    for (uint32_t w = 0; w + step < 9; ++w) x[w] = go ? x[w + step] : x[w];
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) out[w] = __funnelshift_r(x[w], x[w + 1], skip % 4 * 8);
}

/** The ones of a word whose bytes lie at `here` and on that are in [first, last). */
__device__ inline uint32_t within(int here, int first, int last) {
  uint32_t mask = ~0u;
  if (here < first) mask = first - here >= 4 ? 0 : mask << 8 * (first - here);
  if (last < here + 4) mask = last <= here ? 0 : mask & ~0u >> 8 * (here + 4 - last);
  return mask;
}

/** Stores those of 16 bytes that are in [first, last) of the stream, where they begin at `here`. */
__device__ inline void store_within(uint8_t* at, const uint32_t (&words)[4], int here, int first, int last) {
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    const int place = here + 4 * w;
    if (place >= first && place + 4 <= last) {
      reinterpret_cast<uint32_t*>(at)[w] = words[w];
    } else {
      for (int b = 0; b < 4; ++b)
        if (place + b >= first && place + b < last) at[4 * w + b] = static_cast<uint8_t>(words[w] >> 8 * b);
    }
  }
}

/** AES-CTR: piece `rank` of chunk `n` of packet k. All lanes of a warp call it; those of one group with one packet. */
template <class Job>
__device__ inline void cipher(Work<Job>& work, const Lookup& te, int k, bool wanted, uint32_t n, uint32_t rank) {
  uint32_t block[4] = {}, before[4];
  const uint32_t j = n * kLanes + rank;  // of the piece, and of the block of key stream
  if (wanted) {
    const Job& job = work.jobs[k];
    if (j == 0) {  // the head is not enciphered: it comes from the job, or stays
      if (!Job::kDeciphers) block[0] = job.sa->spi, block[1] = job.sequence, block[2] = job.iv[0], block[3] = job.iv[1];
    } else {
      block[0] = job.sa->nonce, block[1] = job.iv[0], block[2] = job.iv[1], block[3] = swapped(j);
      aes(te, *job.sa, block);
    }
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    before[w] = __shfl_up_sync(~0u, block[w], 1, kLanes);
    if (rank == 0) before[w] = wanted && n > 0 ? work.last[k][w] : 0;
  }
  __syncwarp();
  if (!wanted) return;
  if (rank == kLanes - 1)
    for (int w = 0; w < 4; ++w) work.last[k][w] = block[w];
  const Job& job = work.jobs[k];
  const uint32_t shift = job.shift();
  const int here = static_cast<int>(j * kPiece) - static_cast<int>(shift);
  if (here >= static_cast<int>(job.bytes())) return;
  uint8_t* const at = job.stream + here;
  uint32_t words[4], key[4];
  job.load(at, here, words);
  shifted(before, block, kPiece - shift, key);
#pragma unroll
  for (uint32_t w = 0; w < 4; ++w) {  // what is hashed is the ciphertext
    const uint32_t other = words[w] ^ key[w];
    work.ring[k][(j * 4 + w) % kRingWords] = Job::kDeciphers ? words[w] : other;
    words[w] = other;
  }
  // The ICV is written later, or the job has it: it may be overwritten now.
  if (here >= 0 && here + static_cast<int>(kPiece) <= static_cast<int>(job.bytes() + kIcvBytes))
    *reinterpret_cast<uint4*>(at) = make_uint4(words[0], words[1], words[2], words[3]);
  else
    store_within(at, words, here, 0, static_cast<int>(job.bytes()));
}

/** HMAC-SHA1-96 of packet k: takes in what chunks up to `n` complete, and at the end calls `done_with(icv)` with the three words of
 *  the ICV, as they lie. The state lies in shared memory, and there is one copy of SHA-1: registers are what is scarce. */
template <class Job, class Done>
__device__ inline void hash(Work<Job>& work, int k, uint32_t n, const Done& done_with) {
  const Stream& job = work.jobs[k];
  const auto& ring = work.ring[k];
  const uint32_t bytes = job.bytes(), shift = job.shift(), here = (n + 1) * kChunk;
  const uint32_t total = (bytes + 9 + 63) / 64;  // blocks of 64 bytes; the one behind them is the outer hash's
  for (uint32_t block = work.hashed[k]; block <= total; work.hashed[k] = ++block) {
    const bool outer = block == total;
    const uint32_t needed = 64 * block + 64 < bytes ? 64 * block + 64 : bytes;
    if (shift + needed > here) return;
    uint32_t words[16], state[5];
#pragma unroll
    for (int w = 0; w < 5; ++w) state[w] = block == 0 ? job.sa->inner[w] : work.state[w][k];
#pragma unroll
    for (uint32_t w = 0; w < 16; ++w) {
      const uint32_t place = 64 * block + 4 * w, at = (shift + place) / 4;
      words[w] = place == bytes ? 0x80000000 : 0;
      if (place < bytes) {
        const uint32_t low = ring[at % kRingWords], high = shift % 4 == 0 ? 0 : ring[(at + 1) % kRingWords];
        words[w] = swapped(__funnelshift_r(low, high, shift % 4 * 8));
      }
      if (outer) words[w] = w < 5 ? state[w < 5 ? w : 0] : w == 5 ? 0x80000000 : 0;
    }
    if (block == total - 1) words[15] = (64 + bytes) * 8;
    if (outer) {
      words[15] = (64 + 20) * 8;
#pragma unroll
      for (int w = 0; w < 5; ++w) state[w] = job.sa->outer[w];
    }
    sha1_block(state, words);
#pragma unroll
    for (int w = 0; w < 5; ++w) work.state[w][k] = state[w];
    if (outer) {
      const uint32_t icv[3] = {swapped(state[0]), swapped(state[1]), swapped(state[2])};
      done_with(icv);
    }
  }
}

/** Takes all packets of the tile through cipher and hash: `done_with(icv)` is called for each of those with a stream, by the
 *  thread of warp 0 that has its number. All is in place for all threads on return. */
template <class Job, class Done>
__device__ inline void run_streams(const gpu::Block& block, int count, Work<Job>& work, const Lookup& te,
                                   const Done& done_with) {
  // Warp 0 hashes; the others do the cipher, a chunk ahead. A warp that is alone does both.
  const bool hashes = block.thread < gpu::kLanes, alone = block.threads == gpu::kLanes;
  const int first = alone ? 0 : gpu::kLanes, groups = (block.threads - first) / static_cast<int>(kLanes);
  const int group = (block.thread - first) / static_cast<int>(kLanes);
  const auto rank = static_cast<uint32_t>(block.thread) % kLanes;
  const bool has_packet = hashes && block.thread < count && work.jobs[block.thread].ciphertext != 0;
  if (has_packet) work.hashed[block.thread] = 0;
  for (uint32_t n = 0; n <= work.chunks; ++n) {
    if (alone || !hashes)
      for (int base = 0; base < count; base += groups) {
        const int k = base + group;
        cipher(work, te, k, k < count && n < work.jobs[k].chunks(), n, rank);
      }
    if (has_packet && n > 0 && n <= work.jobs[block.thread].chunks()) hash(work, block.thread, n - 1, done_with);
    block.sync();
  }
}

}  // namespace heddle::ipsec
